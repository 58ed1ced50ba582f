//! The roles and bindings that every cluster has (plugin/pkg/auth/authorizer/rbac/bootstrappolicy), and how those that are there
//! already are brought up to them (component-helpers auth/rbac/reconciliation).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::GROUP;
use super::covers::covers;
use super::rule::PolicyRule;
use crate::storage::{Encoded, Key};

/// All of them, the roles before the bindings. Read once per process.
pub(crate) fn objects() -> &'static [Wanted] {
    static OBJECTS: OnceLock<Vec<Wanted>> = OnceLock::new();
    OBJECTS.get_or_init(|| aggregated(read(include_str!("bootstrap.txt"))))
}

/// A role or binding that is to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    namespace: Option<String>,
    name: String,
    /// To which roles it adds its rules.
    adds_to: Vec<String>,
    what: What,
}

/// A new object, its members in the order of stored texts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregation_rule: Option<Value>,
    api_version: &'a str,
    kind: &'a str,
    metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_ref: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a [PolicyRule]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    subjects: &'a [Value],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    annotations: BTreeMap<&'a str, &'a str>,
    creation_timestamp: &'a str,
    labels: Map<String, Value>,
    managed_fields: Vec<Value>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    uid: &'a str,
}

/// What a new cluster gets of each of [`objects`]: a text in which the identity and the time are to be filled in.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) wanted: &'static Wanted,
    pub(crate) key: Key,
    encoded: Encoded,
    uid: Range<usize>,
    /// Of the object, and of who wrote its fields.
    times: Vec<Range<usize>>,
}

/// The templates of all objects. Made once per process.
pub(crate) fn templates() -> &'static [Template] {
    static TEMPLATES: OnceLock<Vec<Template>> = OnceLock::new();
    TEMPLATES.get_or_init(|| objects().iter().filter_map(Template::new).collect())
}

impl Template {
    /// `None` for what cannot be stored; a test shows that there is no such thing.
    fn new(wanted: &'static Wanted) -> Option<Self> {
        let text = serde_json::to_vec(&wanted.stored(UID, TIME)).ok()?;
        let encoded = Encoded::from_storage(text.into()).ok()?;
        let find = |text: &str| {
            let all = memmem::find_iter(encoded.bytes(), text.as_bytes());
            all.map(|at| at..at + text.len()).collect::<Vec<_>>()
        };
        Some(Self {
            uid: find(UID).pop()?,
            times: find(TIME),
            wanted,
            key: wanted.key(),
            encoded,
        })
    }

    /// The object of this identity, made at this time to the second, both as objects write them.
    pub(crate) fn fill(&self, uid: &str, now: &str) -> Encoded {
        let mut text = self.encoded.bytes().to_vec();
        text.splice(self.uid.clone(), uid.bytes());
        // Each as long as what it takes the place of, so that the next is where it was.
        for place in &self.times {
            text.splice(place.clone(), now.bytes());
        }
        self.encoded.with_text(text)
    }
}

/// What stands in a template for the identity and the time: as long as they are, and nowhere else in it.
const UID: &str = "uuuuuuuu-uuuu-uuuu-uuuu-uuuuuuuuuuuu";
const TIME: &str = "tttt-tt-ttTtt:tt:ttZ";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Role {
        rules: Vec<PolicyRule>,
        /// The name of the label that the roles have whose rules it takes in.
        takes: Option<String>,
    },
    Binding {
        role: Value,
        subjects: Vec<Value>,
    },
}

impl Wanted {
    /// Where it is stored.
    pub(crate) fn key(&self) -> Key {
        Key::new(GROUP, self.plural(), self.namespace.as_deref(), &self.name)
    }

    /// The new object.
    pub(crate) fn create(&self, uid: &str, now: &str) -> Value {
        // What holds texts alone can be a value.
        serde_json::to_value(self.stored(uid, now)).unwrap_or_default()
    }

