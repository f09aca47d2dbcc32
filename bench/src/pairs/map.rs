//! A `BTreeMap`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use super::{Read, Write};

#[derive(Default)]
pub struct Map(pub BTreeMap<Vec<u8>, Vec<u8>>);

impl Read for Map {
    const START: &'static [u8] = &[];

    #[inline]
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.0.get(key).map(Vec::as_slice)
    }

    #[inline]
    fn visit(&self, min: &[u8], max: &[u8], mut visit: impl FnMut(&[u8], &[u8]) -> bool) {
        for (key, value) in self.0.range::<[u8], _>(bounds(min, max)) {
            if !visit(key, value) {
                break;
            }
        }
    }

    #[inline]
    fn last(&self, min: &[u8], max: &[u8]) -> Option<&[u8]> {
        self.0.range::<[u8], _>(bounds(min, max)).next_back().map(|(key, _)| key.as_slice())
    }
}

impl Write for Map {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.0.insert(key.to_vec(), value.to_vec());
    }

    #[inline]
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> bool {
        match self.0.entry(key.to_vec()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(value.to_vec());
                true
            }
        }
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) {
        self.0.remove(key);
    }

    #[inline]
    fn remove_range(&mut self, min: &[u8], max: &[u8]) {
        let range = self.0.range::<[u8], _>(bounds(min, max));
        let keys: Vec<Vec<u8>> = range.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.0.remove(&key);
        }
    }
}

fn bounds<'k>(min: &'k [u8], max: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(min), Bound::Excluded(max))
}
