//! Both ways, by rows and over objects made from the table of kinds.

use super::*;
use kubewright_kinds::{Resource, Type, Value as Kind, table};
use proptest::prelude::*;
use serde_json::json;

/// There, and back.
#[track_caller]
fn check(from: &str, to: &str, object: Value, expect: &Value) {
    let mut converted = object.clone();
    convert(&mut converted, from, to);
    assert_eq!(&converted, expect, "{from} to {to}");
    convert(&mut converted, to, from);
    assert_eq!(converted, object, "and back");
}

#[test]
fn events_are_one_object_seen_both_ways() {
    check(
        "v1",
        "events.k8s.io/v1",
        json!({"kind": "Event", "involvedObject": {"kind": "Pod"}, "message": "m", "reason": "r", "count": 2}),
        &json!({"kind": "Event", "regarding": {"kind": "Pod"}, "note": "m", "reason": "r", "deprecatedCount": 2}),
    );
}

#[test]
fn requests_for_devices_are_flat_in_the_first_beta() {
    let spec = |request: Value| json!({"devices": {"requests": [request]}});
    let exact =
        json!({"name": "a", "exactly": {"deviceClassName": "c", "count": 2, "allocationMode": "ExactCount"}});
    let flat = json!({"name": "a", "deviceClassName": "c", "count": 2, "allocationMode": "ExactCount"});
    let choice = json!({"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "c"}]});
    for version in ["resource.k8s.io/v1", "resource.k8s.io/v1beta2"] {
        for (new, old) in [(&exact, &flat), (&choice, &choice)] {
            check(
                version,
                "resource.k8s.io/v1beta1",
                json!({"kind": "ResourceClaim", "spec": spec(new.clone())}),
                &json!({"kind": "ResourceClaim", "spec": spec(old.clone())}),
            );
            check(
                version,
                "resource.k8s.io/v1beta1",
                json!({"kind": "ResourceClaimTemplate", "spec": {"spec": spec(new.clone())}}),
                &json!({"kind": "ResourceClaimTemplate", "spec": {"spec": spec(old.clone())}}),
            );
        }
    }
    check(
        "resource.k8s.io/v1",
        "resource.k8s.io/v1beta1",
        json!({"kind": "ResourceSlice", "spec": {"nodeName": "n", "devices": [{"name": "d", "attributes": {"a": {"int": 1}}}, {"name": "e"}]}}),
        &json!({"kind": "ResourceSlice", "spec": {"nodeName": "n", "devices": [{"name": "d", "basic": {"attributes": {"a": {"int": 1}}}}, {"name": "e", "basic": {}}]}}),
    );
    check(
        "resource.k8s.io/v1beta2",
        "resource.k8s.io/v1",
        json!({"kind": "ResourceClaim", "spec": spec(exact.clone())}),
        &json!({"kind": "ResourceClaim", "spec": spec(exact)}),
    );
}

const V1: &str = "autoscaling/v1";
const V2: &str = "autoscaling/v2";

#[test]
fn autoscalers_keep_what_the_first_version_lacks() {
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
    let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "AverageValue", "averageValue": "5"}}});
    let object = json!({"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "i", "apiVersion": "networking.k8s.io/v1"}, "metric": {"name": "hits"}, "target": {"type": "Value", "value": "7"}}});
    let external = json!({"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}}});
    let behavior = json!({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "selectPolicy": "Min"}});
    let status = json!({
        "currentReplicas": 1,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50, "averageValue": "500m"}}}],
        "conditions": [{"type": "AbleToScale", "status": "True"}],
    });
    // In the order of Go's types.
    let first_status = r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":50,"currentAverageValue":"500m"}}]"#;
    let first = [
        r#"{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}"#,
        r#"{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"5","selector":{"matchLabels":{"a":"b"}}}}"#,
        r#"{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},"metricName":"hits","targetValue":"7"}}"#,
        r#"{"type":"External","external":{"metricName":"q","targetAverageValue":"3"}}"#,
    ];
    let first = format!("[{}]", first.join(","));
    let go = concat!(
        r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","#,
        r#""Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":null}}"#
    );
    check(
        V2,
        V1,
        json!({
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"annotations": {"mine": "kept"}},
            "spec": {"maxReplicas": 3, "metrics": [memory, pods, object, external, cpu], "behavior": behavior},
            "status": status,
        }),
        &json!({
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"annotations": {
                "mine": "kept",
                "autoscaling.alpha.kubernetes.io/metrics": first,
                "autoscaling.alpha.kubernetes.io/behavior": go,
                "autoscaling.alpha.kubernetes.io/current-metrics": first_status,
                "autoscaling.alpha.kubernetes.io/conditions": r#"[{"type":"AbleToScale","status":"True"}]"#,
            }},
            "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 60},
            "status": {"currentReplicas": 1, "currentCPUUtilizationPercentage": 50},
        }),
    );
}

