//! From text to steps.

use std::str::Chars;

use serde_json::{Number, Value};

use super::{End, Error, MAX_DEPTH, MAX_LENGTH, Operator, Slice, Step, Test};

/// Parses a whole path, with or without braces.
pub(super) fn path(text: &str) -> Result<Vec<Step>, Error> {
    if text.len() > MAX_LENGTH {
        return Err(Error::TooLong { length: text.len() });
    }
    let inner = match text.trim().strip_prefix('{') {
        None => text,
        Some(rest) => rest
            .strip_suffix('}')
            .ok_or(Error::Unterminated { what: "brace" })?,
    };
    steps(inner, 0)
}

fn steps(text: &str, depth: usize) -> Result<Vec<Step>, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::TooDeep);
    }
    let mut parser = Parser {
        text,
        at: 0,
        depth,
        steps: Vec::new(),
    };
    while parser.step()? {}
    Ok(parser.steps)
}

struct Parser<'t> {
    text: &'t str,
    /// Always on a character boundary.
    at: usize,
    depth: usize,
    steps: Vec<Step>,
}

impl<'t> Parser<'t> {
    /// Reads one step; false at the end of the text.
    fn step(&mut self) -> Result<bool, Error> {
        let rest = &self.text[self.at..];
        let Some(character) = rest.chars().next() else {
            return Ok(false);
        };
        match character {
            ' ' | '@' | '$' => self.at += 1,
            '.' if rest.starts_with("..") => self.descend()?,
            '.' => {
                self.at += 1;
                self.field();
            }
            '[' if rest.starts_with("[?(") => self.filter()?,
            '[' => self.brackets()?,
            '"' | '\'' => self.quotation(character)?,
            '+' | '-' => self.number()?,
            digit if digit.is_numeric() => self.number()?,
            letter if letter == '_' || letter.is_alphabetic() => self.word()?,
            _ => {
                return Err(Error::Unexpected {
                    character,
                    position: self.at,
                });
            }
        }
        Ok(true)
    }

    fn descend(&mut self) -> Result<(), Error> {
        if self.steps.last() == Some(&Step::Descend) {
            return Err(Error::RepeatedDescent);
        }
        self.at += "..".len();
        self.steps.push(Step::Descend);
        if self.text[self.at..].starts_with(|next: char| next == '_' || next.is_alphanumeric()) {
            self.field();
        }
        Ok(())
    }

    /// Reads a field name up to the next terminator. An empty name is a field too, one that nothing has.
    fn field(&mut self) {
        let mut name = String::new();
        let mut characters = self.text[self.at..].char_indices();
        let mut end = self.text.len();
        while let Some((offset, character)) = characters.next() {
            if character == '\\' {
                name.extend(characters.next().map(|(_, escaped)| escaped));
            } else if is_terminator(character) {
                end = self.at + offset;
                break;
            } else {
                name.push(character);
            }
        }
        let written = &self.text[self.at..end];
        self.at = end;
        self.steps.push(if written == "*" {
            Step::Every
        } else {
            Step::Field(name)
        });
    }

