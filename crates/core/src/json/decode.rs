//! Typed values out of JSON text that is known to be JSON, or nearly always is: [`decode`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::masks::quote_or_backslash;
use super::members::string_end;
use super::nesting::Nesting;

/// Decodes a value as [`serde_json::from_str`] does, in four fifths of the time where a type takes most of the text.
///
/// Text that is meant for machines has few escapes and no lines, and strings are most of it: this reader finds their ends with the widest
/// instructions there are, and looks at nothing else in them. Whatever it cannot make sense of, and whatever does not fit the type, it leaves to
/// `serde_json`, so what is refused is refused with the words of that, also where a type passes over errors of its parts. Text within values that the
/// type skips is not checked.
///
/// # Errors
///
/// Those of `serde_json`.
pub fn decode<'de, T: Deserialize<'de>>(text: &'de str) -> serde_json::Result<T> {
    let mut reader = Reader {
        text,
        at: 0,
        levels: LEVELS,
        failed: false,
    };
    // Strings have no control characters, and who writes for machines puts none between them.
    if !has_control_characters(text)
        && let Ok(value) = T::deserialize(&mut reader)
        && !reader.failed
        && reader.peek().is_none()
    {
        return Ok(value);
    }
    serde_json::from_str(text)
}

/// All bytes are looked at, several at a time.
fn has_control_characters(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | (byte < b' '))
}

/// How deep values may nest, as in `serde_json`.
const LEVELS: u8 = 127;

struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How many levels more there may be.
    levels: u8,
    /// There was an error. A type may have passed over it, and over where the library stands after one.
    failed: bool,
}

/// Something is to be left to `serde_json`, which says what.
#[derive(Debug)]
struct Unusual;

type Result<T, E = Unusual> = std::result::Result<T, E>;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unusual JSON")
    }
}

impl std::error::Error for Unusual {}

