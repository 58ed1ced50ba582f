//! Shards of a list or watch: ranges of the hash of a field, as KEP-5866 writes them.
//!
//! A server with the gate `ShardedListAndWatch` sends only the objects whose uid or namespace hashes into the ranges of
//! the parameter `shardSelector`, and says so in `metadata.shardInfo` of a list. Any other server passes the parameter
//! over and sends everything, so whoever asks has to be able to select by itself: [`ShardSelector::matches`] does what
//! the server would (apimachinery `pkg/sharding`, apiserver `pkg/sharding/parser.go`).

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::field_error::go_quote;

/// The hash that ranges are of: 64 bit FNV-1a (apimachinery `pkg/sharding/hash.go`).
#[must_use]
pub const fn shard_hash(value: &str) -> u64 {
    let bytes = value.as_bytes();
    let mut hash = FNV_OFFSET;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(FNV_PRIME);
        at += 1;
    }
    hash
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The end of the space of hashes: 2^64, which no hash reaches.
pub const SHARD_SPACE: u128 = 1 << 64;

/// Most ranges that are read from one selector: each takes some 90 bytes of the address that is asked for.
pub const MAX_SHARD_RANGES: usize = 256;

/// A range of hashes that is not empty: from its start up to, but without, its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardRange {
    start: u64,
    /// The greatest hash within, since the end may be one more than fits.
    last: u64,
}

impl ShardRange {
    /// All hashes.
    pub const ALL: Self = Self {
        start: 0,
        last: u64::MAX,
    };

    /// From `start` up to, but without, `end`, which is at most [`SHARD_SPACE`].
    ///
    /// # Errors
    ///
    /// When it would be empty, or ends beyond the space.
    pub fn new(start: u64, end: u128) -> Result<Self, ShardSelectorError> {
        let last = end.checked_sub(1).and_then(|last| u64::try_from(last).ok());
        match last {
            Some(last) if start <= last => Ok(Self { start, last }),
            Some(_) => Err(ShardSelectorError::EmptyRange {
                start: start.into(),
                end,
            }),
            None if end == 0 => Err(ShardSelectorError::EmptyRange {
                start: start.into(),
                end,
            }),
            None => Err(beyond_the_space(END, &hex(end))),
        }
    }

    /// The least hash within.
    #[must_use]
    pub fn start(self) -> u64 {
        self.start
    }

    /// The hash after the greatest within; at most [`SHARD_SPACE`].
    #[must_use]
    pub fn end(self) -> u128 {
        u128::from(self.last) + 1
    }

    /// Whether a hash lies within.
    #[must_use]
    pub fn contains(self, hash: u64) -> bool {
        self.start <= hash && hash <= self.last
    }

    /// This many ranges that lie side by side and together are this one. All have the same size but the last, which has
    /// what is left over as well, as upstream divides (kubernetes `test/integration/apiserver/sharding_test.go`). A
    /// range of fewer hashes than that is divided into as many as it has.
    #[must_use]
    pub fn split(self, parts: NonZeroUsize) -> Vec<Self> {
        let whole = self.end() - u128::from(self.start);
        let parts = (parts.get() as u128).min(whole);
        let size = u64::try_from(whole / parts).unwrap_or(u64::MAX);
        let parts = u64::try_from(parts).unwrap_or(u64::MAX);
        let start = |part: u64| self.start + part * size;
        (0..parts)
            .map(|part| Self {
                start: start(part),
                last: if part + 1 == parts {
                    self.last
                } else {
                    start(part + 1) - 1
                },
            })
            .collect()
    }
}

/// A bound as it is written: sixteen digits, but for the end of the space.
fn hex(bound: u128) -> String {
    format!("0x{bound:016x}")
}

/// The field that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardField {
    /// `object.metadata.uid`: spreads evenly, and never changes for an object.
    Uid,
    /// `object.metadata.namespace`: keeps a namespace together.
    Namespace,
}

impl ShardField {
    /// The field as a selector writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uid => "object.metadata.uid",
            Self::Namespace => "object.metadata.namespace",
        }
    }
}

/// Selects the objects whose field hashes into one of some ranges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShardSelector {
    field: ShardField,
    /// Never empty.
    ranges: Vec<ShardRange>,
}

