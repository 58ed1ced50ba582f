//! Fields behind feature gates that are off by default: they are dropped from what is written, unless the stored object has them.
//!
//! Upstream: the functions `dropDisabled…Fields` of `pkg/api/pod/util.go`, `pkg/api/job/util.go` and `pkg/registry/*/strategy.go`,
//! with the defaults of `pkg/features/kube_features.go` in 1.37. A field that is in use somewhere in the stored object may be used
//! anywhere in the new one.

use serde_json::Value;

/// The fields of a kind that are behind gates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gated {
    /// Where the object has the specification of a pod, if it has one.
    pub(super) pod: Option<&'static str>,
    /// The kind's own fields.
    pub(super) own: &'static [Gate],
}

/// The fields behind one gate: every path of `fields` at every place of `within`.
///
/// A path has a step for each field; `*` stands for each item of a list or entry of a map. What is left empty after its last field
/// was dropped is dropped too where its step ends in `?`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    within: &'static [&'static str],
    fields: &'static [&'static str],
}

impl Gated {
    /// Nothing is behind a gate.
    pub(super) const NONE: Self = Self { pod: None, own: &[] };

    /// A kind whose objects have the specification of a pod there, and nothing else behind a gate.
    pub(super) const fn pod(at: &'static str) -> Self {
        Self {
            pod: Some(at),
            own: &[],
        }
    }

    /// Drops from `new` what `old` does not use.
    pub(super) fn drop_unused(self, new: &mut Value, old: Option<&Value>) {
        for gate in self.own {
            gate.drop_unused(new, old);
        }
        if let Some(at) = self.pod {
            let old = old.and_then(|old| old.pointer(at));
            if let Some(spec) = new.pointer_mut(at) {
                POD_SPEC.iter().for_each(|gate| gate.drop_unused(spec, old));
            }
        }
    }
}

impl Gate {
    fn drop_unused(&self, new: &mut Value, old: Option<&Value>) {
        let paths = || {
            let places = self.within.iter();
            places.flat_map(|place| self.fields.iter().map(|field| steps(place, field)))
        };
        let is_used = |object: &Value| paths().any(|path| has(object, &path));
        if is_used(new) && !old.is_some_and(is_used) {
            paths().for_each(|path| remove(new, &path));
        }
    }
}

/// Fields at the top of what is looked at.
const TOP: &[&str] = &[""];
const CONTAINERS: &[&str] = &["containers.*", "initContainers.*", "ephemeralContainers.*"];

/// Of the specification of a pod.
const POD_SPEC: &[Gate] = &[
    // EmptyDirVolumeMode
    Gate {
        within: TOP,
        fields: &["volumes.*.emptyDir.mode"],
    },
    // VolumeBindMountOptions
    Gate {
        within: CONTAINERS,
        fields: &["volumeMounts.*.bindMountOptions"],
    },
    // ContainerStopSignals
    Gate {
        within: CONTAINERS,
        fields: &["lifecycle?.stopSignal"],
    },
    // H2CContainerProbe
    Gate {
        within: CONTAINERS,
        fields: &[
            "livenessProbe.httpGet.protocol",
            "readinessProbe.httpGet.protocol",
            "startupProbe.httpGet.protocol",
            "lifecycle.postStart.httpGet.protocol",
            "lifecycle.preStop.httpGet.protocol",
        ],
    },
    // GRPCContainerProbeTLS
    Gate {
        within: CONTAINERS,
        fields: &[
            "livenessProbe.grpc.mode",
            "readinessProbe.grpc.mode",
            "startupProbe.grpc.mode",
        ],
    },
    // AtomicWriteVolumeUserFields
    Gate {
        within: &["volumes.*"],
        fields: &[
            "secret.defaultUser",
            "secret.items.*.user",
            "configMap.defaultUser",
            "configMap.items.*.user",
            "downwardAPI.defaultUser",
            "downwardAPI.items.*.user",
            "projected.defaultUser",
            "projected.sources.*.secret.items.*.user",
            "projected.sources.*.configMap.items.*.user",
            "projected.sources.*.downwardAPI.items.*.user",
            "projected.sources.*.serviceAccountToken.user",
            "projected.sources.*.clusterTrustBundle.user",
            "projected.sources.*.podCertificate.user",
        ],
    },
    // GenericWorkload
    Gate {
        within: TOP,
        fields: &["schedulingGroup"],
    },
    // EvictionRequestAPI
    Gate {
        within: TOP,
        fields: &["evictionResponders"],
    },
];

