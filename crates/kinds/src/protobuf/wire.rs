//! The encoding of protobuf below messages: keys, varints and lengths.

/// How a field's payload is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireType {
    Varint,
    Fixed64,
    Length,
    StartGroup,
    EndGroup,
    Fixed32,
}

impl WireType {
    fn from_bits(bits: u64) -> Option<Self> {
        Some(match bits {
            0 => Self::Varint,
            1 => Self::Fixed64,
            2 => Self::Length,
            3 => Self::StartGroup,
            4 => Self::EndGroup,
            5 => Self::Fixed32,
            _ => return None,
        })
    }
}

/// Why bytes are no protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    /// The input ends inside a value.
    Truncated,
    /// A varint of more than ten bytes.
    Varint,
    /// A key with tag 0, an unknown wire type, or the end of a group that was not open.
    Key,
}

/// Reads the fields of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many bytes are left.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next field's tag and wire type.
    pub(super) fn key(&mut self) -> Result<(u32, WireType), Malformed> {
        let key = self.varint()?;
        let wire_type = WireType::from_bits(key & 7).ok_or(Malformed::Key)?;
        let tag = u32::try_from(key >> 3).map_err(|_| Malformed::Key)?;
        if tag == 0 {
            Err(Malformed::Key)
        } else {
            Ok((tag, wire_type))
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
            self.rest = rest;
            // The tenth byte holds one more bit; what lies above is cut off, as upstream's decoder does.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::Varint)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, Malformed> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// A payload with its length before it.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed::Truncated)?;
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Passes over the payload of a field that is not known. Groups are counted, not recursed into.
    pub(super) fn skip(&mut self, wire_type: WireType) -> Result<(), Malformed> {
        let mut open_groups = 0_usize;
        let mut wire_type = wire_type;
        loop {
            match wire_type {
                WireType::Varint => drop(self.varint()?),
                WireType::Fixed64 => drop(self.take(8)?),
                WireType::Fixed32 => drop(self.take(4)?),
                WireType::Length => drop(self.bytes()?),
                WireType::StartGroup => open_groups += 1,
                WireType::EndGroup => open_groups = open_groups.checked_sub(1).ok_or(Malformed::Key)?,
            }
            if open_groups == 0 {
                return Ok(());
            }
            (_, wire_type) = self.key()?;
        }
    }
}

/// Writes a message from its end to its start, so that every length is known when it is written.
#[derive(Debug, Default)]
pub(super) struct Writer {
    reversed: Vec<u8>,
}

impl Writer {
    /// How much is written so far; what a nested message adds to it is that message's length.
    pub(super) fn len(&self) -> usize {
        self.reversed.len()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.reversed;
        bytes.reverse();
        bytes
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    pub(super) fn varint(&mut self, value: u64) {
        let mut buffer = [0_u8; 10];
        let mut used = 0;
        let mut rest = value;
        loop {
            let low = (rest & 0x7f) as u8;
            rest >>= 7;
            buffer[used] = if rest == 0 { low } else { low | 0x80 };
            used += 1;
            if rest == 0 {
                break;
            }
        }
        self.raw(&buffer[..used]);
    }

    pub(super) fn key(&mut self, tag: u32, wire_type: WireType) {
        self.varint(u64::from(tag) << 3 | wire_type as u64);
    }

    pub(super) fn varint_field(&mut self, tag: u32, value: u64) {
        self.varint(value);
        self.key(tag, WireType::Varint);
    }

    pub(super) fn bytes_field(&mut self, tag: u32, bytes: &[u8]) {
        self.raw(bytes);
        self.end_message(tag, bytes.len());
    }

    /// Closes a message of which `length` bytes are written.
    pub(super) fn end_message(&mut self, tag: u32, length: usize) {
        self.varint(length as u64);
        self.key(tag, WireType::Length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_varint(value: u64, bytes: &[u8]) {
        let mut writer = Writer::default();
        writer.varint(value);
        assert_eq!(writer.into_bytes(), bytes, "{value}");
        assert_eq!(Reader::new(bytes).varint(), Ok(value));
    }

    #[test]
    fn varints() {
        check_varint(0, &[0]);
        check_varint(127, &[0x7f]);
        check_varint(128, &[0x80, 1]);
        check_varint(300, &[0xac, 2]);
        check_varint(
            u64::MAX,
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        );
        assert_eq!(Reader::new(&[0x80]).varint(), Err(Malformed::Truncated));
        assert_eq!(Reader::new(&[0x80; 11]).varint(), Err(Malformed::Varint));
    }

    #[test]
    fn keys() {
        assert_eq!(Reader::new(&[0x0a]).key(), Ok((1, WireType::Length)));
        assert_eq!(Reader::new(&[0x02]).key(), Err(Malformed::Key));
        assert_eq!(Reader::new(&[0x0f]).key(), Err(Malformed::Key));
    }

    #[test]
    fn skipping() {
        // A group with tag 1 that holds a varint and a group, then a field that follows it.
        let mut reader = Reader::new(&[0x0b, 0x10, 1, 0x1b, 0x1c, 0x0c, 0x08]);
        let (_, wire_type) = reader.key().unwrap();
        reader.skip(wire_type).unwrap();
        assert_eq!(reader.key(), Ok((1, WireType::Varint)));
        assert_eq!(Reader::new(&[]).skip(WireType::EndGroup), Err(Malformed::Key));
        assert_eq!(
            Reader::new(&[5, 1]).skip(WireType::Length),
            Err(Malformed::Truncated)
        );
    }
}