impl de::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Reader<'de> {
    /// Nothing more is read, since where to go on is not known.
    #[cold]
    #[inline(never)]
    fn fail(&mut self) -> Unusual {
        self.failed = true;
        self.at = self.text.len();
        Unusual
    }

    /// What a visitor made of what it was given.
    #[inline]
    fn visited<T>(&mut self, value: Result<T>) -> Result<T> {
        if value.is_err() {
            self.fail();
        }
        value
    }

    /// The next byte that is no blank, which stays where it is.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = *bytes.get(self.at)?;
            if byte != b' ' {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fail())
        }
    }

    /// Whether what is next can be what a type asks for. A visitor may take more than that, and the library gives it no more.
    #[inline]
    fn begins_with(&mut self, is: impl FnOnce(u8) -> bool) -> Result<()> {
        let is_it = self.peek().is_some_and(is);
        is_it.then_some(()).ok_or_else(|| self.fail())
    }

    fn word(&mut self, word: &str) -> Result<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.fail())
        }
    }

    fn visit_word<T>(&mut self, word: &str, visit: impl FnOnce() -> Result<T>) -> Result<T> {
        self.word(word)?;
        let value = visit();
        self.visited(value)
    }

    /// What a string says, with the quote next.
    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>> {
        let from = self.at + 1;
        let inner = self.text.as_bytes().get(from..).unwrap_or_default();
        let length = quote_or_backslash(inner).ok_or_else(|| self.fail())?;
        if inner[length] == b'"' {
            self.at = from + length + 1;
            let text = self.text.get(from..from + length);
            return text.map(Cow::Borrowed).ok_or_else(|| self.fail());
        }
        self.escaped()
    }

    #[inline]
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let value = match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        };
        self.visited(value)
    }

    /// A string that is the name of a variant.
    fn visit_variant<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_enum(Unit(self));
        self.visited(value)
    }

    #[cold]
    fn escaped(&mut self) -> Result<Cow<'de, str>> {
        let rest = self.rest();
        let end = string_end(rest).ok_or_else(|| self.fail())?;
        self.at += end;
        let text: Option<String> = serde_json::from_str(&rest[..end]).ok();
        text.map(Cow::Owned).ok_or_else(|| self.fail())
    }

    /// The text that is not read yet.
    #[inline]
    fn rest(&self) -> &'de str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text of a number.
    fn number(&mut self) -> &'de str {
        let rest = self.rest();
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let end = rest.bytes().take_while(|byte| is_part(byte)).count();
        self.at += end;
        &rest[..end]
    }

    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let text = self.number();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_small = digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
        if !is_small || !is_number || text == "-0" {
            // Whatever the library makes of one, which depends on its features.
            let mut number = serde_json::Deserializer::from_str(text);
            let value = de::Deserializer::deserialize_any(&mut number, visitor);
            let value = value.and_then(|value| number.end().map(|()| value));
            return value.map_err(|_| self.fail());
        }
        let value = digits
            .bytes()
            .fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
        let value = if digits.len() == text.len() {
            visitor.visit_u64(value.unsigned_abs())
        } else {
            visitor.visit_i64(-value)
        };
        self.visited(value)
    }

    /// Reads what is between the byte that is next and the one that closes it.
    #[inline]
    fn within<T>(&mut self, end: u8, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.levels = self.levels.checked_sub(1).ok_or_else(|| self.fail())?;
        self.at += 1;
        let value = read(self);
        if value.is_err() {
            self.fail();
        } else {
            self.levels += 1;
            self.take(end)?;
        }
        value
    }

    fn skip(&mut self) -> Result<()> {
        let byte = self.peek().ok_or_else(|| self.fail())?;
        let length = match byte {
            b'"' => string_end(self.rest()),
            b'{' | b'[' => Nesting::default().scan(self.rest().as_bytes()).ok().flatten(),
            b't' => return self.word("true"),
            b'f' => return self.word("false"),
            b'n' => return self.word("null"),
            _ => {
                return if self.number().is_empty() {
                    Err(self.fail())
                } else {
                    Ok(())
                };
            }
        };
        self.at += length.ok_or_else(|| self.fail())?;
        Ok(())
    }
}

/// Methods of a deserializer that give what begins with one of some bytes.
macro_rules! only {
    ($($method:ident: $first:pat,)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.begins_with(|byte| matches!(byte, $first))?;
            self.deserialize_any(visitor)
        }
    )*};
}

