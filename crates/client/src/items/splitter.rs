//! Cutting the items out of a list while it arrives: [`ListSplitter`].

use bytes::{Bytes, BytesMut};
use kubewright_core::ListMeta;
use kubewright_core::json::{MAX_NESTING, Nesting, TooDeep};
use serde::de::{DeserializeOwned, IgnoredAny};

/// Cuts a list in JSON into its items, from pieces that may end at any byte.
///
/// The list itself is read strictly: one JSON object, whose `items` are there and are an array or null (which Go writes for none), and nothing
/// behind it. Whoever takes another object for an empty list, such as a `Status`, believes that everything is gone. An item is cut out by its
/// brackets and not looked at, so that one that makes no sense concerns no other; nothing but a bracket too many or too few in it can. An
/// item that lies within one piece is a slice of it, without a copy.
///
/// Memory is bounded by the piece at hand and one item.
#[derive(Debug)]
pub struct ListSplitter {
    /// The newest piece, and where in it to go on.
    piece: Bytes,
    at: usize,
    /// Bytes of the list before that piece.
    passed: u64,
    place: Place,
    /// The beginning of a text whose end has not come.
    partial: BytesMut,
    /// Where that text, or the last one, began.
    began: u64,
    /// The field that is read, or was read last.
    field: String,
    metadata: Option<ListMeta>,
    has_items: bool,
    /// What it says of itself, for an error.
    kind: String,
    message: String,
    limit: usize,
    failure: Option<SplitError>,
}

/// Why a text is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// Something else should be there.
    #[error("byte {offset} of the list should be {expected}")]
    Unexpected {
        /// What should be there.
        expected: &'static str,
        /// Where, counted from 0.
        offset: u64,
    },
    /// A field of the list itself cannot be read.
    #[error("field {field:?} of the list, at byte {offset}, cannot be read: {why}")]
    Field {
        /// Its name, or the beginning of it.
        field: String,
        /// Where its text begins.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// An item or a field is larger than is allowed.
    #[error("the text at byte {offset} of the list is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
        /// Where it begins.
        offset: u64,
    },
    /// Brackets lie too deep in each other.
    #[error("the bracket at byte {offset} of the list lies in more than {limit} others")]
    TooDeep {
        /// How many it may be.
        limit: u32,
        /// Where it is.
        offset: u64,
    },
    /// It is an object without items.
    #[error("what came is no list: {}, without items", what_came(kind, message))]
    NoItems {
        /// Its kind; empty if it names none.
        kind: String,
        /// Its message, which a `Status` has; empty if there is none.
        message: String,
    },
    /// The list is not whole.
    #[error("the list ends after {length} bytes, where {expected} should follow")]
    Truncated {
        /// Its length.
        length: u64,
        /// What is missing.
        expected: &'static str,
    },
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Nothing has come.
    Begin,
    /// Behind the bracket of the list.
    FirstField,
    /// Behind a comma between fields.
    Field,
    /// Behind a name.
    Colon,
    Value,
    AfterValue,
    /// Behind the bracket of the items.
    FirstItem,
    /// Behind a comma between items.
    Item,
    AfterItem,
    /// Behind the list.
    End,
    /// Within a text that is cut out.
    Text(Role, Shape),
}

/// What a text is.
#[derive(Debug, Clone, Copy)]
enum Role {
    Name,
    Value,
    Item,
}

/// How a text ends.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// With its last bracket.
    Nested(Nesting),
    /// With a quote.
    String { begun: bool, escaped: bool },
    /// Before whatever cannot belong to it.
    Word,
}

