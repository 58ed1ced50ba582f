//! The few elements of DER (ITU-T X.690) that are put together here.

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;

/// Tag, length and content in DER.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    if content.len() < 128 {
        // Cannot truncate: below 128.
        element.push(content.len() as u8);
    } else {
        let bytes = content.len().to_be_bytes();
        let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
        // Cannot truncate: a usize has at most 8 bytes.
        element.push(0x80 | significant.len() as u8);
        element.extend(significant);
    }
    element.extend(content);
    element
}