impl ShardSelector {
    /// Selects by one range.
    #[must_use]
    pub fn new(field: ShardField, range: ShardRange) -> Self {
        Self {
            field,
            ranges: vec![range],
        }
    }

    /// Selects by any of several ranges.
    ///
    /// # Errors
    ///
    /// When there are none, or more than [`MAX_SHARD_RANGES`].
    pub fn any_of(
        field: ShardField,
        ranges: impl IntoIterator<Item = ShardRange>,
    ) -> Result<Self, ShardSelectorError> {
        let ranges: Vec<_> = ranges.into_iter().collect();
        match ranges.len() {
            0 => Err(ShardSelectorError::Empty),
            1..=MAX_SHARD_RANGES => Ok(Self { field, ranges }),
            _ => Err(ShardSelectorError::TooManyRanges),
        }
    }

    /// The field that is hashed.
    #[must_use]
    pub fn field(&self) -> ShardField {
        self.field
    }

    /// The ranges, of which there is at least one.
    #[must_use]
    pub fn ranges(&self) -> &[ShardRange] {
        &self.ranges
    }

    /// Whether an object with this uid and namespace (empty where it has none) is selected.
    #[must_use]
    pub fn matches(&self, uid: &str, namespace: &str) -> bool {
        let hash = shard_hash(match self.field {
            ShardField::Uid => uid,
            ShardField::Namespace => namespace,
        });
        self.ranges.iter().any(|range| range.contains(hash))
    }
}

impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges.iter().enumerate() {
            if at > 0 {
                f.write_str(" || ")?;
            }
            let (field, start, end) = (self.field.as_str(), hex(range.start.into()), hex(range.end()));
            write!(f, "shardRange({field}, '{start}', '{end}')")?;
        }
        Ok(())
    }
}

/// Why a text is no shard selector, or ranges make none. In upstream's words (apiserver `pkg/sharding/parser.go`) but for
/// what the parser of CEL says there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardSelectorError {
    /// There is nothing to select by. To select everything, leave the parameter out.
    #[error("empty shard selector is not allowed; omit the parameter for unfiltered lists")]
    Empty,
    /// There are more ranges than [`MAX_SHARD_RANGES`].
    #[error("more than {MAX_SHARD_RANGES} ranges in a shard selector")]
    TooManyRanges,
    /// Something else stands where this should.
    #[error("expected {expected} at byte {at} of the shard selector, found {found:?}")]
    Unexpected {
        /// What should be there.
        expected: &'static str,
        /// Where, in bytes from the beginning.
        at: usize,
        /// What is there, up to some characters; empty at the end.
        found: String,
    },
    /// The field is not one that can be hashed.
    #[error("unsupported field path {field:?}; supported: object.metadata.uid, object.metadata.namespace")]
    Field {
        /// What was written.
        field: String,
    },
    /// All ranges have to be of one field.
    #[error("all shard ranges must use the same field, got {:?} and {:?}", first.as_str(), other.as_str())]
    MixedFields {
        /// That of the first range.
        first: ShardField,
        /// Another one.
        other: ShardField,
    },
    /// A bound is not written as 0x and 16 digits from 0 to f, or as 0x10000000000000000.
    #[error("{why}")]
    Bound {
        /// What was written.
        bound: String,
        /// What is wrong with it, as a whole sentence.
        why: String,
    },
    /// A range begins where it ends, or after that.
    #[error("shard range start {start:#018x} must be less than end {end:#018x}")]
    EmptyRange {
        /// Where it begins.
        start: u128,
        /// Where it ends.
        end: u128,
    },
}

impl FromStr for ShardSelector {
    type Err = ShardSelectorError;

