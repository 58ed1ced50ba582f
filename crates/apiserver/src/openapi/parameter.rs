//! Parameters of paths and queries, and what each is for.

use serde_json::{Value, json};

/// A parameter of a path or of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameter {
    name: &'static str,
    place: Place,
    ty: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Query,
}

impl Parameter {
    pub(super) const fn path(name: &'static str) -> Self {
        let (place, ty) = (Place::Path, "string");
        Self { name, place, ty }
    }

    pub(super) const fn text(name: &'static str) -> Self {
        let (place, ty) = (Place::Query, "string");
        Self { name, place, ty }
    }

    pub(super) const fn number(name: &'static str) -> Self {
        let (place, ty) = (Place::Query, "integer");
        Self { name, place, ty }
    }

    pub(super) const fn flag(name: &'static str) -> Self {
        let (place, ty) = (Place::Query, "boolean");
        Self { name, place, ty }
    }

    fn describe(self) -> Value {
        let schema = json!({"type": self.ty, "uniqueItems": true});
        let description = self.description();
        match self.place {
            Place::Path => json!({
                "name": self.name, "in": "path", "required": true, "description": description, "schema": schema,
            }),
            Place::Query => {
                json!({"name": self.name, "in": "query", "description": description, "schema": schema})
            }
        }
    }

    fn description(self) -> &'static str {
        let described = match self.place {
            Place::Path => IN_PATHS,
            Place::Query => IN_QUERIES,
        };
        let found = described.iter().find(|(name, _)| *name == self.name);
        found.map_or("", |(_, description)| description)
    }
}

/// Parameters by name, as upstream sorts them.
pub(super) fn list<'a>(parameters: impl Iterator<Item = &'a Parameter>) -> Value {
    let mut parameters: Vec<Parameter> = parameters.copied().collect();
    parameters.sort_by_key(|parameter| parameter.name);
    parameters.into_iter().map(Parameter::describe).collect()
}

const IN_PATHS: &[(&str, &str)] = &[
    ("logpath", "The path of the log."),
    ("name", "Which object of its kind."),
    ("namespace", "The namespace that the objects are in."),
    ("path", "The path on the other side."),
];

const IN_QUERIES: &[(&str, &str)] = &[
    (
        "allowWatchBookmarks",
        "Whether a watch may be sent bookmarks: events that carry nothing but a version to go on from.",
    ),
    (
        "command",
        "The command to run: one parameter for the program and each of its arguments.",
    ),
    (
        "container",
        "Which container of the pod; it need not be named where there is but one.",
    ),
    (
        "continue",
        "Where a page of a list begins: what the page before it gave as metadata.continue.",
    ),
    (
        "dryRun",
        "All makes it a request that is checked and answered as any other, and changes nothing.",
    ),
    (
        "fieldManager",
        "Who writes: up to 128 printable characters, under which the fields that are set are listed as owned.",
    ),
    (
        "fieldSelector",
        "Keeps objects by their fields, as in metadata.name=a,spec.nodeName!=b.",
    ),
    (
        "fieldValidation",
        "What is done about fields that the kind does not have or that come twice: Ignore, Warn (which is the default) or \
         Strict, which refuses them.",
    ),
    (
        "follow",
        "Whether to stay and send what is written to the log from now on.",
    ),
    (
        "force",
        "Whether an apply takes over the fields that it sets and others own; without it that is a conflict. Only for apply.",
    ),
    (
        "gracePeriodSeconds",
        "How many seconds the object is given to end by itself. With 0 it is gone at once; without a number its kind decides.",
    ),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "Whether to delete an object that can no longer be read from the store, finalizers or not. It is refused for objects that \
         can be read.",
    ),
    (
        "insecureSkipTLSVerifyBackend",
        "Whether to take the log from a node whose certificate was not checked.",
    ),
    (
        "labelSelector",
        "Keeps objects by their labels, as in app=web,tier in (front,back),!canary.",
    ),
    (
        "limit",
        "The greatest number of objects in one answer. If there are more, metadata.continue says how to get them.",
    ),
    ("limitBytes", "After how many bytes of the log to stop."),
    (
        "orphanDependents",
        "Give propagationPolicy in its place: true stands for Orphan, false for Background.",
    ),
    ("path", "The path on the other side."),
    ("ports", "The ports to forward."),
    (
        "pretty",
        "Whether JSON is indented. It is not, unless a browser or curl asks.",
    ),
    (
        "previous",
        "Whether to send the log of the container that ran before the present one.",
    ),
    (
        "propagationPolicy",
        "What becomes of objects that the deleted one owns: Orphan leaves them, Background deletes them afterwards, Foreground \
         before it.",
    ),
    (
        "resourceVersion",
        "The version to read at or to watch from; 0 stands for any. What is asked of it says resourceVersionMatch.",
    ),
    (
        "resourceVersionMatch",
        "Whether a list is to be of Exact the version given or NotOlderThan that.",
    ),
    (
        "sendInitialEvents",
        "Whether a watch begins with an event for each object that is there, then a bookmark to say that those were all.",
    ),
    (
        "shardSelector",
        "Keeps one share of the objects, for several readers that divide them up.",
    ),
    (
        "sinceSeconds",
        "How many seconds ago the part of the log begins that is sent.",
    ),
    ("stderr", "Whether to connect the standard error."),
    ("stdin", "Whether to connect the standard input."),
    ("stdout", "Whether to connect the standard output."),
    (
        "stream",
        "Which part of the log to send: Stdout, Stderr or All of it.",
    ),
    ("tailLines", "How many of the last lines of the log to send."),
    (
        "timeoutSeconds",
        "After how many seconds a list or watch is ended.",
    ),
    (
        "timestamps",
        "Whether to put its time before each line of the log.",
    ),
    ("tty", "Whether the command has a terminal."),
    (
        "watch",
        "Whether to answer with changes as they happen, and not with a list.",
    ),
];
