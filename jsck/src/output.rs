//! Where findings go, and when to stop.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::kv::{KeySpan, KvRead};
use permazen::layout::OBJECT_SCHEMA_INDEX_SPAN;

use crate::describe::{Describer, meta_data};
use crate::finding::{Finding, Fix};
use crate::{Error, Progress, RepairScope};

/// Why a check ended before its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// As many findings as were asked for.
    Limit,
    /// Somebody asked to stop.
    Interrupted,
    /// The check cannot go on.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Halt::Failed(error.into())
    }
}

/// Result of a part of the check.
pub(crate) type Checked<T = ()> = Result<T, Halt>;

/// A change repair makes, in the order in which it has to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// Hands findings on, counts them, and collects what repair has to do.
pub(crate) struct Output<'a> {
    pub(crate) sink: &'a mut dyn FnMut(&Finding),
    pub(crate) progress: &'a mut dyn FnMut(&Progress),
    pub(crate) stop: Option<&'a AtomicBool>,
    pub(crate) limit: u64,
    pub(crate) position: Progress,
    pub(crate) findings: u64,
    pub(crate) warnings: u64,
    pub(crate) unrepairable: u64,
    pub(crate) scope: RepairScope,
    /// Explains keys, once the schemas are known.
    pub(crate) describer: Option<Describer>,
    pub(crate) kv: &'a dyn KvRead,
    /// Filled when repairing.
    pub(crate) changes: Option<Vec<Change>>,
    /// Keys that were given to other pairs of the object that is looked at.
    pub(crate) taken: BTreeSet<Vec<u8>>,
    /// Whether a pair was moved to where another may be stored that has yet to move.
    pub(crate) moving: bool,
}

impl<'a> Output<'a> {
    /// An output without limit that notes no changes.
    pub(crate) fn quiet(
        kv: &'a dyn KvRead,
        sink: &'a mut dyn FnMut(&Finding),
        progress: &'a mut dyn FnMut(&Progress),
    ) -> Self {
        Output {
            sink,
            progress,
            stop: None,
            limit: u64::MAX,
            position: Progress::default(),
            findings: 0,
            warnings: 0,
            unrepairable: 0,
            scope: RepairScope::All,
            describer: None,
            kv,
            changes: None,
            taken: BTreeSet::new(),
            moving: false,
        }
    }

    /// Reports a finding and notes its fix.
    pub(crate) fn report(&mut self, mut finding: Finding) -> Checked {
        finding.decoded_key = self.describe(&finding)?;
        self.deliver(finding)
    }

    /// Hands on a finding that has all its explanations, and notes its fix.
    pub(crate) fn deliver(&mut self, finding: Finding) -> Checked {
        (self.sink)(&finding);
        if finding.class.is_warning() {
            self.warnings += 1;
            return Ok(());
        }
        self.findings += 1;
        let KeySpan { min, .. } = OBJECT_SCHEMA_INDEX_SPAN;
        let derived = finding.class.is_derived() || finding.key.starts_with(min);
        match finding.fix {
            Fix::Remove => self.note(finding.key, None, derived),
            Fix::Put(value) => self.note(finding.key, Some(value), derived),
            Fix::None => self.unrepairable += 1,
        }
        self.limit()
    }

    /// Ends the check at the limit or when it is asked to stop, but not while pairs have left their
    /// places and the pairs there have no new ones.
    fn limit(&self) -> Checked {
        match self.findings >= self.limit {
            _ if self.moving => Ok(()),
            true => Err(Halt::Limit),
            false => self.go_on(),
        }
    }

    /// Reports that a pair has to move to another key, and moves it.
    pub(crate) fn report_move(
        &mut self,
        finding: Finding,
        key: Vec<u8>,
        value: Vec<u8>,
    ) -> Checked {
        // Noted first, since nothing is after the limit.
        self.move_to(&finding.key, key, value);
        self.report(finding)
    }

    /// Moves a pair whose old key was given to another.
    pub(crate) fn move_to(&mut self, old: &[u8], key: Vec<u8>, value: Vec<u8>) {
        if self.changes.is_none() {
            return;
        }
        self.push(key.clone(), Some(value), false);
        self.moving |= &key[..] > old;
        self.taken.insert(key);
    }

    /// Says that the object is at its end, and all moves are complete.
    pub(crate) fn moves_are_complete(&mut self) -> Checked {
        self.taken.clear();
        if std::mem::take(&mut self.moving) { self.limit() } else { Ok(()) }
    }

    /// Looks whether to stop.
    fn go_on(&self) -> Checked {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Halt::Interrupted),
            _ => Ok(()),
        }
    }

    fn describe(&self, finding: &Finding) -> Checked<Option<String>> {
        let Some(describer) = &self.describer else { return Ok(meta_data(&finding.key)) };
        let object_type = match finding.object {
            Some(id) => {
                let meta = self.kv.get(id.as_bytes())?;
                describer.type_of(id, meta.as_deref())
            }
            None => None,
        };
        Ok(describer.describe(&finding.key, object_type))
    }

    /// Notes the fix of a finding, unless another pair was given the key.
    fn note(&mut self, key: Vec<u8>, value: Option<Vec<u8>>, derived: bool) {
        if !self.taken.contains(&key) {
            self.push(key, value, derived);
        }
    }

    fn push(&mut self, key: Vec<u8>, value: Option<Vec<u8>>, derived: bool) {
        if let Some(changes) = &mut self.changes
            && (derived || self.scope == RepairScope::All)
        {
            changes.push(Change { key, value });
        }
    }

    /// Counts an entry looked at; now and then shows progress and looks whether to stop.
    #[inline]
    pub(crate) fn entry(&mut self) -> Checked {
        self.position.entries += 1;
        if self.position.entries & 0xfff == 0 { self.pause() } else { Ok(()) }
    }

    /// Enters the next phase.
    pub(crate) fn phase(&mut self, phase: &'static str) -> Checked {
        self.position.phase = phase;
        self.pause()
    }

    /// Shows how far the check is.
    pub(crate) fn show_progress(&mut self) {
        (self.progress)(&self.position);
    }

    /// Shows progress and looks whether to stop.
    pub(crate) fn pause(&mut self) -> Checked {
        self.show_progress();
        self.go_on()
    }
}
