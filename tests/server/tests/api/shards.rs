//! Lists and watches of one shard (KEP-5866), as `test/integration/apiserver/sharding_test.go` and
//! `test/e2e/apimachinery/sharding.go` have them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use kubewright_core::{ShardField, ShardRange, ShardSelector};
use serde_json::{Value, json};

use crate::harness::*;

/// Selectors that divide all objects.
fn shards(field: ShardField, count: usize) -> Vec<ShardSelector> {
    let ranges = ShardRange::ALL.split(NonZeroUsize::new(count).unwrap());
    let ranges = ranges.into_iter();
    ranges.map(|range| ShardSelector::new(field, range)).collect()
}

/// As it stands in an address.
fn query(selector: &ShardSelector) -> String {
    selector.to_string().replace(' ', "%20").replace('|', "%7C")
}

fn selected(selector: &ShardSelector, object: &Value) -> bool {
    let metadata = &object["metadata"];
    selector.matches(text(&metadata["uid"]), text(&metadata["namespace"]))
}

/// Twenty objects of a kind, of which every other one has a label.
async fn twenty(server: &Server, path: &str, object: fn(&str) -> Value) -> Vec<Value> {
    let mut made = Vec::new();
    for number in 0..20 {
        let mut object = object(&format!("n{number:02}"));
        object["metadata"]["labels"] = json!({"odd": (number % 2).to_string()});
        made.push(server.ok(Ask::json(format!("POST {path}"), &object)).await);
    }
    made
}

fn map(name: &str) -> Value {
    config_map(name, "1")
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| text(&item["metadata"]["name"])).collect()
}

/// The names of those that a selector means.
fn expect<'a>(made: &'a [Value], selector: &ShardSelector) -> Vec<&'a str> {
    let meant = made.iter().filter(|object| selected(selector, object));
    meant.map(|object| text(&object["metadata"]["name"])).collect()
}

#[tokio::test]
async fn every_kind_is_listed_by_shards() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object) in [
        (MAPS, map as fn(&str) -> Value),
        (DEPLOYMENTS, deployment),
        (WIDGETS, widget),
    ] {
        let made = twenty(&server, path, object).await;
        let mut found = Vec::new();
        for shard in shards(ShardField::Uid, 4) {
            let list = server
                .ok(format!("GET {path}?shardSelector={}", query(&shard)))
                .await;
            assert_eq!(names(&list), expect(&made, &shard), "{path} {shard}");
            assert_eq!(
                list["metadata"]["shardInfo"],
                json!({"selector": shard.to_string()})
            );
            // How many there are is not known without a look at all.
            let asked = format!("GET {path}?limit=2&shardSelector={}", query(&shard));
            let (mut paged, mut token) = (Vec::new(), String::new());
            loop {
                let page = server.ok(format!("{asked}&continue={token}")).await;
                assert_eq!(page["metadata"]["shardInfo"]["selector"], shard.to_string());
                assert_eq!(page["metadata"]["remainingItemCount"], Value::Null);
                paged.extend(names(&page).into_iter().map(str::to_owned));
                token = text(&page["metadata"]["continue"]).to_owned();
                if token.is_empty() {
                    break;
                }
            }
            assert_eq!(paged, names(&list), "{path} {shard}");
            found.extend(paged);
        }
        found.sort();
        let all: Vec<&str> = made
            .iter()
            .map(|object| text(&object["metadata"]["name"]))
            .collect();
        assert_eq!(found, all, "each object is in one shard of {path}");
    }
}