    /// Reads terms `shardRange(field, 'start', 'end')` joined by `||`, with white space anywhere between. Upstream reads
    /// the text as CEL, which also has parentheses, double quotes and comments; nobody writes those, and they are refused.
    fn from_str(text: &str) -> Result<Self, ShardSelectorError> {
        let mut parser = Parser { text, at: 0 };
        parser.skip_space();
        if parser.rest().is_empty() {
            return Err(ShardSelectorError::Empty);
        }
        let mut first = None;
        let mut ranges = Vec::new();
        loop {
            if ranges.len() == MAX_SHARD_RANGES {
                return Err(ShardSelectorError::TooManyRanges);
            }
            let (field, range) = parser.term()?;
            match *first.get_or_insert(field) {
                first if first == field => ranges.push(range),
                first => return Err(ShardSelectorError::MixedFields { first, other: field }),
            }
            if parser.rest().is_empty() {
                return Ok(Self { field, ranges });
            }
            parser.token("||", "|| or the end")?;
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn unexpected(&self, expected: &'static str) -> ShardSelectorError {
        ShardSelectorError::Unexpected {
            expected,
            at: self.at,
            found: self.rest().chars().take(SHOWN).collect(),
        }
    }

    /// Goes past this text and the space behind it.
    fn token(&mut self, token: &str, expected: &'static str) -> Result<(), ShardSelectorError> {
        if !self.rest().starts_with(token) {
            return Err(self.unexpected(expected));
        }
        self.at += token.len();
        self.skip_space();
        Ok(())
    }

    /// Goes past what consists of such characters.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    fn term(&mut self) -> Result<(ShardField, ShardRange), ShardSelectorError> {
        self.token("shardRange", "shardRange")?;
        self.token("(", "(")?;
        let field = self.field()?;
        self.token(",", ",")?;
        let start = self.bound(START)?;
        self.token(",", ",")?;
        let end = self.bound(END)?;
        self.token(")", ")")?;
        let Ok(start) = u64::try_from(start) else {
            return Err(ShardSelectorError::EmptyRange { start, end });
        };
        Ok((field, ShardRange::new(start, end)?))
    }

    fn field(&mut self) -> Result<ShardField, ShardSelectorError> {
        let field = self.run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        self.skip_space();
        match [ShardField::Uid, ShardField::Namespace]
            .into_iter()
            .find(|known| known.as_str() == field)
        {
            Some(field) => Ok(field),
            None if field.is_empty() => Err(self.unexpected("a field")),
            None => Err(ShardSelectorError::Field {
                field: field.to_owned(),
            }),
        }
    }

    fn bound(&mut self, which: &str) -> Result<u128, ShardSelectorError> {
        const QUOTED: &str = "a bound in single quotes";
        if !self.rest().starts_with('\'') {
            return Err(self.unexpected(QUOTED));
        }
        self.at += 1;
        let bound = self.run(|c| c != '\'');
        self.token("'", QUOTED)?;
        read_bound(which, bound)
    }
}

/// Characters of a text that an error shows.
const SHOWN: usize = 20;

/// The bounds of a range as upstream names them.
const START: &str = "hexStart";
const END: &str = "hexEnd";

/// Most digits of a bound.
const MOST_DIGITS: usize = 17;

/// Only one way of writing each bound is taken, as upstream compares them as texts.
fn read_bound(which: &str, bound: &str) -> Result<u128, ShardSelectorError> {
    let wrong = |why| ShardSelectorError::Bound {
        bound: bound.to_owned(),
        why,
    };
    let Some(digits) = bound.strip_prefix("0x") else {
        return Err(wrong(format!(
            "{which} must have '0x' prefix, got {}",
            quoted(bound)
        )));
    };
    // Upstream counts bytes.
    let length = digits.len();
    if length == 0 {
        return Err(wrong(format!("{which}: hex value is required after '0x'")));
    }
    if length > MOST_DIGITS {
        let digits = quoted(digits);
        return Err(wrong(format!(
            "{which}: hex value too long ({length} chars, max {MOST_DIGITS}): {digits}"
        )));
    }
    if let Some(digit) = digits.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
        let (digit, bound) = (quoted(&digit.to_string()), quoted(bound));
        return Err(wrong(format!(
            "{which}: invalid hex character {digit} in {bound}"
        )));
    }
    match length {
        MOST_DIGITS if digits != "10000000000000000" => return Err(beyond_the_space(which, bound)),
        16 | MOST_DIGITS => {}
        _ => {
            let bound = quoted(bound);
            return Err(wrong(format!(
                "{which} must be a 0x-prefixed 16-digit hex value, got {bound} (did you mean \"0x{digits:0>16}\"?)"
            )));
        }
    }
    u128::from_str_radix(digits, 16).map_err(|error| wrong(error.to_string()))
}