    fn word(&mut self) -> Result<(), Error> {
        let word = self.take_until(is_terminator);
        match word {
            "true" => self.steps.push(Step::Literal(Value::Bool(true))),
            "false" => self.steps.push(Step::Literal(Value::Bool(false))),
            _ => {
                return Err(Error::UnknownWord {
                    word: word.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        let start = self.at;
        if self.text[start..].starts_with(['+', '-']) {
            self.at += 1;
        }
        self.take_until(|character| character != '.' && !character.is_numeric());
        let text = &self.text[start..self.at];
        let number = match text.parse::<i64>() {
            Ok(integer) => Some(Number::from(integer)),
            Err(_) => text.parse().ok().and_then(Number::from_f64),
        };
        let number = number.ok_or_else(|| Error::BadLiteral {
            text: text.to_owned(),
        })?;
        self.steps.push(Step::Literal(Value::Number(number)));
        Ok(())
    }

    fn quotation(&mut self, quote: char) -> Result<(), Error> {
        let start = self.at + 1;
        let end = self.text[start..].char_indices().find_map(|(offset, character)| {
            let before = self.text.as_bytes()[..start + offset].last();
            (character == quote && before != Some(&b'\\')).then_some(start + offset)
        });
        let line = self.text[start..]
            .find(['\n', '\r'])
            .map_or(self.text.len(), |offset| start + offset);
        let end = end
            .filter(|&end| end < line)
            .ok_or(Error::Unterminated { what: "quotation" })?;
        let text = unescape(&self.text[start..end], quote).ok_or_else(|| Error::BadLiteral {
            text: self.text[self.at..=end].to_owned(),
        })?;
        self.at = end + 1;
        self.steps.push(Step::Text(Value::String(text)));
        Ok(())
    }

    /// Reads `[…]` that is no filter: a union, a quoted key, an index or a range.
    fn brackets(&mut self) -> Result<(), Error> {
        let start = self.at + 1;
        let unterminated = Error::Unterminated { what: "bracket" };
        let Some(length) = self.text[start..].find([']', '\n']) else {
            return Err(unterminated);
        };
        let end = start + length;
        if !self.text[end..].starts_with(']') {
            return Err(unterminated);
        }
        self.at = end + 1;
        let inner = &self.text[start..end];
        if inner.contains(',') {
            let mut members = Vec::new();
            for member in inner.split(',') {
                members.push(self.selection(member.trim_matches(' '))?);
            }
            self.steps.push(Step::Union(members));
        } else {
            let selection = self.selection(inner)?;
            self.steps.extend(selection);
        }
        Ok(())
    }

    /// What one member of the brackets selects.
    fn selection(&self, inner: &str) -> Result<Vec<Step>, Error> {
        let key = inner.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        match key {
            Some(key) if !key.contains('\'') => steps(&format!(".{key}"), self.depth + 1),
            _ => slice(inner).map(|slice| vec![Step::Slice(slice)]),
        }
    }

    fn filter(&mut self) -> Result<(), Error> {
        let start = self.at + "[?(".len();
        let end = self.filter_end(start)?;
        if !self.text[end + 1..].starts_with(']') {
            return Err(Error::Unterminated { what: "filter" });
        }
        self.at = end + ")]".len();
        let inner = &self.text[start..end];
        let is_operator = |character| matches!(character, '!' | '<' | '>' | '=');
        let comparison = inner.split_at(inner.find(is_operator).unwrap_or(inner.len()));
        let (left, rest) = comparison;
        let right = rest.trim_start_matches(is_operator);
        if left.is_empty() || rest.is_empty() || right.is_empty() {
            let left = steps(inner, self.depth + 1)?;
            self.steps.push(Step::Filter {
                left,
                test: Test::Exists,
            });
            return Ok(());
        }
        let operator = operator(&rest[..rest.len() - right.len()])?;
        let (left, right) = (steps(left, self.depth + 1)?, steps(right, self.depth + 1)?);
        self.steps.push(Step::Filter {
            left,
            test: Test::Compare(operator, right),
        });
        Ok(())
    }

    /// Where the `)` is that ends the filter: the first one outside of the quotation.
    fn filter_end(&self, start: usize) -> Result<usize, Error> {
        let mut quote = None;
        let mut closed = false;
        let mut before = '(';
        for (offset, character) in self.text[start..].char_indices() {
            match character {
                '\n' => break,
                '"' | '\'' if quote.is_none() => quote = Some(character),
                '"' | '\'' if quote == Some(character) && before != '\\' => closed = true,
                ')' if quote.is_some() == closed => return Ok(start + offset),
                _ => {}
            }
            before = character;
        }
        Err(Error::Unterminated { what: "filter" })
    }

    fn take_until(&mut self, stop: impl FnMut(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.find(stop).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }
}

/// Whether a field name or a word ends before this character.
fn is_terminator(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

fn operator(text: &str) -> Result<Operator, Error> {
    Ok(match text {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => {
            return Err(Error::UnknownOperator {
                operator: text.to_owned(),
            });
        }
    })
}

/// Reads `3`, `-1`, `1:3`, `:2`, `::2` or `*`; nothing at all is the first element, as upstream has it.
fn slice(text: &str) -> Result<Slice, Error> {
    let bad = || Error::BadIndex {
        text: text.to_owned(),
    };
    if text == "*" {
        return Ok(Slice {
            start: None,
            end: End::OfArray,
            step: None,
        });
    }
    let number = |part: &str| match part {
        "" => Ok(None),
        // A sign of + would parse below but is not in the language.
        part if part.starts_with('+') => Err(bad()),
        part => part.parse::<i64>().map(Some).map_err(|_| bad()),
    };
    let mut parts = text.split(':');
    let start = number(parts.next().unwrap_or_default())?;
    let end = match parts.next() {
        None => End::AfterStart,
        Some(end) => number(end)?.map_or(End::OfArray, End::At),
    };
    let step = number(parts.next().unwrap_or_default())?;
    if parts.next().is_some() {
        Err(bad())
    } else {
        Ok(Slice { start, end, step })
    }
}

/// Resolves the escapes of Go string literals, but for octal ones; `None` for an unknown escape.
fn unescape(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        out.push(match characters.next()? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            escaped if escaped == quote => escaped,
            'x' => code_point(&mut characters, 2)?,
            'u' => code_point(&mut characters, 4)?,
            'U' => code_point(&mut characters, 8)?,
            _ => return None,
        });
    }
    Some(out)
}

/// Takes that many hexadecimal digits as a character.
fn code_point(characters: &mut Chars<'_>, digits: usize) -> Option<char> {
    let rest = characters.as_str();
    let (code, rest) = rest.split_at_checked(digits)?;
    *characters = rest.chars();
    // The parser of integers would take a sign.
    let hexadecimal = code.bytes().all(|byte| byte.is_ascii_hexdigit());
    char::from_u32(u32::from_str_radix(code, 16).ok().filter(|_| hexadecimal)?)
}
