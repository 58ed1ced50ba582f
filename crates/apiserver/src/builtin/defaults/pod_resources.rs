//! Resources of a pod as a whole, filled in from those of its containers (KEP-2837).
//!
//! Upstream: `defaultHugePagePodLimits`, `defaultPodRequests` and `defaultPodLimits` in `pkg/apis/core/v1/defaults.go`,
//! the sums in `component-helpers/resource/helpers.go`.

use std::collections::BTreeMap;

use super::super::value::{Object, child, str_in};
use kubewright_core::Quantity;
use serde_json::Value;

/// Amounts by resource name.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Completes `spec.resources` of a pod where the user set a part of it.
pub(super) fn complete(spec: &mut Object) {
    if !spec.get("resources").is_some_and(Value::is_object) {
        return;
    }
    let limits_of_containers = aggregate(spec, "limits");
    let requests_of_containers = aggregate(spec, "requests");
    let limited_everywhere: Vec<String> = limits_of_containers
        .keys()
        .filter(|name| all_containers_limit(spec, name))
        .cloned()
        .collect();
    let Some(resources) = child(spec, "resources") else {
        return;
    };

    let (had_limits, had_requests) = (
        !amounts(resources, "limits").is_empty(),
        !amounts(resources, "requests").is_empty(),
    );
    if had_limits || had_requests {
        let requested = amounts(resources, "requests");
        let huge = limits_of_containers
            .iter()
            .filter(|(name, _)| is_huge_page(name) && !requested.contains_key(*name));
        fill(resources, "limits", huge);
    }
    let limits = amounts(resources, "limits");
    if !limits.is_empty() {
        fill(
            resources,
            "requests",
            requests_of_containers
                .iter()
                .filter(|(name, _)| may_overcommit(name)),
        );
        fill(
            resources,
            "requests",
            limits.iter().filter(|(name, _)| is_supported(name)),
        );
    } else if amounts(resources, "requests")
        .keys()
        .any(|name| is_supported(name))
    {
        let known = limits_of_containers
            .iter()
            .filter(|(name, _)| may_overcommit(name) && limited_everywhere.contains(name));
        fill(resources, "limits", known);
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Resources of which more may be promised than there is.
fn may_overcommit(name: &str) -> bool {
    matches!(name, "cpu" | "memory")
}

/// Resources that can be set for a pod as a whole.
fn is_supported(name: &str) -> bool {
    may_overcommit(name) || is_huge_page(name)
}

fn amounts(resources: &Object, list: &str) -> Amounts {
    let entries = resources
        .get(list)
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let parsed = entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.parse().ok()?)));
    parsed.collect()
}

fn fill<'a>(resources: &mut Object, list: &str, given: impl Iterator<Item = (&'a String, &'a Quantity)>) {
    for (name, quantity) in given {
        if let Some(list) = child(resources, list) {
            list.entry(name.as_str())
                .or_insert_with(|| quantity.to_string().into());
        }
    }
}

fn containers<'a>(spec: &'a Object, list: &str) -> impl Iterator<Item = &'a Object> {
    let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_object)
}

fn of_container(container: &Object, list: &str) -> Amounts {
    container
        .get("resources")
        .and_then(Value::as_object)
        .map(|resources| amounts(resources, list))
        .unwrap_or_default()
}

fn all_containers_limit(spec: &Object, name: &str) -> bool {
    let mut all = containers(spec, "containers").chain(containers(spec, "initContainers"));
    all.all(|container| of_container(container, "limits").contains_key(name))
}

/// What the pod needs at its fullest: all containers and sidecars together, or one init container with the sidecars
/// that started before it, whichever is more.
pub(crate) fn aggregate(spec: &Object, list: &str) -> Amounts {
    let mut together = Amounts::new();
    for container in containers(spec, "containers") {
        add(&mut together, &of_container(container, list));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in containers(spec, "initContainers") {
        let own = of_container(container, list);
        if str_in(container, "restartPolicy") == "Always" {
            add(&mut together, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut with_sidecars = sidecars.clone();
            add(&mut with_sidecars, &own);
            raise(&mut starting, &with_sidecars);
        }
    }
    raise(&mut together, &starting);
    together
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, quantity) in more {
        let sum = total
            .get(name)
            .map_or(*quantity, |have| have.saturating_add(*quantity));
        total.insert(name.clone(), sum);
    }
}

fn raise(total: &mut Amounts, other: &Amounts) {
    for (name, quantity) in other {
        let most = total.get(name).map_or(*quantity, |have| (*have).max(*quantity));
        total.insert(name.clone(), most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pod_gets_what_its_containers_need() {
        #[track_caller]
        fn check(pod: Value, containers: Value, init: Value, expect: Value) {
            let mut spec = json!({"resources": pod, "containers": containers, "initContainers": init});
            complete(spec.as_object_mut().unwrap());
            assert_eq!(spec["resources"], expect, "{containers} {init}");
        }
        let with = |list: &str, cpu: &str| json!({"resources": {list: {"cpu": cpu}}});
        let limit = json!({"limits": {"cpu": "8"}});
        // Nobody requests anything: the limit is requested.
        check(
            limit.clone(),
            json!([{}]),
            json!([]),
            json!({"limits": {"cpu": "8"}, "requests": {"cpu": "8"}}),
        );
        let both = json!([with("requests", "1"), with("requests", "500m")]);
        check(
            limit.clone(),
            both.clone(),
            json!([]),
            json!({"limits": {"cpu": "8"}, "requests": {"cpu": "1500m"}}),
        );
        // An init container alone may need more than all others.
        check(
            limit.clone(),
            both.clone(),
            json!([with("requests", "3")]),
            json!({"limits": {"cpu": "8"}, "requests": {"cpu": "3"}}),
        );
        let mut sidecar = with("requests", "1");
        sidecar["restartPolicy"] = json!("Always");
        check(
            limit,
            both,
            json!([sidecar]),
            json!({"limits": {"cpu": "8"}, "requests": {"cpu": "2500m"}}),
        );
        let request = json!({"requests": {"cpu": "1"}});
        let limited = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}});
        check(request.clone(), json!([with("limits", "2")]), json!([]), limited);
        check(
            request.clone(),
            json!([with("limits", "2"), {}]),
            json!([]),
            request,
        );
        check(json!({}), json!([with("limits", "2")]), json!([]), json!({}));
    }
}