fn beyond_the_space(which: &str, bound: &str) -> ShardSelectorError {
    let why = format!(
        "{which}: 17-digit hex value must be '0x10000000000000000' (2^64), got {}",
        quoted(bound)
    );
    ShardSelectorError::Bound {
        bound: bound.to_owned(),
        why,
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    go_quote(&mut quoted, text);
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashes() {
        // The reference vectors of 64 bit FNV-1a.
        let rows = [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ];
        for (value, hash) in rows {
            assert_eq!(shard_hash(value), hash, "{value:?}");
        }
    }

    /// A field and its ranges as start and end, or what the error says.
    type Expect<'a> = Result<(ShardField, &'a [(u64, u128)]), &'a str>;

    /// A selector that is read and written again.
    fn check(text: &str, expect: Expect<'_>) {
        let read: Result<ShardSelector, _> = text.parse();
        let read = read.map_err(|error| error.to_string());
        match (&read, expect) {
            (Ok(selector), Ok((field, ranges))) => {
                let bounds: Vec<_> = selector.ranges.iter().map(|r| (r.start(), r.end())).collect();
                assert_eq!((selector.field, &*bounds), (field, ranges), "{text}");
                assert_eq!(selector.to_string().parse().as_ref(), Ok(selector), "{text}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            _ => panic!("{text}: {read:?} instead of {expect:?}"),
        }
    }

    const HALF: u128 = 1 << 63;

    /// apiserver `pkg/sharding/parser_test.go`.
    #[test]
    fn selectors() {
        use ShardField::{Namespace, Uid};
        let low = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
        let high = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";
        let both = format!("{low} || {high}");
        for same in [low, high, &both] {
            assert_eq!(same.parse::<ShardSelector>().unwrap().to_string(), same);
        }
        check(low, Ok((Uid, &[(0, HALF)])));
        check(high, Ok((Uid, &[(1 << 63, SHARD_SPACE)])));
        check(&both, Ok((Uid, &[(0, HALF), (1 << 63, SHARD_SPACE)])));
        check(
            &both.replace(" || ", "||"),
            Ok((Uid, &[(0, HALF), (1 << 63, SHARD_SPACE)])),
        );
        check(&low.replace(", ", ","), Ok((Uid, &[(0, HALF)])));
        check(
            "  shardRange( object.metadata.uid ,  '0x0000000000000000' ,\n '0x8000000000000000' )  ",
            Ok((Uid, &[(0, HALF)])),
        );
        check(
            "shardRange(object.metadata.namespace, '0x00000000000000aa', '0x00000000000000ff')",
            Ok((Namespace, &[(0xaa, 0xff)])),
        );
        let range = |start: &str, end: &str| format!("shardRange(object.metadata.uid, '{start}', '{end}')");
        let (zero, some) = ("0x0000000000000000", "0x8000000000000000");
        check("", Err("empty shard selector is not allowed"));
        check(" \t", Err("empty shard selector is not allowed"));
        check(
            &range("0000000000000000", some),
            Err("hexStart must have '0x' prefix, got \"0000000000000000\""),
        );
        check(
            &range(zero, "8000000000000000"),
            Err("hexEnd must have '0x' prefix"),
        );
        check(
            &range("0x", some),
            Err("hexStart: hex value is required after '0x'"),
        );
        check(
            &range("0x0", some),
            Err(
                "hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean \"0x0000000000000000\"?)",
            ),
        );
        check(
            &range(zero, "0xff"),
            Err("(did you mean \"0x00000000000000ff\"?)"),
        );
        check(
            &range("0x000000000000000000", some),
            Err("hexStart: hex value too long (18 chars, max 17): \"000000000000000000\""),
        );
        check(
            &range("0x000000000000000g", some),
            Err("hexStart: invalid hex character \"g\" in \"0x000000000000000g\""),
        );
        check(
            &range("0x00000000000000FF", some),
            Err("invalid hex character \"F\""),
        );
        check(
            &range(zero, "0x10000000000000001"),
            Err(
                "hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x10000000000000001\"",
            ),
        );
        check(
            &range(some, some),
            Err("shard range start 0x8000000000000000 must be less than end 0x8000000000000000"),
        );
        check(&range("0xffffffffffffffff", zero), Err("must be less than end"));
        check(
            &range("0x10000000000000000", "0x10000000000000000"),
            Err("shard range start 0x10000000000000000 must be less than end 0x10000000000000000"),
        );
        check(
            &low.replace("uid", "name"),
            Err(
                "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
            ),
        );
        check(&low.replace("uid", "labels"), Err("unsupported field"));
        check(
            &low.replace("shardRange", "invalidFunc"),
            Err("expected shardRange at byte 0"),
        );
        check(
            &both.replace("||", "&&"),
            Err("expected || or the end at byte 76"),
        );
        check(
            "shardRange(object.metadata.uid, 0, 8)",
            Err("single quotes at byte 32"),
        );
        check(
            "shardRange(object.metadata.uid, hex(0), '0x8')",
            Err("single quotes at byte 32"),
        );
        check("object.metadata.uid > '0x0'", Err("expected shardRange"));
        check(
            &format!("shardRange(object.metadata.uid, '{zero}')"),
            Err("expected , at"),
        );
        check("shardRange(, '0x0', '0x1')", Err("expected a field"));
        check(
            &format!("{low} ||"),
            Err("at byte 78 of the shard selector, found \"\""),
        );
        check("shardRange(object.metadata.uid, '0x", Err("single quotes"));
        let mixed = format!("{low} || {}", high.replace("uid", "namespace"));
        check(
            &mixed,
            Err(
                "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
            ),
        );
        let many = vec![low; MAX_SHARD_RANGES].join("||");
        assert_eq!(
            many.parse::<ShardSelector>().unwrap().ranges().len(),
            MAX_SHARD_RANGES
        );
        check(&format!("{many}||{low}"), Err("more than 256 ranges"));
    }

    /// apimachinery `pkg/sharding/selector_test.go`.
    #[test]
    fn matching() {
        let hash = shard_hash("test-uid-123");
        let rows = [
            (0, SHARD_SPACE, true),
            (hash, u128::from(hash) + 1, true),
            (hash + 1, SHARD_SPACE, false),
            (0, hash.into(), false),
            (0, 1, false),
            (u64::MAX, SHARD_SPACE, false),
        ];
        for (start, end, expect) in rows {
            let range = ShardRange::new(start, end).unwrap();
            let selector = ShardSelector::new(ShardField::Uid, range);
            assert_eq!(selector.matches("test-uid-123", "n"), expect, "{selector}");
            let selector = ShardSelector::new(ShardField::Namespace, range);
            assert_eq!(selector.matches("u", "test-uid-123"), expect, "{selector}");
        }
        assert!(ShardSelector::any_of(ShardField::Uid, []).is_err());
    }

    #[test]
    fn upstream_divides_so() {
        let bounds = |parts: usize| -> Vec<String> {
            let ranges = ShardRange::ALL.split(NonZeroUsize::new(parts).unwrap());
            ranges.iter().map(|range| hex(range.end())).collect()
        };
        assert_eq!(bounds(1), ["0x10000000000000000"]);
        assert_eq!(bounds(2), ["0x8000000000000000", "0x10000000000000000"]);
        assert_eq!(
            bounds(3),
            ["0x5555555555555555", "0xaaaaaaaaaaaaaaaa", "0x10000000000000000"]
        );
    }

    proptest! {
        #[test]
        fn parts_are_the_whole(start: u64, size in 0u64.., parts in 1usize..100, hash: u64) {
            let last = start.saturating_add(size);
            let whole = ShardRange::new(start, u128::from(last) + 1).unwrap();
            let ranges = whole.split(NonZeroUsize::new(parts).unwrap());
            prop_assert_eq!(ranges.len() as u128, (parts as u128).min(whole.end() - u128::from(start)));
            prop_assert_eq!((ranges[0].start(), ranges[ranges.len() - 1].end()), (start, whole.end()));
            for pair in ranges.windows(2) {
                prop_assert_eq!(pair[0].end(), pair[1].start().into());
            }
            let within = ranges.iter().filter(|range| range.contains(hash)).count();
            prop_assert_eq!(within, usize::from(whole.contains(hash)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[ |(),'.0-9a-fx]{0,40}|shardRange\\(.{0,60}") {
            if let Ok(selector) = text.parse::<ShardSelector>() {
                prop_assert_eq!(selector.to_string().parse::<ShardSelector>(), Ok(selector));
            }
        }
    }
}
