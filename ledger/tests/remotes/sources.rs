//! Sources that record the requests, and those that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use permazen_ledger::{Digest, Kind, LedgerError, Page, PageId, PieceSource, Result};

/// The fault of a source for a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Absent,
    /// Other bytes.
    Wrong,
    TooLong,
    /// All of the request fails.
    Refused,
    Panics,
    /// The answer to the request is one short.
    Short,
    /// Waits until it is let go.
    Hangs,
}

/// Gives the pieces of a page.
pub(crate) struct Remote {
    page: Page,
    pub(crate) asked: Mutex<Vec<Vec<(Kind, Digest)>>>,
    pub(crate) faults: Mutex<BTreeMap<Digest, Fault>>,
    running: AtomicUsize,
    pub(crate) most_running: AtomicUsize,
    is_let_go: Mutex<bool>,
    changed: Condvar,
}

impl Remote {
    pub(crate) fn of(page: &Page) -> Arc<Self> {
        Arc::new(Remote {
            page: page.clone(),
            asked: Mutex::default(),
            faults: Mutex::default(),
            running: AtomicUsize::new(0),
            most_running: AtomicUsize::new(0),
            is_let_go: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The requests since the last call.
    pub(crate) fn take_asked(&self) -> Vec<Vec<(Kind, Digest)>> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(crate) fn take_pieces(&self) -> Vec<(Kind, Digest)> {
        self.take_asked().concat()
    }

    pub(crate) fn fail(&self, digest: Digest, fault: Option<Fault>) {
        let mut faults = self.faults.lock().unwrap();
        match fault {
            Some(fault) => faults.insert(digest, fault),
            None => faults.remove(&digest),
        };
    }

    pub(crate) fn let_go(&self) {
        *self.is_let_go.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl PieceSource for Remote {
    fn name(&self) -> String {
        "the attic".to_owned()
    }

    fn fetch(
        &self,
        page: PageId,
        wanted: &[(Kind, Digest)],
        _until: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        assert_eq!(page, PageId::ROOT);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        self.asked.lock().unwrap().push(wanted.to_vec());
        let digests: BTreeSet<_> = wanted.iter().map(|(_, digest)| *digest).collect();
        let faults: BTreeMap<_, _> = {
            let faults = self.faults.lock().unwrap();
            let of_these = faults.iter().filter(|(digest, _)| digests.contains(digest));
            of_these.map(|(digest, fault)| (*digest, *fault)).collect()
        };
        let mut answers = Vec::new();
        for (_, digest) in wanted {
            let bytes = self.page.remote().piece_bytes(digest)?;
            answers.push(match faults.get(digest) {
                Some(Fault::Absent) => None,
                Some(Fault::Wrong) => Some(vec![1; 5_000]),
                Some(Fault::TooLong) => Some(vec![1; 81_921]),
                _ => bytes,
            });
        }
        let mut result = Ok(answers);
        for fault in faults.into_values() {
            match fault {
                Fault::Refused => {
                    result = Err(LedgerError::InvalidArgument("the door is closed".to_owned()));
                }
                Fault::Short => result = result.map(|answers| answers[1..].to_vec()),
                Fault::Panics => {
                    self.running.fetch_sub(1, Ordering::SeqCst);
                    panic!("the attic is on fire");
                }
                Fault::Hangs => {
                    let is_let_go = self.is_let_go.lock().unwrap();
                    drop(self.changed.wait_while(is_let_go, |is_let_go| !*is_let_go));
                }
                Fault::Absent | Fault::Wrong | Fault::TooLong => {}
            }
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        result
    }
}
