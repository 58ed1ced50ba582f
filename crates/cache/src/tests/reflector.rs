//! The reflector as a conversation: what it is told, and what it wants done.

use std::time::{Duration, Instant};

use kubewright_core::{
    ObjectKey, ResourceVersion, Status, StatusCause, StatusDetails, StatusReason, VersionMatch,
    WatchEventKind,
};

use super::*;
use crate::reflector::{Effect, Event, FirstList, Page, Reflector, ReflectorOptions, StreamingLists};
use crate::source::SourceError;

fn show_effect(effect: &Effect, now: Instant) -> String {
    let seconds = |at: &Instant| at.saturating_duration_since(now).as_secs();
    match effect {
        Effect::List(options) => {
            let exact = options.version_match == Some(VersionMatch::NotOlderThan);
            let at = if exact { ">=" } else { "@" };
            format!(
                "list{at}{} {}{}",
                options.resource_version, options.limit, options.continue_token
            )
        }
        Effect::Watch(options) => {
            assert!(options.watch && options.allow_bookmarks);
            let timeout = options.timeout_seconds.unwrap();
            assert!((300..=600).contains(&timeout), "{timeout}");
            let verb = if options.send_initial_events == Some(true) {
                "stream"
            } else {
                "watch"
            };
            format!("{verb}@{}", options.resource_version)
        }
        Effect::Read(at) if seconds(at) > 60 => "read".to_owned(),
        Effect::Read(at) => format!("read {}s", seconds(at)),
        Effect::Wait(at) if seconds(at) < 4 => "wait".to_owned(),
        Effect::Wait(at) => format!(
            "wait {}s",
            at.saturating_duration_since(now).as_secs_f64().floor()
        ),
        Effect::Replace(records, version) => {
            let mut keys: Vec<_> = records.iter().map(|record| record.key().to_string()).collect();
            keys.sort();
            format!("replace[{}]@{version}", keys.join(" "))
        }
        Effect::Lose(key) => format!("lose {key}"),
        Effect::Upsert(record) => format!("+{}", show(record)),
        Effect::Delete(record) => format!("-{}", show(record)),
        Effect::Bookmark(version) => format!("bookmark {version}"),
        Effect::Report(verb, _) => format!("report {}", verb.as_str()),
        Effect::Rewound => "rewound".to_owned(),
        Effect::Recovered => "recovered".to_owned(),
    }
}