    fn stored<'a>(&'a self, uid: &'a str, now: &'a str) -> Stored<'a> {
        let mut stored = Stored {
            aggregation_rule: None,
            api_version: API_VERSION,
            kind: self.kind(),
            metadata: Metadata {
                annotations: BTreeMap::from([(AUTO_UPDATE, "true")]),
                creation_timestamp: now,
                labels: self.labels(),
                managed_fields: self.managed_fields(now),
                name: &self.name,
                namespace: self.namespace.as_deref(),
                uid,
            },
            role_ref: None,
            rules: None,
            subjects: &[],
        };
        match &self.what {
            What::Role { rules, takes } => {
                stored.rules = Some(rules);
                stored.aggregation_rule = takes
                    .as_deref()
                    .map(|label| json!({"clusterRoleSelectors": [selector(label)]}));
            }
            What::Binding { role, subjects } => {
                stored.role_ref = Some(role);
                stored.subjects = subjects;
            }
        }
        stored
    }

    /// Who set which fields of the new object: the server all of them, but for rules that the controller took in from other roles.
    fn managed_fields(&self, now: &str) -> Vec<Value> {
        let set = |names: Vec<&str>| {
            let fields = names.into_iter().map(|name| (format!("f:{name}"), json!({})));
            Value::Object(fields.collect())
        };
        let map = |names: Vec<&str>| {
            let mut fields = set(names);
            fields["."] = json!({});
            fields
        };
        let labels = self.labels();
        let mut fields = match &self.what {
            What::Role { takes: None, .. } => set(vec!["rules"]),
            What::Role { takes: Some(_), .. } => {
                json!({"f:aggregationRule": {".": {}, "f:clusterRoleSelectors": {}}})
            }
            What::Binding { subjects, .. } if subjects.is_empty() => set(vec!["roleRef"]),
            What::Binding { .. } => set(vec!["roleRef", "subjects"]),
        };
        fields["f:metadata"] = json!({
            "f:annotations": map(vec![AUTO_UPDATE]),
            "f:labels": map(labels.keys().map(String::as_str).collect()),
        });
        let entry = |manager: &str, operation: &str, fields: Value| {
            json!({"manager": manager, "operation": operation, "apiVersion": API_VERSION, "time": now, "fieldsType": "FieldsV1",
                "fieldsV1": fields})
        };
        let mut entries = vec![entry("kube-apiserver", "Update", fields)];
        if let What::Role { takes: Some(_), .. } = &self.what {
            let taken = entry("clusterrole-aggregation-controller", "Apply", set(vec!["rules"]));
            entries.insert(0, taken);
        }
        // They are written as they are.
        entries.iter_mut().for_each(Value::sort_all_objects);
        entries
    }

    /// The object that is there with all that it lacks, and with all that it has more; `None` when it lacks nothing, or is not to be
    /// touched (the annotation `rbac.authorization.kubernetes.io/autoupdate` is `false`). A binding of another role is made anew
    /// in its place.
    pub(crate) fn reconcile(&self, found: &Value) -> Option<Value> {
        if found["metadata"]["annotations"][AUTO_UPDATE] == "false" {
            return None;
        }
        let mut new = found.clone();
        let metadata = new.get_mut("metadata")?.as_object_mut()?;
        add_missing(metadata, "labels", &self.labels());
        add_missing(
            metadata,
            "annotations",
            &Map::from_iter([(AUTO_UPDATE.to_owned(), json!("true"))]),
        );
        match &self.what {
            What::Role { rules, takes } => {
                let mut has: Vec<PolicyRule> =
                    serde_json::from_value(found["rules"].clone()).unwrap_or_default();
                let missing = covers(&has, rules);
                if !missing.is_empty() {
                    has.extend(missing);
                    new["rules"] = json!(has);
                }
                match takes {
                    Some(label) => add_items(
                        &mut new["aggregationRule"]["clusterRoleSelectors"],
                        &[selector(label)],
                    ),
                    None => {
                        new.as_object_mut()?.remove("aggregationRule");
                    }
                }
            }
            What::Binding { role, .. } if found["roleRef"] != *role => {
                let text = |field: &str| found["metadata"][field].as_str().unwrap_or_default().to_owned();
                return Some(self.create(&text("uid"), &text("creationTimestamp")));
            }
            What::Binding { subjects, .. } if subjects.is_empty() => {}
            What::Binding { subjects, .. } => add_items(&mut new["subjects"], subjects),
        }
        (new != *found).then_some(new)
    }

    fn kind(&self) -> &'static str {
        match (&self.what, &self.namespace) {
            (What::Role { .. }, None) => "ClusterRole",
            (What::Role { .. }, Some(_)) => "Role",
            (What::Binding { .. }, None) => "ClusterRoleBinding",
            (What::Binding { .. }, Some(_)) => "RoleBinding",
        }
    }

    fn plural(&self) -> &'static str {
        match (&self.what, &self.namespace) {
            (What::Role { .. }, None) => "clusterroles",
            (What::Role { .. }, Some(_)) => "roles",
            (What::Binding { .. }, None) => "clusterrolebindings",
            (What::Binding { .. }, Some(_)) => "rolebindings",
        }
    }

    fn labels(&self) -> Map<String, Value> {
        let more = self
            .adds_to
            .iter()
            .map(|role| (format!("{AGGREGATE_TO}{role}"), json!("true")));
        let own = ("kubernetes.io/bootstrapping".to_owned(), json!("rbac-defaults"));
        [own].into_iter().chain(more).collect()
    }
}

