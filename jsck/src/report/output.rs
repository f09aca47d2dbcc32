//! Where findings go, and when to stop.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::describe_key;
use permazen::__internal::schema::SchemaBundle;
use permazen::kv::KvRead;

use crate::objects::info::Meta;
use crate::report::changes::Changes;
use crate::report::finding::{Finding, Fix};
use crate::report::kept_objects::KeptObjects;
use crate::{Error, Progress, RepairScope};

/// Why a check ended before its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The limit of findings is reached.
    Limit,
    /// The caller asked to stop.
    Interrupted,
    /// The check cannot continue.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Halt::Failed(error.into())
    }
}

/// Result of a part of the check.
pub(crate) type Checked<T = ()> = Result<T, Halt>;

/// Passes findings on, counts them, and collects the changes that a repair must make.
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
    /// The schemas, when they are known. They explain keys.
    pub(crate) schemas: Option<Arc<SchemaBundle>>,
    pub(crate) kv: &'a dyn KvRead,
    /// Filled in a repair.
    pub(crate) changes: Option<Changes>,
    /// The objects so far with damage that is out of scope and unsettles index entries.
    pub(crate) kept: KeptObjects,
    /// Keys that other pairs of the present object have been moved to.
    pub(crate) taken: BTreeSet<Vec<u8>>,
    /// Whether a pair was moved to a key whose own pair may still have to move.
    pub(crate) moving: bool,
}

impl<'a> Output<'a> {
    /// An output without a limit that collects no changes.
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
            schemas: None,
            kv,
            changes: None,
            kept: KeptObjects::default(),
            taken: BTreeSet::new(),
            moving: false,
        }
    }

    /// Reports a finding and notes its fix.
    pub(crate) fn report(&mut self, mut finding: Finding) -> Checked {
        finding.decoded_key = self.describe(&finding)?;
        self.deliver(finding)
    }

    /// Passes on a finding that has all its explanations, and notes its fix.
    pub(crate) fn deliver(&mut self, mut finding: Finding) -> Checked {
        self.spare_kept_objects(&mut finding);
        (self.sink)(&finding);
        if finding.class.is_warning() {
            self.warnings += 1;
            return Ok(());
        }
        self.findings += 1;
        // A key that another pair was moved to already has its change: the fix must not overwrite
        // it.
        let wanted = finding.is_in(self.scope) && !self.taken.contains(&finding.key);
        match finding.fix {
            Fix::None => self.unrepairable += 1,
            Fix::Remove if wanted => self.push(&finding.key, None)?,
            Fix::Put(value) if wanted => self.push(&finding.key, Some(&value))?,
            Fix::Remove | Fix::Put(_) => {}
        }
        self.limit()
    }

    /// Takes index entries out of scope if they follow from pairs that stay although something is
    /// wrong with them. Which entries are right follows from the pairs as they are; which are found
    /// missing or surplus, from what a repair would make of the pairs. Objects are checked before
    /// entries, so all such objects are known then.
    fn spare_kept_objects(&mut self, finding: &mut Finding) {
        if self.scope == RepairScope::All || finding.class.is_warning() {
            return;
        }
        if finding.is_in(self.scope) {
            finding.is_of_kept_object =
                !finding.class.is_about_value_of_entry() && self.kept.may_have(finding);
        } else if let Some(id) = finding.object {
            finding.unsettles.iter().for_each(|&index| self.kept.add(id, index));
        }
    }

    /// Ends the check at the limit or when it is asked to stop. It does not end while moves are
    /// incomplete: then a pair would be overwritten that has not got its new key yet.
    fn limit(&self) -> Checked {
        match self.findings >= self.limit {
            _ if self.moving => Ok(()),
            true => Err(Halt::Limit),
            false => self.go_on(),
        }
    }

    /// Reports that a pair has to move to another key, and moves it.
    pub(crate) fn report_move(&mut self, finding: Finding, key: Vec<u8>, value: &[u8]) -> Checked {
        // Note the change first: at the limit, `report` ends the check.
        self.move_to(&finding.key, key, value)?;
        self.report(finding)
    }

    /// Moves a pair whose old key was given to another pair.
    pub(crate) fn move_to(&mut self, old: &[u8], key: Vec<u8>, value: &[u8]) -> Checked {
        if self.changes.is_none() {
            return Ok(());
        }
        if self.scope == RepairScope::All {
            self.push(&key, Some(value))?;
        }
        self.moving |= &key[..] > old;
        self.taken.insert(key);
        Ok(())
    }

    /// Called at the end of an object, when all its moves are complete.
    pub(crate) fn moves_are_complete(&mut self) -> Checked {
        self.taken.clear();
        if std::mem::take(&mut self.moving) { self.limit() } else { Ok(()) }
    }

    /// Checks whether to stop.
    fn go_on(&self) -> Checked {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Halt::Interrupted),
            _ => Ok(()),
        }
    }

    fn describe(&self, finding: &Finding) -> Checked<Option<String>> {
        let Some(schemas) = &self.schemas else { return Ok(describe_key::meta_data(&finding.key)) };
        let object_type = match finding.object {
            Some(id) => self.kv.get(id.as_bytes())?.and_then(|meta| {
                Meta::read(schemas, id.storage_id(), &meta).object_type().map(|t| &**t)
            }),
            None => None,
        };
        Ok(describe_key::line(&finding.key, schemas, object_type))
    }

    /// Notes the change of a pair.
    fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Checked {
        match &mut self.changes {
            Some(changes) => Ok(changes.push(key, value)?),
            None => Ok(()),
        }
    }

    /// Counts a pair that is read and checked. From time to time, shows progress and checks whether
    /// to stop.
    #[inline]
    pub(crate) fn pair(&mut self) -> Checked {
        self.position.pairs += 1;
        self.read()
    }

    /// Like [`pair`](Self::pair), for a pair that is counted as checked at another time.
    #[inline]
    pub(crate) fn read(&mut self) -> Checked {
        self.position.reads += 1;
        if self.position.reads & 0xfff == 0 { self.pause() } else { Ok(()) }
    }

    /// Enters the next phase.
    pub(crate) fn phase(&mut self, phase: &'static str) -> Checked {
        self.position.phase = phase;
        self.pause()
    }

    /// Shows the progress.
    pub(crate) fn show_progress(&mut self) {
        (self.progress)(&self.position);
    }

    /// Shows progress and checks whether to stop.
    pub(crate) fn pause(&mut self) -> Checked {
        self.show_progress();
        self.go_on()
    }
}
