//! Volumes of pods and persistent volumes, by the cases of upstream's `TestValidateVolumes`, `TestValidatePersistentVolumes` and
//! `TestValidatePersistentVolumeClaim`.

use super::pods::pod_spec;
use super::*;

#[track_caller]
fn volume(source: Value, expect: &[&str]) {
    let mut volume = json!({"name": "v"});
    for (field, value) in source.as_object().unwrap() {
        volume[field] = value.clone();
    }
    let full: Vec<String> = expect
        .iter()
        .map(|text| text.replace("V.", "spec.volumes[0]."))
        .collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let spec = json!({"volumes": [volume], "serviceAccountName": "a"});
    check("", "pods", &json!({"spec": pod_spec(spec)}), &full);
}

#[test]
fn sources() {
    for source in [
        json!({"emptyDir": {}}),
        json!({"hostPath": {"path": "/a"}}),
        json!({"nfs": {"server": "s", "path": "/p"}}),
        json!({"iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2015-02.example.com:test", "lun": 1}}),
        json!({"csi": {"driver": "d.example.com"}}),
        json!({"image": {"reference": "i"}}),
        json!({"fc": {"targetWWNs": ["a"], "lun": 1}}),
        json!({"azureDisk": {"diskName": "d", "diskURI": "https://blob/vhds/d.vhd"}}),
        json!({"quobyte": {"registry": "r:1,[::1]:2", "volume": "v"}}),
    ] {
        volume(source, &[]);
    }
    for (source, expect) in [
        (
            json!({"emptyDir": {"sizeLimit": "-1"}}),
            &["V.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"][..],
        ),
        (
            json!({"hostPath": {"path": "/a/../b"}}),
            &["V.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
        ),
        (
            json!({"hostPath": {"path": "/a", "type": "Pipe"}}),
            &[
                "V.hostPath.type: Unsupported value: \"Pipe\": supported values: \"\", \"BlockDevice\", \"CharDevice\", \
                 \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            ],
        ),
        (
            json!({"nfs": {"server": "s", "path": "p"}}),
            &["V.nfs.path: Invalid value: \"p\": must be an absolute path"],
        ),
        (
            json!({"iscsi": {"targetPortal": "x", "iqn": "iqx.2015", "lun": 256, "chapAuthSession": true}}),
            &[
                "V.iscsi.iqn: Invalid value: \"iqx.2015\": must be valid format starting with iqn, eui, or naa",
                "V.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "V.iscsi.secretRef: Required value",
            ],
        ),
        (
            json!({"secret": {"secretName": "s", "defaultMode": 512, "items": [{"key": "k", "path": "..x"}]}}),
            &[
                "V.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
                "V.secret.items[0].path: Invalid value: \"..x\": must not start with '..'",
            ],
        ),
        (
            json!({"configMap": {"items": [{"path": "/x"}]}}),
            &[
                "V.configMap.name: Required value",
                "V.configMap.items[0].key: Required value",
                "V.configMap.items[0].path: Invalid value: \"/x\": must be a relative path",
            ],
        ),
        (
            json!({"downwardAPI": {"items": [{"path": "p"}]}}),
            &["V.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
        ),
        (
            json!({"downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}]}}),
            &["V.downwardAPI.resourceFieldRef.containerName: Required value"],
        ),
        (
            json!({"csi": {"driver": "D/x", "nodePublishSecretRef": {}}}),
            &[
                "V.csi.driver: Invalid value: \"D/x\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                 characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                 for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                "V.csi.nodePublishSecretRef.name: Required value",
            ],
        ),
        (json!({"image": {}}), &["V.image.reference: Required value"]),
        (
            json!({"fc": {"targetWWNs": ["a"], "wwids": ["b"]}}),
            &[
                "V.fc.targetWWNs: Invalid value: [\"a\"]: targetWWNs and wwids can not be specified simultaneously",
                "V.fc.lun: Required value: lun is required if targetWWNs is specified",
            ],
        ),
        (
            json!({"flexVolume": {"driver": "d", "options": {"kubernetes.io/x": "y"}}}),
            &[
                "V.flexVolume.options[kubernetes.io/x]: Invalid value: \"kubernetes.io/x\": kubernetes.io and k8s.io namespaces \
                 are reserved",
            ],
        ),
        (
            json!({"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"]}}}}),
            &[
                "V.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
                "V.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
            ],
        ),
        (
            json!({"cephfs": {"monitors": ["a"]}, "hostPath": {"path": "/"}}),
            &["V.cephFS: Forbidden: may not specify more than 1 volume type"],
        ),
    ] {
        volume(source, expect);
    }
}

