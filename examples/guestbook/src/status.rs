//! What a guestbook's status says: a pure function of the guestbook and its Deployment.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kubewright::core::Resource;
use kubewright::runtime::set_condition;

use crate::children::labels;
use crate::resource::{Guestbook, GuestbookStatus};

/// The status of a guestbook whose Deployment is this. `now` becomes the time of conditions that change their status.
#[must_use]
pub fn status(guestbook: &Guestbook, deployment: &Deployment, now: Timestamp) -> GuestbookStatus {
    let servers = Servers::count(guestbook, deployment);
    let conditions = guestbook.status.as_ref().map(|status| status.conditions.clone());
    let mut status = GuestbookStatus {
        replicas: servers.all,
        ready_replicas: servers.ready,
        selector: selector(guestbook),
        observed_generation: generation(guestbook),
        conditions: conditions.unwrap_or_default(),
    };
    for (type_, (is_true, reason, message)) in [
        ("Available", servers.available()),
        ("Progressing", servers.progressing()),
    ] {
        set_condition(
            &mut status.conditions,
            Condition {
                type_: type_.to_owned(),
                status: if is_true { "True" } else { "False" }.to_owned(),
                reason: reason.to_owned(),
                message,
                observed_generation: Some(generation(guestbook)),
                last_transition_time: Time(now),
            },
        );
    }
    status
}

/// Whether the status of the guestbook is about its present spec.
#[must_use]
pub fn has_seen_spec(guestbook: &Guestbook) -> bool {
    let observed = guestbook.status.as_ref().map(|status| status.observed_generation);
    observed == Some(generation(guestbook))
}

fn generation(guestbook: &Guestbook) -> i64 {
    guestbook.metadata.generation.unwrap_or_default()
}

fn selector(guestbook: &Guestbook) -> String {
    let labels = labels(guestbook.name());
    let terms: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    terms.join(",")
}

/// The servers of a Deployment by their state.
struct Servers {
    wanted: i32,
    all: i32,
    updated: i32,
    ready: i32,
    available: i32,
    /// Whether the numbers are about the Deployment's present spec.
    is_current: bool,
}

impl Servers {
    fn count(guestbook: &Guestbook, deployment: &Deployment) -> Self {
        let status = deployment.status.clone().unwrap_or_default();
        Self {
            wanted: guestbook.spec.replicas,
            all: status.replicas.unwrap_or_default(),
            updated: status.updated_replicas.unwrap_or_default(),
            ready: status.ready_replicas.unwrap_or_default(),
            available: status.available_replicas.unwrap_or_default(),
            is_current: status.observed_generation.unwrap_or_default()
                >= deployment.metadata.generation.unwrap_or_default(),
        }
    }

    fn available(&self) -> (bool, &'static str, String) {
        let Self {
            wanted, available, ..
        } = self;
        let message = format!("{available} of {wanted} servers are available");
        if !self.is_current {
            (
                false,
                "Unknown",
                "the servers have not been looked at yet".to_owned(),
            )
        } else if available >= wanted {
            (true, "ServersAvailable", message)
        } else {
            (false, "ServersMissing", message)
        }
    }

    fn progressing(&self) -> (bool, &'static str, String) {
        let Self {
            wanted, all, updated, ..
        } = self;
        if self.is_current && self.available == *wanted && updated == wanted && all == wanted {
            (false, "Settled", "all servers are as they should be".to_owned())
        } else {
            let message = format!("{updated} of {wanted} servers are up to date, {all} are there");
            (true, "RollingOut", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DeploymentStatus;

    use super::*;
    use crate::resource::GuestbookSpec;

    fn guestbook(replicas: i32) -> Guestbook {
        let spec = GuestbookSpec {
            replicas,
            image: "nginx".to_owned(),
            message: "hello".to_owned(),
        };
        let mut guestbook = Guestbook::new("a", spec);
        guestbook.metadata.generation = Some(3);
        guestbook
    }

    /// `counts`: all, updated, ready, available.
    fn deployment(observed: i64, counts: [i32; 4]) -> Deployment {
        let [all, updated, ready, available] = counts.map(|count| (count > 0).then_some(count));
        let mut deployment = Deployment {
            status: Some(DeploymentStatus {
                observed_generation: Some(observed),
                replicas: all,
                updated_replicas: updated,
                ready_replicas: ready,
                available_replicas: available,
                ..DeploymentStatus::default()
            }),
            ..Deployment::default()
        };
        deployment.metadata.generation = Some(2);
        deployment
    }

    #[test]
    fn conditions_follow_the_deployment() {
        // wanted, generation the Deployment has seen, its counts, reasons of Available and Progressing
        let rows = [
            (1, 1, [0, 0, 0, 0], "False Unknown, True RollingOut"),
            (2, 1, [2, 2, 2, 2], "False Unknown, True RollingOut"),
            (2, 2, [0, 0, 0, 0], "False ServersMissing, True RollingOut"),
            (2, 2, [2, 2, 1, 1], "False ServersMissing, True RollingOut"),
            (2, 2, [3, 1, 2, 2], "True ServersAvailable, True RollingOut"),
            (2, 2, [3, 3, 3, 3], "True ServersAvailable, True RollingOut"),
            (2, 2, [2, 2, 2, 2], "True ServersAvailable, False Settled"),
            (0, 2, [0, 0, 0, 0], "True ServersAvailable, False Settled"),
        ];
        for (wanted, observed, counts, expect) in rows {
            let status = status(
                &guestbook(wanted),
                &deployment(observed, counts),
                Timestamp::UNIX_EPOCH,
            );
            let conditions: Vec<_> = status
                .conditions
                .iter()
                .map(|condition| format!("{} {}", condition.status, condition.reason))
                .collect();
            assert_eq!(conditions.join(", "), expect, "{wanted} {observed} {counts:?}");
            assert_eq!((status.replicas, status.ready_replicas), (counts[0], counts[2]));
            assert_eq!(status.observed_generation, 3);
        }
    }

    #[test]
    fn a_settled_status_stays_the_same() {
        let mut guestbook = guestbook(1);
        assert!(!has_seen_spec(&guestbook));
        let first = status(&guestbook, &deployment(2, [1; 4]), Timestamp::UNIX_EPOCH);
        guestbook.status = Some(first.clone());
        assert!(has_seen_spec(&guestbook));
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(status(&guestbook, &deployment(2, [1; 4]), later), first);

        let down = status(&guestbook, &deployment(2, [1, 1, 0, 0]), later);
        let times: Vec<_> = down.conditions.iter().map(|c| c.last_transition_time.0).collect();
        assert_eq!(times, [later, later]);
        assert_eq!(
            down.selector,
            "app.kubernetes.io/instance=a,app.kubernetes.io/name=guestbook"
        );
    }
}
