//! The one encoding of the items of a node.

use bytes::Bytes;

use super::items::Items;

/// The bytes of a node with these items, whose keys ascend.
pub(crate) fn encode(level: u8, items: &Items) -> Bytes {
    let count = items.len();
    let prefix = match count.checked_sub(1) {
        Some(last) => common(items.key(0), items.key(last)),
        None => 0,
    };
    // An item has two bytes before the rest of its key.
    let end_of = |at: usize| items.end(at) + 2 * (at + 1) - prefix * (at + 1);
    let total = count.checked_sub(1).map_or(0, end_of);
    let wide = total > usize::from(u16::MAX);
    let width = if wide { 4 } else { 2 };
    let mut bytes = Vec::with_capacity(8 + prefix + count * width + total);
    bytes.push(level);
    #[allow(clippy::cast_possible_truncation, reason = "a node is cut before it has 74,256 bytes")]
    let (count_of_items, end_of) = (count as u32, |at: usize| end_of(at) as u32);
    bytes.extend_from_slice(&count_of_items.to_be_bytes());
    #[allow(clippy::cast_possible_truncation, reason = "a key has at most 8,192 bytes")]
    let (prefix_len, len_of) = (prefix as u16, |len: usize| len as u16);
    bytes.extend_from_slice(&prefix_len.to_be_bytes());
    bytes.push(u8::from(wide));
    if count > 0 {
        bytes.extend_from_slice(&items.key(0)[..prefix]);
    }
    for at in 0..count {
        bytes.extend_from_slice(&end_of(at).to_be_bytes()[4 - width..]);
    }
    for at in 0..count {
        let item = items.without_prefix(at, prefix);
        bytes.extend_from_slice(&(item.flags | len_of(item.rest_len)).to_be_bytes());
        bytes.extend_from_slice(item.bytes);
    }
    Bytes::from(bytes)
}

/// The length of the common prefix.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    // Whole words first, which are compared at once.
    let words = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
    let start = 16 * words.take_while(|(a, b)| a == b).count();
    start + a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b).count()
}
