//! Cluster addresses and node ports of services.
//!
//! Dynamic allocation takes the first free number of the upper part of a range and comes to the lower part last, so
//! that addresses chosen by hand seldom clash (KEP-3070 for addresses, KEP-3668 for ports). Upstream picks at random
//! within the parts; the first free one keeps tests reproducible.
//!
//! A dry run is not given what a request that stores would be: upstream's allocators then hand out stand-ins, and look at the range
//! of a wanted address alone and at the use of a wanted port alone (`pkg/registry/core/service/ipallocator`, `portallocator`).

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
    fn take_port(&mut self, wanted: Option<i64>) -> Result<i64, AllocationError>;
    /// Gives a port back.
    fn release_port(&mut self, port: i64);
}

/// Why a number was not handed out. The texts are those of upstream's allocators (`pkg/registry/core/service`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AllocationError {
    /// Somebody else has it.
    Taken,
    /// It is a port outside the range.
    OutOfRange {
        /// The range, as the message shows it.
        range: String,
    },
    /// It is an address of another network.
    OtherNetwork,
    /// It is an address of the network that no service may have.
    Reserved {
        /// The address.
        address: String,
        /// The network with the length of its prefix.
        network: String,
    },
    /// Nothing is left.
    Full,
}

impl std::fmt::Display for AllocationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Taken => f.write_str("provided IP is already allocated"),
            Self::OutOfRange { range } => write!(
                f,
                "provided port is not in the valid range. The range of valid ports is {range}"
            ),
            Self::OtherNetwork => f.write_str("the provided network does not match the current range"),
            Self::Reserved { address, network } => write!(
                f,
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
            ),
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
    purpose: Purpose,
    addresses: BTreeSet<u32>,
    ports: BTreeSet<i64>,
    /// The ports that a dry run was told it has.
    shown: BTreeSet<i64>,
}

/// What becomes of the numbers that are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They are stored.
    Store,
    /// They are shown and forgotten.
    DryRun,
}

/// The default of `--service-cluster-ip-range`.
const DEFAULT_NETWORK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
/// The size of the default range.
const DEFAULT_PREFIX: u8 = 24;
/// The default of `--service-node-port-range`.
pub(crate) const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// A dry run shows ports that come after this one.
const SHOWN_PORTS: i64 = 32_768;

impl Default for ServicePool {
    /// An empty pool over 10.0.0.0/24 and ports 30000-32767.
    fn default() -> Self {
        Self::new(Purpose::Store)
    }
}

impl ServicePool {
    /// An empty pool over the default ranges.
    pub(crate) fn new(purpose: Purpose) -> Self {
        Self {
            network: DEFAULT_NETWORK,
            prefix: DEFAULT_PREFIX,
            purpose,
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
            shown: BTreeSet::new(),
        }
    }

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
        let number = match (wanted, self.purpose) {
            (Some(text), _) => {
                let number = text
                    .parse::<Ipv4Addr>()
                    .map(u32::from)
                    .map_err(|_| AllocationError::OtherNetwork)?;
                if !(self.address(0)..=self.address(usable + 1)).contains(&number) {
                    return Err(AllocationError::OtherNetwork);
                }
                if !(self.address(1)..=self.address(usable)).contains(&number) {
                    return Err(AllocationError::Reserved {
                        address: text.to_owned(),
                        network: format!("{}/{}", self.network, self.prefix),
                    });
                }
                if self.purpose == Purpose::Store && self.addresses.contains(&number) {
                    return Err(AllocationError::Taken);
                }
                number
            }
            (None, Purpose::DryRun) => self.address(0),
            (None, Purpose::Store) => {
                let static_part = band(usable, 16, 256);
                let offsets = (static_part + 1..=usable).chain(1..=static_part);
                let mut free = offsets.map(|offset| self.address(offset));
                free.find(|number| !self.addresses.contains(number))
                    .ok_or(AllocationError::Full)?
            }
        };
        self.addresses.insert(number);
        Ok(Ipv4Addr::from(number).to_string())
    }

    fn release_address(&mut self, address: &str) {
        if let Ok(address) = address.parse::<Ipv4Addr>() {
            self.addresses.remove(&u32::from(address));
        }
    }

    fn take_port(&mut self, wanted: Option<i64>) -> Result<i64, AllocationError> {
        let (first, last) = (*NODE_PORTS.start(), *NODE_PORTS.end());
        let number = match (wanted, self.purpose) {
            (Some(number), purpose) => {
                if purpose == Purpose::Store && !NODE_PORTS.contains(&number) {
                    return Err(AllocationError::OutOfRange {
                        range: format!("{first}-{last}"),
                    });
                }
                if self.ports.contains(&number) {
                    return Err(AllocationError::Taken);
                }
                number
            }
            (None, Purpose::DryRun) => self.shown.last().copied().unwrap_or(SHOWN_PORTS) + 1,
            (None, Purpose::Store) => {
                let size = u32::try_from(last - first + 1).unwrap_or_default();
                let static_part = i64::from(band(size, 16, 128));
                let mut numbers = (first + static_part..=last).chain(first..first + static_part);
                numbers
                    .find(|number| !self.ports.contains(number))
                    .ok_or(AllocationError::Full)?
            }
        };
        self.ports.insert(number);
        if self.purpose == Purpose::DryRun {
            self.shown.insert(number);
        }
        Ok(number)
    }

    fn release_port(&mut self, port: i64) {
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

/// A port number out of JSON, which may be none that a port can have; zero means none.
pub(super) fn port_number(value: &Value) -> Option<i64> {
    value.as_i64().filter(|number| *number != 0)
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
        let reserved = |address: &str| {
            format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24"
            )
        };
        let other = || "the provided network does not match the current range".to_owned();
        for (outside, expect) in [
            ("10.0.0.0", reserved("10.0.0.0")),
            ("10.0.0.255", reserved("10.0.0.255")),
            ("10.0.1.0", other()),
            ("9.255.255.255", other()),
            ("::1", other()),
            ("None", other()),
        ] {
            let found = pool.take_address(Some(outside)).unwrap_err();
            assert_eq!(found.to_string(), expect, "{outside}");
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
    fn a_dry_run_is_given_stand_ins() {
        let mut pool = ServicePool::new(Purpose::DryRun);
        pool.record(&json!({"spec": {"clusterIP": "10.0.0.17", "ports": [{"nodePort": 30086}]}}));
        assert_eq!(pool.take_address(None).unwrap(), "10.0.0.0");
        assert_eq!(pool.take_address(None).unwrap(), "10.0.0.0");
        assert_eq!(pool.take_address(Some("10.0.0.17")).unwrap(), "10.0.0.17");
        assert_eq!(
            pool.take_address(Some("10.1.0.17")),
            Err(AllocationError::OtherNetwork)
        );
        assert_eq!(pool.take_port(Some(30_086)), Err(AllocationError::Taken));
        assert_eq!(pool.take_port(Some(80)), Ok(80));
        assert_eq!(pool.take_port(Some(80)), Err(AllocationError::Taken));
        assert_eq!(pool.take_port(None), Ok(81));
        assert_eq!(pool.take_port(Some(70_000)), Ok(70_000));
        assert_eq!(ServicePool::new(Purpose::DryRun).take_port(None), Ok(32_769));
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
