//! What informers tell of themselves.

use std::time::Duration;

use kubewright_client::View;
use kubewright_core::DynamicObject;
use tokio::time::{advance, timeout};

use super::informer::{Mirror, Shared, settle, spawn};
use super::server::{Faults, Server};
use super::*;
use crate::record::Look;
use crate::{HandlerOptions, InformerOptions, Informers, ListerWatcher, Totals, WatchScope};

#[tokio::test(start_paused = true)]
async fn the_numbers_are_those_of_what_happened() {
    let server = Server::new(1, Faults::default());
    for i in 0..7 {
        server.0.lock().put(&format!("n/{i}"));
    }
    let informer = spawn(&server, 1);
    let before = informer.stats();
    assert!(!before.synced);
    assert_eq!(
        (before.usage.objects, before.counts.received, before.silence),
        (0, 0, None)
    );
    assert!(
        before.to_string().contains("nothing heard of the server yet"),
        "{before}"
    );

    let handler = informer.add_handler(Shared(Arc::<Mirror>::default()), HandlerOptions::default());
    timeout(Duration::from_secs(60), handler.synced()).await.unwrap();
    let synced = informer.stats();
    assert!(synced.synced);
    assert_eq!(
        (
            synced.usage.objects,
            synced.counts.received,
            synced.counts.unchanged
        ),
        (7, 7, 0)
    );
    assert!(
        synced.counts.lists >= 1 && synced.counts.watches >= 1,
        "{synced:?}"
    );
    assert_eq!(synced.handlers.len(), 1);
    assert_eq!(synced.handlers[0].pending, 0);
    assert!(synced.usage.bytes >= synced.usage.text_bytes && synced.usage.text_bytes > 0);

    server.0.lock().put("n/0");
    settle().await;
    let after = informer.stats();
    assert_eq!((after.usage.objects, after.counts.received), (7, 8));
    assert_eq!(after.version, informer.lister().version());
    advance(Duration::from_secs(3)).await;
    let silence = informer.stats().silence.unwrap();
    assert!(silence >= Duration::from_secs(3), "{silence:?}");

    // Decoding is counted where it happens, not where what was decoded is asked for again.
    let pod = informer.lister().list().remove(0);
    let decoded = informer.stats().counts.decoded;
    assert_eq!(pod.metadata(), pod.metadata());
    assert_eq!(
        informer.stats().counts.decoded,
        decoded + 2,
        "kept from the second time on"
    );
    assert_eq!(pod.metadata(), pod.metadata());
    assert_eq!(pod.object().unwrap(), pod.object().unwrap());
    assert_eq!(informer.stats().counts.decoded, decoded + 3);

    // A relist of what is here costs a look at each.
    server.0.lock().break_watches();
    server.0.lock().put("n/0");
    server.0.lock().compact();
    for _ in 0..100 {
        advance(Duration::from_secs(1)).await;
        settle().await;
        if informer.stats().counts.lists > synced.counts.lists {
            break;
        }
    }
    let relisted = informer.stats();
    assert_eq!(relisted.counts.lists, synced.counts.lists + 1);
    assert_eq!(relisted.counts.unchanged, 6);
    let text = relisted.to_string();
    for part in [
        "v1, Resource=pods: synced",
        "7 objects in",
        "15 objects received, 6 of them unchanged",
        "handler 0: 0 calls to come",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    drop(handler);
    assert!(informer.stats().handlers.is_empty());
}

#[test]
fn memory_is_given_back() {
    let store = empty_store();
    let records: Vec<_> = (0..10)
        .map(|i| record(&store, &format!("n/{i}"), "u", 1))
        .collect();
    let usage = store.usage();
    assert_eq!((usage.objects, usage.states), (0, 10));
    assert_eq!(store.counters.read().received, 10);
    for record in &records {
        record
            .object::<k8s_openapi::api::core::v1::Pod>(Look::Lookup)
            .unwrap();
    }
    assert!(store.usage().decoded_bytes > 0);
    drop(records);
    let usage = store.usage();
    assert_eq!(usage.decoded_bytes, 0);
    assert_eq!((usage.states, usage.bytes, usage.text_bytes), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn totals_go_on_whatever_ends() {
    let server = Server::new(1, Faults::default());
    (0..3).for_each(|i| server.0.lock().put(&format!("n/{i}")));
    let totals = Totals::default();
    let registry = || {
        let server = server.clone();
        let sources = move |_: &ApiResource, _: &WatchScope| -> Arc<dyn ListerWatcher> { server.clone() };
        Informers::new(sources, InformerOptions::default()).counted_in(&totals)
    };
    let scopes = ["", "a"].map(|label| WatchScope {
        labels: label.parse().unwrap(),
        ..WatchScope::default()
    });
    let counts = || match &totals.read()[..] {
        [(resource, counts)] => {
            assert_eq!(*resource, pods());
            *counts
        }
        other => panic!("{other:?}"),
    };
    assert!(totals.read().is_empty());
    let mut expect = 0;
    for _ in 0..3 {
        let informers = registry();
        let held = scopes
            .each_ref()
            .map(|scope| informers.informer_for::<DynamicObject>(&pods(), scope));
        for informer in &held {
            informer.synced().await;
        }
        expect += 6;
        assert_eq!(counts().received, expect, "while they run");
        let object = held[0].lister().list().remove(0);
        drop(held);
        informers.ended().await;
        assert_eq!(counts().received, expect, "when they have ended");
        // An object that somebody has yet is decoded after its informer.
        let decoded = counts().decoded;
        let _ = object.metadata();
        assert_eq!(counts().decoded, decoded + 1);
        drop(object);
        assert_eq!(counts().decoded, decoded + 1);
        // Also where nobody reads.
        drop(registry().informer_for::<DynamicObject>(&pods(), &scopes[0]));
        assert_eq!(counts().received, expect);
    }
    // What has ended takes no place.
    settle().await;
    counts();
    assert_eq!(totals.running(), 0);
}

/// Informers of one resource and scope that differ in the view alone have their places too.
#[tokio::test(start_paused = true)]
async fn informers_are_told_of_in_one_order() {
    let [few, many] = [1, 2].map(|objects| {
        let server = Server::new(1, Faults::default());
        (0..objects).for_each(|i| server.0.lock().put(&format!("n/{i}")));
        server
    });
    for _ in 0..32 {
        let (few, many) = (few.clone(), many.clone());
        let informers = Informers::new(
            move |_: &ApiResource, scope: &WatchScope| -> Arc<dyn ListerWatcher> {
                if scope.view == View::Full {
                    few.clone()
                } else {
                    many.clone()
                }
            },
            InformerOptions::default(),
        );
        let views = [View::Metadata, View::Full].map(|view| WatchScope {
            view,
            ..WatchScope::default()
        });
        let held = views.map(|scope| informers.informer_for::<DynamicObject>(&pods(), &scope));
        for informer in &held {
            informer.synced().await;
        }
        let objects: Vec<_> = informers
            .stats()
            .iter()
            .map(|stats| stats.usage.objects)
            .collect();
        assert_eq!(objects, [1, 2]);
    }
}
