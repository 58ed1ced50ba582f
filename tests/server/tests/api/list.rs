//! List: versions, pages, selectors.

use serde_json::{Value, json};

use crate::harness::*;

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| text(&item["metadata"]["name"]))
        .collect()
}

/// Ten config maps, `m0` to `m9`, every second one labelled `even`.
async fn ten() -> Server {
    let server = Server::start().await;
    for i in 0..10 {
        let mut object = config_map(&format!("m{i}"), "1");
        object["metadata"]["labels"] = if i % 2 == 0 {
            json!({"even": "yes", "n": i.to_string()})
        } else {
            json!({})
        };
        server.ok(Ask::json(format!("POST {MAPS}"), &object)).await;
    }
    server
}

#[tokio::test]
async fn selectors() {
    let server = ten().await;
    for (query, expect) in [
        ("labelSelector=even%3Dyes", vec!["m0", "m2", "m4", "m6", "m8"]),
        ("labelSelector=even%21%3Dyes", vec!["m1", "m3", "m5", "m7", "m9"]),
        ("labelSelector=even", vec!["m0", "m2", "m4", "m6", "m8"]),
        ("labelSelector=%21even", vec!["m1", "m3", "m5", "m7", "m9"]),
        ("labelSelector=n+in+(2,4)", vec!["m2", "m4"]),
        ("labelSelector=even,n+notin+(2,4)", vec!["m0", "m6", "m8"]),
        ("fieldSelector=metadata.name%3Dm3", vec!["m3"]),
        (
            "fieldSelector=metadata.name%21%3Dm3&labelSelector=%21even",
            vec!["m1", "m5", "m7", "m9"],
        ),
        ("fieldSelector=metadata.namespace%3Dother", vec![]),
        ("labelSelector=even&fieldSelector=metadata.name%3Dm3", vec![]),
    ] {
        for path in [MAPS, "/api/v1/configmaps"] {
            let list = server.ok(format!("GET {path}?{query}")).await;
            assert_eq!(names(&list), expect, "{path}?{query}");
            assert_eq!(list["kind"], "ConfigMapList");
            assert_eq!(version(&list), server.revision().await);
        }
    }
}

