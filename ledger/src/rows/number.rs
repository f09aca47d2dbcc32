//! Encodes page numbers in as few bytes as possible, so that they sort as the numbers do.

/// The greatest number: five bytes after the first.
pub(crate) const MAX: u64 = (1 << 40) + 250;

/// Below this, a number is one byte.
const ONE_BYTE: u64 = 251;

/// The bytes of a number, which is at most [`MAX`].
pub(crate) fn encode(number: u64) -> Vec<u8> {
    if let Ok(byte) = u8::try_from(number)
        && number < ONE_BYTE
    {
        return vec![byte];
    }
    let rest = (number - ONE_BYTE).to_be_bytes();
    let len = rest.iter().skip_while(|byte| **byte == 0).count().max(1);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "1 to 5, because the number is at most `MAX`"
    )]
    let mut bytes = vec![250 + len as u8];
    bytes.extend_from_slice(&rest[8 - len..]);
    bytes
}

/// The number at the beginning of these bytes, and the bytes after it. `None` if there is no
/// number.
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if u64::from(*first) < ONE_BYTE {
        return Some((u64::from(*first), rest));
    }
    let (number, rest) = rest.split_at_checked(usize::from(*first) - 250)?;
    let value = number.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let number = value + ONE_BYTE;
    // Only the shortest encoding is valid.
    (number <= MAX && encode(number).len() + rest.len() == bytes.len()).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_order() {
        let mut last = Vec::new();
        let numbers = (0..70_000).chain([1 << 24, 1 << 32, MAX - 1, MAX]);
        for number in numbers {
            let bytes = encode(number);
            assert_eq!(decode(&[&bytes[..], b"rest"].concat()), Some((number, &b"rest"[..])));
            assert!(last < bytes, "{number}");
            last = bytes;
        }
    }

    #[test]
    fn other_bytes_are_no_numbers() {
        for bytes in [&b""[..], b"\xfb", b"\xfc\0\x05", b"\xfd\0\0\x01", b"\xff\xff\xff\xff\xff"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(decode(b"\xfb\0"), Some((251, &b""[..])));
    }
}
