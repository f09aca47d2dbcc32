//! The values that this process writes in parts (streams), until commits have them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::ids::CommitId;
use crate::rows::process::StreamId;
use crate::value::reference::Reference;

/// How many milliseconds a value stays after its last reference was dropped, because a transaction
/// that has put it may still be open.
const UNHELD: u64 = 60 * 60 * 1_000;

/// A value that was written.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// Tells it apart from all others of the process.
    pub(crate) number: u64,
    pub(crate) content: StreamedContent,
    /// The last commit that it was attached to.
    pub(crate) commit: Mutex<Option<CommitId>>,
}

#[derive(Debug)]
pub(crate) enum StreamedContent {
    /// It fits into a leaf.
    Short(Vec<u8>),
    /// Its pieces are stored; `pieces` of them were new.
    Long { stream: StreamId, value: Reference, pieces: u32 },
}

impl Streamed {
    /// The last commit that it was attached to.
    pub(crate) fn commit(&self) -> Option<CommitId> {
        *self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that it was attached to a commit.
    pub(crate) fn taken(&self, by: CommitId) {
        *self.commit.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
    }
}

/// The next number. Numbers are never used again, so a reference to a value of a closed page never
/// means a later value.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The values of all pages, by the numbers of the page and of the value.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    table: Mutex<StreamTable>,
}

#[derive(Debug, Default)]
struct StreamTable {
    values: HashMap<(u64, u64), Value>,
    /// The pages in which rows of streams may be stored, each with how often values were begun and
    /// given up there.
    pages: HashMap<u64, u64>,
}

impl StreamTable {
    fn changed(&mut self, page: u64) {
        let changes = self.pages.entry(page).or_default();
        *changes = changes.wrapping_add(1);
    }
}

#[derive(Debug)]
enum Value {
    /// It is being written.
    Begun,
    Written {
        value: Arc<Streamed>,
        references: Weak<()>,
        /// When it was first seen without references.
        unheld: Option<u64>,
    },
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, StreamTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other pin or stream of this process has or had, in any page of any
    /// repository.
    pub(crate) fn number(&self) -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a value of a page.
    pub(crate) fn begin(&self, page: u64) -> u64 {
        let number = self.number();
        let mut table = self.lock();
        table.values.insert((page, number), Value::Begun);
        table.changed(page);
        number
    }

    /// Records that a value is complete. It stays as long as the returned guard is held.
    pub(crate) fn written(&self, page: u64, number: u64, content: StreamedContent) -> Arc<()> {
        let held = Arc::new(());
        let value = Arc::new(Streamed { number, content, commit: Mutex::new(None) });
        let references = Arc::downgrade(&held);
        let value = Value::Written { value, references, unheld: None };
        self.lock().values.insert((page, number), value);
        held
    }

    /// Gives up a value that is being written. The next maintenance removes its stored pieces.
    pub(crate) fn give_up(&self, page: u64, number: u64) {
        let mut table = self.lock();
        if matches!(table.values.get(&(page, number)), Some(Value::Begun)) {
            table.values.remove(&(page, number));
            table.changed(page);
        }
    }

    /// A value that was written and not given up.
    pub(crate) fn get(&self, page: u64, number: u64) -> Option<Arc<Streamed>> {
        match self.lock().values.get(&(page, number)) {
            Some(Value::Written { value, .. }) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    /// Whether a value is still known, and not given up.
    pub(crate) fn has(&self, page: u64, number: u64) -> bool {
        self.lock().values.contains_key(&(page, number))
    }

    /// A number that changes when a value of a page is begun or given up. `None` if no rows of
    /// streams are stored there.
    pub(crate) fn changes(&self, page: u64) -> Option<u64> {
        self.lock().pages.get(&page).copied()
    }

    /// Records that no rows of streams are left in a page, unless the number has changed; with
    /// `None`, that the page is gone.
    pub(crate) fn forget(&self, page: u64, changes: Option<u64>) {
        let mut table = self.lock();
        if changes.is_none() {
            table.values.retain(|(of, _), _| *of != page);
        }
        let is_same = changes.is_none() || table.pages.get(&page).copied() == changes;
        if is_same && !table.values.keys().any(|(of, _)| *of == page) {
            table.pages.remove(&page);
        }
    }

    /// Gives up the values of a page that had no reference for an hour.
    pub(crate) fn forget_unheld(&self, page: u64, now: u64) {
        self.lock().values.retain(|(of, _), value| match value {
            Value::Written { references, unheld, .. } if *of == page => {
                if references.strong_count() > 0 {
                    return true;
                }
                // If the clock was set back, the hour begins again.
                let since = unheld.get_or_insert(now);
                *since = now.min(*since);
                now < since.saturating_add(UNHELD)
            }
            _ => true,
        });
    }
}
