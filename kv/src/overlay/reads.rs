//! The record of what was read.

use std::collections::HashSet;

use crate::{KeyRanges, KeySpan};

/// Ranges read, put in order only when somebody asks.
///
/// Most transactions commit without anybody having written what could disturb them, and then what
/// they read is never looked at; so taking notes has to be cheap and their order can wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    ranges: KeyRanges,
    /// Single keys.
    keys: HashSet<Vec<u8>>,
    /// What the latest scan has read; adjoining steps extend it.
    scanned: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Reads {
    pub(super) fn add_key(&mut self, key: &[u8]) {
        if !self.keys.contains(key) {
            self.keys.insert(key.to_vec());
        }
    }

    pub(super) fn add(&mut self, span: KeySpan<'_>) {
        if span.is_empty() {
            return;
        }
        if let Some((min, max)) = &mut self.scanned {
            if max.as_deref() == Some(span.min) {
                match (max, span.max) {
                    (Some(max), Some(end)) => end.clone_into(max),
                    (max, _) => *max = None,
                }
                return;
            }
            if span.max == Some(&min[..]) {
                span.min.clone_into(min);
                return;
            }
            self.ranges.add(KeySpan::new(min, max.as_deref()));
        }
        self.scanned = Some((span.min.to_vec(), span.max.map(<[u8]>::to_vec)));
    }

    /// Everything read so far.
    pub(super) fn ranges(&mut self) -> &KeyRanges {
        if let Some((min, max)) = self.scanned.take() {
            self.ranges.add(KeySpan::new(&min, max.as_deref()));
        }
        let mut keys: Vec<Vec<u8>> = self.keys.drain().collect();
        keys.sort_unstable();
        keys.iter().for_each(|key| self.ranges.add_key(key));
        &self.ranges
    }

    pub(super) fn into_ranges(mut self) -> KeyRanges {
        self.ranges();
        self.ranges
    }
}