/// A pod.
pub(super) const POD: Gated = Gated {
    pod: Some("/spec"),
    own: &[
        // ImageVolumeWithDigest
        Gate {
            within: &[
                "status.containerStatuses.*",
                "status.initContainerStatuses.*",
                "status.ephemeralContainerStatuses.*",
            ],
            fields: &["volumeMounts.*.volumeStatus"],
        },
        // CSIVolumeHealth
        Gate {
            within: TOP,
            fields: &["status.volumeHealth"],
        },
        // DRANodeAllocatableResources
        Gate {
            within: TOP,
            fields: &["status.nodeAllocatableResourceClaimStatuses"],
        },
    ],
};

/// A workload whose pods are made by a template in its specification.
pub(super) const WORKLOAD: Gated = Gated::pod("/spec/template/spec");

/// A job.
pub(super) const JOB: Gated = Gated {
    pod: WORKLOAD.pod,
    // WorkloadWithJob
    own: &[Gate {
        within: TOP,
        fields: &["spec.scheduling"],
    }],
};

/// A cron job.
pub(super) const CRON_JOB: Gated = Gated {
    pod: Some("/spec/jobTemplate/spec/template/spec"),
    own: &[Gate {
        within: TOP,
        fields: &["spec.jobTemplate.spec.scheduling"],
    }],
};

/// A node.
pub(super) const NODE: Gated = Gated {
    pod: None,
    own: &[
        // DynamicKubeletConfig, which is no more.
        Gate {
            within: TOP,
            fields: &["spec.configSource"],
        },
        // InPlacePodVerticalScalingSchedulerPreemption
        Gate {
            within: TOP,
            fields: &["spec.podPreemptionPolicy"],
        },
    ],
};

/// A persistent volume claim.
pub(super) const CLAIM: Gated = Gated {
    pod: None,
    // CSIVolumeHealth
    own: &[Gate {
        within: TOP,
        fields: &["status.healthStatus"],
    }],
};

/// What a node's storage drivers are.
pub(super) const CSI_NODE: Gated = Gated {
    pod: None,
    // CSIVolumeHealth
    own: &[Gate {
        within: TOP,
        fields: &["status.storageHealth"],
    }],
};

/// A slice of devices.
pub(super) const SLICE: Gated = Gated {
    pod: None,
    own: &[
        // DRAListTypeAttributes
        Gate {
            within: &["spec.devices.*.attributes.*"],
            fields: &["bools", "ints", "strings", "versions"],
        },
        // DRADeviceCompatibilityGroups
        Gate {
            within: TOP,
            fields: &["spec.devices.*.consumesCounters.*.compatibilityGroups"],
        },
        // DRANodeAllocatableResources
        Gate {
            within: TOP,
            fields: &["spec.devices.*.nodeAllocatableResources"],
        },
        // DRAPartitionableDevicesType
        Gate {
            within: TOP,
            fields: &["spec.partitionTypeAttribute"],
        },
        // DRAOptionalNodeOperations
        Gate {
            within: TOP,
            fields: &["spec.skipNodeOperations"],
        },
    ],
};

/// A claim for devices.
pub(super) const DEVICE_CLAIM: Gated = Gated {
    pod: None,
    own: &[
        // DRADerivedAttributes
        Gate {
            within: &["spec.devices.requests.*"],
            fields: &["exactly.derivedAttributes", "firstAvailable.*.derivedAttributes"],
        },
        // DRAOptionalNodeOperations
        Gate {
            within: TOP,
            fields: &["status.allocation.devices.results.*.skipNodeOperations"],
        },
    ],
};

/// A template of claims for devices.
pub(super) const DEVICE_CLAIM_TEMPLATE: Gated = Gated {
    pod: None,
    // DRADerivedAttributes
    own: &[Gate {
        within: &["spec.spec.devices.requests.*"],
        fields: &["exactly.derivedAttributes", "firstAvailable.*.derivedAttributes"],
    }],
};

/// The steps of a field within a place.
fn steps<'a>(place: &'a str, field: &'a str) -> Vec<&'a str> {
    let steps = place.split('.').chain(field.split('.'));
    steps.filter(|step| !step.is_empty()).collect()
}

/// Whether there is anything at a path.
fn has(value: &Value, path: &[&str]) -> bool {
    let Some((step, rest)) = path.split_first() else {
        return !value.is_null();
    };
    match (*step, value) {
        ("*", Value::Array(items)) => items.iter().any(|item| has(item, rest)),
        ("*", Value::Object(entries)) => entries.values().any(|entry| has(entry, rest)),
        (step, value) => {
            let field = value.get(step.trim_end_matches('?'));
            field.is_some_and(|field| has(field, rest))
        }
    }
}

