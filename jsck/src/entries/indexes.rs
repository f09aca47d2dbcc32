//! Compares the index entries that exist with those that the objects require, in key order.

use std::collections::BTreeMap;

use permazen::__internal::layout::{OBJECT_SCHEMA_INDEX_END, OBJECT_SCHEMA_INDEX_SPAN};
use permazen::StorageId;
use permazen::kv::{KeySpan, KvRead};

use crate::entries::entry_findings::{Judge, Kind};
use crate::entries::fingerprint::{Differences, Fingerprint};
use crate::entries::sort::Sorted;
use crate::report::output::{Checked, Output};
use crate::running::parts::Part;
use crate::running::workers::visit;
use crate::selection::Selection;
use crate::tables::ranges::Range;

/// Adds the index entries of a part to a fingerprint.
pub(crate) fn fingerprint(
    kv: &dyn KvRead,
    part: &Part,
    into: &mut Fingerprint,
    out: &mut Output<'_>,
) -> Checked {
    visit(kv, part.span(), |key, value| {
        out.pair()?;
        into.add(key);
        if !value.is_empty() {
            // The sums only cover keys: an entry with a value must be compared one by one.
            into.suspect(key);
        }
        Ok(())
    })
}

/// Compares index entries with those that the objects require.
pub(crate) struct IndexMerge<'a, 'o> {
    judge: Judge<'a>,
    /// Entries about objects that are not checked are skipped.
    selection: &'a Selection,
    /// Which entries are compared; `None` for all.
    only: Option<&'a Differences>,
    expected: Expected,
    out: &'a mut Output<'o>,
}

impl<'a, 'o> IndexMerge<'a, 'o> {
    pub(crate) fn new(
        judge: Judge<'a>,
        selection: &'a Selection,
        only: Option<&'a Differences>,
        expected: Sorted,
        out: &'a mut Output<'o>,
    ) -> Checked<Self> {
        let expected = Expected::new(expected)?;
        Ok(IndexMerge { judge, selection, only, expected, out })
    }

    /// Checks the object schema index, then all others in the order of their keys.
    pub(crate) fn run(&mut self, ranges: &BTreeMap<StorageId, Range>) -> Checked {
        let KeySpan { min, max } = OBJECT_SCHEMA_INDEX_SPAN;
        self.merge(&Kind::ObjectSchema, min, max.unwrap_or(OBJECT_SCHEMA_INDEX_END))?;
        for (id, range) in ranges {
            if let Range::Index(index) = range {
                let (min, max) = id.key_range();
                self.merge(&Kind::Index(index), &min, &max)?;
            }
        }
        Ok(())
    }

    fn merge(&mut self, kind: &Kind<'_>, min: &[u8], max: &[u8]) -> Checked {
        let kv = self.judge.kv;
        visit(kv, KeySpan::new(min, Some(max)), |key, value| self.entry(kind, key, value))?;
        while self.expected.is_below(max) {
            self.missing(kind)?;
        }
        Ok(())
    }

    fn entry(&mut self, kind: &Kind<'_>, key: &[u8], value: &[u8]) -> Checked {
        self.out.read()?;
        match self.only {
            // The pair was counted when the fingerprints were made.
            Some(only) if !only.includes(key) => return Ok(()),
            Some(_) => {}
            // A partial check does not count entries about other objects.
            None if self.passes_over(kind, key) => {}
            None => self.out.position.pairs += 1,
        }
        while self.expected.is_below(key) {
            self.missing(kind)?;
        }
        if self.expected.is(key) {
            self.expected.advance()?;
            if !value.is_empty() {
                self.out.report(kind.non_empty(key, value))?;
            }
        } else if !self.passes_over(kind, key)
            && let Some(finding) = self.judge.surplus(kind, key)?
        {
            self.out.report(finding.value(value))?;
        }
        Ok(())
    }

    /// Whether an entry is about an object that is not checked.
    fn passes_over(&self, kind: &Kind<'_>, key: &[u8]) -> bool {
        self.selection.is_partial()
            && match kind.object(key) {
                Some(id) => !self.selection.includes(id.as_bytes()),
                None => matches!(kind, Kind::Index(index) if index.is_opaque()),
            }
    }

    fn missing(&mut self, kind: &Kind<'_>) -> Checked {
        let key = self.expected.head.clone();
        self.expected.advance()?;
        self.out.report(kind.missing(&key))
    }
}

/// The entries that objects require, with the next one at hand.
struct Expected {
    sorted: Sorted,
    head: Vec<u8>,
    ended: bool,
}

impl Expected {
    fn new(sorted: Sorted) -> Checked<Self> {
        let mut expected = Expected { sorted, head: Vec::new(), ended: false };
        expected.advance()?;
        Ok(expected)
    }

    fn is_below(&self, key: &[u8]) -> bool {
        !self.ended && &self.head[..] < key
    }

    fn is(&self, key: &[u8]) -> bool {
        !self.ended && self.head == key
    }

    /// Moves to the next entry.
    fn advance(&mut self) -> Checked {
        match self.sorted.next()? {
            Some(item) => item.clone_into(&mut self.head),
            None => self.ended = true,
        }
        Ok(())
    }
}
