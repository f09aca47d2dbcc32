//! Records in memory.

/// The bytes of a key that decide most comparisons, as a number.
pub(super) fn head(key: &[u8], common: usize) -> u64 {
    // Eight bytes after the common beginning decide nearly all comparisons without reading the key.
    let mut head = [0; 8];
    let key = key.get(common..).unwrap_or_default();
    match key.first_chunk() {
        Some(first) => head = *first,
        None => head.iter_mut().zip(key).for_each(|(to, from)| *to = *from),
    }
    u64::from_be_bytes(head)
}

/// Appends a number, seven bits in a byte.
pub(super) fn write_len(mut len: usize, out: &mut Vec<u8>) {
    #[allow(clippy::cast_possible_truncation, reason = "the lowest seven bits are wanted")]
    let lowest = |len: usize| len as u8;
    while len >= 0x80 {
        out.push(lowest(len) | 0x80);
        len >>= 7;
    }
    out.push(lowest(len));
}

/// Reads a number that [`write_len`] wrote, and returns it with the bytes after it; `None` if it
/// does not end.
#[inline]
pub(super) fn read_len(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut len = 0;
    for (at, byte) in bytes.iter().enumerate() {
        #[allow(clippy::cast_possible_truncation, reason = "from the tenth byte on, it ends here")]
        let shift = 7 * at as u32;
        // A number that does not fit is damage, and the shift must not overflow.
        len |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((len, bytes.get(at + 1..)?));
        }
    }
    None
}

/// A key and its content.
pub(super) type Record<'b> = (&'b [u8], &'b [u8]);

/// The record that `bytes` begin with, and its length; `None` if not all of it is there.
#[inline]
pub(super) fn read_record(bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    let (key_len, rest) = read_len(bytes)?;
    let (content_len, rest) = read_len(rest)?;
    let (key, rest) = rest.split_at_checked(key_len)?;
    let (content, rest) = rest.split_at_checked(content_len)?;
    Some(((key, content), bytes.len() - rest.len()))
}

/// Where a record is.
#[derive(Clone, Copy)]
struct RecordPointer {
    /// Set when the lane is sorted.
    head: u64,
    start: u32,
}

/// The records of a lane. Those of different lanes are apart, so that sorting one reads little
/// memory.
#[derive(Default)]
struct Lane {
    bytes: Vec<u8>,
    entries: Vec<RecordPointer>,
}

/// Records in several lanes.
pub(super) struct Buffer {
    lanes: Vec<Lane>,
    records: usize,
    pairs: u64,
    bytes: usize,
}

impl Buffer {
    /// This many lanes, without records.
    pub(super) fn new(lanes: usize) -> Self {
        let lanes = (0..lanes).map(|_| Lane::default()).collect();
        Buffer { lanes, records: 0, pairs: 0, bytes: 0 }
    }

    /// Adds a record; returns `None` if there is no such lane, or it is full.
    #[must_use]
    pub(super) fn add(&mut self, lane: usize, key: &[u8], content: &[u8]) -> Option<()> {
        // Without a lane the record would be lost, so the caller must hear of it.
        let Lane { bytes, entries } = self.lanes.get_mut(lane)?;
        let start = bytes.len();
        // The head is computed when the lane is sorted, because the common beginning is known only
        // then.
        let entry = RecordPointer { head: 0, start: u32::try_from(start).ok()? };
        write_len(key.len(), bytes);
        write_len(content.len(), bytes);
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(content);
        entries.push(entry);
        self.records += 1;
        self.bytes += bytes.len() - start;
        Some(())
    }

    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// How many pairs the records have.
    pub(super) fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Notes how many pairs the records have that were added last.
    pub(super) fn note_pairs(&mut self, pairs: u64) {
        self.pairs += pairs;
    }

    /// About how many bytes they take, with some room that vectors have left.
    pub(super) fn size(&self) -> usize {
        // The pointers take memory too, and vectors grow by more than they need.
        self.bytes + self.records * size_of::<RecordPointer>() * 5 / 4
    }

    pub(super) fn clear(&mut self) {
        // The memory is kept, since the buffer is filled again.
        for Lane { bytes, entries } in &mut self.lanes {
            bytes.clear();
            entries.clear();
        }
        (self.records, self.pairs, self.bytes) = (0, 0, 0);
    }

    /// Sorts each lane.
    pub(super) fn sort(&mut self) {
        self.lanes.iter_mut().for_each(Lane::sort);
    }

    /// The record at a place in a lane.
    pub(super) fn record(&self, lane: usize, at: usize) -> Option<Record<'_>> {
        let lane = self.lanes.get(lane)?;
        record_at(&lane.bytes, *lane.entries.get(at)?)
    }
}

impl Lane {
    fn sort(&mut self) {
        let Lane { bytes, entries } = self;
        let key = |entry: &RecordPointer| record_at(bytes, *entry).map_or(&[][..], |(key, _)| key);
        // An empty lane has nothing to sort.
        let Some(first) = entries.first().map(key) else { return };
        // The common beginning of all keys says nothing.
        let in_common = |common: usize, entry: &RecordPointer| {
            let both = first.iter().zip(key(entry)).take(common);
            both.take_while(|(one, other)| one == other).count()
        };
        let common = entries.iter().fold(first.len(), in_common);
        for entry in &mut *entries {
            entry.head = head(key(entry), common);
        }
        // Keys with the same head are compared in full.
        entries.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
    }
}

fn record_at(bytes: &[u8], entry: RecordPointer) -> Option<Record<'_>> {
    let (record, _) = read_record(bytes.get(entry.start as usize..)?)?;
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_records_are_read_as_they_were_written() {
        for len in [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 28, u32::MAX as usize] {
            let mut bytes = Vec::new();
            write_len(len, &mut bytes);
            assert_eq!(read_len(&bytes), Some((len, &[][..])));
            assert_eq!(read_len(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(read_len(&[0xff; 20]), None);
        let mut buffer = Buffer::new(1);
        buffer.add(0, b"key", b"content").unwrap();
        assert_eq!(buffer.add(1, b"key", b"content"), None);
        let bytes = &buffer.lanes[0].bytes;
        assert_eq!(read_record(bytes), Some(((&b"key"[..], &b"content"[..]), 12)));
        assert_eq!(read_record(&bytes[..11]), None);
    }

    #[test]
    fn keys_that_begin_alike_are_sorted_by_their_ends() {
        let mut buffer = Buffer::new(2);
        for key in ["xabcdefghij", "xabcdefgh", "xab", "xabcdefghi", "xb", "x", "xab\0"] {
            buffer.add(1, key.as_bytes(), key.as_bytes()).unwrap();
        }
        buffer.sort();
        let keys: Vec<_> = (0..7).map(|at| buffer.record(1, at).unwrap().0.to_vec()).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(buffer.record(1, 7), None);
        assert_eq!(buffer.record(0, 0), None);
    }
}
