//! Groups with a leader that a test controls.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;
use crate::contract::pass_on::pass_on;
use crate::memory::MemoryStore;
use crate::overlay::MutableView;
use crate::store_parts::write_lock::{Limits, Turn, WritePermit};
use crate::{KvRead, KvTransaction, KvWrite, SharedRead, Writes};

const LONG: Duration = Duration::from_secs(600);

type Finish = Box<dyn FnOnce() -> Result<()> + Send>;

/// A leader that sends its writes when it commits.
struct Fake {
    view: MutableView<SharedRead>,
    told: Sender<Writes>,
    finish: Finish,
    is_full: bool,
    /// Given back last.
    _permit: WritePermit,
}

impl KvRead for Fake {
    pass_on!(self => self.view; READS, LIMITS);
}

impl KvWrite for Fake {
    pass_on!(self => self.view; put, remove, remove_span, adjust_counter);

    fn apply(&mut self, writes: &Writes) -> Result<()> {
        if self.is_full { Err(full()) } else { self.view.apply(writes) }
    }
}

impl Leader for Fake {
    fn finish(self: Box<Self>) -> Result<()> {
        (self.finish)()?;
        self.told.send(self.view.into_writes()).unwrap();
        Ok(())
    }
}

/// Options of a transaction that waits for as long as it takes.
fn long() -> TxOptions {
    TxOptions::writing().with_wait(LONG)
}

fn full() -> KvError {
    KvError::Full { path: std::path::Path::new("store").into(), reason: "no room".into() }
}

/// A thread that waits for its turn and then does `body` in its transaction.
fn member(
    lock: &Arc<WriteLock>,
    body: impl FnOnce(&mut Member) -> Result<()> + Send + 'static,
) -> JoinHandle<Result<()>> {
    let before = lock.waiting();
    let thread = thread::spawn({
        let lock = Arc::clone(lock);
        move || match lock.turn(&long(), true)? {
            Turn::Right(_) => panic!("a turn is expected"),
            Turn::Member(seat) => {
                let mut tx = Box::new(Member::begin(seat, &TxOptions::writing()));
                body(&mut tx)?;
                tx.commit()
            }
        }
    });
    while lock.waiting() == before {
        thread::yield_now();
    }
    thread
}

fn put(key: &'static [u8]) -> impl FnOnce(&mut Member) -> Result<()> + Send + 'static {
    move |tx| tx.put(key, b"")
}

/// The right to write, a leader that has it, and the writes that the leader commits.
struct Test {
    lock: Arc<WriteLock>,
    leader: Box<Fake>,
    told: std::sync::mpsc::Receiver<Writes>,
}

impl Test {
    fn new(finish: impl FnOnce() -> Result<()> + Send + 'static) -> Test {
        Test::with_longest(LONG, finish)
    }

    fn with_longest(
        longest: Duration,
        finish: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Test {
        let limits = Limits { beginning: LONG, longest, rest: (LONG, LONG) };
        let lock = Arc::new(WriteLock::with_limits(limits));
        let permit = lock.acquire(LONG).unwrap();
        let (tell, told) = channel();
        let mut leader = Box::new(Fake {
            view: MutableView::untracked(Arc::new(MemoryStore::new().snapshot()) as SharedRead),
            told: tell,
            finish: Box::new(finish),
            is_full: false,
            _permit: permit,
        });
        leader.put(b"leader", b"").unwrap();
        Test { lock, leader, told }
    }
}

fn keys(writes: &Writes) -> Vec<&[u8]> {
    writes.puts.keys().map(|key| &key[..]).collect()
}

#[test]
fn members_follow_in_the_order_in_which_they_came() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    let members: Vec<_> = (0..5u8)
        .map(|number| {
            member(&lock, move |tx| {
                let last = tx.at_most(b"m", Some(b"n"))?.map(|(key, _)| key[1]);
                assert_eq!(last, number.checked_sub(1));
                assert_eq!(tx.version(), None);
                tx.put(&[b'm', number], b"")
            })
        })
        .collect();
    commit(&lock, leader).unwrap();
    members.into_iter().for_each(|member| member.join().unwrap().unwrap());
    assert_eq!(told.recv().unwrap().puts.len(), 6);
    assert!(lock.acquire(LONG).is_ok());
}

#[test]
fn members_of_the_group_before_are_expected() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    lock.note_group(0, LONG);
    assert!(!lock.has_joiners());
    lock.note_group(1, LONG);
    assert!(lock.has_joiners());
    let leading = thread::spawn({
        let lock = Arc::clone(&lock);
        move || commit(&lock, leader)
    });
    while !lock.leader_waits() {
        thread::yield_now();
    }
    let Turn::Member(seat) = lock.turn(&long(), true).unwrap() else {
        panic!("a turn is expected")
    };
    let mut member = Box::new(Member::begin(seat, &TxOptions::writing()));
    member.put(b"member", b"").unwrap();
    member.commit().unwrap();
    leading.join().unwrap().unwrap();
    assert_eq!(keys(&told.recv().unwrap()), [b"leader", b"member"]);
}

