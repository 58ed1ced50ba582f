//! What is tried, a module per area.

mod basics;
mod cascades;
mod custom;

use anyhow::Result;

use crate::harness::{Behind, Kubectl};

/// A scenario: it fails by its result.
pub(crate) type Scenario = fn(&Kubectl) -> Result<()>;

/// All scenarios by name, with what runs behind the server.
pub(crate) const ALL: &[(&str, Behind, Scenario)] = &[
    ("version", Behind::Nothing, basics::version),
    ("create_and_get", Behind::Nothing, basics::create_and_get),
    ("columns", Behind::Nothing, basics::columns),
    ("output_formats", Behind::Nothing, basics::output_formats),
    (
        "label_annotate_patch",
        Behind::Nothing,
        basics::label_annotate_patch,
    ),
    ("apply", Behind::Nothing, basics::apply),
    ("strict_validation", Behind::Nothing, basics::strict_validation),
    ("scale", Behind::Nothing, basics::scale),
    ("delete", Behind::Nothing, basics::delete),
    ("api_resources", Behind::Nothing, basics::api_resources),
    ("explain", Behind::Nothing, basics::explain),
    ("watch", Behind::Nothing, basics::watch),
    ("wait", Behind::Nothing, basics::wait),
    ("describe", Behind::Nothing, basics::describe),
    ("errors", Behind::Nothing, basics::errors),
    (
        "selectors_and_pages",
        Behind::Nothing,
        basics::selectors_and_pages,
    ),
    ("wrong_token", Behind::Nothing, basics::wrong_token),
    ("lists", Behind::Nothing, basics::lists),
    ("custom_life", Behind::Nothing, custom::life),
    ("custom_validation", Behind::Nothing, custom::validation),
    (
        "custom_apply_and_explain",
        Behind::Nothing,
        custom::apply_and_explain,
    ),
    ("custom_fixtures", Behind::Nothing, custom::fixtures),
    ("custom_cascades", Behind::Controllers, custom::cascades),
    ("rollout", Behind::Controllers, cascades::rollout),
    ("cascade_background", Behind::Controllers, cascades::background),
    ("cascade_foreground", Behind::Controllers, cascades::foreground),
    ("cascade_orphan", Behind::Controllers, cascades::orphan),
    ("namespace_ends", Behind::Controllers, cascades::namespace_ends),
];
