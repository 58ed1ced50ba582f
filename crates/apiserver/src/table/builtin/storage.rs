//! Volumes, claims and drivers.

use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, NAME, boolean, integer, string};
use crate::table::format::{NONE, UNSET, quantity_of};
use crate::table::view::{Row, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "",
        "PersistentVolume",
        &[
            NAME,
            string("Capacity", "Its size."),
            string("Access Modes", "How it can be mounted."),
            string("Reclaim Policy", "What becomes of it when its claim is gone."),
            string("Status", "Whether it is free, bound or released."),
            string("Claim", "The claim that it is bound to."),
            string("StorageClass", "The class that it belongs to."),
            string("VolumeAttributesClass", "The class of its mutable attributes."),
            string("Reason", "Why it is in that state."),
            AGE,
            string("VolumeMode", "File system or block device.").wide(),
        ],
        persistent_volume,
    ),
    printer(
        "",
        "PersistentVolumeClaim",
        &[
            NAME,
            string("Status", "Whether it is bound."),
            string("Volume", "The volume that it is bound to."),
            string("Capacity", "The size of that volume."),
            string("Access Modes", "How that volume can be mounted."),
            string("StorageClass", "The class that it asks for."),
            string(
                "VolumeAttributesClass",
                "The class of mutable attributes that it asks for.",
            ),
            AGE,
            string("VolumeMode", "File system or block device.").wide(),
        ],
        persistent_volume_claim,
    ),
    printer(
        STORAGE,
        "StorageClass",
        &[
            NAME,
            string("Provisioner", "Who makes its volumes."),
            string(
                "ReclaimPolicy",
                "What becomes of a volume when its claim is gone.",
            ),
            string(
                "VolumeBindingMode",
                "When a claim is bound: at once or for its first pod.",
            ),
            string("AllowVolumeExpansion", "Whether volumes can grow."),
            AGE,
        ],
        storage_class,
    ),
    printer(
        STORAGE,
        "VolumeAttributesClass",
        &[NAME, string("DriverName", "The driver that it is for."), AGE],
        volume_attributes_class,
    ),
    printer(
        STORAGE,
        "VolumeAttachment",
        &[
            NAME,
            string("Attacher", "The driver that attaches the volume.").identifying(),
            string("PV", "The volume."),
            string("Node", "The node that it is attached to."),
            boolean("Attached", "Whether that is done."),
            AGE,
        ],
        volume_attachment,
    ),
    printer(
        STORAGE,
        "CSINode",
        &[NAME, integer("Drivers", "How many drivers the node has."), AGE],
        |row| vec![row.name(), row.items("/spec/drivers").len().into(), row.age()],
    ),
    printer(
        STORAGE,
        "CSIDriver",
        &[
            NAME,
            boolean(
                "AttachRequired",
                "Whether volumes are attached before they are mounted.",
            ),
            boolean("PodInfoOnMount", "Whether the driver is told of the pod."),
            boolean(
                "StorageCapacity",
                "Whether the scheduler looks at the capacity left.",
            ),
            string("TokenRequests", "Audiences of the tokens that the driver gets."),
            boolean(
                "RequiresRepublish",
                "Whether mounts are repeated from time to time.",
            ),
            string("Modes", "Lives of volumes that the driver knows."),
            AGE,
        ],
        csi_driver,
    ),
];

const STORAGE: &str = "storage.k8s.io";
/// Where claims and volumes kept their class before there was a field for it; it still wins.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn persistent_volume(row: &Row<'_>) -> Vec<Value> {
    let claim = match row.get("/spec/claimRef") {
        Some(claim) => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        None => String::new(),
    };
    vec![
        row.name(),
        quantity_of(row.object, "/spec/capacity", "storage").into(),
        access_modes(row.items("/spec/accessModes")).into(),
        row.text("/spec/persistentVolumeReclaimPolicy").into(),
        phase(row),
        claim.into(),
        class(row),
        optional(row, "/spec/volumeAttributesClassName"),
        row.text("/status/reason").into(),
        row.age(),
        optional(row, "/spec/volumeMode"),
    ]
}

fn persistent_volume_claim(row: &Row<'_>) -> Vec<Value> {
    let volume = row.text("/spec/volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        let capacity = quantity_of(row.object, "/status/capacity", "storage");
        (capacity, access_modes(row.items("/status/accessModes")))
    };
    vec![
        row.name(),
        phase(row),
        volume.into(),
        capacity.into(),
        modes.into(),
        class(row),
        optional(row, "/spec/volumeAttributesClassName"),
        row.age(),
        optional(row, "/spec/volumeMode"),
    ]
}

fn phase(row: &Row<'_>) -> Value {
    if row.deleting() {
        "Terminating".into()
    } else {
        row.text("/status/phase").into()
    }
}

fn class(row: &Row<'_>) -> Value {
    or(row.annotation(BETA_CLASS), row.text("/spec/storageClassName")).into()
}

fn optional(row: &Row<'_>, path: &str) -> Value {
    row.get(path).and_then(Value::as_str).unwrap_or(UNSET).into()
}

/// The short names of access modes, each once and in a fixed order.
fn access_modes(modes: &[Value]) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let present = known
        .into_iter()
        .filter(|(mode, _)| modes.iter().any(|given| given == mode));
    present.map(|(_, short)| short).collect::<Vec<_>>().join(",")
}

fn storage_class(row: &Row<'_>) -> Vec<Value> {
    let keys = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    vec![
        marked_default(row, &keys),
        row.text("/provisioner").into(),
        or(row.text("/reclaimPolicy"), "Delete").into(),
        or(row.text("/volumeBindingMode"), "Immediate").into(),
        row.flag("/allowVolumeExpansion").into(),
        row.age(),
    ]
}

fn volume_attributes_class(row: &Row<'_>) -> Vec<Value> {
    let keys = ["volumeattributesclass.alpha.kubernetes.io/is-default-class"];
    vec![
        marked_default(row, &keys),
        row.text("/driverName").into(),
        row.age(),
    ]
}

/// The name, marked where one of the annotations makes the class the default.
fn marked_default(row: &Row<'_>, keys: &[&str]) -> Value {
    let name = row.text("/metadata/name");
    if keys.iter().any(|key| row.annotation(key) == "true") {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}

fn volume_attachment(row: &Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        row.text("/spec/attacher").into(),
        row.text("/spec/source/persistentVolumeName").into(),
        row.text("/spec/nodeName").into(),
        row.flag("/status/attached").into(),
        row.age(),
    ]
}

fn csi_driver(row: &Row<'_>) -> Vec<Value> {
    let modes: Vec<_> = row
        .items("/spec/volumeLifecycleModes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let tokens = match row.get("/spec/tokenRequests").and_then(Value::as_array) {
        None => UNSET.to_owned(),
        Some(requests) => requests
            .iter()
            .map(|request| text(request, "/audience"))
            .collect::<Vec<_>>()
            .join(","),
    };
    vec![
        row.name(),
        row.get("/spec/attachRequired")
            .and_then(Value::as_bool)
            .unwrap_or(true)
            .into(),
        row.flag("/spec/podInfoOnMount").into(),
        row.flag("/spec/storageCapacity").into(),
        tokens.into(),
        row.flag("/spec/requiresRepublish").into(),
        or(&modes.join(","), NONE).into(),
        row.age(),
    ]
}