impl ListSplitter {
    /// Accepts items, and other fields of the list, of up to `limit` bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            piece: Bytes::new(),
            at: 0,
            passed: 0,
            place: Place::Begin,
            partial: BytesMut::new(),
            began: 0,
            field: String::new(),
            metadata: None,
            has_items: false,
            kind: String::new(),
            message: String::new(),
            limit,
            failure: None,
        }
    }

    /// Takes the next piece. It costs nothing after [`next_item`](Self::next_item) returned `None`; what is left of the piece before is copied
    /// otherwise.
    pub fn push(&mut self, piece: Bytes) {
        self.passed += self.at as u64;
        self.piece = match &self.piece[self.at..] {
            [] => piece,
            rest => [rest, &piece].concat().into(),
        };
        self.at = 0;
    }

    /// The next item; `None` if another piece is needed, or if there are no more.
    ///
    /// # Errors
    ///
    /// The text is no list. From then on it is the same error again.
    pub fn next_item(&mut self) -> Result<Option<Bytes>, SplitError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let found = self.advance();
        if let Err(error) = &found {
            self.failure = Some(error.clone());
            self.partial = BytesMut::new();
            self.at = self.piece.len();
        }
        found
    }

    /// The metadata of the list, once it has come: before the items or behind them, as the server pleases. A Kubernetes server sends it before
    /// those of built-in kinds, and behind custom resources.
    pub fn metadata(&self) -> Option<&ListMeta> {
        self.metadata.as_ref()
    }

    /// Whether all of the list has come. More than blanks behind it is an error of [`next_item`](Self::next_item) all the same.
    pub fn is_complete(&self) -> bool {
        matches!(self.place, Place::End) && self.failure.is_none()
    }

    /// The metadata, when everything was pushed; the default if there was none. Items that were not taken are dropped.
    ///
    /// # Errors
    ///
    /// The list is not whole, or is none.
    pub fn finish(mut self) -> Result<ListMeta, SplitError> {
        while self.next_item()?.is_some() {}
        if !self.is_complete() {
            return Err(SplitError::Truncated {
                length: self.offset(),
                expected: self.place.expected(),
            });
        }
        Ok(self.metadata.unwrap_or_default())
    }

    fn offset(&self) -> u64 {
        self.passed + self.at as u64
    }

    fn advance(&mut self) -> Result<Option<Bytes>, SplitError> {
        loop {
            if let Place::Text(role, shape) = self.place {
                let Some(text) = self.text(role, shape)? else {
                    return Ok(None);
                };
                self.place = match role {
                    Role::Item => {
                        self.place = Place::AfterItem;
                        return Ok(Some(text));
                    }
                    Role::Name => {
                        self.name(&text)?;
                        Place::Colon
                    }
                    Role::Value => {
                        self.value(&text)?;
                        Place::AfterValue
                    }
                };
            }
            let rest = &self.piece[self.at..];
            let blank = rest
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
                .count();
            self.at += blank;
            let Some(&byte) = rest.get(blank) else {
                return Ok(None);
            };
            self.place = self.enter(byte)?;
        }
    }

    /// Where a byte leads that is no blank. What begins a text is not passed by.
    fn enter(&mut self, byte: u8) -> Result<Place, SplitError> {
        let is_items = self.field == "items";
        let place = match (self.place, byte) {
            (Place::Begin, b'{') => Place::FirstField,
            (Place::FirstField | Place::AfterValue, b'}') if self.has_items => Place::End,
            (Place::FirstField | Place::AfterValue, b'}') => {
                return Err(SplitError::NoItems {
                    kind: std::mem::take(&mut self.kind),
                    message: std::mem::take(&mut self.message),
                });
            }
            (Place::AfterValue, b',') => Place::Field,
            (Place::Colon, b':') => Place::Value,
            (Place::Value, b'[') if is_items => Place::FirstItem,
            (Place::FirstItem | Place::AfterItem, b']') => Place::AfterValue,
            (Place::AfterItem, b',') => Place::Item,
            (place, byte) => {
                let shape = Shape::of(byte);
                let role = match place {
                    Place::FirstField | Place::Field if byte == b'"' => Some(Role::Name),
                    Place::Value => Some(Role::Value),
                    Place::FirstItem | Place::Item => Some(Role::Item),
                    _ => None,
                };
                let offset = self.offset();
                let (Some(role), Some(shape)) = (role, shape) else {
                    let expected = place.expected();
                    return Err(SplitError::Unexpected { expected, offset });
                };
                self.began = offset;
                return Ok(Place::Text(role, shape));
            }
        };
        self.at += 1;
        Ok(place)
    }

    /// The text that began, if its end is there.
    fn text(&mut self, role: Role, mut shape: Shape) -> Result<Option<Bytes>, SplitError> {
        let rest = &self.piece[self.at..];
        let end = shape.end(rest).map_err(|TooDeep { at }| SplitError::TooDeep {
            limit: MAX_NESTING,
            offset: self.offset() + at as u64,
        })?;
        let length = end.unwrap_or(rest.len());
        if self.partial.len() + length > self.limit {
            return Err(SplitError::TooLarge {
                limit: self.limit,
                offset: self.began,
            });
        }
        let text = self.at..self.at + length;
        self.at += length;
        if end.is_some() && self.partial.is_empty() {
            return Ok(Some(self.piece.slice(text)));
        }
        self.partial.extend_from_slice(&self.piece[text]);
        self.place = Place::Text(role, shape);
        Ok(end.map(|_| self.partial.split().freeze()))
    }

    fn name(&mut self, text: &[u8]) -> Result<(), SplitError> {
        self.field = String::from_utf8_lossy(text)
            .chars()
            .take(MAX_SHOWN_NAME)
            .collect();
        self.field = self.read(text)?;
        let is_known = match &*self.field {
            "items" => std::mem::replace(&mut self.has_items, true),
            "metadata" => self.metadata.is_some(),
            _ => false,
        };
        match is_known {
            true => Err(self.unreadable("it is there twice")),
            false => Ok(()),
        }
    }

    fn value(&mut self, text: &[u8]) -> Result<(), SplitError> {
        match &*self.field {
            "items" if text == b"null" => Ok(()),
            "items" => Err(self.unreadable("it is neither an array nor null")),
            "metadata" => {
                self.metadata = Some(self.read(text)?);
                Ok(())
            }
            "kind" => self.told(text).map(|kind| self.kind = kind),
            "message" => self.told(text).map(|message| self.message = message),
            _ => self.read::<IgnoredAny>(text).map(|_| ()),
        }
    }

    /// The beginning of a string; nothing of other values, and of one that is not looked at anywhere else either.
    fn told(&self, text: &[u8]) -> Result<String, SplitError> {
        self.read::<IgnoredAny>(text)?;
        let told: String = serde_json::from_slice(text).unwrap_or_default();
        Ok(told.chars().take(MAX_TOLD).collect())
    }

    fn read<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, SplitError> {
        serde_json::from_slice(text).map_err(|error| self.unreadable(&error.to_string()))
    }

    fn unreadable(&self, why: &str) -> SplitError {
        SplitError::Field {
            field: self.field.clone(),
            offset: self.began,
            why: why.to_owned(),
        }
    }
}

