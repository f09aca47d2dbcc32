//! The Base64 form of numeric arrays.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LINE: usize = 76;

/// Base64 with padding, in lines of 76 characters that LF separates.
pub(crate) fn encode_mime(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + bytes.len() / 57 + 4);
    let mut column = 0;
    for group in bytes.chunks(3) {
        // Java breaks the lines at 76 characters, and the text must read back the same there.
        if column == LINE {
            text.push('\n');
            column = 0;
        }
        let bits = group
            .iter()
            .zip([16, 8, 0])
            .fold(0u32, |bits, (&byte, shift)| bits | u32::from(byte) << shift);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit =
                // Digits beyond the input are padding.
                ALPHABET.get((bits >> shift & 63) as usize).filter(|_| index <= group.len());
            text.push(digit.map_or('=', |&digit| char::from(digit)));
        }
        column += 4;
    }
    text
}

/// The bytes of a Base64 text; `None` if it is not Base64.
///
/// White space may follow any digit. `-` and `_` mean `+` and `/`. The empty text is not Base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits_end = text.find('=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(digits_end);
    // Java accepts white space only after a digit.
    if digits.starts_with(char::is_whitespace) || digits.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0usize);
    for byte in digits.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count.is_multiple_of(4) {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    match (count % 4, padding) {
        (0, "") => {}
        (2, "==") => bytes.extend_from_slice(&(bits << 4).to_be_bytes()[2..3]),
        (3, "=") => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
        // A rest of one digit has too few bits for a byte, and wrong padding is a damaged text.
        _ => return None,
    }
    Some(bytes)
}
