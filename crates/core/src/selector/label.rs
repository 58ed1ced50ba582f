//! Label selectors: `app=web`, `tier in (front, back)`, `!canary`, `weight > 3`.

use std::fmt;
use std::str::FromStr;

use super::{ParseSelectorError, label_key_faults, label_value_faults};

/// Requirements that all must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// The requirements, ordered by key as upstream prints them.
    requirements: Vec<LabelRequirement>,
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// What must hold of it.
    pub operator: LabelOperator,
}

/// What must hold of a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LabelOperator {
    /// It is there, whatever its value.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It has this value.
    Equals(String),
    /// It has another value, or is not there.
    NotEquals(String),
    /// It has one of these values; sorted.
    In(Vec<String>),
    /// It has none of these values, or is not there; sorted.
    NotIn(Vec<String>),
    /// Its value is an integer greater than this.
    GreaterThan(i64),
    /// Its value is an integer less than this.
    LessThan(i64),
}

impl LabelSelector {
    /// The selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// A selector of requirements that all must hold.
    pub fn new(requirements: impl IntoIterator<Item = LabelRequirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }

    /// A selector that asks for each of these labels with its value.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(labels.into_iter().map(|(key, value)| LabelRequirement {
            key: key.to_owned(),
            operator: LabelOperator::Equals(value.to_owned()),
        }))
    }

    /// Reads a `metav1.LabelSelector` as it stands in a spec. `None` in the API mostly means "nothing": that is for the
    /// caller to say.
    ///
    /// # Errors
    /// When an operator is unknown or its values do not fit it.
    pub fn from_spec(
        spec: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
    ) -> Result<Self, ParseSelectorError> {
        let labels = spec.match_labels.iter().flatten().map(|(key, value)| {
            Ok(LabelRequirement {
                key: key.clone(),
                operator: LabelOperator::Equals(value.clone()),
            })
        });
        let expressions = spec.match_expressions.iter().flatten().map(|expression| {
            let values = sorted(expression.values.clone().unwrap_or_default());
            let operator = match (expression.operator.as_str(), values.is_empty()) {
                ("In", false) => LabelOperator::In(values),
                ("NotIn", false) => LabelOperator::NotIn(values),
                ("Exists", true) => LabelOperator::Exists,
                ("DoesNotExist", true) => LabelOperator::DoesNotExist,
                (operator, _) => {
                    return Err(ParseSelectorError::new(format!(
                        "operator {operator:?} with {} values on label {:?}: use In or NotIn with values, or Exists or \
                         DoesNotExist without",
                        values.len(),
                        expression.key
                    )));
                }
            };
            Ok(LabelRequirement { key: expression.key.clone(), operator })
        });
        labels
            .chain(expressions)
            .collect::<Result<Vec<_>, _>>()
            .map(Self::new)
    }

    /// The requirements, ordered by key.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether this matches everything.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether all requirements hold of the labels that `get` looks up.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.operator.holds(get(&requirement.key)))
    }
}

impl LabelOperator {
    fn holds(&self, value: Option<&str>) -> bool {
        let has = |values: &[String]| value.is_some_and(|value| values.iter().any(|v| v == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::Equals(expect) => value == Some(expect),
            Self::NotEquals(expect) => value != Some(expect),
            Self::In(values) => has(values),
            Self::NotIn(values) => !has(values),
            Self::GreaterThan(bound) => number().is_some_and(|n| n > *bound),
            Self::LessThan(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            LabelOperator::Exists => f.write_str(key),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::Equals(value) => write!(f, "{key}={value}"),
            LabelOperator::NotEquals(value) => write!(f, "{key}!={value}"),
            LabelOperator::In(values) => write!(f, "{key} in ({})", values.join(",")),
            LabelOperator::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            LabelOperator::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            LabelOperator::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

impl FromStr for LabelSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parser = Parser { rest: text };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => break,
                Token::Word(_) | Token::Symbol("!") => {}
                found => return Err(unexpected(found, ", expected: !, identifier, or 'end of string'")),
            }
            requirements.push(
                parser.requirement().map_err(|error| {
                    ParseSelectorError::new(format!("unable to parse requirement: {error}"))
                })?,
            );
            match (parser.next(), parser.peek()) {
                (Token::End, _) => break,
                (Token::Symbol(","), Token::Word(_) | Token::Symbol("!")) => {}
                (Token::Symbol(","), found) => {
                    return Err(unexpected(found, ", expected: identifier after ','"));
                }
                (found, _) => return Err(unexpected(found, ", expected: ',' or 'end of string'")),
            }
        }
        Ok(Self::new(requirements))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        Self { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches(WHITESPACE);
        if self.rest.is_empty() {
            return Token::End;
        }
        for symbol in SYMBOLS {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return Token::Symbol(symbol);
            }
        }
        let end = self
            .rest
            .find(|c| WHITESPACE.contains(&c) || "=!(),<>".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Word(word)
    }

    fn requirement(&mut self) -> Result<LabelRequirement, ParseSelectorError> {
        if self.peek() == Token::Symbol("!") {
            self.next();
            return Ok(LabelRequirement {
                key: self.key()?,
                operator: LabelOperator::DoesNotExist,
            });
        }
        let key = self.key()?;
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(LabelRequirement {
                key,
                operator: LabelOperator::Exists,
            });
        }
        let operator = match self.next() {
            Token::Symbol("=" | "==") => LabelOperator::Equals(self.value(&key)?),
            Token::Symbol("!=") => LabelOperator::NotEquals(self.value(&key)?),
            Token::Symbol(">") => LabelOperator::GreaterThan(self.integer(&key)?),
            Token::Symbol("<") => LabelOperator::LessThan(self.integer(&key)?),
            Token::Word("in") => LabelOperator::In(self.values(&key)?),
            Token::Word("notin") => LabelOperator::NotIn(self.values(&key)?),
            found => return Err(unexpected(found, ", expected: in, notin, =, ==, !=, gt, lt")),
        };
        Ok(LabelRequirement { key, operator })
    }

    fn key(&mut self) -> Result<String, ParseSelectorError> {
        match self.next() {
            Token::Word(key) => match label_key_faults(key).join("; ") {
                faults if faults.is_empty() => Ok(key.to_owned()),
                faults => Err(ParseSelectorError::new(format!(
                    "<nil>: Invalid value: {key:?}: {faults}"
                ))),
            },
            found => Err(unexpected(found, ", expected: identifier")),
        }
    }

    /// A value may be empty: `a=` asks for the empty value.
    fn value(&mut self, key: &str) -> Result<String, ParseSelectorError> {
        match self.peek() {
            Token::Word(value) => {
                self.next();
                checked_value(key, value)
            }
            Token::End | Token::Symbol(",") => Ok(String::new()),
            found => Err(unexpected(found, ", expected: identifier")),
        }
    }

    fn integer(&mut self, key: &str) -> Result<i64, ParseSelectorError> {
        let value = self.value(key)?;
        value.parse().map_err(|_| {
            ParseSelectorError::new(format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            ))
        })
    }

