//! Found values as text.

use kubewright_core::go_json;
use serde_json::Value;

/// A found value as upstream prints it: strings bare, arrays and objects as compact JSON in the spelling of Go's encoder
/// (`<`, `>` and `&` escaped), other scalars as in JSON but for floats, which Go's `%v` writes without a needless `.0`.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.to_string(),
            None => number.as_f64().map_or_else(|| number.to_string(), go_float),
        },
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => go_json(value),
    }
}

/// A float as Go's `%v` prints it: the shortest digits that read back, in scientific notation below 1e-4 and from 1e21.
fn go_float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}