fn selector(role: &str) -> Value {
    json!({"matchLabels": {format!("{AGGREGATE_TO}{role}"): "true"}})
}

fn add_missing(metadata: &mut Map<String, Value>, field: &str, wanted: &Map<String, Value>) {
    let has = metadata.entry(field).or_insert_with(|| json!({}));
    if let Value::Object(has) = has {
        for (name, value) in wanted {
            // What somebody set otherwise stays.
            has.entry(name).or_insert_with(|| value.clone());
        }
    }
}

fn add_items(list: &mut Value, wanted: &[Value]) {
    if !list.is_array() {
        *list = json!([]);
    }
    if let Value::Array(has) = list {
        for item in wanted {
            if !has.contains(item) {
                has.push(item.clone());
            }
        }
    }
}

/// The rules of all roles that a role takes in, each once, in the order of the roles' names (pkg/controller/clusterroleaggregation).
pub(crate) fn aggregate<'a>(roles: impl IntoIterator<Item = &'a [PolicyRule]>) -> Vec<PolicyRule> {
    let mut all: Vec<PolicyRule> = Vec::new();
    for rule in roles.into_iter().flatten() {
        if !all.contains(rule) {
            all.push(rule.clone());
        }
    }
    all
}

/// Fills the roles that take in others as upstream's controller leaves them.
fn aggregated(mut objects: Vec<Wanted>) -> Vec<Wanted> {
    // Some take in what took in others before, so it is done until nothing changes; each round settles one more at least.
    for _ in 0..objects.len() {
        let mut by_label: BTreeMap<String, BTreeMap<String, Vec<PolicyRule>>> = BTreeMap::new();
        for object in &objects {
            if let What::Role { rules, .. } = &object.what {
                for label in &object.adds_to {
                    let roles = by_label.entry(label.clone()).or_default();
                    roles.insert(object.name.clone(), rules.clone());
                }
            }
        }
        let mut is_changed = false;
        for object in &mut objects {
            if let What::Role {
                rules,
                takes: Some(label),
            } = &mut object.what
            {
                let taken = by_label.get(label).into_iter().flat_map(BTreeMap::values);
                let all = aggregate(taken.map(Vec::as_slice));
                is_changed |= *rules != all;
                *rules = all;
            }
        }
        if !is_changed {
            break;
        }
    }
    objects
}

