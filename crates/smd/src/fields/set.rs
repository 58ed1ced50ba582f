//! Sets of paths, and their algebra.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use super::{Path, PathElement};
use crate::types::TypeRef;

/// A set of fields of an object (structured-merge-diff `fieldpath/set.go`): a tree of path elements in which some nodes
/// are members.
///
/// Nodes that neither are members nor have members below them do not exist, so equal sets have equal trees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSet {
    /// Sorted by element, each once.
    pub(super) nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(crate) member: bool,
    pub(crate) below: FieldSet,
}

impl Node {
    fn exists(&self) -> bool {
        self.member || !self.below.is_empty()
    }
}

impl FieldSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// Whether the set has no fields.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| usize::from(node.member) + node.below.len())
            .sum()
    }

    /// Adds a field. The empty path, which means the object itself, is in no set.
    pub fn insert(&mut self, path: &Path) {
        let Some((last, above)) = path.0.split_last() else {
            return;
        };
        let mut set = self;
        for element in above {
            set = &mut set.node_mut(element).below;
        }
        set.node_mut(last).member = true;
    }

    fn node_mut(&mut self, element: &PathElement) -> &mut Node {
        let at = match self.find(element) {
            Ok(at) => at,
            Err(at) => {
                let node = Node {
                    element: element.clone(),
                    member: false,
                    below: Self::new(),
                };
                self.nodes.insert(at, node);
                at
            }
        };
        &mut self.nodes[at]
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        // Most sets are read and written in order.
        match self.nodes.last() {
            Some(last) if last.element < *element => return Err(self.nodes.len()),
            None => return Err(0),
            _ => {}
        }
        self.nodes.binary_search_by(|node| node.element.cmp(element))
    }

    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.find(element).ok().map(|at| &self.nodes[at])
    }

    /// The node of a named field, without making an element of the name.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let order = |node: &Node| match &node.element {
            PathElement::Field(field) => (**field).cmp(name),
            _ => Ordering::Greater,
        };
        self.nodes.binary_search_by(order).ok().map(|at| &self.nodes[at])
    }

    /// Adds a node that sorts behind all others, or merges it in. Nodes without members are dropped.
    pub(crate) fn push(&mut self, element: PathElement, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        let at = match self.find(&element) {
            Err(at) => at,
            Ok(at) => {
                let node = &mut self.nodes[at];
                node.member |= member;
                node.below = std::mem::take(&mut node.below).union(below);
                return;
            }
        };
        self.nodes.insert(
            at,
            Node {
                element,
                member,
                below,
            },
        );
    }

    /// Gives the node at a place another content. It must not be empty.
    pub(crate) fn replace(&mut self, at: usize, member: bool, below: Self) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.member = member;
            node.below = below;
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether a field is in the set.
    pub fn has(&self, path: &Path) -> bool {
        let Some((last, above)) = path.0.split_last() else {
            return false;
        };
        let mut set = self;
        for element in above {
            match set.node(element) {
                Some(node) => set = &node.below,
                None => return false,
            }
        }
        set.node(last).is_some_and(|node| node.member)
    }

    /// The fields below an element, with paths that start there.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.node(element).map(|node| &node.below)
    }

    /// Whether the other set has all fields of this one.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut rest = other.nodes.iter().peekable();
        self.nodes.iter().all(|node| {
            while rest.next_if(|other| other.element < node.element).is_some() {}
            match rest.next_if(|other| other.element == node.element) {
                Some(other) => (other.member || !node.member) && node.below.is_subset(&other.below),
                None => false,
            }
        })
    }

    /// The fields of either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if other.is_empty() {
            return self;
        }
        if self.is_empty() {
            return other;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut left, mut right) = (
            self.nodes.into_iter().peekable(),
            other.nodes.into_iter().peekable(),
        );
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(left), Some(right)) => left.element.cmp(&right.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            match order {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => {
                    if let (Some(left), Some(right)) = (left.next(), right.next()) {
                        nodes.push(Node {
                            element: left.element,
                            member: left.member || right.member,
                            below: left.below.union(right.below),
                        });
                    }
                }
            }
        }
        Self { nodes }
    }

    /// The fields of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        let mut rest = other.nodes.iter().peekable();
        for node in &self.nodes {
            while rest.next_if(|other| other.element < node.element).is_some() {}
            if let Some(other) = rest.next_if(|other| other.element == node.element) {
                let member = node.member && other.member;
                let below = node.below.intersection(&other.below);
                if member || !below.is_empty() {
                    nodes.push(Node {
                        element: node.element.clone(),
                        member,
                        below,
                    });
                }
            }
        }
        Self { nodes }
    }

    /// The fields that are not in the other set.
    #[must_use]
    pub fn difference(mut self, other: &Self) -> Self {
        self.subtract(other, Depth::Exact);
        self
    }

    /// The fields that are not in the other set, nor below one that is.
    #[must_use]
    pub fn recursive_difference(mut self, other: &Self) -> Self {
        self.subtract(other, Depth::Recursive);
        self
    }

    fn subtract(&mut self, other: &Self, depth: Depth) {
        if self.is_empty() || other.is_empty() {
            return;
        }
        let mut rest = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while rest.next_if(|other| other.element < node.element).is_some() {}
            if let Some(other) = rest.next_if(|other| other.element == node.element) {
                if other.member && depth == Depth::Recursive {
                    return false;
                }
                node.member &= !other.member;
                node.below.subtract(&other.below, depth);
            }
            node.exists()
        });
    }

    /// The members that have no members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let nodes = self.nodes.iter().map(|node| Node {
            element: node.element.clone(),
            member: node.member && node.below.is_empty(),
            below: node.below.leaves(),
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Adds each declared field that has members below it: removing everything in it then removes the field too.
    #[must_use]
    pub fn ensure_named_fields_are_members(&self, ty: TypeRef<'_>) -> Self {
        self.with_named_fields(Some(ty))
    }

    fn with_named_fields(&self, ty: Option<TypeRef<'_>>) -> Self {
        let (map, list) = (ty.and_then(TypeRef::map), ty.and_then(TypeRef::list));
        let nodes = self.nodes.iter().map(|node| {
            let (below, declared) = match &node.element {
                PathElement::Field(name) => {
                    let field = map.and_then(|map| map.field(name));
                    (
                        field.or_else(|| map.and_then(|map| map.element())),
                        field.is_some(),
                    )
                }
                PathElement::Key(_) => (list.map(|list| list.item), false),
                _ => (None, false),
            };
            Node {
                element: node.element.clone(),
                member: node.member || declared,
                below: node.below.with_named_fields(below),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Every field; of each level first the members, then what is below them, as upstream lists them.
    pub fn iter(&self) -> impl Iterator<Item = Path> + use<> {
        let mut paths = Vec::with_capacity(self.len());
        self.collect(&mut Path::default(), &mut paths);
        paths.into_iter()
    }

    fn collect(&self, prefix: &mut Path, paths: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = Vec::with_capacity(prefix.0.len() + 1);
            path.extend_from_slice(&prefix.0);
            path.push(node.element.clone());
            paths.push(Path(path));
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            prefix.0.push(node.element.clone());
            node.below.collect(prefix, paths);
            prefix.0.pop();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Exact,
    Recursive,
}

/// One path a line.
impl Display for FieldSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, path) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{path}")?;
        }
        Ok(())
    }
}

impl FromIterator<Path> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}