#[test]
fn no_member_is_expected_behind_a_waiter_that_cannot_join() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    lock.note_group(1, LONG);
    let leading = thread::spawn({
        let lock = Arc::clone(&lock);
        move || commit(&lock, leader)
    });
    while !lock.leader_waits() {
        thread::yield_now();
    }
    drop(lock.acquire(LONG).unwrap());
    leading.join().unwrap().unwrap();
    assert_eq!(keys(&told.recv().unwrap()), [b"leader"]);
    // The group had no members, so the next leader does not wait for others.
    let _permit = lock.acquire(LONG).unwrap();
    assert!(!lock.has_joiners());
}

#[test]
fn one_that_cannot_join_ends_the_group() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    let first = member(&lock, put(b"first"));
    let alone = thread::spawn({
        let lock = Arc::clone(&lock);
        move || lock.acquire(LONG).map(drop)
    });
    while lock.waiting() < 2 {
        thread::yield_now();
    }
    // This one comes after that, so it is not in the group.
    let last = thread::spawn({
        let lock = Arc::clone(&lock);
        move || matches!(lock.turn(&long(), true), Ok(Turn::Right(_)))
    });
    while lock.waiting() < 3 {
        thread::yield_now();
    }
    commit(&lock, leader).unwrap();
    first.join().unwrap().unwrap();
    alone.join().unwrap().unwrap();
    assert!(last.join().unwrap());
    assert_eq!(keys(&told.recv().unwrap()), [&b"first"[..], b"leader"]);
}

#[test]
fn a_member_that_fails_or_panics_leaves_nothing() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    let fails = member(&lock, |tx| {
        tx.put(b"fails", b"")?;
        Err(KvError::Stopped("it"))
    });
    let panics = member(&lock, |tx| {
        tx.put(b"panics", b"")?;
        panic!("on purpose")
    });
    let discards = member(&lock, |tx| {
        tx.put(b"discarded", b"")?;
        tx.set_read_only()
    });
    let last = member(&lock, put(b"last"));
    commit(&lock, leader).unwrap();
    assert!(matches!(fails.join().unwrap(), Err(KvError::Stopped(_))));
    assert!(panics.join().is_err());
    discards.join().unwrap().unwrap();
    last.join().unwrap().unwrap();
    assert_eq!(keys(&told.recv().unwrap()), [&b"last"[..], b"leader"]);
}

#[test]
fn all_learn_that_the_commit_failed() {
    let errors: [fn() -> KvError; 3] = [
        || KvError::OutcomeUnknown("the disk is gone".to_owned()),
        || KvError::Store { context: "flush".into(), source: "disk error".into() },
        || KvError::IllegalState("no".to_owned()),
    ];
    for error in errors {
        let Test { lock, leader, .. } = Test::new(move || Err(error()));
        let members = [member(&lock, put(b"a")), member(&lock, |_| Err(KvError::Stopped("it")))];
        let told = commit(&lock, leader).unwrap_err();
        let [first, second] = members.map(|member| member.join().unwrap().unwrap_err());
        assert_eq!(told.to_string(), error().to_string());
        assert_eq!(first.to_string(), error().to_string());
        assert_eq!(first.is_outcome_unknown(), error().is_outcome_unknown());
        assert!(matches!(second, KvError::Stopped(_)), "its own error counts");
    }
}

