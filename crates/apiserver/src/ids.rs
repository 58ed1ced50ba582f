//! Uids and generated names.

/// A random uid: a UUID of version 4 (RFC 9562). Uids tell objects apart; they are no secrets, so a fast generator does.
pub(crate) fn uid() -> String {
    let random = fastrand::u128(..);
    let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let mut text = [b'-'; 36];
    let digit = |place: u32| HEX_DIGITS[(bits >> (124 - 4 * place)) as usize & 0xf];
    for (places, first) in [(0..8, 0), (9..13, 8), (14..18, 12), (19..23, 16), (24..36, 20)] {
        for (place, at) in text[places].iter_mut().zip(first..) {
            *place = digit(at);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A name from `generateName`: the prefix, cut to leave room, and five random characters
/// (apiserver pkg/storage/names/generate.go).
pub(crate) fn generated_name(prefix: &str) -> String {
    let mut end = prefix.len().min(MAX_PREFIX_BYTES);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let suffix = (0..SUFFIX_LENGTH).map(|_| char::from(ALPHABET[fastrand::usize(..ALPHABET.len())]));
    let mut name = prefix[..end].to_owned();
    name.extend(suffix);
    name
}

const SUFFIX_LENGTH: usize = 5;
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_LENGTH;
/// Without vowels and their look-alikes, so that no words come out (apimachinery pkg/util/rand).
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_version_4() {
        let uid = uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!("89ab".contains(&uid[19..20]));
        assert_ne!(uid, super::uid());
    }

    #[test]
    fn generated_names_fit() {
        assert_eq!(generated_name("web-").len(), 9);
        assert_eq!(generated_name(&"x".repeat(100)).len(), 63);
        assert!(generated_name(&"ü".repeat(40)).len() <= 63);
    }
}
