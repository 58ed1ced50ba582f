//! What size each replica set gets: pure arithmetic over counts
//! (kubernetes `pkg/controller/deployment/rolling.go`, `recreate.go`, `sync.go`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::workload::Spec;

use super::revision::{DESIRED, MAX, Revision, Template, current};

/// How old pods make way for new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Recreate,
    RollingUpdate,
}

impl Strategy {
    pub(super) fn of(spec: &Spec) -> Self {
        match spec.strategy.r#type.as_str() {
            "Recreate" => Self::Recreate,
            _ => Self::RollingUpdate,
        }
    }
}

/// How many pods a deployment wants, and how far it may be off on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) desired: i64,
    pub(super) max_surge: i64,
    pub(super) max_unavailable: i64,
}

impl Sizes {
    pub(super) fn of(spec: &Spec) -> Self {
        let desired = i64::from(spec.replicas.unwrap_or(1)).max(0);
        if Strategy::of(spec) == Strategy::Recreate {
            return Self {
                desired,
                max_surge: 0,
                max_unavailable: 0,
            };
        }
        let rolling = &spec.strategy.rolling_update;
        let default = IntOrString::String("25%".to_owned());
        let surge = rolling.max_surge.as_ref().unwrap_or(&default);
        let unavailable = rolling.max_unavailable.as_ref().unwrap_or(&default);
        let max_surge = resolve(surge, desired, Round::Up);
        let mut max_unavailable = resolve(unavailable, desired, Round::Down);
        // Both can round to nothing, and then nothing could move.
        if max_surge == 0 && max_unavailable == 0 {
            max_unavailable = 1;
        }
        Self {
            desired,
            max_surge,
            max_unavailable: max_unavailable.min(desired),
        }
    }

    pub(super) fn least(&self) -> i64 {
        self.desired - self.max_unavailable
    }

    /// What is noted on replica sets, to tell a change of size from a change of template.
    pub(super) fn annotations(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (DESIRED.to_owned(), self.desired.to_string()),
            (MAX.to_owned(), (self.desired + self.max_surge).to_string()),
        ])
    }
}

#[derive(Clone, Copy)]
enum Round {
    Up,
    Down,
}

fn resolve(value: &IntOrString, total: i64, round: Round) -> i64 {
    match value {
        IntOrString::Int(count) => i64::from(*count).max(0),
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let product = percent.max(0) * total;
            match round {
                Round::Up => (product + 99) / 100,
                Round::Down => product / 100,
            }
        }
    }
}

/// Whether the wanted size has changed since the replica sets were given theirs.
pub(super) fn is_scaling(revisions: &[Revision], desired: i64) -> bool {
    revisions
        .iter()
        .filter(|revision| revision.replicas > 0)
        .any(|revision| {
            let noted = revision.annotation(DESIRED).and_then(|noted| noted.parse().ok());
            noted.is_some_and(|noted: i64| noted != desired)
        })
}

/// Spreads a change of size over all replica sets that have pods, each by its share.
pub(super) fn proportional(
    revisions: &[Revision],
    current: Option<usize>,
    sizes: &Sizes,
) -> Vec<(usize, i64)> {
    let active: Vec<usize> = (0..revisions.len())
        .filter(|at| revisions[*at].replicas > 0)
        .collect();
    // One set has all, or none has any: the newest takes the whole.
    if active.len() <= 1 {
        let newest = || (0..revisions.len()).max_by_key(|at| revisions[*at].age());
        let only = active.first().copied().or(current).or_else(newest);
        return only.map(|at| (at, sizes.desired)).into_iter().collect();
    }
    // The new one is complete: the others have nothing to keep.
    if let Some(at) = current.filter(|at| is_saturated(&revisions[*at], sizes)) {
        return active
            .into_iter()
            .filter(|old| *old != at)
            .map(|old| (old, 0))
            .collect();
    }
    let total: i64 = active.iter().map(|at| revisions[*at].replicas).sum();
    let allowed = if sizes.desired > 0 {
        sizes.desired + sizes.max_surge
    } else {
        0
    };
    let change = allowed - total;
    // The largest first; of equals the newest when growing, the oldest when shrinking.
    let mut order = active;
    order.sort_by(|a, b| {
        let (a, b) = (&revisions[*a], &revisions[*b]);
        let by_age = if change > 0 {
            b.age().cmp(&a.age())
        } else {
            a.age().cmp(&b.age())
        };
        b.replicas.cmp(&a.replicas).then(by_age)
    });
    let mut left = change;
    let mut scaled: Vec<(usize, i64)> = order
        .into_iter()
        .map(|at| {
            let share = share(&revisions[at], allowed, left, change);
            left -= share;
            (at, revisions[at].replicas + share)
        })
        .collect();
    // Rounding leaves a rest, which the largest takes.
    if let Some((_, replicas)) = scaled.first_mut() {
        *replicas = (*replicas + left).max(0);
    }
    scaled
}