#[test]
fn all_run_again_if_there_is_no_room_for_all() {
    let Test { lock, leader, told } = Test::new(|| Err(full()));
    let member_a = member(&lock, put(b"a"));
    assert!(commit(&lock, leader).unwrap_err().is_retryable());
    assert!(member_a.join().unwrap().unwrap_err().is_retryable());
    assert!(told.recv().is_err());

    // The writes of the first member do not fit, so the second one gets no turn.
    let Test { lock, mut leader, told } = Test::new(|| Ok(()));
    leader.is_full = true;
    let member_a = member(&lock, put(b"a"));
    let next = thread::spawn({
        let lock = Arc::clone(&lock);
        move || matches!(lock.turn(&long(), true), Ok(Turn::Right(_)))
    });
    while lock.waiting() < 2 {
        thread::yield_now();
    }
    assert!(commit(&lock, leader).unwrap_err().is_retryable());
    assert!(member_a.join().unwrap().unwrap_err().is_retryable());
    assert!(next.join().unwrap());
    assert!(told.recv().is_err());

    // The group had no member, so the leader itself needs too much.
    let Test { lock, leader, .. } = Test::new(|| Err(full()));
    let fails = member(&lock, |_| Err(KvError::Stopped("it")));
    assert!(matches!(commit(&lock, leader), Err(KvError::Full { .. })));
    assert!(fails.join().unwrap().is_err());
}

/// The error may be about writes of others in the group, which are not there in the end.
#[test]
fn an_error_does_not_count_if_the_group_is_not_committed() {
    for fails in [true, false] {
        let finish = move || if fails { Err(full()) } else { Ok(()) };
        let Test { lock, leader, told: _told } = Test::new(finish);
        let first = member(&lock, put(b"first"));
        let before = lock.waiting();
        let second = thread::spawn({
            let lock = Arc::clone(&lock);
            move || {
                let mut attempts = 0;
                let retry = crate::Retry { first_pause: Duration::ZERO, ..crate::Retry::default() };
                let done: Result<()> = retry.run(
                    |failed| {
                        if failed > 0 { Ok(None) } else { lock.turn(&long(), true).map(Some) }
                    },
                    |turn| {
                        attempts += 1;
                        let Some(Turn::Member(seat)) = turn else { return Ok(()) };
                        let tx = Member::begin(seat, &TxOptions::writing());
                        assert!(tx.get(b"first")?.is_some());
                        drop(tx);
                        // Another transaction that runs before the error is judged changes nothing.
                        let other = MemoryStore::new();
                        crate::KvDatabaseExt::write(&other, |tx| tx.put(b"a", b""))?;
                        Err(KvError::Stopped("first is there already"))
                    },
                    KvError::is_retryable,
                );
                (done.is_ok(), attempts)
            }
        });
        while lock.waiting() == before {
            thread::yield_now();
        }
        assert_eq!(commit(&lock, leader).is_err(), fails);
        assert_eq!(first.join().unwrap().is_err(), fails);
        assert_eq!(second.join().unwrap(), (fails, if fails { 2 } else { 1 }));
    }
}

#[test]
fn a_panic_of_the_leader_is_told() {
    let Test { lock, leader, .. } = Test::new(|| panic!("on purpose"));
    let member_a = member(&lock, put(b"a"));
    assert!(catch_unwind(AssertUnwindSafe(|| commit(&lock, leader))).is_err());
    assert!(member_a.join().unwrap().unwrap_err().is_outcome_unknown());
    assert!(lock.acquire(LONG).is_ok());
}

#[test]
fn a_member_that_waits_for_the_leader_runs_again() {
    let Test { lock, leader, told } = Test::with_longest(Duration::from_secs(1), || Ok(()));
    let first = member(&lock, put(b"first"));
    let (tell, committed) = channel::<()>();
    let waits = member(&lock, move |tx| {
        tx.put(b"waits", b"")?;
        let _ = committed.recv();
        for error in [tx.get(b"waits").unwrap_err(), tx.put(b"waits", b"").unwrap_err()] {
            assert!(error.is_retryable());
        }
        Ok(())
    });
    commit(&lock, leader).unwrap();
    drop(tell);
    first.join().unwrap().unwrap();
    assert!(waits.join().unwrap().unwrap_err().is_retryable());
    assert_eq!(keys(&told.recv().unwrap()), [&b"first"[..], b"leader"]);
    // For a while there is no other group.
    let permit = lock.acquire(LONG).unwrap();
    let waits = thread::spawn({
        let lock = Arc::clone(&lock);
        move || lock.turn(&long(), true).map(drop)
    });
    while lock.waiting() == 0 {
        thread::yield_now();
    }
    assert!(!lock.has_joiners());
    drop(permit);
    waits.join().unwrap().unwrap();
}