#[test]
fn the_first_version_has_a_default_metric_and_forged_annotations_go() {
    let mut object = json!({
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "no JSON"}},
        "spec": {"maxReplicas": 3},
    });
    convert(&mut object, V1, V2);
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    assert_eq!(
        object,
        json!({"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 3, "metrics": metrics}})
    );
    object["metadata"]["annotations"] = json!({"autoscaling.alpha.kubernetes.io/behavior": "{}"});
    convert(&mut object, V2, V1);
    assert_eq!(object["metadata"], json!({}));
}

#[test]
fn what_a_conversion_makes_is_not_shown_alone() {
    #[track_caller]
    fn check(api_version: &str, kind: &str, annotations: &Value, expect: &Value) {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "annotations": annotations}});
        assert_eq!(&shown_metadata(&object), expect, "{api_version} {kind}");
    }
    let generation = json!({"deprecated.daemonset.template.generation": "1"});
    check("apps/v1", "DaemonSet", &generation, &json!({"name": "a"}));
    check(
        "apps/v1",
        "ReplicaSet",
        &generation,
        &json!({"name": "a", "annotations": generation}),
    );
    let metrics = json!({"autoscaling.alpha.kubernetes.io/metrics": "[]", "b": "c"});
    check(
        V1,
        "HorizontalPodAutoscaler",
        &metrics,
        &json!({"name": "a", "annotations": {"b": "c"}}),
    );
    check(
        V2,
        "HorizontalPodAutoscaler",
        &metrics,
        &json!({"name": "a", "annotations": metrics}),
    );
    assert_eq!(shown_metadata(&json!({})), json!({}));
}

/// The resources that are served in several versions: a version, and the one that is stored.
fn pairs() -> Vec<(&'static Resource, &'static Resource)> {
    let all = table().resources();
    let stored = |resource: &Resource| {
        all.iter().find(|other| {
            (other.group, other.plural, other.version)
                == (resource.group, resource.plural, resource.storage_version)
        })
    };
    all.iter()
        .filter(|resource| resource.version != resource.storage_version)
        .filter_map(|resource| Some((resource, stored(resource)?)))
        .collect()
}

/// Objects of a type, with few of its fields at a time.
fn generated(ty: &'static Type, depth: u32) -> BoxedStrategy<Value> {
    if ty.special.is_some() {
        return Just(Value::Null).boxed();
    }
    let fields: Vec<_> = ty
        .fields()
        .iter()
        .filter(|field| !matches!(field.name, "apiVersion" | "kind" | "metadata"))
        .map(|field| {
            let name = field.name.to_owned();
            prop::option::weighted(0.4, value(&field.value, depth))
                .prop_map(move |value| Some((name.clone(), value?)))
        })
        .collect();
    fields
        .prop_map(|fields| {
            let present = fields.into_iter().flatten().filter(|(_, value)| !value.is_null());
            Value::Object(present.collect())
        })
        .boxed()
}

