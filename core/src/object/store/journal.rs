//! The undo journal: what a failed operation must restore.

/// How to undo one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inverse {
    /// The key was absent: remove it.
    Remove,
    /// The key had this value: restore it.
    Restore,
    /// A span was rewritten: remove the pairs in it. It goes from the key to the value, or to the
    /// end if the value is empty. The earlier content of the span has been recorded before.
    RemoveSpan,
    /// A counter was adjusted by this much: adjust it by the opposite.
    Adjust(i64),
}

#[derive(Debug, Clone, Copy)]
struct Record {
    inverse: Inverse,
    start: usize,
    key_len: usize,
}

/// The length of the journal when an operation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(usize);

/// The inverses of the writes of the current operations, oldest first.
///
/// Keys and values are in one buffer. It is kept between operations, so recording allocates nothing
/// after the buffer has grown. It has a copy of everything that an outermost operation removes or
/// replaces. To delete a million objects in one cascade takes as much memory as these objects.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

/// Larger buffers are freed after the operation that needed them.
const KEPT_BYTES: usize = 1 << 20;

impl Journal {
    /// The present end of the journal.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.records.len())
    }

    /// Whether the operations that are running have written nothing that they record.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether nothing was recorded since `mark`.
    pub(crate) fn is_clear_since(&self, mark: Mark) -> bool {
        self.records.len() <= mark.0
    }

    /// Records that `key` was absent.
    pub(crate) fn absent(&mut self, key: &[u8]) {
        self.record(Inverse::Remove, key, &[]);
    }

    /// Records that `key` had `value`.
    pub(crate) fn present(&mut self, key: &[u8], value: &[u8]) {
        self.record(Inverse::Restore, key, value);
    }

    /// Records that the counter at `key` was adjusted by `by`.
    pub(crate) fn adjusted(&mut self, key: &[u8], by: i64) {
        self.record(Inverse::Adjust(by), key, &[]);
    }

    /// Records that the span from `min` to `max` (to the end if `max` is empty) is rewritten.
    pub(crate) fn rewritten(&mut self, min: &[u8], max: &[u8]) {
        self.record(Inverse::RemoveSpan, min, max);
    }

    fn record(&mut self, inverse: Inverse, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.records.push(Record { inverse, start, key_len: key.len() });
    }

    /// Removes the newest record after `mark`, and calls `apply` with its inverse, key and value.
    pub(crate) fn pop<R>(
        &mut self,
        mark: Mark,
        apply: impl FnOnce(Inverse, &[u8], &[u8]) -> R,
    ) -> Option<R> {
        if self.is_clear_since(mark) {
            return None;
        }
        let record = self.records.pop()?;
        let result = self
            .bytes
            .get(record.start..)
            .and_then(|bytes| bytes.split_at_checked(record.key_len))
            .map(|(key, value)| apply(record.inverse, key, value));
        // A record is undone once, so its bytes make room for the next ones.
        self.bytes.truncate(record.start);
        result
    }

    /// Forgets everything, because the outermost operation has succeeded.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.records.shrink_to(KEPT_BYTES / size_of::<Record>());
    }
}

#[cfg(test)]
mod tests {
    use super::{Inverse, Journal};

    #[test]
    fn pops_in_reverse_order_down_to_the_mark() {
        let mut journal = Journal::default();
        journal.absent(b"a");
        let mark = journal.mark();
        journal.present(b"b", b"old");
        journal.adjusted(b"c", -3);
        let mut seen = Vec::new();
        while journal
            .pop(mark, |inverse, key, value| seen.push((inverse, key.to_vec(), value.to_vec())))
            .is_some()
        {}
        assert_eq!(
            seen,
            [
                (Inverse::Adjust(-3), b"c".to_vec(), Vec::new()),
                (Inverse::Restore, b"b".to_vec(), b"old".to_vec()),
            ]
        );
        assert!(journal.is_clear_since(mark));
        assert_eq!(journal.pop(super::Mark(0), |_, key, _| key.to_vec()), Some(b"a".to_vec()));
    }
}
