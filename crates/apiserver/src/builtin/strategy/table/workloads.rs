//! The rows of workloads.

use kubewright_core::FieldErrorKind::Required;

use super::super::super::validation::groups;
use super::super::super::validation::names::NameRule;
use super::super::super::warnings;
use super::super::{Dependents, Generation, StatusMetadata, StatusRule, Strategy, fields, gates, job, kinds};
use super::{COUNTED_ROW, PLAIN_ROW};

/// Workloads of the group `apps`.
pub(super) fn apps(resource: &str) -> Option<&'static Strategy> {
    static DEPLOYMENT: Strategy = Strategy {
        gated: gates::WORKLOAD,
        status_metadata: StatusMetadata::ExceptLabels,
        generation: Generation::ContentAndAnnotations,
        rules: groups::apps::deployment,
        validate_part: groups::apps::deployment_status,
        warnings: groups::apps::name_warnings,
        ..COUNTED_ROW
    };
    static REPLICA_SET: Strategy = Strategy {
        gated: gates::WORKLOAD,
        status: StatusRule::Reset(r#"{"replicas":0}"#),
        rules: groups::apps::replica_set,
        validate_part: groups::apps::replica_set_status,
        warnings: groups::apps::name_warnings,
        ..COUNTED_ROW
    };
    static DAEMON_SET: Strategy = Strategy {
        gated: gates::WORKLOAD,
        status: StatusRule::Reset(
            r#"{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}"#,
        ),
        prepare: kinds::daemon_set,
        rules: groups::apps::daemon_set,
        validate_part: groups::apps::daemon_set_status,
        warnings: warnings::workload,
        ..COUNTED_ROW
    };
    static STATEFUL_SET: Strategy = Strategy {
        gated: gates::WORKLOAD,
        declared: &[("spec.selector", Required)],
        status: StatusRule::Reset(r#"{"availableReplicas":0,"replicas":0}"#),
        name: NameRule::Label,
        rules: groups::apps::stateful_set,
        validate_part: groups::apps::stateful_set_status,
        warnings: groups::apps::stateful_set_warnings,
        ..COUNTED_ROW
    };
    static CONTROLLER_REVISION: Strategy = Strategy {
        rules: groups::apps::controller_revision,
        ..PLAIN_ROW
    };
    Some(match resource {
        "deployments" => &DEPLOYMENT,
        "replicasets" => &REPLICA_SET,
        "daemonsets" => &DAEMON_SET,
        "statefulsets" => &STATEFUL_SET,
        "controllerrevisions" => &CONTROLLER_REVISION,
        _ => return None,
    })
}

/// Jobs, and what makes them.
pub(super) fn batch(resource: &str) -> Option<&'static Strategy> {
    static JOB: Strategy = Strategy {
        gated: gates::JOB,
        dependents: Dependents::OrphanedWithWarning,
        selectable: fields::JOB,
        prepare: job::prepare,
        rules: groups::batch::job,
        validate_part: groups::job_status::job_status,
        warnings: groups::batch::job_warnings,
        ..COUNTED_ROW
    };
    static CRON_JOB: Strategy = Strategy {
        gated: gates::CRON_JOB,
        declared: &[("spec.schedule", Required)],
        name: NameRule::CronJob,
        rules: groups::cron::cron_job,
        warnings: groups::cron::cron_job_warnings,
        ..COUNTED_ROW
    };
    Some(match resource {
        "jobs" => &JOB,
        "cronjobs" => &CRON_JOB,
        _ => return None,
    })
}