/// Reads the format that the file tells of. Lines that are not in it are passed over; a test shows that there are none.
fn read(text: &str) -> Vec<Wanted> {
    let mut objects: Vec<Wanted> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["role", name, marks @ ..] => {
                let marked = |mark: char| marks.iter().filter_map(move |one| one.strip_prefix(mark));
                let what = What::Role {
                    rules: Vec::new(),
                    takes: marked('=').next().map(str::to_owned),
                };
                objects.push(named(name, marked('+').map(str::to_owned).collect(), what));
            }
            ["binding", name, role, subjects @ ..] => {
                let (kind, role) = match role.strip_prefix("./") {
                    Some(own) => ("Role", own),
                    None => ("ClusterRole", *role),
                };
                let what = What::Binding {
                    role: json!({"apiGroup": GROUP, "kind": kind, "name": role}),
                    subjects: subjects.iter().filter_map(|text| subject(text)).collect(),
                };
                objects.push(named(name, Vec::new(), what));
            }
            words => {
                let last = objects.last_mut().map(|object| &mut object.what);
                if let (Some(What::Role { rules, .. }), Some(rule)) = (last, rule(words)) {
                    rules.push(rule);
                }
            }
        }
    }
    objects
}

fn named(name: &str, adds_to: Vec<String>, what: What) -> Wanted {
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, name),
    };
    Wanted {
        namespace,
        name: name.to_owned(),
        adds_to,
        what,
    }
}

fn subject(text: &str) -> Option<Value> {
    let (kind, name) = text.split_once(':')?;
    Some(match name.split_once('/') {
        Some((namespace, name)) => json!({"kind": kind, "name": name, "namespace": namespace}),
        None => json!({"apiGroup": GROUP, "kind": kind, "name": name}),
    })
}

fn rule(words: &[&str]) -> Option<PolicyRule> {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let groups = |text: &str| {
        list(text)
            .into_iter()
            .map(|one| if one == "core" { String::new() } else { one })
    };
    match words {
        [verbs, paths] => Some(PolicyRule {
            verbs: list(verbs),
            non_resource_urls: list(paths),
            ..PolicyRule::default()
        }),
        [verbs, of, resources, names @ ..] => Some(PolicyRule {
            verbs: list(verbs),
            api_groups: groups(of).collect(),
            resources: list(resources),
            resource_names: names.first().map(|names| list(names)).unwrap_or_default(),
            non_resource_urls: Vec::new(),
        }),
        _ => None,
    }
}

/// Says whether an object is brought up to what is wanted when a server starts.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// How labels begin that say into which role another one's rules are taken.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

#[cfg(test)]
mod tests {
    use super::*;

