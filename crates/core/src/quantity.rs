//! Quantities: `500m`, `1.5Gi`, `2e3`, as apimachinery pkg/api/resource reads and prints them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// An amount of a resource, exact to nano units (upstream rounds up what is finer).
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The amount in units of 10⁻⁹.
    nanos: i128,
    format: Format,
}

/// How a quantity was written, and is printed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

impl Quantity {
    /// So many whole units.
    pub fn from_units(units: i64) -> Self {
        Self {
            nanos: i128::from(units) * NANOS,
            format: Format::DecimalSi,
        }
    }

    /// So many thousandths, as CPU is counted.
    pub fn from_millis(millis: i64) -> Self {
        Self {
            nanos: i128::from(millis) * (NANOS / 1000),
            format: Format::DecimalSi,
        }
    }

    /// The amount in whole units, rounded up; saturates at the bounds of `i64`.
    pub fn to_units_rounded_up(&self) -> i64 {
        saturate(div_ceil(self.nanos, NANOS))
    }

    /// The amount in thousandths, rounded up; saturates at the bounds of `i64`.
    pub fn to_millis_rounded_up(&self) -> i64 {
        saturate(div_ceil(self.nanos, NANOS / 1000))
    }

    /// Whether the amount is below zero.
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// The sum, in the format of the first; saturates.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: self.format,
        }
    }

    /// The difference, in the format of the first; saturates.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format: self.format,
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: the largest suffix that leaves no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        // Binary suffixes are only for whole amounts of 1024 and more.
        if self.format == Format::BinarySi && self.nanos % NANOS == 0 && (self.nanos / NANOS).abs() >= 1024 {
            let mut units = self.nanos / NANOS;
            let mut power = 0;
            while units % 1024 == 0 && power + 1 < BINARY.len() {
                units /= 1024;
                power += 1;
            }
            return write!(f, "{units}{}", BINARY[power]);
        }
        let mut amount = self.nanos;
        let mut exponent = -9;
        while amount % 1000 == 0 && exponent < 18 {
            amount /= 1000;
            exponent += 3;
        }
        if self.format == Format::DecimalExponent {
            return if exponent == 0 {
                write!(f, "{amount}")
            } else {
                write!(f, "{amount}e{exponent}")
            };
        }
        let suffix = DECIMAL
            .iter()
            .find(|(_, e)| *e == exponent)
            .map_or("", |(s, _)| s);
        write!(f, "{amount}{suffix}")
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseQuantityError {
            text: text.to_owned(),
        };
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || text.len() > MAX_TEXT_BYTES
        {
            return Err(error());
        }
        let (base, exponent, format) = scale(suffix).ok_or_else(error)?;
        let magnitude = to_nanos(whole, fraction, base, exponent);
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
            format,
        })
    }
}

/// A text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': {text:?} does not"
)]
pub struct ParseQuantityError {
    /// What was found.
    pub text: String,
}

fn scale(suffix: &str) -> Option<(u32, i32, Format)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some((10, *exponent, Format::DecimalSi));
    }
    if let Some(power) = BINARY.iter().skip(1).position(|s| *s == suffix) {
        return Some((2, 10 * (i32::try_from(power).ok()? + 1), Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Amounts beyond the bounds saturate, so an exponent past them need not be exact.
    Some((
        10,
        exponent.parse::<i32>().ok()?.clamp(-1000, 1000),
        Format::DecimalExponent,
    ))
}

/// The amount in nano units, rounded up and saturating at [`MAX_NANOS`].
fn to_nanos(whole: &str, fraction: &str, base: u32, exponent: i32) -> i128 {
    let digits = whole.bytes().chain(fraction.bytes()).skip_while(|b| *b == b'0');
    let (mut mantissa, mut dropped, mut lost) = (0_i128, 0_i32, false);
    for byte in digits {
        // 27 digits are more than any amount within bounds has before rounding.
        if mantissa < 10_i128.pow(27) {
            mantissa = mantissa * 10 + i128::from(byte - b'0');
        } else {
            dropped += 1;
            lost |= byte != b'0';
        }
    }
    if mantissa == 0 {
        return 0;
    }
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let mut ten = 9 + dropped - fraction_digits;
    if base == 2 {
        // Saturates before it could overflow: mantissa < 10^28 and the factor is at most 2^60.
        mantissa = mantissa.saturating_mul(1_i128 << exponent);
    } else {
        ten = ten.saturating_add(exponent);
    }
    let scaled = if ten >= 0 {
        10_i128
            .checked_pow(ten.unsigned_abs())
            .and_then(|factor| mantissa.checked_mul(factor))
            .unwrap_or(MAX_NANOS)
    } else {
        match 10_i128.checked_pow(ten.unsigned_abs()) {
            Some(divisor) => div_ceil(mantissa, divisor),
            None => 1,
        }
    };
    (scaled + i128::from(lost)).min(MAX_NANOS)
}

fn div_ceil(amount: i128, divisor: i128) -> i128 {
    amount.div_euclid(divisor) + i128::from(amount.rem_euclid(divisor) != 0)
}

fn saturate(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX })
}

const NANOS: i128 = 1_000_000_000;
/// Upstream caps amounts at 2⁶³-1 units.
const MAX_NANOS: i128 = (i64::MAX as i128) * NANOS;
const MAX_TEXT_BYTES: usize = 256;
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn canonical_form() {
        for (text, expect) in [
            ("0", "0"),
            ("1", "1"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.", "1"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1000", "1k"),
            ("1e3", "1e3"),
            ("12E3", "12e3"),
            ("100", "100"),
            ("-1k", "-1k"),
            ("1E", "1E"),
            ("1Ei", "1Ei"),
            ("0.1n", "1n"),
            ("1.0000000001", "1000000001n"),
            ("+2", "2"),
        ] {
            assert_eq!(text.parse::<Quantity>().unwrap().to_string(), expect, "{text}");
        }
    }

    #[test]
    fn malformed() {
        for text in [
            "", "-", ".", "1.2.3", "1x", "1e", "1e+", "1 ", " 1", "1mi", "1KI", "--1", "1e1.5",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn amounts() {
        assert_eq!("1500m".parse::<Quantity>().unwrap().to_units_rounded_up(), 2);
        assert_eq!("2".parse::<Quantity>().unwrap().to_millis_rounded_up(), 2000);
        assert!("1Gi".parse::<Quantity>().unwrap() > "1G".parse().unwrap());
        assert_eq!(
            "9999999999999999999999E"
                .parse::<Quantity>()
                .unwrap()
                .to_units_rounded_up(),
            i64::MAX
        );
    }

    proptest! {
        #[test]
        fn no_text_panics_and_the_canonical_form_is_stable(text in "[-+]?[0-9.]{0,40}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,5}") {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let printed = quantity.to_string();
                let again: Quantity = printed.parse().unwrap();
                prop_assert_eq!(again, quantity);
                prop_assert_eq!(again.to_string(), printed);
            }
        }
    }
}