#[tokio::test]
async fn shards_go_with_other_selectors_and_by_namespace() {
    let server = Server::start().await;
    let made = twenty(&server, MAPS, map).await;
    let [low, high] = shards(ShardField::Uid, 2).try_into().unwrap();
    let odd: Vec<&str> = expect(&made, &low)
        .into_iter()
        .filter(|name| name.ends_with(['1', '3', '5', '7', '9']))
        .collect();
    let list = server
        .ok(format!(
            "GET {MAPS}?labelSelector=odd%3D1&shardSelector={}",
            query(&low)
        ))
        .await;
    assert_eq!(names(&list), odd);
    // One object by its name is in one of both.
    let by_name = async |shard: &ShardSelector| {
        let asked = format!(
            "GET {MAPS}?fieldSelector=metadata.name%3Dn00&shardSelector={}",
            query(shard)
        );
        names(&server.ok(asked).await).len()
    };
    assert_eq!(
        (by_name(&low).await, by_name(&high).await),
        match selected(&low, &made[0]) {
            true => (1, 0),
            false => (0, 1),
        }
    );
    // Both ranges, read and written again.
    let both = format!("{}||{}", query(&low), query(&high)).replace("%20", "");
    let list = server.ok(format!("GET {MAPS}?shardSelector={both}")).await;
    assert_eq!(names(&list).len(), 20);
    assert_eq!(
        list["metadata"]["shardInfo"]["selector"],
        format!("{low} || {high}")
    );

    for namespace in ["s1", "s2", "s3", "s4", "s5"] {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        server.ok(Ask::json("POST /api/v1/namespaces", &object)).await;
        let path = format!("POST /api/v1/namespaces/{namespace}/configmaps");
        server.ok(Ask::json(path, &config_map("one", "1"))).await;
    }
    let mut found = BTreeMap::new();
    for shard in shards(ShardField::Namespace, 3) {
        let list = server
            .ok(format!("GET /api/v1/configmaps?shardSelector={}", query(&shard)))
            .await;
        for item in list["items"].as_array().unwrap() {
            assert!(selected(&shard, item), "{item}");
            *found
                .entry(text(&item["metadata"]["namespace"]).to_owned())
                .or_insert(0) += 1;
        }
    }
    let counts: Vec<_> = found
        .iter()
        .map(|(namespace, count)| (namespace.as_str(), *count))
        .collect();
    assert_eq!(
        counts,
        [
            ("default", 20),
            ("s1", 1),
            ("s2", 1),
            ("s3", 1),
            ("s4", 1),
            ("s5", 1)
        ]
    );
}

/// Upstream copies the metadata of such a list member by member, and this one is not among them.
#[tokio::test]
async fn tables_and_metadata_do_not_say_which_shard_they_are() {
    let server = Server::start().await;
    let made = twenty(&server, MAPS, map).await;
    let [low, _] = shards(ShardField::Uid, 2).try_into().unwrap();
    for (shape, member) in [("PartialObjectMetadataList", "items"), ("Table", "rows")] {
        let ask = Ask::new(format!("GET {MAPS}?shardSelector={}", query(&low))).header(
            "accept",
            &format!("application/json;as={shape};v=v1;g=meta.k8s.io"),
        );
        let list = server.ok(ask).await;
        assert_eq!(list["kind"], shape);
        assert_eq!(list[member].as_array().unwrap().len(), expect(&made, &low).len());
        assert_eq!(list["metadata"]["shardInfo"], Value::Null, "{shape}");
    }
    let ask = Ask::new(format!("GET {MAPS}?shardSelector={}", query(&low))).header("accept", PROTOBUF);
    let list = server.ok(ask).await;
    assert_eq!(list["metadata"]["shardInfo"]["selector"], low.to_string());
}