/// A line of the conversation.
pub(super) enum Told {
    Start,
    /// Items, version, continue token.
    Page(&'static str, u64, &'static str),
    PageFailed(SourceError),
    Opened,
    OpenFailed(SourceError),
    Added(&'static str, u64),
    Modified(&'static str, u64),
    Deleted(&'static str, u64),
    /// What is stored of it is of version 1.
    Unreadable(WatchEventKind, &'static str),
    Bookmark(u64),
    InitialEnd(u64),
    Closed,
    Failed(SourceError),
    Silent,
    /// Time passes until this line.
    Seconds(u64),
}
use Told::*;

#[track_caller]
pub(super) fn check(options: ReflectorOptions, script: Vec<(Told, &str)>) {
    let store = empty_store();
    let mut reflector = Reflector::new(options, fastrand::Rng::with_seed(7));
    let mut now = Instant::now();
    for (line, (told, expect)) in script.into_iter().enumerate() {
        let event = match told {
            Seconds(seconds) => {
                now += Duration::from_secs(seconds);
                continue;
            }
            Start => Event::Timer,
            Page(items, version, token) => {
                let records = items
                    .split_whitespace()
                    .map(|key| record(&store, key, "u", 1))
                    .collect();
                Event::Page(Ok(self::Page {
                    records,
                    version: version.to_string(),
                    continue_token: token.into(),
                }))
            }
            PageFailed(error) => Event::Page(Err(error)),
            Opened => Event::Opened(Ok(())),
            OpenFailed(error) => Event::Opened(Err(error)),
            Added(key, version) => Event::Object(WatchEventKind::Added, record(&store, key, "u", version)),
            Modified(key, version) => {
                Event::Object(WatchEventKind::Modified, record(&store, key, "u", version))
            }
            Deleted(key, version) => {
                Event::Object(WatchEventKind::Deleted, record(&store, key, "u", version))
            }
            Unreadable(kind, key) => Event::Unreadable {
                kind,
                key: ObjectKey::parse(key),
                stored: Some(record(&store, key, "u", 1)),
            },
            Bookmark(version) => Event::Bookmark {
                version: ResourceVersion::from(version),
                initial_events_end: false,
            },
            InitialEnd(version) => Event::Bookmark {
                version: ResourceVersion::from(version),
                initial_events_end: true,
            },
            Closed => Event::Closed(None),
            Failed(error) => Event::Closed(Some(error)),
            Silent => Event::Silent,
        };
        let effects: Vec<_> = reflector
            .step(event, now)
            .iter()
            .map(|effect| show_effect(effect, now))
            .collect();
        assert_eq!(effects.join(", "), expect, "line {line}");
    }
}

pub(super) fn status(reason: StatusReason, code: u16, message: &str) -> SourceError {
    SourceError::status(Status::failure(reason, message).with_code(code))
}

pub(super) fn expired() -> SourceError {
    status(StatusReason::Expired, 410, "too old resource version: 1 (2)")
}

fn gone() -> SourceError {
    status(StatusReason::Gone, 410, "gone")
}

fn internal() -> SourceError {
    status(StatusReason::InternalError, 500, "oops")
}

fn forbidden() -> SourceError {
    status(StatusReason::Forbidden, 403, "no")
}

fn refused() -> SourceError {
    SourceError::ConnectionRefused {
        message: "connection refused".into(),
    }
}

fn transport() -> SourceError {
    SourceError::Transport {
        message: "reset".into(),
    }
}

pub(super) fn unreadable() -> SourceError {
    SourceError::Unreadable {
        message: "an event is too large".into(),
    }
}

fn too_many(seconds: u32) -> SourceError {
    let details = StatusDetails {
        retry_after_seconds: seconds,
        ..StatusDetails::default()
    };
    SourceError::status(Status::failure(StatusReason::TooManyRequests, "slow down").with_details(details))
}

/// The three ways in which servers say it.
fn too_large() -> [SourceError; 3] {
    let with_cause = |reason: &str, message: &str| {
        let cause = StatusCause {
            reason: reason.into(),
            message: message.into(),
            field: String::new(),
        };
        let details = StatusDetails {
            causes: vec![cause],
            ..StatusDetails::default()
        };
        SourceError::status(
            Status::failure(StatusReason::Timeout, "x")
                .with_code(504)
                .with_details(details),
        )
    };
    [
        with_cause("ResourceVersionTooLarge", ""),
        with_cause("", "Too large resource version"),
        status(
            StatusReason::Timeout,
            504,
            "Timeout: Too large resource version: 9, current: 5",
        ),
    ]
}

pub(super) fn lists() -> ReflectorOptions {
    ReflectorOptions {
        streaming_lists: StreamingLists::Never,
        ..ReflectorOptions::default()
    }
}

/// The beginning of most conversations.
pub(super) fn synced() -> Vec<(Told, &'static str)> {
    vec![
        (Start, "list@ 500"),
        (Page("a", 5, ""), "replace[a]@5, watch@5"),
        (Opened, "read"),
    ]
}

pub(super) fn after(
    mut begin: Vec<(Told, &'static str)>,
    rest: Vec<(Told, &'static str)>,
) -> Vec<(Told, &'static str)> {
    begin.extend(rest);
    begin
}

#[test]
fn lists_and_pages() {
    check(
        lists(),
        vec![
            (Start, "list@ 500"),
            (Page("a b", 5, "t1"), "list@ 500t1"),
            (Page("c", 6, "t2"), "list@ 500t2"),
            (Page("d", 7, ""), "replace[a b c d]@5, watch@5"),
            (Opened, "read"),
            (Added("a", 8), "+a=u@8, read"),
            (Bookmark(20), "bookmark 20, read"),
            (Deleted("b", 21), "-b=u@21, read"),
            (Closed, "watch@21"),
            (Opened, "read"),
        ],
    );
    let any = ReflectorOptions {
        first_list: FirstList::Any,
        ..lists()
    };
    check(
        any,
        vec![(Start, "list@0 500"), (Page("a", 5, ""), "replace[a]@5, watch@5")],
    );
    let unpaged = ReflectorOptions {
        page_size: 0,
        ..lists()
    };
    check(unpaged, vec![(Start, "list@ 0")]);
    // The continue token goes stale: everything at once, and what came is thrown away.
    check(
        lists(),
        vec![
            (Start, "list@ 500"),
            (Page("a b", 5, "t1"), "list@ 500t1"),
            (PageFailed(expired()), "list@ 0"),
            (Page("a c", 9, ""), "replace[a c]@9, watch@9"),
        ],
    );
    // A server that gives the same page again and again.
    check(
        lists(),
        vec![
            (Start, "list@ 500"),
            (Page("a b", 5, "t1"), "list@ 500t1"),
            (Page("a b", 5, "t1"), "report list, wait"),
            (Start, "list@ 500"),
            (Page("a b", 6, "t1"), "list@ 500t1"),
            (Page("c", 6, ""), "replace[a b c]@6, watch@6"),
        ],
    );
    // Pages that go round in a circle.
    check(
        lists(),
        vec![
            (Start, "list@ 500"),
            (Page("a", 5, "t1"), "list@ 500t1"),
            (Page("b", 5, "t2"), "list@ 500t2"),
            (Page("a", 5, "t1"), "report list, wait"),
            (Start, "list@ 500"),
        ],
    );
}

#[test]
fn expired_versions_never_loop() {
    for error in [expired, gone] {
        check(
            lists(),
            after(
                synced(),
                vec![
                    (Failed(error()), "list>=5 500"),
                    // The list came from a cache that is as old; the second time the version is left out.
                    (Page("a", 5, ""), "replace[a]@5, watch@5"),
                    (OpenFailed(error()), "list@ 500"),
                    // However long a list takes.
                    (Seconds(1000), ""),
                    (Page("a", 9, ""), "replace[a]@9, watch@9"),
                    (OpenFailed(error()), "report watch, wait"),
                    (Start, "list@ 500"),
                    (Page("a", 9, ""), "replace[a]@9, watch@9"),
                    (Opened, "read"),
                    // A watch that works for a moment is no sign that it is over.
                    (Bookmark(12), "bookmark 12, read"),
                    (Failed(error()), "report watch, wait"),
                    (Start, "list@ 500"),
                    (Page("a", 12, ""), "replace[a]@12, watch@12"),
                    (Opened, "read"),
                    // One that works for long is: the count begins anew.
                    (Seconds(121), ""),
                    (Added("b", 13), "+b=u@13, read"),
                    (Failed(error()), "list>=13 500"),
                    (Page("a", 14, ""), "replace[a]@14, watch@14"),
                    (Opened, "read"),
                    // Also where it ends by itself and the next one is refused.
                    (Seconds(121), ""),
                    (Closed, "watch@14"),
                    (OpenFailed(error()), "list>=14 500"),
                ],
            ),
        );
        // The end of a streaming list is no progress of the watch behind it.
        check(
            ReflectorOptions::default(),
            vec![
                (Start, "stream@"),
                (Opened, "read 10s"),
                (InitialEnd(5), "replace[]@5, read"),
                (Failed(error()), "stream@5"),
                (Opened, "read 10s"),
                (InitialEnd(5), "replace[]@5, read"),
                (Failed(error()), "stream@"),
                (Opened, "read 10s"),
                (InitialEnd(9), "replace[]@9, read"),
                (Failed(error()), "report watch, wait"),
                (Start, "stream@"),
                (Opened, "read 10s"),
                (InitialEnd(9), "replace[]@9, read"),
                (Added("a", 12), "+a=u@12, read"),
                (Failed(error()), "report watch, wait"),
            ],
        );
    }
    check(
        lists(),
        after(
            synced(),
            vec![
                (Failed(expired()), "list>=5 500"),
                (PageFailed(expired()), "list@ 500"),
                (PageFailed(expired()), "report list, wait"),
            ],
        ),
    );
}

#[test]
fn a_version_from_the_future_is_dropped_at_once() {
    for error in too_large() {
        assert!(error.is_too_large_version(), "{error:?}");
        check(
            lists(),
            after(
                synced(),
                vec![
                    (Failed(expired()), "list>=5 500"),
                    (PageFailed(error.clone()), "list@ 500"),
                    (Page("a", 3, ""), "rewound, replace[a]@3, watch@3"),
                ],
            ),
        );
        check(lists(), after(synced(), vec![(OpenFailed(error), "list@ 500")]));
    }
    // A server that takes a watch from its future gives itself away with a bookmark.
    check(
        lists(),
        after(
            synced(),
            vec![
                (Bookmark(5), "bookmark 5, read"),
                (Bookmark(3), "list@ 500"),
                (Page("a", 4, ""), "rewound, replace[a]@4, watch@4"),
            ],
        ),
    );
    // One whose bookmarks are always behind its lists is not listed without end.
    check(
        lists(),
        after(
            synced(),
            vec![
                (Bookmark(3), "list@ 500"),
                (Page("a", 5, ""), "replace[a]@5, watch@5"),
                (Opened, "read"),
                (Bookmark(3), "list@ 500"),
                (Page("a", 5, ""), "replace[a]@5, watch@5"),
                (Opened, "read"),
                (Bookmark(3), "report watch, wait"),
                (Start, "list@ 500"),
                (Page("a", 5, ""), "replace[a]@5, watch@5"),
                (Opened, "read"),
                (Bookmark(6), "bookmark 6, read"),
                (Bookmark(5), "report watch, wait"),
            ],
        ),
    );
    assert!(!status(StatusReason::Timeout, 504, "slow").is_too_large_version());
}

#[test]
fn failures_of_a_watch() {
    // From the same version, after a wait.
    check(
        lists(),
        after(
            synced(),
            vec![(OpenFailed(refused()), "report watch, wait"), (Start, "watch@5")],
        ),
    );
    check(
        lists(),
        after(
            synced(),
            vec![
                (OpenFailed(too_many(40)), "report watch, wait 40s"),
                (Start, "watch@5"),
                (OpenFailed(too_many(u32::MAX)), "report watch, wait 300s"),
                (Start, "watch@5"),
            ],
        ),
    );
    check(
        lists(),
        after(
            synced(),
            vec![(Failed(internal()), "report watch, wait"), (Start, "watch@5")],
        ),
    );
    // A connection that breaks is taken up again at once, unless it broke at once.
    check(
        lists(),
        after(
            synced(),
            vec![(Added("a", 6), "+a=u@6, read"), (Failed(transport()), "watch@6")],
        ),
    );
    check(
        lists(),
        after(
            synced(),
            vec![(Failed(transport()), "report watch, wait"), (Start, "watch@5")],
        ),
    );
    check(
        lists(),
        after(synced(), vec![(Seconds(700), ""), (Silent, "watch@5")]),
    );
    // Forbidden, or a kind that is gone: the state is fetched anew when it is there again.
    check(
        lists(),
        after(
            synced(),
            vec![
                (OpenFailed(forbidden()), "report watch, wait"),
                (Start, "list>=5 500"),
            ],
        ),
    );
    // The server closes each watch at once.
    let mut script = synced();
    for _ in 0..4 {
        script.push((Closed, ""));
        script.push((Start, "watch@5"));
        script.push((Opened, "read 1s"));
    }
    let waits = count_waits(script);
    assert!(
        waits.windows(2).all(|pair| pair[1] > pair[0]),
        "each wait is longer: {waits:?}"
    );
    // Internal errors without end: after some the state is fetched anew.
    let mut script = synced();
    for n in 0..5 {
        script.push((Failed(internal()), ""));
        script.push((Start, if n < 4 { "watch@5" } else { "list>=5 500" }));
    }
    count_waits(script);
}

/// Plays a conversation without looking at the effects of failures, and gives the waits.
fn count_waits(script: Vec<(Told, &str)>) -> Vec<Duration> {
    let store = empty_store();
    let mut reflector = Reflector::new(lists(), fastrand::Rng::with_seed(7));
    let now = Instant::now();
    let mut waits = Vec::new();
    for (told, expect) in script {
        let failure = matches!(told, Closed | Failed(_));
        let event = match told {
            Start => Event::Timer,
            Page(items, version, _) => {
                let records = items
                    .split_whitespace()
                    .map(|key| record(&store, key, "u", 1))
                    .collect();
                let continue_token = String::new();
                Event::Page(Ok(self::Page {
                    records,
                    version: version.to_string(),
                    continue_token,
                }))
            }
            Opened => Event::Opened(Ok(())),
            Closed => Event::Closed(None),
            Failed(error) => Event::Closed(Some(error)),
            _ => unreachable!("not used here"),
        };
        let effects = reflector.step(event, now);
        for effect in &effects {
            if let Effect::Wait(at) = effect {
                waits.push(*at - now);
            }
        }
        if !failure {
            let shown: Vec<_> = effects.iter().map(|effect| show_effect(effect, now)).collect();
            assert_eq!(shown.join(", "), expect);
        }
    }
    waits
}

#[test]
fn waits_grow_to_a_limit_and_start_small_again() {
    let mut reflector = Reflector::new(lists(), fastrand::Rng::with_seed(1));
    let mut now = Instant::now();
    let mut fail = |quiet: u64, now: &mut Instant| {
        *now += Duration::from_secs(quiet);
        reflector.step(Event::Timer, *now);
        let effects = reflector.step(Event::Page(Err(internal())), *now);
        let Some(Effect::Wait(at)) = effects.last() else {
            panic!("{effects:?}")
        };
        let wait = *at - *now;
        *now = *at;
        wait.as_secs_f64()
    };
    let waits: Vec<_> = (0..20).map(|_| fail(0, &mut now)).collect();
    for (n, wait) in waits.iter().enumerate() {
        let base = (0.8 * f64::from(1 << n.min(10))).min(30.0);
        assert!((base..=2.0 * base).contains(wait), "wait {n}: {wait}");
    }
    assert!(fail(110, &mut now) >= 30.0);
    assert!(fail(121, &mut now) <= 1.6);
}

/// Whatever the times, deadlines can be told, and waits end some day.
#[test]
fn every_time_is_valid() {
    type Time = fn(&mut ReflectorOptions) -> &mut Duration;
    let times: [Time; 7] = [
        |options| &mut options.bookmark_deadline,
        |options| &mut options.min_watch,
        |options| &mut options.request_timeout,
        |options| &mut options.watch_grace,
        |options| &mut options.backoff_base,
        |options| &mut options.backoff_max,
        |options| &mut options.backoff_reset,
    ];
    let (none, all) = ([].as_slice(), times.as_slice());
    let rows = times.iter().map(std::slice::from_ref).chain([none, all]);
    for (row, extreme) in rows.flat_map(|row| [(row, Duration::ZERO), (row, Duration::MAX)]) {
        for streaming_lists in [StreamingLists::Try, StreamingLists::Never] {
            let mut options = ReflectorOptions {
                streaming_lists,
                ..ReflectorOptions::default()
            };
            for time in row {
                *time(&mut options) = extreme;
            }
            let mut reflector = Reflector::new(options, fastrand::Rng::with_seed(7));
            let now = Instant::now();
            let mut tell = |event| {
                let effects = reflector.step(event, now);
                let Some(last) = effects.last() else {
                    panic!("nothing to go on with")
                };
                if let Effect::Read(at) | Effect::Wait(at) = last {
                    assert!(*at - now <= Duration::from_secs(3 * 366 * 86_400), "{effects:?}");
                }
            };
            let page = || {
                Event::Page(Ok(self::Page {
                    version: "5".into(),
                    ..self::Page::default()
                }))
            };
            let end = || Event::Bookmark {
                version: ResourceVersion::from(5),
                initial_events_end: true,
            };
            tell(Event::Timer);
            for _ in 0..40 {
                for event in [
                    Event::Opened(Err(transport())),
                    Event::Page(Err(internal())),
                    Event::Timer,
                ] {
                    tell(event);
                }
            }
            for event in [
                page(),
                Event::Opened(Ok(())),
                end(),
                Event::Silent,
                Event::Closed(None),
            ] {
                tell(event);
            }
        }
    }
}

#[test]
fn streaming_lists() {
    let options = ReflectorOptions::default;
    check(
        options(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Added("a", 3), "read 10s"),
            (Added("b", 2), "read 10s"),
            (Bookmark(4), "read 10s"),
            // Deleted before the state is complete: not a ghost.
            (Deleted("b", 5), "read 10s"),
            (InitialEnd(6), "replace[a]@6, read"),
            (Added("c", 7), "+c=u@7, read"),
            // Resumed without the state.
            (Closed, "watch@7"),
            (Opened, "read"),
            (Failed(expired()), "stream@7"),
        ],
    );
    // Refused: a list, for good.
    for code in [400, 422] {
        check(
            options(),
            vec![
                (Start, "stream@"),
                (
                    OpenFailed(status(
                        StatusReason::Invalid,
                        code,
                        "sendInitialEvents is forbidden",
                    )),
                    "list@ 500",
                ),
                (Page("a", 5, ""), "replace[a]@5, watch@5"),
                (OpenFailed(expired()), "list>=5 500"),
            ],
        );
    }
    // The bookmark never comes: a list, for good.
    check(
        options(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Added("a", 3), "read 10s"),
            (Silent, "report watch, list@ 500"),
            (Page("a", 5, ""), "replace[a]@5, watch@5"),
            (OpenFailed(expired()), "list>=5 500"),
        ],
    );
    // Nor does it come among changes that never end.
    check(
        options(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Seconds(6), ""),
            (Added("a", 3), "read 10s"),
            (Seconds(6), ""),
            (Deleted("a", 4), "read 4s"),
            (Bookmark(5), "read 4s"),
            (Seconds(5), ""),
            (Deleted("b", 6), "report watch, list@ 500"),
        ],
    );
    // Nor among additions of objects that are made meanwhile. Which they are shows once there was a change, or an object
    // came twice.
    for change in [Modified("a", 4), Deleted("a", 4), Added("a", 4)] {
        check(
            options(),
            vec![
                (Start, "stream@"),
                (Opened, "read 10s"),
                (Seconds(6), ""),
                (Added("a", 3), "read 10s"),
                (Seconds(6), ""),
                (change, "read 4s"),
                (Added("b", 5), "read 4s"),
                (Seconds(3), ""),
                (Added("c", 6), "read 1s"),
                (Seconds(1), ""),
                (Added("d", 7), "report watch, list@ 500"),
            ],
        );
    }
    // Where there is no change, the time of the watch is the limit.
    let hurried = ReflectorOptions {
        bookmark_deadline: Duration::from_secs(3600),
        ..options()
    };
    check(
        hurried,
        vec![
            (Start, "stream@"),
            (Opened, "read"),
            (Seconds(300), ""),
            (Added("a", 3), "read"),
            (Seconds(340), ""),
            (Added("b", 4), "report watch, list@ 500"),
        ],
    );
    // Cut short: again with an empty buffer, then a list, this once.
    check(
        options(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Added("ghost", 3), "read 10s"),
            (Closed, "report watch, wait"),
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Added("a", 3), "read 10s"),
            (Failed(transport()), "report watch, wait"),
            (Start, "list@ 500"),
            (Page("a", 5, ""), "replace[a]@5, watch@5"),
            (OpenFailed(expired()), "stream@5"),
            (OpenFailed(too_large()[0].clone()), "stream@"),
            (Opened, "read 10s"),
            (InitialEnd(4), "rewound, replace[]@4, read"),
        ],
    );
}

#[test]
fn a_quiet_watch_that_lasts_ends_a_failure() {
    check(
        lists(),
        after(
            synced(),
            vec![
                (Closed, "report watch, wait"),
                (Start, "watch@5"),
                // To be open is not enough.
                (Opened, "read 1s"),
                (Closed, "report watch, wait"),
                (Start, "watch@5"),
                (Opened, "read 1s"),
                (Seconds(1), ""),
                (Silent, "recovered, read"),
                (Seconds(700), ""),
                (Silent, "watch@5"),
                (OpenFailed(transport()), "report watch, wait"),
                (Start, "watch@5"),
                // An event says it all by itself.
                (Opened, "read 1s"),
                (Bookmark(9), "bookmark 9, read"),
            ],
        ),
    );
}
