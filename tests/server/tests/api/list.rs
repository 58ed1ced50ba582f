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
        ("/api/v1/pods", "spec.nodeName%3Dn1", Some(vec!["a"])),
        ("/api/v1/pods", "spec.nodeName%3D", Some(vec!["b"])),
        ("/api/v1/pods", "status.phase%3DPending", Some(vec!["a", "b"])),
        ("/api/v1/pods", "status.phase%21%3DPending", Some(vec![])),
        (
            "/api/v1/pods",
            "spec.restartPolicy%3DAlways,metadata.name%3Db",
            Some(vec!["b"]),
        ),
        ("/api/v1/pods", "spec.containers%3Dx", None),
        ("/api/v1/secrets", "type%3Dexample.com/t", Some(vec!["s"])),
        (
            "/api/v1/events",
            "involvedObject.name%3Da,reason%3DTested",
            Some(vec!["e"]),
        ),
        ("/api/v1/events", "involvedObject.name%3Db", Some(vec![])),
        (
            "/api/v1/namespaces",
            "status.phase%3DActive,metadata.name%3Ddefault",
            Some(vec!["default"]),
        ),
        ("/api/v1/configmaps", "data.key%3D1", None),
        (
            "/apis/example.com/v1/widgets",
            "metadata.name%3Dw",
            Some(vec!["w"]),
        ),
        ("/apis/example.com/v1/widgets", "spec.size%3D1", None),
    ] {
        let ask = format!("GET {path}?fieldSelector={selector}");
        match expect {
            Some(expect) => assert_eq!(names(&server.ok(ask).await), expect, "{path} {selector}"),
            None => {
                server.refused(ask, 400, "field label not supported").await;
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
        ("limit=5&labelSelector=even", vec![5], false),
        (
            "limit=2&fieldSelector=metadata.name%21%3Dm0",
            vec![2, 2, 2, 2, 1],
            false,
        ),
        ("limit=1000", vec![10], true),
        ("limit=0", vec![10], true),
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
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            &*format!("continue={token}&resourceVersion=5&resourceVersionMatch=Exact"),
            422,
            "forbidden when continue is provided",
        ),
        (
            "resourceVersion=5&resourceVersionMatch=Roughly",
            422,
            "resourceVersionMatch",
        ),
        (
            &*format!("continue={token}&resourceVersion=5"),
            400,
            "specifying resource version is not allowed when using continue",
        ),
        (
            "sendInitialEvents=true",
            422,
            "sendInitialEvents is forbidden for list",
        ),
        ("resourceVersion=abc", 400, "resource version"),
        ("resourceVersion=-1", 400, "resource version"),
        ("continue=nonsense", 400, "continue key is not valid"),
        ("labelSelector=%21%21", 400, ""),
        ("labelSelector=a+in+b", 400, ""),
        ("fieldSelector=noequals", 400, ""),
        ("limit=abc", 400, ""),
        ("timeoutSeconds=abc", 400, ""),
    ] {
        let answer = server.refused(format!("GET {MAPS}?{query}"), code, why).await;
        if code == 422 {
            assert_eq!(
                (
                    text(&answer.body["reason"]),
                    text(&answer.body["details"]["kind"])
                ),
                ("Invalid", "ListOptions")
            );
        }
    }
}

/// The clock stands still but for the server's own waiting.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_yet_to_come_is_awaited_for_a_while() {
    let server = ten().await;
    let now = server.revision().await;
    for path in [MAPS.to_owned(), format!("{MAPS}/m1")] {
        let began = tokio::time::Instant::now();
        let why = format!("Too large resource version: {}, current: {now}", now + 5);
        let answer = server
            .refused(format!("GET {path}?resourceVersion={}", now + 5), 504, &why)
            .await;
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
        let gone = server.refused(exact, 410, "too old resource version").await;
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