/// An object that is no list, for an error.
fn what_came(kind: &str, message: &str) -> String {
    let mut came = match kind {
        "" => "an object that names no kind".to_owned(),
        kind => format!("an object of kind {kind:?}"),
    };
    if !message.is_empty() {
        came += &format!(" that says {message:?}");
    }
    came
}

/// Letters of a name that is no JSON which its error shows: 64.
const MAX_SHOWN_NAME: usize = 64;

/// Letters of what an object that is no list says which its error shows: 256.
const MAX_TOLD: usize = 256;

impl Place {
    fn expected(self) -> &'static str {
        match self {
            Self::Begin => "the bracket of an object",
            Self::FirstField => "a name or the closing bracket",
            Self::Field => "a name",
            Self::Colon => "a colon",
            Self::Value | Self::Item => "a value",
            Self::AfterValue => "a comma or the closing bracket",
            Self::FirstItem => "an item or the closing bracket of the items",
            Self::AfterItem => "a comma or the closing bracket of the items",
            Self::End => "the end",
            Self::Text(Role::Name, _) => "the rest of a name",
            Self::Text(Role::Value, _) => "the rest of a value",
            Self::Text(Role::Item, _) => "the rest of an item",
        }
    }
}

impl Shape {
    /// Of a value, by its first byte.
    fn of(byte: u8) -> Option<Self> {
        match byte {
            b'{' | b'[' => Some(Self::Nested(Nesting::default())),
            b'"' => Some(Self::String {
                begun: false,
                escaped: false,
            }),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Some(Self::Word),
            _ => None,
        }
    }

    /// One past the end, if it is there.
    fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, TooDeep> {
        match self {
            Self::Nested(nesting) => nesting.scan(bytes),
            Self::String { begun, escaped } => Ok(bytes
                .iter()
                .position(|byte| {
                    let is_first = !std::mem::replace(begun, true);
                    let is_plain = !std::mem::take(escaped);
                    *escaped = is_plain && *byte == b'\\';
                    is_plain && !is_first && *byte == b'"'
                })
                .map(|last| last + 1)),
            Self::Word => Ok(bytes
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))),
        }
    }
}
