//! Numbers that can be read.

/// A number with its thousands apart: `12 345.6`.
pub fn grouped(number: &str) -> String {
    let whole = number.find('.').unwrap_or(number.len());
    let mut text = String::new();
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