/// Removes what is at a path.
fn remove(value: &mut Value, path: &[&str]) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    match (*step, value) {
        ("*", Value::Array(items)) => items.iter_mut().for_each(|item| remove(item, rest)),
        ("*", Value::Object(entries)) => entries.values_mut().for_each(|entry| remove(entry, rest)),
        (step, Value::Object(fields)) => {
            let name = step.trim_end_matches('?');
            let is_empty = match (fields.get_mut(name), rest) {
                (None, _) => return,
                (Some(_), []) => true,
                (Some(field), rest) => {
                    remove(field, rest);
                    step.ends_with('?') && field.as_object().is_some_and(|fields| fields.is_empty())
                }
            };
            if is_empty {
                fields.remove(name);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_behind_a_gate_is_dropped_unless_it_is_in_use() {
        #[track_caller]
        fn check(gated: Gated, mut new: Value, old: Option<Value>, expect: &Value) {
            gated.drop_unused(&mut new, old.as_ref());
            assert_eq!(&new, expect);
        }
        let probed = |probe: Value| json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "livenessProbe": probe}]}});
        let (with, without) = (
            probed(json!({"grpc": {"port": 1, "mode": "TLS"}})),
            probed(json!({"grpc": {"port": 1}})),
        );
        check(POD, with.clone(), None, &without);
        check(POD, with.clone(), Some(without.clone()), &without);
        let elsewhere =
            json!({"spec": {"initContainers": [{"startupProbe": {"grpc": {"mode": "Plaintext"}}}]}});
        check(POD, with.clone(), Some(elsewhere), &with);

        let stopped = |lifecycle: Value| json!({"spec": {"template": {"spec": {"containers": [{"lifecycle": lifecycle}]}}}});
        check(
            WORKLOAD,
            stopped(json!({"stopSignal": "SIGTERM"})),
            None,
            &json!({"spec": {"template": {"spec": {"containers": [{}]}}}}),
        );
        check(
            WORKLOAD,
            stopped(json!({"stopSignal": "SIGTERM", "preStop": {}})),
            None,
            &stopped(json!({"preStop": {}})),
        );
        check(
            SLICE,
            json!({"spec": {"devices": [{"attributes": {"a": {"ints": [1]}, "b": {"int": 1}}}], "skipNodeOperations": ["*"]}}),
            Some(json!({"spec": {"skipNodeOperations": ["*"]}})),
            &json!({"spec": {"devices": [{"attributes": {"a": {}, "b": {"int": 1}}}], "skipNodeOperations": ["*"]}}),
        );
        check(
            CRON_JOB,
            json!({"spec": {"jobTemplate": {"spec": {"scheduling": {}, "template": {"spec": {"schedulingGroup": {}}}}}}}),
            None,
            &json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}}),
        );
        check(
            NODE,
            json!({"spec": {"configSource": {}}}),
            None,
            &json!({"spec": {}}),
        );
        check(POD, json!({"spec": 5}), None, &json!({"spec": 5}));
    }

    #[test]
    fn what_is_behind_a_gate_is_a_field() {
        let core = |name: &str| kubewright_kinds::table().kind("", "v1", name).unwrap();
        let group = |group: &str, name: &str| kubewright_kinds::table().kind(group, "v1", name).unwrap();
        for (gated, ty) in [
            (POD, core("Pod")),
            (NODE, core("Node")),
            (CLAIM, core("PersistentVolumeClaim")),
            (JOB, group("batch", "Job")),
            (CRON_JOB, group("batch", "CronJob")),
            (CSI_NODE, group("storage.k8s.io", "CSINode")),
            (SLICE, group("resource.k8s.io", "ResourceSlice")),
            (DEVICE_CLAIM, group("resource.k8s.io", "ResourceClaim")),
            (
                DEVICE_CLAIM_TEMPLATE,
                group("resource.k8s.io", "ResourceClaimTemplate"),
            ),
        ] {
            let pod = gated
                .pod
                .unwrap_or_default()
                .trim_start_matches('/')
                .replace('/', ".");
            let own = gated.own.iter().map(|gate| (String::new(), gate));
            let of_pod = POD_SPEC
                .iter()
                .filter(|_| !pod.is_empty())
                .map(|gate| (pod.clone(), gate));
            for (at, gate) in own.chain(of_pod) {
                for place in gate.within {
                    for field in gate.fields {
                        let path = format!("{at}.{place}.{field}");
                        assert!(is_field(ty, &path), "{}: {path}", ty.name);
                    }
                }
            }
        }
    }

    fn is_field(ty: &'static kubewright_kinds::Type, path: &str) -> bool {
        use kubewright_kinds::Value as Kind;
        let mut kind = Kind::Object(ty.id());
        for step in path.split('.').filter(|step| !step.is_empty()) {
            kind = match (step, kind) {
                ("*", Kind::Array(item) | Kind::Map(item)) => *item,
                (step, Kind::Object(id)) => match id.get().field(step.trim_end_matches('?')) {
                    Some(field) => field.value,
                    None => return false,
                },
                _ => return false,
            };
        }
        true
    }
}
