//! Group commit: a transaction for which others wait takes these along, so that one flush serves
//! all.
//!
//! A transaction that has the right to write, and is about to commit, is the *leader* of the
//! transactions that wait for the right. It lends its open transaction to them, to one at a time.
//! Each of these *members* sees the writes of the leader and of the members before it, and keeps
//! its own writes as an overlay. When it commits, its writes are made in the transaction of the
//! leader, and the next one gets its turn. The writes of a member that fails are dropped. At the
//! end the leader commits, and all members get the outcome.
//!
//! Members run on their own threads. The leader's thread waits until no other can join, or the time
//! of the group is over. Waking a thread takes longer than most turns. So a thread that waits for a
//! turn, and the thread of the leader, yield to other threads for some microseconds (`AWAKE`)
//! before they sleep.
//!
//! A store implements the part of the leader (`Leader`) and calls `commit`. `WriteLock` in
//! `store_parts` decides which transactions join, and in which order. `shared.rs` is the state that
//! leader and members share, `lent.rs` reads the transaction of the leader, `member.rs` is the
//! transaction of a member.

#[cfg(all(test, feature = "lmdb", feature = "testsuite"))]
mod conformance;
mod lent;
mod member;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) use self::member::Member;
pub(crate) use self::member::{KeptNote, forget_lost, has_read_lost};
pub(crate) use self::shared::Leader;
use self::shared::{Group, alone};
use crate::store_parts::write_lock::WriteLock;
use crate::{KvError, Result, TxOptions};

/// Whether a transaction that begins with `options` can commit together with others. One that has
/// failed before runs alone, because a group may be the reason.
pub(crate) fn joins(options: &TxOptions) -> bool {
    options.in_group && !options.read_only && options.failed == 0
}

/// Commits `leader`, which has the right to write of `lock`, together with the transactions that
/// wait for the right and can join. Waits for their closures, for some milliseconds at most.
///
/// If others have joined, the error can be a retryable one: the store has no room for all of them
/// together.
pub(crate) fn commit(lock: &Arc<WriteLock>, leader: Box<dyn Leader>) -> Result<()> {
    if !lock.has_joiners() {
        return leader.finish();
    }
    let group = Group::new(leader);
    let told = Told(&group);
    let members = lock.run_group(&group);
    let closed = group.close();
    let begun = Instant::now();
    let done = match closed.leader {
        Some(leader) if !closed.failed => leader.finish(),
        leader => {
            drop(leader);
            Err(alone())
        }
    };
    // Noted before the members get the outcome, so that no member returns earlier.
    lock.note_group(members, begun.elapsed());
    let done = match done {
        // Perhaps there is room for each of them.
        Err(KvError::Full { .. }) if closed.members > 0 => Err(alone()),
        done => done,
    };
    group.tell(done.as_ref().err());
    drop(told);
    done
}

/// Makes sure that the members learn something, even if the leader panics.
struct Told<'g>(&'g Group);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let panicked = KvError::OutcomeUnknown("the commit of the group has panicked".to_owned());
        // Does nothing if they have the outcome already.
        self.0.tell(Some(&panicked));
    }
}
