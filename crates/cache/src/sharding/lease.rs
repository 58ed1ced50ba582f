//! What stands in the lease of a replica.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kubewright_core::ObjectMeta;

use super::membership::{Claim, Hold, LeaseRecord, LeaseWrite};
use super::timing::RingTiming;

/// The label by whose value the replicas of a ring find each other's leases.
pub const RING_LABEL: &str = "sharding.kubewright.dev/ring";

/// The annotation with the members of the ring by which a replica reckons its share: what it claims.
pub const CLAIM_ANNOTATION: &str = "sharding.kubewright.dev/claim";

/// The annotation that tells one run of a replica from another.
pub const INCARNATION_ANNOTATION: &str = "sharding.kubewright.dev/incarnation";

/// Most replicas of a ring. What claims by more is taken for a claim of everything.
pub const MAX_REPLICAS: usize = 1000;

/// How a ring is laid out: FNV-1a, mixed, with a hundred places for each replica. Another layout gets another name, and
/// replicas that do not know it take it for a claim of everything.
const LAYOUT: &str = "v1:";

/// The time that a lease lasts which does not say so, as the kubernetes-controller-sharding project has it.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// What a lease says; `None` if it has no name.
pub(super) fn read(lease: Lease) -> Option<LeaseRecord> {
    let ObjectMeta {
        name,
        resource_version,
        annotations,
        ..
    } = lease.metadata;
    let mut annotations = annotations.unwrap_or_default();
    let spec = lease.spec.unwrap_or_default();
    let held = spec.holder_identity.is_some_and(|holder| !holder.is_empty());
    let seconds = spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok());
    Some(LeaseRecord {
        name: name?.into(),
        version: resource_version.unwrap_or_default(),
        incarnation: annotations.remove(INCARNATION_ANNOTATION).unwrap_or_default(),
        hold: if held { Hold::Held } else { Hold::Released },
        duration: seconds.map_or(DEFAULT_DURATION, Duration::from_secs),
        claim: read_claim(annotations.get(CLAIM_ANNOTATION).map(String::as_str)),
    })
}

fn read_claim(text: Option<&str>) -> Claim {
    let Some(names) = text.and_then(|text| text.strip_prefix(LAYOUT)) else {
        return Claim::Unreadable;
    };
    let names = names.split(',').filter(|name| !name.is_empty());
    let names: Vec<_> = names.take(MAX_REPLICAS + 1).map(Arc::from).collect();
    if names.len() > MAX_REPLICAS {
        return Claim::Unreadable;
    }
    Claim::Members(names)
}

fn claim_text(members: &[Arc<str>]) -> String {
    format!("{LAYOUT}{}", members.join(","))
}

/// Who writes a lease.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub(super) ring: String,
    pub(super) name: Arc<str>,
    pub(super) incarnation: String,
    pub(super) timing: RingTiming,
}

impl Writer {
    /// A lease to create, or to merge into the one that is there. No clock is compared with the times in it: they are
    /// for people.
    pub(super) fn lease(&self, write: &LeaseWrite, now: MicroTime) -> Lease {
        let duration = self.timing.lease_duration();
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        let holder = match write.hold {
            Hold::Held => self.name.to_string(),
            Hold::Released => String::new(),
        };
        let annotations = [
            (CLAIM_ANNOTATION, claim_text(&write.members)),
            (INCARNATION_ANNOTATION, self.incarnation.clone()),
        ];
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.to_string()),
                resource_version: write.version.clone(),
                labels: Some([(RING_LABEL.to_owned(), self.ring.clone())].into()),
                annotations: Some(annotations.map(|(name, value)| (name.to_owned(), value)).into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder),
                lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
                renew_time: Some(now),
                ..LeaseSpec::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn a_lease_says_what_was_written() {
        let writer = Writer {
            ring: "web".into(),
            name: "a".into(),
            incarnation: "7".into(),
            timing: RingTiming::default(),
        };
        let members = vec![Arc::from("a"), Arc::from("b.c")];
        for (hold, members) in [(Hold::Held, members), (Hold::Released, Vec::new())] {
            let write = LeaseWrite {
                version: Some("5".into()),
                hold,
                members: members.clone(),
            };
            let lease = writer.lease(&write, MicroTime(Timestamp::UNIX_EPOCH));
            let expect = LeaseRecord {
                name: "a".into(),
                version: "5".into(),
                incarnation: "7".into(),
                hold,
                duration: Duration::from_secs(15),
                claim: Claim::Members(members),
            };
            assert_eq!(read(lease), Some(expect));
        }
    }

    #[test]
    fn what_cannot_be_read_claims_everything() {
        let members = |names: &[&str]| Claim::Members(names.iter().copied().map(Arc::from).collect());
        let rows = [
            (None, Claim::Unreadable),
            (Some(""), Claim::Unreadable),
            (Some("v2:a"), Claim::Unreadable),
            (Some("v1:"), members(&[])),
            (Some("v1:a"), members(&["a"])),
            (Some("v1:a,b"), members(&["a", "b"])),
        ];
        for (text, expect) in rows {
            assert_eq!(read_claim(text), expect, "{text:?}");
        }
        let many = format!("v1:{}", vec!["a"; MAX_REPLICAS].join(","));
        assert_ne!(read_claim(Some(&many)), Claim::Unreadable);
        assert_eq!(read_claim(Some(&format!("{many},a"))), Claim::Unreadable);
        // A lease that somebody made without a holder is nobody's.
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some("x".into()),
                ..ObjectMeta::default()
            },
            spec: None,
        };
        assert_eq!(read(lease).unwrap().hold, Hold::Released);
        assert_eq!(read(Lease::default()), None);
    }
}
