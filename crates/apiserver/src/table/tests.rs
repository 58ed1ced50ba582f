use serde_json::json;

use super::*;

#[test]
fn unknown_kinds_print_their_name_and_creation() {
    let printer = Printer::for_builtin("example.com", "v1", "Widget");
    let object = json!({"metadata": {"name": "w", "creationTimestamp": "2020-01-01T00:00:00Z"}});
    let row = printer.row(
        &object,
        IncludeObject::None,
        TableVersion::V1,
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!(
        row,
        json!({"cells": ["w", "2020-01-01T00:00:00Z"], "object": null})
    );
}