#[test]
fn projections() {
    let sources = |sources: Value| json!({"projected": {"sources": sources}});
    volume(sources(json!([{"serviceAccountToken": {"path": "t"}}])), &[]);
    volume(
        sources(
            json!([{"clusterTrustBundle": {"signerName": "example.com/s", "path": "p", "labelSelector": {}}}]),
        ),
        &[],
    );
    for (given, expect) in [
        (
            json!([{"serviceAccountToken": {"expirationSeconds": 599}}]),
            &[
                "V.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration \
                 less than 10 minutes",
                "V.projected.path: Required value",
            ][..],
        ),
        (
            json!([{"secret": {"name": "a", "items": [{"key": "k", "path": "p"}]}}, {"configMap": {"name": "b", "items": [{"key": "k", "path": "p"}]}}]),
            &["V.projected: Invalid value: \"b\": conflicting duplicate paths"],
        ),
        (
            json!([{"secret": {"name": "a"}, "configMap": {"name": "b"}}]),
            &["V.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"],
        ),
        (
            json!([{"clusterTrustBundle": {"path": "p"}}]),
            &[
                "V.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified",
            ],
        ),
        (
            json!([{"podCertificate": {"signerName": "a/b", "keyType": "RSA1", "maxExpirationSeconds": 1}}]),
            &[
                "V.projected.sources[0].podCertificate.signerName: Invalid value: \"a\": should be a domain with at least two \
                 segments separated by dots",
                "V.projected.sources[0].podCertificate.keyType: Unsupported value: \"RSA1\": supported values: \"RSA3072\", \
                 \"RSA4096\", \"ECDSAP256\", \"ECDSAP384\", \"ECDSAP521\", \"ED25519\"",
                "V.projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 1: if provided, \
                 maxExpirationSeconds must be >= 3600",
                "V.projected.sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, \
                 and certificateChainPath",
            ],
        ),
    ] {
        volume(sources(given), expect);
    }
}

#[test]
fn persistent_volumes() {
    let full = |extra: Value| {
        let mut volume = json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}});
        for (field, value) in extra.as_object().unwrap() {
            volume["spec"][field] = value.clone();
        }
        volume
    };
    let check = |extra: Value, expect: &[&str]| check_cluster("", "persistentvolumes", &full(extra), expect);
    check(json!({}), &[]);
    check(
        json!({"capacity": {"cpu": "1"}}),
        &["spec.capacity: Unsupported value: {\"cpu\":\"1\"}: supported values: \"storage\""],
    );
    check(
        json!({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "x"]}),
        &[
            "spec.accessModes: Unsupported value: \"x\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \
             \"ReadWriteOnce\", \"ReadWriteOncePod\"",
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        ],
    );
    check(
        json!({"hostPath": null, "local": {"path": "/a"}}),
        &["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    );
    check(
        json!({"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"}),
        &["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
    );
    check(
        json!({"volumeAttributesClassName": ""}),
        &[
            "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
            "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
        ],
    );
    check(
        json!({"hostPath": null, "csi": {"driver": "d", "volumeHandle": "", "nodeExpandSecretRef": {"name": "n"}}}),
        &[
            "spec.csi.volumeHandle: Required value",
            "spec.csi.nodeExpandSecretRef.namespace: Required value",
        ],
    );
    let update = |new: Value, old: Value, expect: &[&str]| {
        check_update("", "persistentvolumes", &full(new), &full(old), expect)
    };
    update(
        json!({"hostPath": {"path": "/b"}}),
        json!({}),
        &["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"],
    );
    update(
        json!({"volumeMode": "Block"}),
        json!({"volumeMode": "Filesystem"}),
        &["volumeMode: Invalid value: \"Block\": field is immutable"],
    );
    let on = |key: &str| json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}}});
    update(
        on("topology.kubernetes.io/zone"),
        on("failure-domain.beta.kubernetes.io/zone"),
        &[],
    );
    let other = on("other");
    let text = format!(
        "nodeAffinity: Invalid value: {}: field is immutable, except for updating from beta label to GA",
        other["nodeAffinity"]
    );
    update(other, on("topology.kubernetes.io/zone"), &[&text]);
}

#[test]
fn claims() {
    let full = |extra: Value| {
        let mut claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        for (field, value) in extra.as_object().unwrap() {
            claim["spec"][field] = value.clone();
        }
        claim
    };
    let check = |extra: Value, expect: &[&str]| check("", "persistentvolumeclaims", &full(extra), expect);
    check(
        json!({"dataSource": {"kind": "Pod", "name": "p"}}),
        &[
            "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ],
    );
    check(
        json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "p"}, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "q"}}),
        &["spec: Invalid value: {}: must match dataSourceRef"],
    );
    check(
        json!({"volumeMode": "x", "storageClassName": "A"}),
        &[
            "spec.storageClassName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case \
             alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
             regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.volumeMode: Unsupported value: \"x\": supported values: \"Block\", \"Filesystem\"",
        ],
    );
    let update = |new: Value, old: Value, expect: &[&str]| {
        check_update("", "persistentvolumeclaims", &full(new), &full(old), expect)
    };
    update(json!({"storageClassName": "fast"}), json!({}), &[]);
    update(
        json!({"storageClassName": "fast"}),
        json!({"storageClassName": "slow"}),
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for \
             bound claims",
        ],
    );
}
