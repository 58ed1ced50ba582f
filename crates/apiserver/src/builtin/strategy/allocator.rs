//! Cluster addresses and node ports of services.
//!
//! Dynamic allocation takes the first free number of the upper part of a range and comes to the lower part last, so
//! that addresses chosen by hand seldom clash (KEP-3070 for addresses, KEP-3668 for ports). Upstream picks at random
//! within the parts; the first free one keeps tests reproducible.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::super::value::{list_at, str_at};
use serde_json::Value;

/// Hands out cluster addresses and node ports. Only what is in use is refused; release is implied by the service being
/// stored without the number, except within one request.
pub(crate) trait Allocator {
    /// Takes the wanted address or any free one.
    fn take_address(&mut self, wanted: Option<&str>) -> Result<String, AllocationError>;
    /// Gives an address back.
    fn release_address(&mut self, address: &str);
    /// Takes the wanted port or any free one.
    fn take_port(&mut self, wanted: Option<u16>) -> Result<u16, AllocationError>;
    /// Gives a port back.
    fn release_port(&mut self, port: u16);
}

/// Why a number was not handed out. The texts are those of upstream's allocators (`pkg/registry/core/service`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AllocationError {
    /// Somebody else has it.
    Taken,
    /// It is not an address of the range, or a port outside it.
    OutOfRange {
        /// The range, as the message shows it.
        range: String,
    },
    /// Nothing is left.
    Full,
}

impl std::fmt::Display for AllocationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Taken => f.write_str("provided IP is already allocated"),
            Self::OutOfRange { .. } => f.write_str("the provided network does not match the current range"),
            Self::Full => f.write_str("range is full"),
        }
    }
}

impl std::error::Error for AllocationError {}

/// An [`Allocator`] over one IPv4 range and one range of ports, filled from the services that exist.
#[derive(Debug, Clone)]
pub(crate) struct ServicePool {
    network: Ipv4Addr,
    prefix: u8,
    addresses: BTreeSet<u32>,
    ports: BTreeSet<u16>,
}

/// The default of `--service-cluster-ip-range`.
const DEFAULT_NETWORK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
/// The size of the default range.
const DEFAULT_PREFIX: u8 = 24;
/// The default of `--service-node-port-range`.
pub(crate) const NODE_PORTS: std::ops::RangeInclusive<u16> = 30_000..=32_767;

impl Default for ServicePool {
    /// An empty pool over 10.0.0.0/24 and ports 30000-32767.
    fn default() -> Self {
        Self {
            network: DEFAULT_NETWORK,
            prefix: DEFAULT_PREFIX,
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
        }
    }
}

impl ServicePool {
    /// Marks what a stored service has as taken.
    pub(crate) fn record(&mut self, service: &Value) {
        for address in list_at(service, "/spec/clusterIPs")
            .iter()
            .filter_map(Value::as_str)
        {
            self.addresses
                .extend(address.parse::<Ipv4Addr>().ok().map(u32::from));
        }
        self.addresses.extend(
            str_at(service, "/spec/clusterIP")
                .parse::<Ipv4Addr>()
                .ok()
                .map(u32::from),
        );
        for port in list_at(service, "/spec/ports") {
            self.ports.extend(port_number(&port["nodePort"]));
        }
        self.ports
            .extend(port_number(&service["spec"]["healthCheckNodePort"]));
    }

    /// The usable offsets within the range: without the network's and, as upstream, the broadcast address.
    fn usable(&self) -> u32 {
        let size = 1_u32
            .checked_shl(32 - u32::from(self.prefix.clamp(16, 30)))
            .unwrap_or(u32::MAX);
        size.saturating_sub(2)
    }

    fn address(&self, offset: u32) -> u32 {
        u32::from(self.network).saturating_add(offset)
    }
}

