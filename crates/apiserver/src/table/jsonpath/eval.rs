//! From steps and a document to the values selected.

use std::cmp::Ordering;

use kubewright_core::json::by_name;
use serde_json::Value;

use super::{End, Error, MAX_VALUES, Operator, Slice, Step, Test};

pub(super) fn find<'a>(steps: &'a [Step], root: &'a Value) -> Result<Vec<&'a Value>, Error> {
    Search { left: MAX_VALUES }.walk(steps, vec![root])
}

/// A search with what is left of its budget: unions and descents can multiply values without end.
struct Search {
    left: usize,
}

impl Search {
    fn walk<'a>(&mut self, steps: &'a [Step], mut values: Vec<&'a Value>) -> Result<Vec<&'a Value>, Error> {
        for step in steps {
            values = self.step(step, values)?;
        }
        Ok(values)
    }

    fn step<'a>(&mut self, step: &'a Step, values: Vec<&'a Value>) -> Result<Vec<&'a Value>, Error> {
        self.spend(values.len())?;
        let mut found = Vec::new();
        match step {
            Step::Field(name) => found.extend(values.into_iter().filter_map(|value| value.get(name))),
            Step::Literal(literal) => found.extend(values.iter().map(|_| literal)),
            Step::Text(text) => found.push(text),
            Step::Every => {
                for value in values {
                    self.spend(size(value))?;
                    found.extend(children(value));
                }
            }
            Step::Descend => {
                for value in values {
                    self.descend(value, &mut found)?;
                }
            }
            Step::Slice(slice) => {
                for value in values {
                    if !value.is_null() && !self.slice(*slice, value, &mut found)? {
                        break;
                    }
                }
            }
            Step::Union(members) => {
                for member in members {
                    found.extend(self.walk(member, values.clone())?);
                }
            }
            Step::Filter { left, test } => {
                for value in values {
                    let elements = value.as_array().ok_or_else(|| Error::NotAnArray {
                        found: type_of(value),
                    })?;
                    for element in elements {
                        if self.passes(element, left, test)? {
                            found.push(element);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The value and all that it contains, parents before children, leaving out scalars but for strings: what upstream
    /// collects, where a string is a list of bytes.
    fn descend<'a>(&mut self, value: &'a Value, found: &mut Vec<&'a Value>) -> Result<(), Error> {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            self.spend(1)?;
            if size(value) > 0 || value.as_str().is_some_and(|text| !text.is_empty()) {
                found.push(value);
            }
            let first = waiting.len();
            waiting.extend(children(value));
            waiting[first..].reverse();
        }
        Ok(())
    }

    /// Adds the elements of a slice; false for an empty range, which ends the step as it does upstream.
    fn slice<'a>(
        &mut self,
        slice: Slice,
        value: &'a Value,
        found: &mut Vec<&'a Value>,
    ) -> Result<bool, Error> {
        let elements = value.as_array().ok_or_else(|| Error::NotAnArray {
            found: type_of(value),
        })?;
        let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let written = slice.start.unwrap_or(0);
        let from_end = |index: i64| {
            if index < 0 {
                index.saturating_add(length)
            } else {
                index
            }
        };
        let start = from_end(written);
        let end = match slice.end {
            End::OfArray => length,
            End::At(end) => from_end(end),
            End::AfterStart => start.saturating_add(1),
        };
        if start == end {
            return Ok(false);
        }
        let out_of_bounds = |index| Error::OutOfBounds {
            index,
            length: elements.len(),
        };
        if !(0..length).contains(&start) {
            return Err(out_of_bounds(start));
        }
        if !(0..=length).contains(&end) {
            return Err(out_of_bounds(end.saturating_sub(1)));
        }
        let step = slice.step.unwrap_or(1);
        let bad_range = || Error::BadRange { start, end, step };
        if start > end || step < 1 {
            return Err(bad_range());
        }
        // All three lie in 0..=length or are positive, so these hold.
        let index = |number: i64| usize::try_from(number).map_err(|_| bad_range());
        let range = &elements[index(start)?..index(end)?];
        self.spend(range.len())?;
        found.extend(range.iter().step_by(index(step)?));
        Ok(true)
    }

    fn passes(&mut self, element: &Value, left: &[Step], test: &Test) -> Result<bool, Error> {
        let (operator, right) = match test {
            // A left side that cannot be searched for does not exist.
            Test::Exists => {
                return Ok(self
                    .walk(left, vec![element])
                    .is_ok_and(|found| !found.is_empty()));
            }
            Test::Compare(operator, right) => (*operator, right),
        };
        let left = self.walk(left, vec![element])?;
        let right = self.walk(right, vec![element])?;
        match (&*left, &*right) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => compare(operator, left, right),
            ([_], _) => Err(Error::Incomparable {
                left: "a value",
                right: "a list of values",
            }),
            _ => Err(Error::Incomparable {
                left: "a list of values",
                right: "a value",
            }),
        }
    }

    fn spend(&mut self, values: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(values).ok_or(Error::TooManyValues)?;
        Ok(())
    }
}

/// The fields or elements of a value, in order.
fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(fields) => Box::new(by_name(fields).map(|(_, value)| value)),
        _ => Box::new(std::iter::empty()),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

/// Compares two scalars of one type. Integers and floats are different types here, as they are upstream.
fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, Error> {
    let incomparable = || Error::Incomparable {
        left: type_of(left),
        right: type_of(right),
    };
    let ordering = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => match operator {
            Operator::Equal | Operator::NotEqual => Some(left.cmp(right)),
            _ => return Err(incomparable()),
        },
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            (None, None) => left.as_f64().partial_cmp(&right.as_f64()),
            _ => return Err(incomparable()),
        },
        _ => return Err(incomparable()),
    };
    Ok(match operator {
        Operator::Equal => ordering == Some(Ordering::Equal),
        Operator::NotEqual => ordering != Some(Ordering::Equal),
        Operator::Less => ordering == Some(Ordering::Less),
        Operator::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Operator::Greater => ordering == Some(Ordering::Greater),
        Operator::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
    })
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "float",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "map",
    }
}
