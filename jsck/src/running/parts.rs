//! Cuts ranges of keys into parts, so that several threads can read them.

use permazen::StorageId;
use permazen::kv::{KeySpan, KvRead};

use crate::report::output::Checked;

/// A range of keys that one thread reads.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) content: PartContent,
    min: Vec<u8>,
    max: Vec<u8>,
}

/// The content of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartContent {
    /// Whole objects of a type.
    Objects(StorageId),
    /// Entries of an index, or of the object schema index.
    Entries,
}

impl Part {
    pub(crate) fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, Some(&self.max))
    }
}

/// Cuts `[min, max)` into up to `count` parts. The parts have about the same number of pairs if the
/// keys are spread evenly between the first and the last one. Costs two descents.
pub(crate) fn cut(
    kv: &dyn KvRead,
    content: PartContent,
    (min, max): (&[u8], &[u8]),
    count: usize,
) -> Checked<Vec<Part>> {
    let part = |min: &[u8], max: &[u8]| Part { content, min: min.to_vec(), max: max.to_vec() };
    if count <= 1 {
        return Ok(vec![part(min, max)]);
    }
    let Some((first, _)) = kv.at_least(min, Some(max))? else { return Ok(Vec::new()) };
    let Some((last, _)) = kv.at_most(min, Some(max))? else { return Ok(Vec::new()) };
    // An object is never cut in two: the bounds are taken from the first eight bytes of keys, which
    // are the object ID. The keys of entries may have a long common beginning, so their bounds are
    // taken after it.
    let common = match content {
        PartContent::Objects(_) => 0,
        PartContent::Entries => first.iter().zip(&*last).take_while(|(a, b)| a == b).count(),
    };
    let prefix = first.get(..common).unwrap_or_default();
    let (from, to) = (number_at(&first, common), number_at(&last, common));
    let mut bounds: Vec<Vec<u8>> = (1..count)
        .map(|n| {
            #[allow(clippy::cast_possible_truncation, reason = "it is a part of `to - from`")]
            let part = (u128::from(to - from) * n as u128 / count as u128) as u64;
            from + part
        })
        .map(|number| [prefix, &number.to_be_bytes()].concat())
        .filter(|bound| &bound[..] > min && &bound[..] < max)
        .collect();
    bounds.dedup();
    bounds.push(max.to_vec());
    let mut start = min.to_vec();
    Ok(bounds
        .into_iter()
        .map(|bound| {
            let part = part(&start, &bound);
            start = bound;
            part
        })
        .collect())
}

/// Eight bytes of a key as a number, with zeros after its end.
fn number_at(key: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (byte, &found) in bytes.iter_mut().zip(key.get(at..).unwrap_or_default()) {
        *byte = found;
    }
    u64::from_be_bytes(bytes)
}