#[tokio::test]
async fn fields_that_kinds_are_selected_by() {
    let server = Server::start().await;
    server.define_widgets().await;
    let mut on_node = pod("a");
    on_node["spec"]["nodeName"] = json!("n1");
    server.ok(Ask::json(format!("POST {PODS}"), &on_node)).await;
    server.ok(Ask::json(format!("POST {PODS}"), &pod("b"))).await;
    let secret = json!({"metadata": {"name": "s"}, "type": "example.com/t"});
    server
        .ok(Ask::json("POST /api/v1/namespaces/default/secrets", &secret))
        .await;
    let event = json!({"metadata": {"name": "e"}, "reason": "Tested", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"}});
    server
        .ok(Ask::json("POST /api/v1/namespaces/default/events", &event))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("w")))
        .await;
    for (path, selector, expect) in [
        ("/api/v1/pods", "spec.nodeName%3Dn1", Ok(vec!["a"])),
        ("/api/v1/pods", "spec.nodeName%3D", Ok(vec!["b"])),
        ("/api/v1/pods", "status.phase%3DPending", Ok(vec!["a", "b"])),
        ("/api/v1/pods", "status.phase%21%3DPending", Ok(vec![])),
        (
            "/api/v1/pods",
            "spec.restartPolicy%3DAlways,metadata.name%3Db",
            Ok(vec!["b"]),
        ),
        (
            "/api/v1/pods",
            "spec.containers%3Dx",
            Err("field label not supported: spec.containers"),
        ),
        ("/api/v1/secrets", "type%3Dexample.com/t", Ok(vec!["s"])),
        (
            "/api/v1/events",
            "involvedObject.name%3Da,reason%3DTested",
            Ok(vec!["e"]),
        ),
        ("/api/v1/events", "involvedObject.name%3Db", Ok(vec![])),
        (
            "/api/v1/namespaces",
            "status.phase%3DActive,metadata.name%3Ddefault",
            Ok(vec!["default"]),
        ),
        (
            "/api/v1/configmaps",
            "data.key%3D1",
            Err("\"data.key\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ),
        (
            "/api/v1/namespaces",
            "name%3Ddefault",
            Err("field label not supported: name"),
        ),
        (
            "/apis/batch/v1/jobs",
            "spec.x%3D1",
            Err("field label \"spec.x\" not supported for Job"),
        ),
        ("/apis/example.com/v1/widgets", "metadata.name%3Dw", Ok(vec!["w"])),
        (
            "/apis/example.com/v1/widgets",
            "spec.size%3D1",
            Err("field label not supported: spec.size"),
        ),
    ] {
        let ask = format!("GET {path}?fieldSelector={selector}");
        match expect {
            Ok(expect) => assert_eq!(names(&server.ok(ask).await), expect, "{path} {selector}"),
            Err(why) => {
                let answer = server.refused(ask, 400, why).await;
                assert_eq!(answer.body["message"], why);
            }
        }
    }
}

#[tokio::test]
async fn pages() {
    let server = ten().await;
    for (query, sizes, counts) in [
        ("limit=4", vec![4, 4, 2], true),
        ("limit=10", vec![10], true),
        ("limit=3&labelSelector=even", vec![3, 2], false),
        // That something comes after a full page need not mean that any of it is selected.
        ("limit=5&labelSelector=even", vec![5, 0], false),
        ("limit=6&labelSelector=even", vec![5], false),
        ("limit=1&fieldSelector=metadata.name%3Dm3", vec![1], false),
        (
            "limit=2&fieldSelector=metadata.name%21%3Dm0",
            vec![2, 2, 2, 2, 1],
            false,
        ),
        ("limit=1000", vec![10], true),
        ("limit=0", vec![10], true),
        ("limit=-1", vec![10], true),
    ] {
        let mut token = String::new();
        let mut seen: Vec<String> = Vec::new();
        let mut found = Vec::new();
        let mut first = None;
        loop {
            let list = server.ok(format!("GET {MAPS}?{query}&continue={token}")).await;
            found.push(names(&list).len());
            seen.extend(names(&list).into_iter().map(str::to_owned));
            assert_eq!(
                *first.get_or_insert_with(|| version(&list)),
                version(&list),
                "all pages are of one state"
            );
            let all: usize = sizes.iter().sum();
            let left = list["metadata"].get("remainingItemCount").and_then(Value::as_u64);
            let expect = (counts && seen.len() < all).then(|| (all - seen.len()) as u64);
            assert_eq!(left, expect, "{query}");
            token = text(&list["metadata"]["continue"]).to_owned();
            // Writes in between are not seen.
            server
                .ok(Ask::json(format!("PUT {MAPS}/m9"), &{
                    let mut object = server.ok(format!("GET {MAPS}/m9")).await;
                    object["data"]["key"] = json!(seen.len().to_string());
                    object
                }))
                .await;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(found, sizes, "{query}");
        let mut sorted = seen.clone();
        sorted.dedup();
        assert_eq!(sorted.len(), seen.len(), "{query}: {seen:?}");
    }
}

#[tokio::test]
async fn lists_of_earlier_states() {
    let server = ten().await;
    let list = server.ok(format!("GET {MAPS}")).await;
    let before = version(&list);
    server.ok(format!("DELETE {MAPS}/m0")).await;
    let now = server.revision().await;
    for (query, count, shown) in [
        (
            format!("resourceVersion={before}&resourceVersionMatch=Exact"),
            10,
            before,
        ),
        (
            format!("resourceVersion={before}&resourceVersionMatch=NotOlderThan"),
            9,
            now,
        ),
        (format!("resourceVersion={before}"), 9, now),
        (format!("resourceVersion={before}&limit=20"), 10, before),
        ("resourceVersion=0".to_owned(), 9, now),
        ("resourceVersion=0&limit=3".to_owned(), 9, now),
        (
            "resourceVersion=0&limit=3&resourceVersionMatch=NotOlderThan".to_owned(),
            9,
            now,
        ),
        (
            format!("resourceVersion={before}&resourceVersionMatch=NotOlderThan&limit=3"),
            3,
            now,
        ),
        (
            format!("resourceVersion={before}&resourceVersionMatch=Exact&limit=3"),
            3,
            before,
        ),
        // One name is no range: what was deleted is gone, but where the state itself is asked for.
        (
            format!("resourceVersion={before}&fieldSelector=metadata.name%3Dm0"),
            0,
            now,
        ),
        (
            format!("resourceVersion={before}&limit=1&fieldSelector=metadata.name%3Dm0"),
            0,
            now,
        ),
        (
            format!("resourceVersion={before}&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dm0"),
            1,
            before,
        ),
        (
            "continue=nonsense&fieldSelector=metadata.name%3Dm1".to_owned(),
            1,
            now,
        ),
        (
            "fieldSelector=metadata.name%3Dm1&labelSelector=even".to_owned(),
            0,
            now,
        ),
        (String::new(), 9, now),
        (
            format!("resourceVersion={now}&resourceVersionMatch=Exact"),
            9,
            now,
        ),
    ] {
        let list = server.ok(format!("GET {MAPS}?{query}")).await;
        assert_eq!((names(&list).len(), version(&list)), (count, shown), "{query}");
    }
}

#[tokio::test]
async fn options_that_make_no_sense() {
    let server = ten().await;
    let token = text(&server.ok(format!("GET {MAPS}?limit=1")).await["metadata"]["continue"]).to_owned();
    for (query, code, why) in [
        (
            "resourceVersionMatch=Exact",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless \
             resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is \
             forbidden for resourceVersion \"0\"",
        ),
        (
            &*format!("continue={token}&resourceVersionMatch=Roughly"),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless \
             resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is \
             provided, resourceVersionMatch: Unsupported value: \"Roughly\": supported values: \"Exact\", \"NotOlderThan\", \"\"]",
        ),
        (
            "sendInitialEvents=true",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            &*format!("continue={token}&resourceVersion=5"),
            400,
            "specifying resource version is not allowed when using continue",
        ),
        (
            "resourceVersion=abc",
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
        (
            "continue=%25",
            400,
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        ),
        // `{"v":"meta.k8s.io/v1","rv":5,"start":"../secrets/x"}`
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi9zZWNyZXRzL3gifQ",
            400,
            "invalid continue token: continue key is not valid: ../secrets/x",
        ),
        (
            "labelSelector=%21%21",
            400,
            "unable to parse requirement: found '!', expected: identifier",
        ),
        (
            "labelSelector=a+in+b",
            400,
            "unable to parse requirement: found 'b' expected: '('",
        ),
        (
            "fieldSelector=noequals",
            400,
            "invalid selector: 'noequals'; can't understand 'noequals'",
        ),
        (
            "limit=abc",
            400,
            "strconv.ParseInt: parsing \"abc\": invalid syntax",
        ),
        (
            "timeoutSeconds=abc",
            400,
            "strconv.ParseInt: parsing \"abc\": invalid syntax",
        ),
    ] {
        let answer = server.refused(format!("GET {MAPS}?{query}"), code, why).await;
        assert_eq!(answer.body["message"], why, "{query}");
        let expect = match code {
            422 => ("Invalid", "ListOptions"),
            _ => ("BadRequest", ""),
        };
        let found = (
            text(&answer.body["reason"]),
            text(&answer.body["details"]["kind"]),
        );
        assert_eq!(found, expect, "{query}");
    }
    // What a list has no use for does not stand in its way.
    for query in ["timeoutSeconds=-1", "timeoutSeconds=0", "allowWatchBookmarks=1"] {
        assert_eq!(
            names(&server.ok(format!("GET {MAPS}?{query}")).await).len(),
            10,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_get_has_a_version_only() {
    let server = ten().await;
    for query in [
        "limit=abc&labelSelector=%21%21&fieldSelector=x&continue=%25&resourceVersionMatch=Roughly&timeoutSeconds=x",
        "watch=1",
        "resourceVersion=0",
        "resourceVersion=1",
        "export=false",
    ] {
        let found = server.ok(format!("GET {MAPS}/m1?{query}")).await;
        assert_eq!(found["metadata"]["name"], "m1", "{query}");
    }
    // Upstream forgets to say what kind of error this is.
    let why = "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax";
    let answer = server
        .refused(format!("GET {MAPS}/m1?resourceVersion=abc"), 500, why)
        .await;
    assert_eq!(
        (text(&answer.body["message"]), text(&answer.body["reason"])),
        (why, "")
    );
    server
        .refused(
            format!("GET {MAPS}/m1?export=true"),
            400,
            "the export parameter, deprecated since v1.14, is no longer supported",
        )
        .await;
}

#[tokio::test]
async fn a_token_goes_on_in_whatever_list_it_is_given_to() {
    let server = ten().await;
    for i in 0..4 {
        server
            .ok(Ask::json(
                "POST /api/v1/namespaces/default/secrets",
                &json!({"metadata": {"name": format!("m{i}x")}}),
            ))
            .await;
    }
    let token = text(&server.ok(format!("GET {MAPS}?limit=2")).await["metadata"]["continue"]).to_owned();
    // It tells no more than a version and where in the order of names it is.
    let secrets = format!("GET /api/v1/namespaces/default/secrets?continue={token}");
    let rest = server.ok(secrets).await;
    assert_eq!(names(&rest), ["m1x", "m2x", "m3x"]);
}

/// The clock stands still but for the server's own waiting.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_yet_to_come_is_awaited_for_a_while() {
    let server = ten().await;
    let now = server.revision().await;
    for path in [
        format!("{MAPS}?"),
        format!("{MAPS}/m1?"),
        format!("{MAPS}?limit=1&"),
        format!("{MAPS}?resourceVersionMatch=Exact&"),
        format!("{MAPS}?fieldSelector=metadata.name%3Dm1&"),
    ] {
        let began = tokio::time::Instant::now();
        let why = format!("Timeout: Too large resource version: {}, current: {now}", now + 5);
        let answer = server
            .refused(format!("GET {path}resourceVersion={}", now + 5), 504, &why)
            .await;
        assert_eq!(answer.body["message"], why);
        assert_eq!(
            answer.body["details"]["causes"][0]["message"],
            "Too large resource version"
        );
        assert_eq!(began.elapsed().as_secs(), 3);
        assert_eq!(answer.body["reason"], "Timeout");
        assert_eq!(
            answer.body["details"]["causes"][0]["reason"],
            "ResourceVersionTooLarge"
        );
        assert_eq!(answer.body["details"]["retryAfterSeconds"], 1);
        assert_eq!(answer.header("retry-after"), "1");
    }
    let ahead = server.ok(format!("GET {MAPS}?resourceVersion={}", now + 1));
    let write = async {
        tokio::task::yield_now().await;
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map("new", "1")))
            .await
    };
    let (list, _) = tokio::join!(ahead, write);
    assert_eq!(names(&list).len(), 11);
}

#[tokio::test]
async fn a_page_that_is_compacted_away_can_be_gone_on_from() {
    let server = ten().await;
    for (query, rest) in [("limit=4", 7), ("limit=2&labelSelector=even", 5)] {
        let first = server.ok(format!("GET {MAPS}?{query}")).await;
        let token = text(&first["metadata"]["continue"]).to_owned();
        let new = server
            .ok(Ask::json(format!("POST {MAPS}"), &{
                let mut object = config_map(&format!("n{rest}"), "1");
                object["metadata"]["labels"] = json!({"even": "yes"});
                object
            }))
            .await;
        let now = version(&new);
        server
            .api
            .storage()
            .compact(kubewright_apiserver::storage::Revision(now))
            .await
            .unwrap();
        let exact = format!(
            "GET {MAPS}?resourceVersion={}&resourceVersionMatch=Exact",
            version(&first)
        );
        let gone = server
            .refused(
                exact,
                410,
                "The resourceVersion for the provided list is too old.",
            )
            .await;
        assert_eq!(gone.body["reason"], "Expired");

        let ask = format!("GET {MAPS}?{query}&continue={token}");
        let gone = server
            .refused(ask, 410, "The provided continue parameter is too old")
            .await;
        assert_eq!(gone.body["reason"], "Expired");
        let mut token = text(&gone.body["metadata"]["continue"]).to_owned();
        let mut seen = Vec::new();
        while !token.is_empty() {
            let list = server.ok(format!("GET {MAPS}?{query}&continue={token}")).await;
            seen.extend(names(&list).into_iter().map(str::to_owned));
            token = text(&list["metadata"]["continue"]).to_owned();
        }
        assert_eq!(seen.len(), rest, "{seen:?}");
    }
}

/// An item of a Go list has a type that says what it is; a custom resource has none, and its list always has a `continue`.
#[tokio::test]
async fn what_items_say_of_themselves() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    let json_type = "application/json";
    let partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    for (path, accept, kind, next) in [
        (MAPS, json_type, json!(null), json!(null)),
        (MAPS, "application/json;pretty=1", json!(null), json!(null)),
        (MAPS, partial, json!("PartialObjectMetadata"), json!(null)),
        (WIDGETS, json_type, json!("Widget"), json!("")),
        (WIDGETS, partial, json!("PartialObjectMetadata"), json!(null)),
    ] {
        let list = server
            .ok(Ask::new(format!("GET {path}")).header("accept", accept))
            .await;
        let item = &list["items"][0];
        assert_eq!(item["kind"], kind, "{path} {accept}");
        assert_eq!(
            item.get("apiVersion").is_some(),
            !kind.is_null(),
            "{path} {accept}"
        );
        assert_eq!(item["metadata"]["name"], "a");
        assert_eq!(list["metadata"]["continue"], next, "{path} {accept}");
    }
    let deleted = server.ok(format!("DELETE {MAPS}")).await;
    assert_eq!(deleted["items"][0].get("kind"), None);
}
