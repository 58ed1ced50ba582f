//! From an operator to the YAML that installs it.