    fn values(&mut self, key: &str) -> Result<Vec<String>, ParseSelectorError> {
        match self.next() {
            Token::Symbol("(") => {}
            // Without a comma, as upstream has it.
            found => return Err(unexpected(found, " expected: '('")),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Word(value) => {
                    self.next();
                    checked_value(key, value)?
                }
                Token::Symbol("," | ")") => String::new(),
                found => return Err(unexpected(found, ", expected: ',', ')' or identifier")),
            };
            values.push(value);
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(sorted(values)),
                found => return Err(unexpected(found, ", expected: ',' or ')'")),
            }
        }
    }
}

fn unexpected(found: Token<'_>, expected: &str) -> ParseSelectorError {
    let found = match found {
        Token::Word(text) | Token::Symbol(text) => text,
        Token::End => "",
    };
    ParseSelectorError::new(format!("found '{found}'{expected}"))
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

fn checked_value(key: &str, value: &str) -> Result<String, ParseSelectorError> {
    match label_value_faults(value).join("; ") {
        faults if faults.is_empty() => Ok(value.to_owned()),
        faults => Err(ParseSelectorError::new(format!(
            "values[0][{key}]: Invalid value: {value:?}: {faults}"
        ))),
    }
}

const WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];
/// Longer ones first.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(selector: &str, labels: &[(&str, &str)], expect: bool) {
        let parsed: LabelSelector = selector.parse().unwrap_or_else(|e| panic!("{selector:?}: {e}"));
        let get = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        assert_eq!(parsed.matches(get), expect, "{selector:?} on {labels:?}");
        assert_eq!(
            parsed.to_string().parse::<LabelSelector>().as_ref(),
            Ok(&parsed),
            "printed and read again"
        );
    }

    #[test]
    fn matching() {
        let web = &[("app", "web"), ("tier", "front"), ("weight", "5")][..];
        for (selector, expect) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("! canary", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app = web , tier=back", false),
            ("gone!=x", true),
            ("app in (web, api)", true),
            ("app in (api)", false),
            ("app notin (api)", true),
            ("gone notin (api)", true),
            ("app=", false),
            ("weight>4,weight<6", true),
            ("weight>5", false),
            ("app>1", false),
            ("a.example.com/b!=1", true),
            ("in in (in)", false),
            ("app in (,web)", true),
        ] {
            check(selector, web, expect);
        }
    }

    #[test]
    fn malformed() {
        for selector in [
            "a=b=c",
            "a,",
            ",a",
            "=a",
            "a in",
            "a in ()b",
            "a in (b",
            "a b",
            "-a=b",
            "a/b/c",
            "a=-b",
            "A.com/x",
            "a>x",
            "!",
            "a===b",
            "a=b c",
            "a in (b))",
        ] {
            assert!(selector.parse::<LabelSelector>().is_err(), "{selector:?}");
        }
    }

    #[test]
    fn errors_are_told_in_upstreams_words() {
        for (selector, expect) in [
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            (
                "!!",
                "unable to parse requirement: found '!', expected: identifier",
            ),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            let error = selector.parse::<LabelSelector>().unwrap_err();
            assert_eq!(error.to_string(), expect, "{selector:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_reads_prints_the_same(text in ".{0,40}") {
            if let Ok(selector) = text.parse::<LabelSelector>() {
                prop_assert_eq!(selector.to_string().parse::<LabelSelector>(), Ok(selector));
            }
        }
    }
}