/// The part of the change that falls to one set, never more than is left of it.
fn share(revision: &Revision, allowed: i64, left: i64, change: i64) -> i64 {
    let before = revision
        .annotation(MAX)
        .and_then(|noted| noted.parse().ok())
        .filter(|noted: &i64| *noted > 0)
        .unwrap_or_else(|| allowed.max(1));
    let exact = revision.replicas as f64 * allowed as f64 / before as f64;
    let share = exact.round() as i64 - revision.replicas;
    if change > 0 {
        share.clamp(0, left.max(0))
    } else {
        share.clamp(left.min(0), 0)
    }
}

fn is_saturated(revision: &Revision, sizes: &Sizes) -> bool {
    let noted = revision
        .annotation(DESIRED)
        .and_then(|noted| noted.parse::<i64>().ok());
    revision.replicas == sizes.desired && noted == Some(sizes.desired) && revision.available == sizes.desired
}

/// Old sets that a deployment of strategy Recreate stops before all else.
pub(super) fn to_stop(revisions: &[Revision], template: &Template) -> Vec<usize> {
    let new = current(revisions, template);
    (0..revisions.len())
        .filter(|at| Some(*at) != new && revisions[*at].replicas > 0)
        .collect()
}

/// The next size of the new set in a rolling update: as many as the surge allows, at most what is wanted.
pub(super) fn grow(revisions: &[Revision], current: usize, sizes: &Sizes) -> i64 {
    let new = revisions[current].replicas;
    if new >= sizes.desired {
        return sizes.desired;
    }
    let total: i64 = revisions.iter().map(|revision| revision.replicas).sum();
    let room = (sizes.desired + sizes.max_surge - total).max(0);
    new + room.min(sizes.desired - new)
}

/// The next sizes of the old sets in a rolling update: pods that do not work go first, then as many as may be missing.
pub(super) fn shrink(revisions: &[Revision], current: usize, sizes: &Sizes) -> Vec<(usize, i64)> {
    let mut sizes_now: Vec<i64> = revisions.iter().map(|revision| revision.replicas).collect();
    // The revisions are in the order of their age, so the oldest shrink first.
    let old: Vec<usize> = (0..revisions.len())
        .filter(|at| *at != current && sizes_now[*at] > 0)
        .collect();
    let new_unavailable = sizes_now[current] - revisions[current].available;
    let total: i64 = sizes_now.iter().sum();
    let mut spare = total - sizes.least() - new_unavailable;
    if spare <= 0 {
        return Vec::new();
    }
    for at in &old {
        let broken = (sizes_now[*at] - revisions[*at].available).clamp(0, spare);
        sizes_now[*at] -= broken;
        spare -= broken;
    }
    let available: i64 = revisions.iter().map(|revision| revision.available).sum();
    let mut spare = (available - sizes.least()).max(0);
    for at in &old {
        let fewer = sizes_now[*at].min(spare);
        sizes_now[*at] -= fewer;
        spare -= fewer;
    }
    old.into_iter()
        .map(|at| (at, sizes_now[at]))
        .filter(|(at, replicas)| revisions[*at].replicas != *replicas)
        .collect()
}