#[test]
fn another_transaction_within_a_member_is_refused_and_the_member_can_go_on() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    let within = Arc::clone(&lock);
    let nests = member(&lock, move |tx| {
        tx.put(b"nests", b"")?;
        for _ in 0..3 {
            let refused = within.acquire(LONG).unwrap_err();
            assert!(matches!(refused, KvError::WithinWrite { .. }) && !refused.is_retryable());
        }
        Ok(())
    });
    commit(&lock, leader).unwrap();
    nests.join().unwrap().unwrap();
    assert_eq!(keys(&told.recv().unwrap()), [&b"leader"[..], b"nests"]);
    assert!(lock.acquire(LONG).is_ok());
}

/// Its closure still runs, so that a transaction within it would be committed by itself, and again
/// when the closure runs again.
#[test]
fn another_transaction_within_a_member_that_took_too_long_is_refused() {
    let refused =
        [5, 100, 2_000, 20_000].map(Duration::from_millis).into_iter().find_map(|longest| {
            let Test { lock, leader, told } = Test::with_longest(longest, || Ok(()));
            let (tell, committed) = channel::<()>();
            let within = Arc::clone(&lock);
            let nests = member(&lock, move |_| {
                let _ = committed.recv();
                within.acquire(LONG).map(drop)
            });
            commit(&lock, leader).unwrap();
            drop(tell);
            let ended = nests.join();
            assert_eq!(keys(&told.recv().unwrap()), [b"leader"]);
            assert!(lock.acquire(LONG).is_ok());
            // On a busy machine the leader may have gone on before the thread took its turn.
            ended.ok()
        });
    let refused = refused.expect("it has a turn").unwrap_err();
    assert!(matches!(refused, KvError::WithinWrite { .. }), "{refused}");
}

#[test]
fn a_member_has_a_time_of_its_own() {
    let Test { lock, leader, told } = Test::new(|| Ok(()));
    let late = member(&lock, |tx| {
        tx.put(b"late", b"")?;
        tx.set_timeout(Some(Duration::from_nanos(1)))?;
        Ok(())
    });
    commit(&lock, leader).unwrap();
    assert!(matches!(late.join().unwrap(), Err(KvError::Timeout(_))));
    assert_eq!(keys(&told.recv().unwrap()), [b"leader"]);
}

#[test]
fn a_member_reads_what_was_written_before_it_in_pages() {
    let Test { lock, mut leader, told } = Test::new(|| Ok(()));
    let all: Vec<Vec<u8>> = (0..2000u32).map(|i| i.to_be_bytes().to_vec()).collect();
    all.iter().for_each(|key| leader.put(key, &[7; 100]).unwrap());
    let reads = member(&lock, move |tx| {
        use crate::{Direction, KeySpan};
        tx.remove(&all[3])?;
        let span = KeySpan::new(&all[1], Some(&all[1999]));
        for direction in [Direction::Forward, Direction::Reverse] {
            let found: Result<Vec<_>> =
                tx.scan(span, direction)?.map(|pair| Ok(pair?.0.into_owned())).collect();
            let mut expected = all[1..1999].to_vec();
            expected.remove(2);
            if direction == Direction::Reverse {
                expected.reverse();
            }
            assert_eq!(found?, expected);
        }
        assert_eq!(tx.get(&all[5])?.unwrap().len(), 100);
        assert_eq!(tx.at_least(&all[3], None)?.unwrap().0, &all[4][..]);
        assert!(tx.get(&all[3])?.is_none());
        Ok(())
    });
    commit(&lock, leader).unwrap();
    reads.join().unwrap().unwrap();
    assert_eq!(
        told.recv().unwrap().puts.len(),
        2000,
        "those of the leader and one more, without the removed"
    );
}
