//! JSON numbers as Go's decoder of Kubernetes sees them: int64 where the text is an integer that fits, else float64.

use serde_json::{Number, Value};

/// A JSON number in Go's two forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GoNumber {
    Int(i64),
    Float(f64),
}

/// The largest magnitude up to which every integer is a double (go-openapi's bound for "integers" among floats).
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

impl GoNumber {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::INFINITY)),
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the API compares bounds as doubles, too"
            )]
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Whether an integer schema takes it.
    pub(crate) fn is_integer(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(float) => is_integral(float) && float.abs() <= MAX_EXACT,
        }
    }

    /// The integer that this is, as Go finds it: the shortest digits of a float that mean it have to be one.
    pub(crate) fn as_integer(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) => is_integral(float).then(|| float.to_string().parse().ok())?,
        }
    }

    /// What is before the point, where an `int64` can hold it.
    pub(crate) fn truncated(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) => {
                // 2^63 is a double, the largest integer is none.
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
                #[expect(clippy::cast_possible_truncation, reason = "bounded by the line above")]
                fits.then_some(float as i64)
            }
        }
    }

    /// The value as error messages show it.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Int(int) => int.into(),
            // Go prints 2.0 as 2.
            Self::Float(float) if is_integral(float) && float.abs() < 1e6 => {
                #[expect(clippy::cast_possible_truncation, reason = "bounded by the guard")]
                let int = float as i64;
                int.into()
            }
            Self::Float(float) => float.into(),
        }
    }
}

pub(crate) fn is_integral(float: f64) -> bool {
    float.is_finite() && float.fract() == 0.0
}

/// Go's `%v` of a float64: the shortest digits, with an exponent below -4 and from 6 on.
pub(crate) fn print(float: f64) -> String {
    let magnitude = float.abs();
    if float == 0.0 || (1e-4..1e6).contains(&magnitude) || !float.is_finite() {
        return float.to_string();
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(digits) => format!("{mantissa}e-{digits:0>2}"),
            None => format!("{mantissa}e+{exponent:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_like_go() {
        for (float, expect) in [
            (2.0, "2"),
            (0.5, "0.5"),
            (1e6, "1e+06"),
            (123456.7, "123456.7"),
            (0.00001, "1e-05"),
        ] {
            assert_eq!(print(float), expect);
        }
    }
}