/// Methods of a deserializer that leave it to the library.
macro_rules! unusual {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
            Err(self.fail())
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Unusual;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek().ok_or_else(|| self.fail())? {
            b'"' => self.visit_string(visitor),
            b'{' => self.within(b'}', |reader| visitor.visit_map(Items { reader, first: true })),
            b'[' => self.within(b']', |reader| visitor.visit_seq(Items { reader, first: true })),
            b't' => self.visit_word("true", || visitor.visit_bool(true)),
            b'f' => self.visit_word("false", || visitor.visit_bool(false)),
            b'n' => self.visit_word("null", || visitor.visit_unit()),
            b'-' | b'0'..=b'9' => self.visit_number(visitor),
            _ => Err(self.fail()),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() == Some(b'n') {
            return self.visit_word("null", || visitor.visit_none());
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        // The library reads some of these by their name, and their visitors refuse them here.
        let value = visitor.visit_newtype_struct(&mut *self);
        self.visited(value)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.begins_with(|byte| matches!(byte, b'{' | b'['))?;
        self.deserialize_any(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() == Some(b'[') {
            return self.deserialize_seq(visitor);
        }
        self.begins_with(|byte| byte == b'"')?;
        let value = match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Cow::Owned(text) => visitor.visit_bytes(text.as_bytes()),
        };
        self.visited(value)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    only! {
        deserialize_bool: b't' | b'f',
        deserialize_i8: b'-' | b'0'..=b'9',
        deserialize_i16: b'-' | b'0'..=b'9',
        deserialize_i32: b'-' | b'0'..=b'9',
        deserialize_i64: b'-' | b'0'..=b'9',
        deserialize_u8: b'-' | b'0'..=b'9',
        deserialize_u16: b'-' | b'0'..=b'9',
        deserialize_u32: b'-' | b'0'..=b'9',
        deserialize_u64: b'-' | b'0'..=b'9',
        deserialize_f64: b'-' | b'0'..=b'9',
        deserialize_char: b'"',
        deserialize_str: b'"',
        deserialize_string: b'"',
        deserialize_identifier: b'"',
        deserialize_unit: b'n',
        deserialize_seq: b'[',
        deserialize_map: b'{',
    }

    // What a visitor is given has no room for the first two; the library may be told to round to the last at once, and not by way of an `f64`.
    unusual! { deserialize_i128 deserialize_u128 deserialize_f32 }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        let value = visitor.visit_unit();
        self.visited(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.peek().ok_or_else(|| self.fail())? {
            b'"' => self.visit_variant(visitor),
            b'{' => self.within(b'}', |reader| visitor.visit_enum(Tagged(reader))),
            _ => Err(self.fail()),
        }
    }
}

/// The members of an object or the elements of an array.
struct Items<'r, 'de> {
    reader: &'r mut Reader<'de>,
    first: bool,
}

impl Items<'_, '_> {
    /// Whether there is another one, whose first byte is next.
    #[inline]
    fn has_next(&mut self, end: u8) -> Result<bool> {
        match self.reader.peek() {
            Some(byte) if byte == end => return Ok(false),
            Some(_) => {}
            // Who passes over errors would ask for ever.
            None if self.reader.failed => return Ok(false),
            None => return Err(self.reader.fail()),
        }
        if !std::mem::take(&mut self.first) {
            self.reader.take(b',')?;
            self.reader.peek();
        }
        Ok(true)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Unusual;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.has_next(b'}')? {
            return Ok(None);
        }
        self.reader.begins_with(|byte| byte == b'"')?;
        seed.deserialize(Key(self.reader)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.reader.take(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Unusual;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.has_next(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// The name of a member. Keys that are no strings are left to `serde_json`.
struct Key<'r, 'de>(&'r mut Reader<'de>);

impl Key<'_, '_> {
    fn fail(self) -> Unusual {
        self.0.fail()
    }
}

impl<'de> de::Deserializer<'de> for Key<'_, 'de> {
    type Error = Unusual;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.visit_string(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_newtype_struct(Key(&mut *self.0));
        self.0.visited(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_some(Key(&mut *self.0));
        self.0.visited(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.0.visit_variant(visitor)
    }

    // The library reads these out of the string.
    unusual! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_bytes
        deserialize_byte_buf
    }

    serde::forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// An enum as an object whose one member is named like the variant.
struct Tagged<'r, 'de>(&'r mut Reader<'de>);

impl<'de> EnumAccess<'de> for Tagged<'_, 'de> {
    type Error = Unusual;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        self.0.begins_with(|byte| byte == b'"')?;
        let variant = seed.deserialize(Key(self.0))?;
        self.0.take(b':')?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'_, 'de> {
    type Error = Unusual;

    fn unit_variant(self) -> Result<()> {
        de::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        de::Deserializer::deserialize_seq(self.0, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        de::Deserializer::deserialize_struct(self.0, "", fields, visitor)
    }
}

/// An enum as a string, which is the name of the variant: it is read when it is asked for.
struct Unit<'r, 'de>(&'r mut Reader<'de>);

impl<'de> EnumAccess<'de> for Unit<'_, 'de> {
    type Error = Unusual;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let variant = seed.deserialize(&mut *self.0)?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Unit<'_, 'de> {
    type Error = Unusual;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Err(self.0.fail())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Err(self.0.fail())
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Err(self.0.fail())
    }
}

#[cfg(test)]
mod tests;