fn value(kind: &'static Kind, depth: u32) -> BoxedStrategy<Value> {
    match kind {
        Kind::String => "[a-z]{1,4}".prop_map(Value::from).boxed(),
        Kind::Boolean => Just(json!(true)).boxed(),
        Kind::Int32 | Kind::Int64 | Kind::IntOrString => (1..9_u8).prop_map(Value::from).boxed(),
        Kind::Quantity => (1..9_u8)
            .prop_map(|number| Value::from(number.to_string()))
            .boxed(),
        Kind::Bytes => Just(json!("MQ==")).boxed(),
        Kind::Time | Kind::MicroTime => Just(json!("2020-01-01T00:00:00Z")).boxed(),
        Kind::Object(id) if depth > 0 => generated(id.get(), depth - 1),
        Kind::Array(item) if depth > 0 => prop::collection::vec(value(item, depth - 1), 1..3)
            .prop_map(|items| items.into_iter().filter(|item| !item.is_null()).collect())
            .boxed(),
        Kind::Map(item) if depth > 0 => value(item, depth - 1)
            .prop_map(|item| {
                if item.is_null() {
                    item
                } else {
                    json!({"key": item})
                }
            })
            .boxed(),
        _ => Just(Value::Null).boxed(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What is stored is the same again after it was seen in another version. Autoscalers come back as upstream's do: the types
    /// of targets follow from their values, and CPU comes last. After one round, nothing changes any more.
    #[test]
    fn there_and_back_is_where_one_started(
        objects in pairs()
            .into_iter()
            .map(|(served, stored)| generated(stored.object_type(), 7).prop_map(move |object| (served, stored, object)))
            .collect::<Vec<_>>(),
    ) {
        for (served, stored, mut object) in objects {
            object["kind"] = json!(stored.kind);
            drop_empty(&mut object, "exactly");
            let (served_version, stored_version) = (served.api_version(), stored.api_version());
            let round = |object: &Value| {
                let mut object = object.clone();
                convert(&mut object, &stored_version, &served_version);
                let seen = object.clone();
                convert(&mut object, &served_version, &stored_version);
                (seen, object)
            };
            let (seen, back) = round(&object);
            match stored.kind {
                "HorizontalPodAutoscaler" => {
                    let once = round(&back);
                    prop_assert_eq!(round(&once.1), once);
                }
                // The older version has two fields more, which the newer one cannot show.
                "PodCertificateRequest" => prop_assert_eq!(round(&back), (seen, back)),
                kind => prop_assert_eq!(back, object, "{}", kind),
            }
        }
    }
}

/// Drops members of that name that are empty objects: no object has them once it is in shape, and a version that keeps what is in them
/// elsewhere cannot tell them from none, as upstream's cannot.
fn drop_empty(value: &mut Value, name: &str) {
    match value {
        Value::Object(members) => {
            members.retain(|member, value| {
                member != name || value.as_object().is_none_or(|value| !value.is_empty())
            });
            members.values_mut().for_each(|value| drop_empty(value, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| drop_empty(value, name)),
        _ => {}
    }
}

/// Kinds whose versions differ are those that [`convert`] knows.
#[test]
fn versions_differ_only_where_they_are_converted() {
    fn differs(one: &'static Type, other: &'static Type, depth: u32) -> bool {
        let names = |ty: &'static Type| ty.fields().iter().map(|field| field.name).collect::<Vec<_>>();
        if names(one) != names(other) {
            return true;
        }
        depth > 0
            && one.fields().iter().zip(other.fields()).any(|(one, other)| {
                matches!((inner(&one.value), inner(&other.value)), (Some(one), Some(other)) if differs(one, other, depth - 1))
            })
    }
    fn inner(kind: &'static Kind) -> Option<&'static Type> {
        match kind {
            Kind::Object(id) => Some(id.get()),
            Kind::Array(item) | Kind::Map(item) => inner(item),
            _ => None,
        }
    }
    let different: Vec<String> = pairs()
        .into_iter()
        .filter(|(served, stored)| differs(served.object_type(), stored.object_type(), 6))
        .map(|(served, _)| format!("{} {}", served.api_version(), served.kind))
        .collect();
    assert_eq!(
        different,
        [
            "autoscaling/v1 HorizontalPodAutoscaler",
            "certificates.k8s.io/v1 PodCertificateRequest",
            "resource.k8s.io/v1beta1 ResourceClaim",
            "resource.k8s.io/v1beta1 ResourceClaimTemplate",
            "resource.k8s.io/v1beta1 ResourceSlice",
        ]
    );
}