#[cfg(test)]
mod tests {
    use kubewright_cache::Cached;
    use serde_json::{Value, json};

    use super::*;

    fn revision(name: &str, replicas: i64, available: i64, annotations: Value) -> Revision {
        let value = json!({
            "metadata": {"name": name, "resourceVersion": "1", "annotations": annotations},
            "spec": {"replicas": replicas, "selector": {}},
            "status": {"replicas": replicas, "readyReplicas": available, "availableReplicas": available},
        });
        Revision::of(&Cached::from_json(value.to_string().as_bytes()).unwrap()).unwrap()
    }

    fn deployment(replicas: i64, surge: Value, unavailable: Value) -> Spec {
        serde_json::from_value(json!({"replicas": replicas, "strategy": {
            "type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}))
        .unwrap()
    }

    #[test]
    fn surge_rounds_up_and_unavailable_down() {
        for (replicas, surge, unavailable, expect) in [
            (10, json!("25%"), json!("25%"), (3, 2)),
            (1, json!("25%"), json!("25%"), (1, 0)),
            (3, json!(0), json!("10%"), (0, 1)),
            (2, json!(1), json!(5), (1, 2)),
            (0, json!("25%"), json!("25%"), (0, 0)),
        ] {
            let sizes = Sizes::of(&deployment(replicas, surge.clone(), unavailable.clone()));
            assert_eq!(
                (sizes.max_surge, sizes.max_unavailable),
                expect,
                "{replicas} {surge} {unavailable}"
            );
        }
    }

    /// Plays an update to its end: the limits hold at each step, whatever becomes available when.
    #[test]
    fn a_rolling_update_keeps_within_its_limits() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let desired = random.i64(1..12);
            let sizes = Sizes::of(&deployment(
                desired,
                json!(random.i64(0..4)),
                json!(random.i64(0..4)),
            ));
            let mut sets = vec![
                revision("old", desired, desired, json!({})),
                revision("new", 0, 0, json!({})),
            ];
            let mut steps = 0;
            while sets[0].replicas > 0 || sets[1].available < desired {
                steps += 1;
                assert!(steps < 1000, "seed {seed} does not end: {sets:?}");
                sets[1].replicas = grow(&sets, 1, &sizes);
                let total: i64 = sets.iter().map(|set| set.replicas).sum();
                assert!(total <= desired + sizes.max_surge, "seed {seed}: {sets:?}");
                for (at, replicas) in shrink(&sets, 1, &sizes) {
                    sets[at].replicas = replicas;
                    sets[at].available = sets[at].available.min(replicas);
                }
                let available: i64 = sets.iter().map(|set| set.available).sum();
                assert!(available >= sizes.least(), "seed {seed}: {sets:?}");
                if random.bool() {
                    sets[1].available = (sets[1].available + 1).min(sets[1].replicas);
                }
            }
        }
    }

    #[test]
    fn pods_that_do_not_work_make_way_first() {
        let sizes = Sizes::of(&deployment(4, json!(1), json!(1)));
        let sets = [
            revision("broken", 2, 0, json!({})),
            revision("good", 2, 2, json!({})),
            revision("new", 1, 1, json!({})),
        ];
        assert_eq!(shrink(&sets, 2, &sizes), [(0, 0)]);
    }

    #[test]
    fn a_change_of_size_is_shared() {
        let noted = json!({DESIRED: "10", MAX: "13"});
        // sizes, wanted, expected
        for (before, desired, expect) in [
            ([8, 5], 20, vec![(0, 15), (1, 10)]),
            ([8, 5], 5, vec![(0, 4), (1, 3)]),
            ([8, 5], 0, vec![(0, 0), (1, 0)]),
            ([8, 0], 3, vec![(0, 3)]),
        ] {
            let sets = before.map(|replicas| revision("s", replicas, replicas, noted.clone()));
            let sizes = Sizes::of(&deployment(desired, json!("25%"), json!("25%")));
            assert!(is_scaling(&sets, desired));
            let scaled = proportional(&sets, None, &sizes);
            assert_eq!(scaled, expect, "{before:?} to {desired}");
        }
    }
}