#[tokio::test]
async fn what_is_no_selector_is_refused() {
    let server = Server::start().await;
    let low = "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')";
    for (selector, why) in [
        ("%20", "empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned()),
        (
            &low.replace("0x0000000000000000", "0x0"),
            "hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean \"0x0000000000000000\"?)".to_owned(),
        ),
        (
            &low.replace("0x8000000000000000", "8000000000000000"),
            "hexEnd must have '0x' prefix, got \"8000000000000000\"".to_owned(),
        ),
        (
            &low.replace("0x8000000000000000", "0x0000000000000000"),
            "shard range start 0x0000000000000000 must be less than end 0x0000000000000000".to_owned(),
        ),
        (
            &low.replace("uid", "name"),
            "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace"
                .to_owned(),
        ),
        (
            &format!("{low}||{}", low.replace("uid", "namespace")),
            "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"".to_owned(),
        ),
        ("x", "expected shardRange at byte 0 of the shard selector, found \"x\"".to_owned()),
    ] {
        let selector = selector.replace('|', "%7C");
        for asked in ["", "watch=1&", "watch=1&resourceVersion=x&"] {
            let asked = format!("GET {MAPS}?{asked}shardSelector={selector}");
            let answer = server.refused(asked, 400, "").await;
            assert_eq!(answer.body["message"], format!("invalid shard selector: {why}"));
            assert_eq!(answer.body["reason"], "BadRequest");
        }
        // What is looked at before.
        let asked = format!("GET {MAPS}?sendInitialEvents=1&shardSelector={selector}");
        server.refused(asked, 422, "sendInitialEvents is forbidden for list").await;
        server.refused(format!("DELETE {MAPS}?shardSelector={selector}"), 400, &why).await;
    }
    // An empty one is none.
    let list = server.ok(format!("GET {MAPS}?shardSelector=")).await;
    assert_eq!(list["metadata"]["shardInfo"], Value::Null);
}

#[tokio::test]
async fn a_watch_sees_its_shard() {
    let server = Server::start().await;
    let made = twenty(&server, MAPS, map).await;
    let [low, high] = shards(ShardField::Uid, 2).try_into().unwrap();
    let name = |object: &Value| text(&object["metadata"]["name"]).to_owned();
    let now = server.revision().await;
    let mut changed = Vec::new();
    for object in &made {
        let body = json!({"metadata": {"labels": {"odd": "2"}}}).to_string();
        let ask = Ask::new(format!("PATCH {MAPS}/{}", name(object)));
        changed.push(server.ok(ask.typed("application/merge-patch+json", body)).await);
    }
    for object in &changed {
        server.ok(format!("DELETE {MAPS}/{}", name(object))).await;
    }
    // Another object of the same name is elsewhere, perhaps.
    let again = twenty(&server, MAPS, map).await;
    let mut counts = Vec::new();
    for shard in [&low, &high] {
        let watch = format!(
            "{MAPS}?watch=1&resourceVersion={now}&shardSelector={}",
            query(shard)
        );
        let event = |kind: &str, name: &str| format!("{kind} {name}");
        let of = |kind: &'static str, objects| {
            let names: Vec<&str> = expect(objects, shard);
            names
                .into_iter()
                .map(move |name| event(kind, name))
                .collect::<Vec<_>>()
        };
        let all = [
            of("MODIFIED", &made[..]),
            of("DELETED", &made),
            of("ADDED", &again),
        ]
        .concat();
        let mut events = server.watch(&watch).await;
        assert_eq!(events.names(all.len()).await, all, "{shard}");
        // One that comes to match a label is added, where it is of the shard.
        let watch = format!("{watch}&labelSelector=odd%3D2");
        let all = [of("ADDED", &made[..]), of("DELETED", &made)].concat();
        let mut events = server.watch(&watch).await;
        assert_eq!(events.names(all.len()).await, all, "{shard}");
        // The initial state.
        let watch = format!(
            "{MAPS}?watch=1&allowWatchBookmarks=1&shardSelector={}",
            query(shard)
        );
        let mut all = of("ADDED", &again[..]);
        all.push("BOOKMARK ".to_owned());
        let mut events = server.watch(&watch).await;
        assert_eq!(events.names(all.len()).await, all, "{shard}");
        counts.push(all.len() - 1);
    }
    assert_eq!(counts.iter().sum::<usize>(), 20);
    assert!(
        counts.iter().all(|count| *count > 0),
        "of twenty, all in one half: {counts:?}"
    );
}

#[tokio::test]
async fn a_collection_is_deleted_by_shards() {
    let server = Server::start().await;
    let made = twenty(&server, MAPS, map).await;
    let [low, high] = shards(ShardField::Uid, 2).try_into().unwrap();
    let gone = server
        .ok(format!("DELETE {MAPS}?shardSelector={}", query(&low)))
        .await;
    assert_eq!(names(&gone), expect(&made, &low));
    assert_eq!(
        names(&server.ok(format!("GET {MAPS}")).await),
        expect(&made, &high)
    );
}
