//! The objects with damage that a repair of derived data keeps.

use std::collections::BTreeSet;

use permazen::__internal::layout::{KeyKind, parse_key};
use permazen::{ObjId, StorageId};

use crate::report::finding::{Class, Finding};

/// About how many bytes an item takes in the set.
const BYTES_PER_ITEM: usize = 24;

/// Objects with pairs that stay although something is wrong with them, and the indexes whose
/// entries follow from these pairs.
#[derive(Debug, Default)]
pub(crate) struct KeptObjects {
    /// Without an index, it is about all entries of the object.
    items: BTreeSet<(ObjId, Option<StorageId>)>,
    /// How many items to keep in memory.
    most: usize,
    /// Whether there were more: then it is not known which they are.
    too_many: bool,
}

impl KeptObjects {
    /// A set that takes up to about `memory` bytes.
    pub(crate) fn new(memory: usize) -> Self {
        KeptObjects { most: memory / BYTES_PER_ITEM, ..KeptObjects::default() }
    }

    pub(crate) fn add(&mut self, id: ObjId, index: Option<StorageId>) {
        if self.too_many || self.items.contains(&(id, index)) {
            return;
        }
        if self.items.len() < self.most {
            self.items.insert((id, index));
        } else {
            self.items = BTreeSet::new();
            self.too_many = true;
        }
    }

    /// Whether the index entry of a finding may follow from one of these pairs.
    pub(crate) fn may_have(&self, finding: &Finding) -> bool {
        let index = match parse_key(&finding.key) {
            KeyKind::Data(index, _) => Some(index),
            _ => None,
        };
        let has = |id: ObjId| self.items.contains(&(id, None)) || self.items.contains(&(id, index));
        match finding.object {
            _ if self.too_many => true,
            Some(id) if finding.class != Class::TrailingGarbageIndexEntry => has(id),
            // Where the object ID begins is not known: the value before it may be as damaged as
            // that of the object.
            _ => {
                finding.key.windows(ObjId::LEN).any(|bytes| ObjId::from_slice(bytes).is_ok_and(has))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(class: Class, object: Option<&str>, key: &[u8]) -> Finding {
        let finding = Finding::new(class, key, "");
        match object {
            Some(id) => finding.object(id.parse().unwrap()),
            None => finding,
        }
    }

    #[test]
    fn an_entry_whose_object_is_not_known_may_be_of_any_object_in_its_key() {
        let (a, b) = ("1000000000000001", "1000000000000002");
        let mut kept = KeptObjects::new(100);
        let id: ObjId = a.parse().unwrap();
        let key = [&[0x11, b'x'][..], &id.as_bytes()[..], &[0]].concat();
        let garbage = Class::TrailingGarbageIndexEntry;
        assert!(!kept.may_have(&entry(Class::UndecodableIndexEntry, None, &key)));
        kept.add(id, StorageId::new(0x11));
        assert!(kept.may_have(&entry(Class::UndecodableIndexEntry, None, &key)));
        assert!(kept.may_have(&entry(garbage, Some(b), &key)));
        assert!(kept.may_have(&entry(Class::MissingIndexEntry, Some(a), &key)));
        assert!(!kept.may_have(&entry(Class::DanglingIndexEntry, Some(b), &key)));
        assert!(!kept.may_have(&entry(Class::UndecodableIndexEntry, None, &key[3..])));
    }

    #[test]
    fn an_entry_of_another_index_does_not_follow_from_the_pair() {
        let a = "1000000000000001";
        let mut kept = KeptObjects::new(100);
        kept.add(a.parse().unwrap(), StorageId::new(0x11));
        let missing = |key: &[u8]| entry(Class::MissingIndexEntry, Some(a), key);
        assert!(kept.may_have(&missing(&[0x11])));
        assert!(!kept.may_have(&missing(&[0x12])) && !kept.may_have(&missing(&[0, 0x80])));
        kept.add(a.parse().unwrap(), None);
        assert!(kept.may_have(&missing(&[0x12])) && kept.may_have(&missing(&[0, 0x80])));
    }

    #[test]
    fn with_too_many_objects_each_entry_may_be_of_one_of_them() {
        let mut kept = KeptObjects::new(2 * BYTES_PER_ITEM);
        let id = |number: u8| ObjId::from_bytes([0x10, 0, 0, 0, 0, 0, 0, number]).unwrap();
        for number in [1, 2, 1] {
            kept.add(id(number), None);
        }
        let other = entry(Class::MissingIndexEntry, Some("1000000000000009"), &[]);
        assert!(!kept.may_have(&other));
        kept.add(id(3), None);
        assert!(kept.may_have(&other) && kept.items.is_empty());
    }
}
