//! What is tried, a module per area.

mod apply;
mod basics;
mod cascades;
mod changes;
mod columns;
mod create;
mod custom;
mod identity;
mod inspect;
mod pods;
mod read;
mod security;
mod server_side;
mod workloads;

use anyhow::Result;

use crate::harness::{Behind, Kubectl};

/// A scenario.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) behind: Behind,
    /// The first minor version of kubectl that has what it tries.
    pub(crate) since: u32,
    /// It fails by its result.
    pub(crate) run: fn(&Kubectl) -> Result<()>,
}

impl Scenario {
    const fn since(mut self, minor: u32) -> Self {
        self.since = minor;
        self
    }
}

type Run = fn(&Kubectl) -> Result<()>;

const fn scenario(name: &'static str, behind: Behind, run: Run) -> Scenario {
    Scenario {
        name,
        behind,
        since: 27,
        run,
    }
}

/// One with a server of its own, and nothing behind it.
const fn alone(name: &'static str, run: Run) -> Scenario {
    scenario(name, Behind::Nothing, run)
}

/// One with a server and controllers of its own.
const fn controlled(name: &'static str, run: Run) -> Scenario {
    scenario(name, Behind::Controllers, run)
}

/// One with a namespace of its own.
const fn shared(name: &'static str, run: Run) -> Scenario {
    scenario(name, Behind::Shared, run)
}

/// All scenarios.
pub(crate) fn all() -> impl Iterator<Item = Scenario> {
    ALL.iter().copied()
}

const ALL: &[Scenario] = &[
    alone("version", basics::version),
    alone("create_and_get", basics::create_and_get),
    alone("columns", basics::columns),
    alone("output_formats", basics::output_formats),
    alone("label_annotate_patch", basics::label_annotate_patch),
    alone("apply", basics::apply),
    alone("strict_validation", basics::strict_validation),
    alone("scale", basics::scale),
    alone("delete", basics::delete),
    alone("api_resources", basics::api_resources),
    alone("explain", basics::explain),
    alone("watch", basics::watch),
    alone("wait", basics::wait),
    alone("describe", basics::describe),
    controlled("errors", basics::errors),
    alone("selectors_and_pages", basics::selectors_and_pages),
    alone("wrong_token", basics::wrong_token),
    alone("lists", basics::lists),
    alone("custom_life", custom::life),
    alone("custom_validation", custom::validation),
    alone("custom_apply_and_explain", custom::apply_and_explain),
    alone("custom_fixtures", custom::fixtures),
    alone("custom_columns", columns::get),
    alone("custom_explain", columns::explain),
    alone("custom_change", columns::change),
    alone("custom_apply", columns::apply),
    controlled("custom_cascades", custom::cascades),
    controlled("rollout", cascades::rollout),
    controlled("cascade_background", cascades::background),
    controlled("cascade_foreground", cascades::foreground),
    controlled("cascade_orphan", cascades::orphan),
    controlled("namespace_ends", cascades::namespace_ends),
    shared("create_generators", create::generators),
    shared("create_dry_runs", create::dry_runs),
    shared("run_and_expose", create::run_and_expose),
    shared("patch", changes::patch),
    shared("replace", changes::replace),
    shared("edit", changes::edit),
    shared("label_and_annotate", changes::label_and_annotate),
    shared("set", changes::set),
    alone("nodes", changes::nodes),
    shared("apply_client_side", apply::client_side),
    shared("diff", apply::diff),
    shared("validate_modes", apply::validate),
    shared("server_side_life", server_side::life),
    shared("server_side_conflicts", server_side::conflicts),
    shared("server_side_managers", server_side::managers),
    shared("server_side_refused", server_side::refused),
    shared("server_side_scale", server_side::scale),
    shared("server_side_migration", server_side::migration),
    shared("server_side_diff", server_side::diff),
    alone("pods_without_nodes", pods::without_nodes),
    alone("drain", pods::drain),
    alone("drain_waits_for_budgets", pods::drain_waits_for_budgets),
    shared("get_formats", read::formats),
    shared("get_selection", read::selection),
    shared("get_watch", read::watch),
    shared("get_versions", read::versions),
    shared("explain_depth", read::explain),
    shared("auth_can_i", security::can_i),
    shared("auth_reconcile", security::reconcile),
    // 1.27 asks for versions of the review that upstream serves no more.
    shared("auth_whoami", security::whoami).since(28),
    shared("auth_can_i_as", identity::can_i_as),
    shared("auth_reconcile_bindings", identity::reconcile_bindings),
    shared("acting_as", identity::acting_as).since(28),
    shared("service_account_rights", identity::service_accounts),
    shared("bound_tokens", identity::bound_tokens).since(28),
    shared("certificates", security::certificates),
    shared("create_token", security::tokens).since(28),
    shared("rollout_commands", workloads::rollout),
    shared("scale_and_autoscale", workloads::scale),
    shared("wait_for", workloads::wait),
    shared("delete_cascades", workloads::delete),
    shared("describe_kinds", inspect::describe),
    shared("events", inspect::events),
    shared("discovery", inspect::discovery),
    shared("config", inspect::config),
];
