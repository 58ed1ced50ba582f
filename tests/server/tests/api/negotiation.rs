//! Which forms a client may ask for.

use serde_json::json;

use crate::harness::*;

#[tokio::test]
async fn forms_of_an_object_and_of_a_list() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let beta = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let partial_list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    for (path, kind) in [(MAPS, "ConfigMap"), (WIDGETS, "Widget")] {
        for (accept, one, list, version) in [
            ("*/*", kind, format!("{kind}List"), ""),
            ("application/json", kind, format!("{kind}List"), ""),
            (table, "Table", "Table".to_owned(), "meta.k8s.io/v1"),
            (beta, "Table", "Table".to_owned(), "meta.k8s.io/v1beta1"),
            (kubectl, "Table", "Table".to_owned(), "meta.k8s.io/v1"),
        ] {
            let found = server
                .ok(Ask::new(format!("GET {path}/a")).header("accept", accept))
                .await;
            assert_eq!(found["kind"], one, "{accept}");
            let found = server
                .ask(Ask::new(format!("GET {path}")).header("accept", accept))
                .await;
            assert_eq!(found.body["kind"], list, "{accept}");
            assert_eq!(found.header("content-type"), "application/json");
            if !version.is_empty() {
                assert_eq!(found.body["apiVersion"], version);
            }
            assert_ne!(found.body["metadata"]["resourceVersion"], json!(null), "{accept}");
        }
        let (one, many) = ("PartialObjectMetadata", "PartialObjectMetadataList");
        let (no_object, no_list) = match path == MAPS {
            true => (
                "is a list (*core.ConfigMapList)",
                (406, "is not a list (*core.ConfigMap)"),
            ),
            false => (
                "is a list (*unstructured.UnstructuredList)",
                (500, "content is not a list"),
            ),
        };
        for (line, accept, code, expect) in [
            (format!("GET {path}/a"), partial, 200, one),
            (format!("GET {path}"), partial, 406, no_object),
            (format!("GET {path}/a"), partial_list, no_list.0, no_list.1),
            (format!("GET {path}"), partial_list, 200, many),
        ] {
            let found = server.ask(Ask::new(line).header("accept", accept)).await;
            assert_eq!(found.code, code, "{accept}: {:#}", found.body);
            match code {
                200 => assert_eq!(found.body["kind"], expect),
                _ => assert!(text(&found.body["message"]).ends_with(expect), "{:#}", found.body),
            }
        }
        for accept in [
            "text/html",
            "application/cbor",
            "application/json;as=Sculpture;g=meta.k8s.io;v=v1",
        ] {
            // Media types by name are the routes' affair, which only built-in kinds have.
            let is_routed = path == MAPS && !accept.contains("as=");
            let why = match is_routed {
                true => {
                    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
                }
                false => "only the following media types are accepted",
            };
            for (ask, more) in [
                (
                    format!("GET {path}"),
                    ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
                ),
                (format!("GET {path}/a"), ""),
                (format!("GET {path}/absent"), ""),
            ] {
                let refused = server
                    .refused(Ask::new(ask).header("accept", accept), 406, why)
                    .await;
                if is_routed {
                    assert_eq!(text(&refused.body["message"]), format!("{why}{more}"));
                    assert_eq!(refused.body["details"], json!({}));
                }
            }
            let write = Ask::json(format!("POST {path}"), &json!({"metadata": {"name": "new"}}))
                .header("accept", accept);
            server.refused(write, 406, why).await;
        }
    }
}

#[tokio::test]
async fn rows_of_a_table_carry_what_is_asked_for() {
    let server = Server::start().await;
    server.ok(Ask::json(format!("POST {PODS}"), &pod("a"))).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (query, kind) in [
        ("", Some("PartialObjectMetadata")),
        ("?includeObject=Metadata", Some("PartialObjectMetadata")),
        ("?includeObject=Object", Some("Pod")),
        ("?includeObject=None", None),
    ] {
        for path in [format!("{PODS}{query}"), format!("{PODS}/a{query}")] {
            let table = server
                .ok(Ask::new(format!("GET {path}")).header("accept", accept))
                .await;
            let columns: Vec<&str> = table["columnDefinitions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|c| text(&c["name"]))
                .collect();
            assert_eq!(columns[..5], ["Name", "Ready", "Status", "Restarts", "Age"]);
            let row = &table["rows"][0];
            assert_eq!(row["cells"][0], "a");
            assert_eq!(row["cells"][2], "Pending");
            assert_eq!(row["object"]["kind"].as_str(), kind, "{path}");
        }
    }
    server
        .refused(
            Ask::new(format!("GET {PODS}?includeObject=Half")).header("accept", accept),
            400,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Half\": must be 'Metadata', 'Object', 'None', or empty",
        )
        .await;
}

#[tokio::test]
async fn yaml_and_indentation() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let answer = server
        .ask(Ask::new(format!("GET {MAPS}/a")).header("accept", "application/yaml"))
        .await;
    assert_eq!(
        (answer.code, answer.header("content-type")),
        (200, "application/yaml")
    );
    let text = std::str::from_utf8(&answer.bytes).unwrap();
    assert!(
        text.contains("kind: ConfigMap\n") && text.contains("key: \"1\"\n"),
        "{text}"
    );
    let pretty = server.ask(format!("GET {MAPS}/a?pretty=true")).await;
    assert!(pretty.bytes.windows(4).any(|window| window == b"\n  \""));
    assert_eq!(pretty.body, server.ok(format!("GET {MAPS}/a?pretty=false")).await);
}