    fn find(kind: &str, name: &str) -> &'static Wanted {
        let is = |one: &&Wanted| one.kind() == kind && one.name == name;
        objects().iter().find(is).unwrap()
    }

    #[test]
    fn every_line_is_read() {
        let text = include_str!("bootstrap.txt");
        let (mut roles, mut bindings, mut rules) = (0, 0, 0);
        for line in text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
        {
            match line.split(' ').next() {
                Some("role") => roles += 1,
                Some("binding") => bindings += 1,
                Some("") => rules += 1,
                _ => panic!("{line}"),
            }
        }
        let (mut found_roles, mut found_rules) = (0, 0);
        for object in read(text) {
            if let What::Role { rules, .. } = object.what {
                found_roles += 1;
                found_rules += rules.len();
            }
        }
        assert_eq!((found_roles, found_rules), (roles, rules));
        assert_eq!(objects().len(), roles + bindings);
        assert_eq!((roles, bindings), (80, 61));
    }

    #[test]
    fn templates_are_what_the_objects_are() {
        assert_eq!(templates().len(), objects().len());
        let (uid, now) = ("0b1e2c3d-0000-4000-8000-000000000001", "2026-01-02T03:04:05Z");
        for template in templates() {
            let filled = template.fill(uid, now);
            let object = Encoded::from_value(&template.wanted.create(uid, now));
            assert_eq!(filled.bytes(), object.bytes());
            assert_eq!(format!("{filled:?}"), format!("{object:?}"), "with its places");
        }
    }

    /// What a kube-apiserver of 1.37 and its controller manager leave.
    #[test]
    fn who_set_which_fields() {
        let managers = |kind: &str, name: &str| {
            let object = find(kind, name).create("u", "t");
            let entries = object["metadata"]["managedFields"].as_array().cloned();
            let shown = entries.unwrap().into_iter().map(|entry| {
                assert_eq!(entry["time"], "t");
                let fields = entry["fieldsV1"].as_object().unwrap().keys().cloned();
                let fields: Vec<String> = fields.collect();
                format!("{} {} {}", entry["manager"], entry["operation"], fields.join(","))
            });
            shown.collect::<Vec<_>>().join("; ").replace('"', "")
        };
        for (kind, name, expect) in [
            (
                "ClusterRole",
                "system:basic-user",
                "kube-apiserver Update f:metadata,f:rules",
            ),
            (
                "ClusterRole",
                "view",
                "clusterrole-aggregation-controller Apply f:rules; kube-apiserver Update f:aggregationRule,f:metadata",
            ),
            (
                "ClusterRoleBinding",
                "cluster-admin",
                "kube-apiserver Update f:metadata,f:roleRef,f:subjects",
            ),
            (
                "ClusterRoleBinding",
                "system:node",
                "kube-apiserver Update f:metadata,f:roleRef",
            ),
        ] {
            assert_eq!(managers(kind, name), expect, "{name}");
        }
        let view = find("ClusterRole", "view").create("u", "t");
        let label = "f:rbac.authorization.k8s.io/aggregate-to-edit";
        let labels = &view["metadata"]["managedFields"][1]["fieldsV1"]["f:metadata"]["f:labels"];
        assert_eq!(
            labels,
            &json!({".": {}, label: {}, "f:kubernetes.io/bootstrapping": {}})
        );
    }

    #[test]
    fn view_is_in_edit_and_edit_in_admin() {
        let rules = |name: &str| match &find("ClusterRole", name).what {
            What::Role { rules, .. } => rules.clone(),
            What::Binding { .. } => unreachable!(),
        };
        let (view, edit, admin) = (rules("view"), rules("edit"), rules("admin"));
        assert!(!view.is_empty());
        assert_eq!(covers(&edit, &view), []);
        assert_eq!(covers(&admin, &edit), []);
        assert_ne!(covers(&view, &edit), []);
        assert_ne!(covers(&edit, &admin), []);
        assert_eq!(covers(&rules("cluster-admin"), &admin), []);
    }

    #[test]
    fn what_is_there_is_brought_up_to_what_is_wanted() {
        for object in objects() {
            let new = object.create("u", "t");
            assert_eq!(object.reconcile(&new), None, "{}", object.name);
        }
        let wanted = find("ClusterRole", "system:discovery");
        let mut less = wanted.create("u", "t");
        less["rules"] = json!([{"verbs": ["put"], "nonResourceURLs": ["/x"]}]);
        less["metadata"]["labels"] = json!({"a": "b"});
        let more = wanted.reconcile(&less).unwrap();
        assert_eq!(more["rules"][0], less["rules"][0]);
        assert_eq!(more["metadata"]["labels"]["a"], "b");
        assert_eq!(
            more["metadata"]["labels"]["kubernetes.io/bootstrapping"],
            "rbac-defaults"
        );
        assert_eq!(wanted.reconcile(&more), None);
        less["metadata"]["annotations"][AUTO_UPDATE] = json!("false");
        assert_eq!(wanted.reconcile(&less), None);

        let wanted = find("ClusterRoleBinding", "system:discovery");
        let mut other = wanted.create("u", "t");
        other["subjects"] = json!([{"kind": "User", "name": "x", "apiGroup": GROUP}]);
        let more = wanted.reconcile(&other).unwrap();
        assert_eq!(more["subjects"].as_array().unwrap().len(), 2);
        other["roleRef"]["name"] = json!("view");
        assert_eq!(wanted.reconcile(&other), Some(wanted.create("u", "t")));

        let wanted = find("ClusterRole", "view");
        let mut plain = wanted.create("u", "t");
        plain.as_object_mut().unwrap().remove("aggregationRule");
        assert_eq!(wanted.reconcile(&plain), Some(wanted.create("u", "t")));
    }
}
