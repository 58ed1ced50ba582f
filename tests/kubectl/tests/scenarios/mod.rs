//! What is tried, a module per area.

mod basics;

use anyhow::Result;

use crate::harness::Kubectl;

/// A scenario: it fails by its result.
pub type Scenario = fn(&Kubectl) -> Result<()>;

/// All scenarios by name.
pub const ALL: &[(&str, Scenario)] = &[
    ("version", basics::version),
    ("create_and_get", basics::create_and_get),
    ("columns", basics::columns),
    ("output_formats", basics::output_formats),
    ("label_annotate_patch", basics::label_annotate_patch),
    ("apply", basics::apply),
    ("strict_validation", basics::strict_validation),
    ("scale", basics::scale),
    ("delete", basics::delete),
    ("api_resources", basics::api_resources),
    ("explain", basics::explain),
    ("watch", basics::watch),
    ("wait", basics::wait),
    ("describe", basics::describe),
    ("errors", basics::errors),
    ("selectors_and_pages", basics::selectors_and_pages),
    ("anonymous", basics::anonymous),
];
