//! The objects with damage that a repair of derived data keeps.

use std::collections::BTreeSet;

use permazen::ObjId;

use crate::report::finding::{Class, Finding};

/// About how many bytes an object ID takes in the set.
const BYTES_PER_ID: usize = 16;

/// Objects whose own pairs stay although something is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct KeptObjects {
    ids: BTreeSet<ObjId>,
    /// How many object IDs to keep in memory.
    most: usize,
    /// Whether there were more: then it is not known which they are.
    too_many: bool,
}

impl KeptObjects {
    /// A set that takes up to about `memory` bytes.
    pub(crate) fn new(memory: usize) -> Self {
        KeptObjects { most: memory / BYTES_PER_ID, ..KeptObjects::default() }
    }

    pub(crate) fn add(&mut self, id: ObjId) {
        if self.too_many || self.ids.contains(&id) {
            return;
        }
        if self.ids.len() < self.most {
            self.ids.insert(id);
        } else {
            self.ids = BTreeSet::new();
            self.too_many = true;
        }
    }

    /// Whether the index entry of a finding may be one of these objects'.
    pub(crate) fn may_have(&self, finding: &Finding) -> bool {
        match finding.object {
            _ if self.too_many => true,
            Some(id) if finding.class != Class::TrailingGarbageIndexEntry => self.ids.contains(&id),
            // Where the object ID begins is not known: the value before it may be as damaged as
            // that of the object.
            _ => finding
                .key
                .windows(ObjId::LEN)
                .any(|bytes| ObjId::from_slice(bytes).is_ok_and(|id| self.ids.contains(&id))),
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
        kept.add(id);
        assert!(kept.may_have(&entry(Class::UndecodableIndexEntry, None, &key)));
        assert!(kept.may_have(&entry(garbage, Some(b), &key)));
        assert!(kept.may_have(&entry(Class::MissingIndexEntry, Some(a), &[])));
        assert!(!kept.may_have(&entry(Class::DanglingIndexEntry, Some(b), &key)));
        assert!(!kept.may_have(&entry(Class::UndecodableIndexEntry, None, &key[3..])));
    }

    #[test]
    fn with_too_many_objects_each_entry_may_be_of_one_of_them() {
        let mut kept = KeptObjects::new(2 * BYTES_PER_ID);
        let id = |number: u8| ObjId::from_bytes([0x10, 0, 0, 0, 0, 0, 0, number]).unwrap();
        for number in [1, 2, 1] {
            kept.add(id(number));
        }
        let other = entry(Class::MissingIndexEntry, Some("1000000000000009"), &[]);
        assert!(!kept.may_have(&other));
        kept.add(id(3));
        assert!(kept.may_have(&other) && kept.ids.is_empty());
    }
}
