//! The conformance suite where each transaction that writes is a member of a group: members must be
//! transactions like all others.
#![allow(clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Leader, Member, commit};
use crate::contract::pass_on::pass_on;
use crate::lmdb::LmdbStore;
use crate::overlay::MutableView;
use crate::store_parts::write_lock::{Limits, Turn, WriteLock, WritePermit};
use crate::testsuite::{Fixture, Tx};
use crate::{
    Capabilities, Durability, KvDatabase, KvRead, KvWrite, Result, SharedRead, TxOptions, Writes,
    conformance,
};

const LONG: Duration = Duration::from_secs(600);

/// A store whose transactions that write are each in a group of their own. The leader of the group
/// has written a pair and removed it.
struct InGroups {
    store: Arc<LmdbStore>,
    /// The transactions that write take turns, as in the store.
    right_to_write: Arc<WriteLock>,
}

/// The writes of the leader, and the store for them.
struct Leading {
    view: MutableView<SharedRead>,
    store: Arc<LmdbStore>,
    /// Given back last.
    _permit: WritePermit,
}

impl KvRead for Leading {
    pass_on!(self => self.view; READS, LIMITS);
}

impl KvWrite for Leading {
    pass_on!(self => self.view; put, remove, remove_span, adjust_counter);

    fn apply(&mut self, writes: &Writes) -> Result<()> {
        self.view.apply(writes)
    }
}

impl Leader for Leading {
    fn finish(self: Box<Self>) -> Result<()> {
        let mut tx = self.store.begin(&TxOptions::writing())?;
        tx.apply(self.view.writes())?;
        tx.commit()
    }
}

impl KvDatabase for InGroups {
    fn begin(&self, options: &TxOptions) -> Result<Tx> {
        if options.read_only {
            return self.store.begin(options);
        }
        let permit = self.right_to_write.acquire(options.writer_wait())?;
        let committed = self.store.begin(&TxOptions::reading())?.snapshot()?;
        let store = Arc::clone(&self.store);
        let mut leader =
            Box::new(Leading { view: MutableView::untracked(committed), store, _permit: permit });
        leader.put(b"of the leader", b"")?;
        leader.remove(b"of the leader")?;
        let limits = Limits { beginning: LONG, longest: LONG, rest: (LONG, LONG) };
        let group = Arc::new(WriteLock::with_limits(limits));
        let right = group.acquire(LONG)?;
        thread::spawn({
            let group = Arc::clone(&group);
            move || {
                while group.waiting() == 0 {
                    thread::yield_now();
                }
                // The member gets the error if it fails.
                let _ = commit(&group, leader);
                drop(right);
            }
        });
        match group.turn(&options.clone().with_wait(LONG), true)? {
            Turn::Member(seat) => Ok(Box::new(Member::begin(seat, options))),
            Turn::Right(_) => panic!("a turn as a member is expected"),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

conformance!(members, || {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = |path: &std::path::Path| {
        // No test needs a flush.
        let store = LmdbStore::builder().durability(Durability::MayLoseEverything).create(true);
        let store = store.open(path).expect("an environment");
        InGroups { store: Arc::new(store), right_to_write: Arc::default() }
    };
    let path = dir.path().join("store");
    Fixture::new(open(&path)).reopening(move || open(&path)).keeping(dir).in_groups()
});
