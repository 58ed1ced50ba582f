//! Which names a definition gets: those that no other definition of its group has.
//!
//! Upstream: apiextensions `pkg/controller/status/naming_controller.go`.

use std::collections::HashSet;

use super::definition::{Condition, Definition, ESTABLISHED, FALSE, NAMES_ACCEPTED, Names, TRUE};

/// What a definition's status is to say of its names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The names it has from now on.
    pub(super) accepted: Names,
    /// `NamesAccepted`.
    pub(super) names: Condition,
    /// `Established`.
    pub(super) established: Condition,
}

impl Decision {
    /// Whether the kind is served under this decision.
    pub(super) fn is_established(&self) -> bool {
        self.established.status == TRUE
    }

    /// Whether the definition's status says so already.
    pub(super) fn is_told_by(&self, definition: &Definition) -> bool {
        definition.status.accepted_names == self.accepted
            && definition.condition(NAMES_ACCEPTED) == Some(&self.names)
            && definition.condition(ESTABLISHED) == Some(&self.established)
    }
}

/// Decides on the names of `definition`; `taken` are the names accepted in its group, its own among them or not.
pub(super) fn decide<'a>(definition: &'a Definition, taken: impl Iterator<Item = &'a Names>) -> Decision {
    let wanted = &definition.spec.names;
    let has = &definition.status.accepted_names;
    let mut used = Used::default();
    taken.chain([has]).for_each(|names| used.add(names));

    let mut accepted = has.clone();
    let take = |wanted: &String, has: &String, used: &HashSet<&str>, place: &mut String| {
        let is_free = wanted == has || !used.contains(wanted.as_str());
        if is_free {
            place.clone_from(wanted);
        }
        (!is_free).then(|| in_use(wanted))
    };
    let resources = &used.resources;
    let plural = take(&wanted.plural, &has.plural, resources, &mut accepted.plural);
    let singular = take(&wanted.singular, &has.singular, resources, &mut accepted.singular);
    let short = short_names_in_use(wanted, has, &used);
    if short.is_none() {
        accepted.short_names.clone_from(&wanted.short_names);
    }
    let kind = take(&wanted.kind, &has.kind, &used.kinds, &mut accepted.kind);
    let list_kind = take(
        &wanted.list_kind,
        &has.list_kind,
        &used.kinds,
        &mut accepted.list_kind,
    );
    // The last that is found is told of.
    let conflict = [
        ("PluralConflict", plural),
        ("SingularConflict", singular),
        ("ShortNamesConflict", short),
        ("KindConflict", kind),
        ("ListKindConflict", list_kind),
    ];
    let conflict = conflict
        .into_iter()
        .rev()
        .find_map(|(reason, message)| Some((reason, message?)));
    accepted.categories.clone_from(&wanted.categories);

    let names = match &conflict {
        Some((reason, message)) => Condition::new(NAMES_ACCEPTED, FALSE, reason, message),
        None => Condition::new(NAMES_ACCEPTED, TRUE, "NoConflicts", "no conflicts found"),
    };
    let established = match definition.condition(ESTABLISHED) {
        // A kind that is served stays served.
        Some(told) if told.status == TRUE => told.clone(),
        _ if conflict.is_none() => Condition::new(
            ESTABLISHED,
            TRUE,
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        Some(told) => told.clone(),
        None => Condition::new(ESTABLISHED, FALSE, "NotAccepted", "not all names are accepted"),
    };
    Decision {
        accepted,
        names,
        established,
    }
}

/// The names of a group that are given out.
#[derive(Default)]
struct Used<'a> {
    resources: HashSet<&'a str>,
    kinds: HashSet<&'a str>,
}

impl<'a> Used<'a> {
    fn add(&mut self, names: &'a Names) {
        self.resources
            .extend([names.plural.as_str(), names.singular.as_str()]);
        self.resources
            .extend(names.short_names.iter().map(String::as_str));
        self.kinds.extend([names.kind.as_str(), names.list_kind.as_str()]);
    }
}

fn short_names_in_use(wanted: &Names, has: &Names, used: &Used<'_>) -> Option<String> {
    let is_taken = |name: &&String| !has.short_names.contains(name) && used.resources.contains(name.as_str());
    let taken: Vec<String> = wanted
        .short_names
        .iter()
        .filter(is_taken)
        .map(|name| in_use(name))
        .collect();
    match taken.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn names(plural: &str, singular: &str, kind: &str, short: &[&str]) -> Names {
        serde_json::from_value(json!({
            "plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List"), "shortNames": short,
        }))
        .unwrap()
    }

    fn definition(wanted: &Names, status: Value) -> Definition {
        let text = json!({
            "metadata": {"name": "x"},
            "spec": {"group": "a.b", "scope": "Cluster", "names": wanted},
            "status": status,
        });
        Definition::parse(text.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn names_in_use_are_refused() {
        let taken = names("foos", "foo", "Foo", &["f", "fo"]);
        for (wanted, reason, message) in [
            (
                names("bars", "bar", "Bar", &["b"]),
                "NoConflicts",
                "no conflicts found",
            ),
            (
                names("bars", "foo", "Bar", &[]),
                "SingularConflict",
                "\"foo\" is already in use",
            ),
            (
                names("bars", "f", "Bar", &[]),
                "SingularConflict",
                "\"f\" is already in use",
            ),
            (
                names("bars", "bar", "Foo", &[]),
                "ListKindConflict",
                "\"FooList\" is already in use",
            ),
            (
                names("bars", "bar", "FooList", &[]),
                "KindConflict",
                "\"FooList\" is already in use",
            ),
            (
                names("bars", "bar", "Foo", &["f"]),
                "ListKindConflict",
                "\"FooList\" is already in use",
            ),
            (
                names("bars", "bar", "Bar", &["f"]),
                "ShortNamesConflict",
                "\"f\" is already in use",
            ),
            (
                names("bars", "bar", "Bar", &["f", "b", "foos"]),
                "ShortNamesConflict",
                "[\"f\" is already in use, \"foos\" is already in use]",
            ),
        ] {
            let definition = definition(&wanted, json!({}));
            let decision = decide(&definition, [&taken].into_iter());
            assert_eq!(
                (decision.names.reason.as_str(), decision.names.message.as_str()),
                (reason, message)
            );
            assert_eq!(decision.is_established(), reason == "NoConflicts", "{reason}");
            assert_eq!(decision.accepted == wanted, reason == "NoConflicts", "{reason}");
        }
    }

    #[test]
    fn an_established_kind_stays_so_under_its_old_names() {
        let taken = names("foos", "foo", "Foo", &[]);
        let own = names("bars", "bar", "Bar", &[]);
        let status = json!({"acceptedNames": own, "conditions": [
            {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
        ]});
        let definition = definition(&names("bars", "foo", "Bar", &["q"]), status);
        let decision = decide(&definition, [&taken, &own].into_iter());
        assert!(decision.is_established() && !decision.is_told_by(&definition));
        assert_eq!(decision.accepted, names("bars", "bar", "Bar", &["q"]));
        assert_eq!(decision.names.status, FALSE);
    }
}
