//! JSONPath as Kubernetes speaks it: the language of printer columns, selectable fields and `kubectl -o jsonpath`.
//!
//! A path is one action of that template language, with or without its braces: `.spec.replicas`, `{.items[0]}`,
//! `.conditions[?(@.type=="Ready")].status`. It is a dialect of its own, not RFC 9535:
//!
//! | written | means |
//! |---|---|
//! | `$`, `@` | the value at hand; may be left out |
//! | `.name`, `['name']` | a field; `\` takes the next character literally, and dots in the bracket form still separate |
//! | `.*`, `[*]` | every field or element |
//! | `..` | the value and everything in it |
//! | `[1]`, `[-1]`, `[0:2]`, `[::2]` | elements: an index, from the end, a range, with a step |
//! | `[0,2]`, `['a','b']` | a union |
//! | `[?(@.a=="x")]`, `[?(@.a)]` | elements that compare (`==` `!=` `<` `<=` `>` `>=`), or that have the field |
//! | `"text"`, `1`, `1.5`, `true` | a literal |
//!
//! A missing field selects nothing; an index beyond the end, an index into what is no array, and a comparison of
//! different types are errors. What is left out: text around the action, several actions, `range` and `end`, which need
//! a template around a path.
//!
//! ```
//! use kubewright_apiserver::table::jsonpath::{self, JsonPath};
//! use serde_json::json;
//!
//! let object = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
//! let path = JsonPath::parse(r#".status.conditions[?(@.type=="Ready")].status"#)?;
//! assert_eq!(path.find(&object)?, [&json!("True")]);
//! assert_eq!(jsonpath::text(&object["status"]["conditions"][0]), r#"{"status":"True","type":"Ready"}"#);
//! # Ok::<(), jsonpath::Error>(())
//! ```
//!
//! Upstream: `client-go/util/jsonpath`, with missing keys allowed. Where upstream walks a map in random order, this walks
//! it sorted by key.

mod eval;
mod parse;
mod text;

use serde_json::Value;

pub use text::text;

/// The longest path accepted, in bytes.
pub const MAX_LENGTH: usize = 4096;
/// How deeply filters may nest.
pub const MAX_DEPTH: usize = 8;
/// How many values one search may look at before it gives up with [`Error::TooManyValues`].
pub const MAX_VALUES: usize = 1_000_000;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a path does not parse or a search fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path is longer than [`MAX_LENGTH`].
    #[error("the path is {length} bytes long, over the limit of {MAX_LENGTH}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Filters nest deeper than [`MAX_DEPTH`].
    #[error("filters nest deeper than {MAX_DEPTH}")]
    TooDeep,
    /// A character that cannot stand where it stands.
    #[error("unexpected {character:?} at byte {position}")]
    Unexpected {
        /// The character.
        character: char,
        /// Where it is, in bytes from the start of the innermost expression.
        position: usize,
    },
    /// A bare word; only `true` and `false` are words of the language.
    #[error("unknown word {word:?}")]
    UnknownWord {
        /// The word.
        word: String,
    },
    /// A bracket, filter, quotation or brace without its end.
    #[error("unterminated {what}")]
    Unterminated {
        /// What has no end.
        what: &'static str,
    },
    /// Brackets with something in them that is no index, range, key or filter.
    #[error("[{text}] is no index, range, quoted key or filter")]
    BadIndex {
        /// What is in the brackets.
        text: String,
    },
    /// A number that does not fit or a quotation with a bad escape.
    #[error("{text} is no valid literal")]
    BadLiteral {
        /// The literal as written.
        text: String,
    },
    /// A comparison that is not one of the six.
    #[error("unknown operator {operator:?}")]
    UnknownOperator {
        /// The operator as written.
        operator: String,
    },
    /// Two `..` in a row.
    #[error("two recursive descents in a row")]
    RepeatedDescent,
    /// An index or filter applied to something else than an array.
    #[error("{found} is not an array")]
    NotAnArray {
        /// The JSON type found.
        found: &'static str,
    },
    /// An index or range outside of the array.
    #[error("index {index} is out of bounds, the array has {length} elements")]
    OutOfBounds {
        /// The index, counted from the start.
        index: i64,
        /// The number of elements.
        length: usize,
    },
    /// A range that ends before it starts, or a step below 1.
    #[error("the range [{start}:{end}:{step}] is not ascending")]
    BadRange {
        /// First index.
        start: i64,
        /// Index after the last one.
        end: i64,
        /// Distance of the elements taken.
        step: i64,
    },
    /// A comparison of several values, of an object or array, or of two types.
    #[error("a filter cannot compare {left} with {right}")]
    Incomparable {
        /// Type of the left side.
        left: &'static str,
        /// Type of the right side.
        right: &'static str,
    },
    /// The search looked at more than [`MAX_VALUES`] values.
    #[error("the search looked at more than {MAX_VALUES} values")]
    TooManyValues,
}

/// One step of a path: from a list of values to the list of what they contain.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Every,
    Descend,
    Slice(Slice),
    Union(Vec<Vec<Self>>),
    Filter {
        left: Vec<Self>,
        test: Test,
    },
    /// A quotation: one value, however many came in.
    Text(Value),
    /// A number or boolean: one for each value that came in.
    Literal(Value),
}

/// What a filter asks of its left side.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compare(Operator, Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Elements of an array. A single index is a slice whose end follows from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// One past the start: `[3]`.
    AfterStart,
    /// As written: `[1:3]`.
    At(i64),
    /// The end of the array: `[1:]`.
    OfArray,
}

impl JsonPath {
    /// Compiles a path. One pair of braces around it is dropped.
    pub fn parse(path: &str) -> Result<Self, Error> {
        Ok(Self {
            steps: parse::path(path)?,
        })
    }

    /// The path `.a.b.c`, for fields whose names need no parsing.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            steps: fields
                .into_iter()
                .map(|field| Step::Field(field.to_owned()))
                .collect(),
        }
    }

    /// The names of the fields, if the path is nothing but fields (`.spec.color`), as selectable fields have to be.
    pub fn as_fields(&self) -> Option<Vec<&str>> {
        let fields = self.steps.iter().map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            _ => None,
        });
        fields.collect()
    }

    /// All values that the path selects in `root`, in document order.
    pub fn find<'a>(&'a self, root: &'a Value) -> Result<Vec<&'a Value>, Error> {
        eval::find(&self.steps, root)
    }
}

impl std::str::FromStr for JsonPath {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        Self::parse(path)
    }
}

#[cfg(test)]
mod tests;