impl Allocator for ServicePool {
    fn take_address(&mut self, wanted: Option<&str>) -> Result<String, AllocationError> {
        let usable = self.usable();
        let number = if let Some(text) = wanted {
            let out_of_range = || AllocationError::OutOfRange {
                range: format!("{}/{}", self.network, self.prefix),
            };
            let number = text
                .parse::<Ipv4Addr>()
                .map(u32::from)
                .map_err(|_| out_of_range())?;
            if !(self.address(1)..=self.address(usable)).contains(&number) {
                return Err(out_of_range());
            }
            if self.addresses.contains(&number) {
                return Err(AllocationError::Taken);
            }
            number
        } else {
            let static_part = band(usable, 16, 256);
            let offsets = (static_part + 1..=usable).chain(1..=static_part);
            let mut free = offsets.map(|offset| self.address(offset));
            free.find(|number| !self.addresses.contains(number))
                .ok_or(AllocationError::Full)?
        };
        self.addresses.insert(number);
        Ok(Ipv4Addr::from(number).to_string())
    }

    fn release_address(&mut self, address: &str) {
        if let Ok(address) = address.parse::<Ipv4Addr>() {
            self.addresses.remove(&u32::from(address));
        }
    }

    fn take_port(&mut self, wanted: Option<u16>) -> Result<u16, AllocationError> {
        let (first, last) = (*NODE_PORTS.start(), *NODE_PORTS.end());
        let number = if let Some(number) = wanted {
            if !NODE_PORTS.contains(&number) {
                return Err(AllocationError::OutOfRange {
                    range: format!("{first}-{last}"),
                });
            }
            if self.ports.contains(&number) {
                return Err(AllocationError::Taken);
            }
            number
        } else {
            let static_part = u16::try_from(band(u32::from(last - first) + 1, 16, 128)).unwrap_or(0);
            let mut numbers = (first + static_part..=last).chain(first..first + static_part);
            numbers
                .find(|number| !self.ports.contains(number))
                .ok_or(AllocationError::Full)?
        };
        self.ports.insert(number);
        Ok(number)
    }

    fn release_port(&mut self, port: u16) {
        self.ports.remove(&port);
    }
}

/// The size of the part kept for numbers chosen by hand: a share of the range within limits, none for tiny ranges.
fn band(size: u32, least: u32, most: u32) -> u32 {
    let share = if most == 128 { 32 } else { 16 };
    if size < least {
        0
    } else {
        (size / share).clamp(least, most).min(size)
    }
}

/// A port number out of JSON; zero means none.
pub(super) fn port_number(value: &Value) -> Option<u16> {
    value
        .as_u64()
        .and_then(|number| u16::try_from(number).ok())
        .filter(|number| *number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_come_from_the_upper_part_and_never_twice() {
        let mut pool = ServicePool::default();
        assert_eq!(pool.take_address(None).unwrap(), "10.0.0.17");
        assert_eq!(pool.take_address(Some("10.0.0.1")).unwrap(), "10.0.0.1");
        assert_eq!(pool.take_address(Some("10.0.0.1")), Err(AllocationError::Taken));
        for outside in ["10.0.0.0", "10.0.0.255", "10.0.1.1", "::1", "None"] {
            assert!(
                matches!(
                    pool.take_address(Some(outside)),
                    Err(AllocationError::OutOfRange { .. })
                ),
                "{outside}"
            );
        }
        let mut seen: BTreeSet<String> = ["10.0.0.17".to_owned(), "10.0.0.1".to_owned()].into();
        while let Ok(address) = pool.take_address(None) {
            assert!(seen.insert(address));
        }
        assert_eq!(seen.len(), 254);
        assert_eq!(pool.take_address(None), Err(AllocationError::Full));
        pool.release_address("10.0.0.9");
        assert_eq!(pool.take_address(None).unwrap(), "10.0.0.9");

        assert_eq!(pool.take_port(None).unwrap(), 30_086);
        assert_eq!(pool.take_port(Some(30_086)), Err(AllocationError::Taken));
        assert!(pool.take_port(Some(80)).is_err());
    }

    #[test]
    fn stored_services_hold_their_numbers() {
        let mut pool = ServicePool::default();
        pool.record(&json!({"spec": {"clusterIP": "10.0.0.17", "clusterIPs": ["10.0.0.17"], "ports": [{"nodePort": 30086}]}}));
        pool.record(&json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}));
        assert_eq!(pool.take_address(None).unwrap(), "10.0.0.18");
        assert_eq!(pool.take_port(None).unwrap(), 30_087);
    }
}
