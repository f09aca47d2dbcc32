//! Rows 48 to 57 and 68 to 84: the life of a transaction.

use std::sync::Arc;
use std::time::Duration;

use super::{Fixture, Tx, attempt, begin, committed, dump, get, put_all, write};
use crate::overlay::MutableView;
use crate::{
    Direction, KeySpan, KeyWatch, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions,
};

fn writing(fixture: &Fixture) -> Tx {
    begin(fixture.store(), &TxOptions::writing()).unwrap()
}

fn reading(fixture: &Fixture) -> Tx {
    begin(fixture.store(), &TxOptions::reading()).unwrap()
}

/// Other transactions do not see uncommitted writes.
pub fn t048_uncommitted_is_invisible(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1"), (b"b", b"1")]);
    let mut tx = writing(fixture);
    tx.put(b"a", b"2").unwrap();
    tx.remove(b"b").unwrap();
    tx.put(b"c", b"2").unwrap();
    let expected = [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"1".to_vec())];
    assert_eq!(committed(fixture.store()), expected);
    if let Some(other) = attempt(fixture.store()) {
        assert_eq!(dump(&*other), expected);
    }
}

/// A transaction sees its own writes at once, in every way of reading.
pub fn t049_own_writes_are_visible(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1"), (b"c", b"1")]);
    let mut tx = writing(fixture);
    tx.put(b"b", b"2").unwrap();
    tx.remove(b"a").unwrap();
    assert_eq!(tx.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(&*tx.at_least(b"", None).unwrap().unwrap().0, b"b");
    assert_eq!(&*tx.at_most(b"", Some(b"c")).unwrap().unwrap().0, b"b");
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 2);
}

/// A transaction sees the commits before it began.
pub fn t050_committed_is_visible(fixture: &mut Fixture) {
    for i in 0..20u8 {
        write(fixture.store(), |tx| tx.put(b"k", &[i]));
        assert_eq!(reading(fixture).get(b"k").unwrap().as_deref(), Some(&[i][..]));
        assert_eq!(writing(fixture).get(b"k").unwrap().as_deref(), Some(&[i][..]));
    }
}

/// Rolling back leaves nothing, and so does dropping.
pub fn t051_rollback_leaves_nothing(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1")]);
    for drops in [false, true] {
        let mut tx = writing(fixture);
        tx.put(b"a", b"2").unwrap();
        tx.put(b"b", b"2").unwrap();
        tx.remove_span(KeySpan::FULL).unwrap();
        if drops {
            drop(tx)
        } else {
            tx.rollback()
        }
        assert_eq!(committed(fixture.store()), [(b"a".to_vec(), b"1".to_vec())]);
    }
}

/// A transaction that did nothing can be committed.
pub fn t052_commit_untouched(fixture: &mut Fixture) {
    writing(fixture).commit().unwrap();
    reading(fixture).commit().unwrap();
    writing(fixture).rollback();
}

/// A transaction keeps the store open when the database is dropped, and lets go of it when it ends.
pub fn transactions_keep_the_store_open(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1")]);
    let watches = fixture.store().capabilities().watches;
    let mut tx = reading(fixture);
    put_all(fixture.store(), &[(b"a", b"2")]);
    fixture.close();
    assert!(tx.is_read_only());
    assert_eq!(tx.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    tx.put(b"b", b"1").unwrap();
    assert_eq!(dump(&*tx).len(), 2);
    if watches {
        assert!(!tx.watch(b"a").unwrap().is_changed().unwrap());
    }
    tx.commit().unwrap();
    if !fixture.reopen() {
        return;
    }
    assert_eq!(committed(fixture.store()), [(b"a".to_vec(), b"2".to_vec())]);
    let options = [TxOptions::writing(), TxOptions::writing().ending_here()];
    for (options, commits) in options.iter().flat_map(|options| [(options, true), (options, false)])
    {
        let mut tx = begin(fixture.store(), options).unwrap();
        fixture.close();
        let number = if commits { b"3" } else { b"4" };
        tx.put(b"a", number).unwrap();
        tx.put(b"b", number).unwrap();
        assert_eq!(tx.get(b"a").unwrap().as_deref(), Some(&number[..]));
        if commits {
            tx.commit().unwrap();
        } else {
            drop(tx);
        }
        // Nothing of it stands in the way of another one.
        fixture.reopen();
        assert_eq!(get(fixture.store(), b"b").as_deref(), Some(&b"3"[..]));
        put_all(fixture.store(), &[(b"b", b"3")]);
    }
    assert_eq!(get(fixture.store(), b"a").as_deref(), Some(&b"3"[..]));
}

/// A transaction that has timed out gives no data and does not commit.
pub fn t055_dead_transaction_stays_dead(fixture: &mut Fixture) {
    if !fixture.store().capabilities().timeouts {
        return;
    }
    put_all(fixture.store(), &[(b"a", b"1")]);
    let mut tx = writing(fixture);
    tx.put(b"a", b"2").unwrap();
    tx.set_timeout(Some(Duration::from_millis(1))).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert!(tx.get(b"a").unwrap_err().is_stale());
    assert!(tx.put(b"b", b"").unwrap_err().is_stale());
    assert!(tx.remove(b"a").unwrap_err().is_stale());
    assert!(tx.scan(KeySpan::FULL, Direction::Forward).err().unwrap().is_stale());
    assert!(tx.commit().unwrap_err().is_stale());
    assert_eq!(committed(fixture.store()), [(b"a".to_vec(), b"1".to_vec())]);
}

/// A second read returns the same as the first.
pub fn t056_t057_reads_repeat(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1"), (b"c", b"1")]);
    let tx = reading(fixture);
    let before = dump(&*tx);
    put_all(fixture.store(), &[(b"a", b"2"), (b"b", b"2")]);
    write(fixture.store(), |tx| tx.remove(b"c"));
    assert_eq!(dump(&*tx), before);
    assert_eq!(tx.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert!(tx.get(b"b").unwrap().is_none());
    assert_eq!(&*tx.at_most(b"", None).unwrap().unwrap().0, b"c");
    tx.commit().unwrap();
    assert_eq!(committed(fixture.store()).len(), 2);
}

/// Writes of a read-only transaction are seen only in it.
pub fn t068_t069_read_only_writes_are_dropped(fixture: &mut Fixture) {
    let before: [(&[u8], &[u8]); 4] =
        [(b"a", b"1"), (b"b", b"1"), (b"c", &[0, 0, 0, 0, 0, 0, 0, 1]), (b"z", b"1")];
    put_all(fixture.store(), &before);
    let mut tx = reading(fixture);
    tx.put(b"a", b"2").unwrap();
    tx.put(b"aa", b"2").unwrap();
    tx.remove(b"b").unwrap();
    tx.adjust_counter(b"c", 5).unwrap();
    tx.remove_span(KeySpan::new(b"y", None)).unwrap();
    tx.put(b"zz", b"2").unwrap();
    let inside: Vec<_> = [
        (b"a".to_vec(), b"2".to_vec()),
        (b"aa".to_vec(), b"2".to_vec()),
        (b"c".to_vec(), 6i64.to_be_bytes().to_vec()),
        (b"zz".to_vec(), b"2".to_vec()),
    ]
    .into();
    assert_eq!(dump(&*tx), inside);
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 4);
    assert_eq!(&*tx.at_least(b"ab", None).unwrap().unwrap().0, b"c");
    assert_eq!(&*tx.at_most(b"", Some(b"zz")).unwrap().unwrap().0, b"c");
    tx.remove_span(KeySpan::FULL).unwrap();
    assert!(tx.at_least(b"", None).unwrap().is_none());
    tx.commit().unwrap();
    let after = committed(fixture.store());
    assert!(after.iter().map(|(k, v)| (&k[..], &v[..])).eq(before));
}

/// Transactions know whether they are read-only.
pub fn t070_read_only_flag(fixture: &mut Fixture) {
    assert!(!writing(fixture).is_read_only());
    assert!(reading(fixture).is_read_only());
    let mut tx = writing(fixture);
    tx.set_read_only().unwrap();
    assert!(tx.is_read_only());
    tx.put(b"a", b"").unwrap();
    tx.commit().unwrap();
    assert!(committed(fixture.store()).is_empty());
}

/// Becoming read-only after the first access works, or is refused with a regular error.
pub fn t071_read_only_after_access(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1")]);
    let mut tx = writing(fixture);
    tx.get(b"a").unwrap();
    tx.put(b"b", b"1").unwrap();
    let switched = tx.set_read_only();
    if fixture.store().capabilities().read_only_switch {
        switched.unwrap();
        assert!(tx.is_read_only());
        assert_eq!(dump(&*tx).len(), 2);
        tx.put(b"c", b"1").unwrap();
        tx.commit().unwrap();
        assert_eq!(committed(fixture.store()).len(), 1);
    } else {
        assert!(matches!(switched, Err(KvError::IllegalState(_))));
        tx.put(b"c", b"1").unwrap();
        tx.commit().unwrap();
        assert_eq!(committed(fixture.store()).len(), 3);
    }
}

/// With a limit of zero no time is left, without a limit the time is never over. Once it is over,
/// it stays so. A store without time-outs says so.
pub fn t072_time_out_values(fixture: &mut Fixture) {
    let mut tx = writing(fixture);
    if !fixture.store().capabilities().timeouts {
        let refused = tx.set_timeout(Some(Duration::from_secs(1)));
        assert!(matches!(refused, Err(KvError::Unsupported(_))));
        return;
    }
    for limit in [None, Some(Duration::from_secs(3600)), Some(Duration::MAX)] {
        tx.set_timeout(limit).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        tx.put(b"a", b"").unwrap();
    }
    tx.set_timeout(Some(Duration::ZERO)).unwrap();
    let is_over = |result: crate::Result<()>| assert!(matches!(result, Err(KvError::Timeout(_))));
    is_over(tx.get(b"a").map(drop));
    // No other limit makes it usable again.
    is_over(tx.set_timeout(Some(Duration::MAX)));
    is_over(tx.set_timeout(None));
    is_over(tx.get(b"a").map(drop));
    is_over(tx.put(b"b", b""));
    is_over(tx.commit());
    for options in [TxOptions::reading(), TxOptions::writing()] {
        let options = options.with_timeout(Duration::ZERO);
        let mut tx = fixture.store().begin(&options).unwrap();
        is_over(tx.at_least(&[], None).map(drop));
        is_over(tx.set_timeout(None));
        is_over(tx.get(b"a").map(drop));
        tx.rollback();
        is_over(fixture.store().begin(&options).unwrap().commit());
    }
    assert!(committed(fixture.store()).is_empty());
}

/// A transaction that is used after its time fails with a time-out, which counts as stale.
pub fn t073_time_out(fixture: &mut Fixture) {
    if !fixture.store().capabilities().timeouts {
        return;
    }
    for options in [TxOptions::reading(), TxOptions::writing()] {
        let options = options.with_timeout(Duration::from_millis(1));
        let tx = fixture.store().begin(&options).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let error = tx.get(b"a").unwrap_err();
        assert!(matches!(error, KvError::Timeout(_)) && error.is_stale(), "{error}");
        tx.rollback();
    }
    writing(fixture).commit().unwrap();
}

/// A snapshot keeps the state that the transaction saw, whatever happens later.
pub fn t074_t075_t076_snapshots(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"a", b"1"), (b"b", b"1")]);
    // Every store can make a snapshot of a read-only transaction.
    let reader = reading(fixture);
    let shared = reader.snapshot();
    if store.capabilities().snapshots || shared.is_ok() {
        let shared = shared.unwrap();
        drop(reader);
        put_all(store, &[(b"a", b"2")]);
        assert_eq!(shared.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(dump(&*shared).len(), 2);
        put_all(store, &[(b"a", b"1")]);
    }
    let mut tx = writing(fixture);
    if !store.capabilities().snapshots {
        assert!(matches!(tx.snapshot().err(), Some(KvError::Unsupported(_))));
        return;
    }
    tx.put(b"a", b"mine").unwrap();
    tx.put(b"c", b"mine").unwrap();
    tx.remove(b"b").unwrap();
    let first = tx.snapshot().unwrap();
    let expected = [(b"a".to_vec(), b"mine".to_vec()), (b"c".to_vec(), b"mine".to_vec())];
    assert_eq!(dump(&*first), expected);
    tx.put(b"a", b"later").unwrap();
    tx.remove_span(KeySpan::new(b"b", None)).unwrap();
    let second = tx.snapshot().unwrap();
    assert_eq!(dump(&*first), expected);
    tx.commit().unwrap();
    put_all(store, &[(b"a", b"other")]);
    assert_eq!(dump(&*first), expected);
    assert_eq!(dump(&*second), [(b"a".to_vec(), b"later".to_vec())]);
    let mut tx = writing(fixture);
    tx.put(b"x", b"").unwrap();
    let rolled_back = tx.snapshot().unwrap();
    tx.rollback();
    assert!(rolled_back.get(b"x").unwrap().is_some());
    let again = std::sync::Arc::clone(&first);
    drop(first);
    assert_eq!(&*again.at_most(b"", None).unwrap().unwrap().0, b"c");
}

fn watch(fixture: &Fixture, key: &[u8]) -> KeyWatch {
    let mut tx = reading(fixture);
    let watch = tx.watch(key).unwrap();
    tx.commit().unwrap();
    watch
}

/// Whether the store has watches. If not, checks that it says so.
fn has_watches(fixture: &Fixture) -> bool {
    let offered = fixture.store().capabilities().watches;
    if !offered {
        assert!(matches!(reading(fixture).watch(b"k").err(), Some(KvError::Unsupported(_))));
    }
    offered
}

/// A watch ends soon after any change to its key.
pub fn t077_watches_fire(fixture: &mut Fixture) {
    if !has_watches(fixture) {
        return;
    }
    type Change = fn(&mut Tx) -> crate::Result<()>;
    let changes: [Change; 8] = [
        |tx| tx.put(b"k", b"created"),
        |tx| tx.put(b"k", b"overwritten"),
        |tx| tx.put(b"k", &[0; 8]),
        |tx| tx.adjust_counter(b"k", 7),
        |tx| tx.remove_span(KeySpan::new(b"a", Some(b"z"))),
        |tx| tx.put(b"k", b""),
        |tx| tx.remove(b"k"),
        |tx| {
            tx.put(b"k", b"")?;
            tx.put(b"l", b"")
        },
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let watch = watch(fixture, b"k");
        assert!(!watch.is_changed().unwrap());
        write(fixture.store(), change);
        assert!(watch.wait_timeout(Duration::from_secs(5)).unwrap(), "change {n}");
    }
}

/// A watch does not end because of changes to other keys, or changes that are not committed.
pub fn t078_watches_do_not_fire(fixture: &mut Fixture) {
    if !has_watches(fixture) {
        return;
    }
    let watch = watch(fixture, b"k");
    put_all(fixture.store(), &[(b"j", b""), (b"k\0", b""), (b"", b"")]);
    write(fixture.store(), |tx| tx.remove_span(KeySpan::new(b"l", None)));
    let mut tx = reading(fixture);
    tx.put(b"k", b"dropped").unwrap();
    tx.commit().unwrap();
    let mut tx = writing(fixture);
    tx.put(b"k", b"rolled back").unwrap();
    tx.rollback();
    assert!(!watch.wait_timeout(Duration::from_millis(20)).unwrap());
}

/// Watches outlive their transaction, and all watches of one key end.
pub fn t079_watches_outlive(fixture: &mut Fixture) {
    if !has_watches(fixture) {
        return;
    }
    let mut tx = writing(fixture);
    let rolled_back = tx.watch(b"k").unwrap();
    tx.rollback();
    let mut all: Vec<_> = (0..10).map(|_| watch(fixture, b"k")).collect();
    all.push(rolled_back);
    put_all(fixture.store(), &[(b"k", b"")]);
    for watch in all {
        assert!(watch.wait_timeout(Duration::from_secs(5)).unwrap());
    }
}

/// Watches end with their store.
pub fn t080_watches_end(fixture: &mut Fixture) {
    if !has_watches(fixture) {
        return;
    }
    drop(watch(fixture, b"k"));
    let kept = watch(fixture, b"k");
    let closed = std::mem::replace(fixture, Fixture::new(crate::memory::MemoryStore::new()));
    drop(closed);
    assert!(kept.wait_timeout(Duration::from_secs(5)).unwrap_err().is_stale());
}

/// A read without tracking causes no conflict.
pub fn t081_untracked_reads(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"k", b"1")]);
    let mut tx = writing(fixture);
    let untracked = tx.untracked().map(|view| view.get(b"k").unwrap().map(|v| v.into_owned()));
    if !store.capabilities().untracked_reads {
        assert_eq!(untracked, None);
        return;
    }
    assert_eq!(untracked.unwrap().as_deref(), Some(&b"1"[..]));
    tx.put(b"mine", b"").unwrap();
    put_all(store, &[(b"k", b"2")]);
    tx.commit().unwrap();
    let mut tx = writing(fixture);
    tx.get(b"k").unwrap();
    tx.put(b"mine", b"").unwrap();
    put_all(store, &[(b"k", b"3")]);
    assert!(tx.commit().unwrap_err().is_retryable());
}

/// Pending writes, made in the content that they change, lead to the state that the transaction
/// sees. Asking for them is no read that could conflict.
pub fn pending_writes(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"a", b"1"), (b"c", b"1"), (b"n", &[0, 0, 0, 0, 0, 0, 0, 1]), (b"z", b"")]);
    for options in [TxOptions::writing(), TxOptions::reading()] {
        let mut tx = store.begin(&options).unwrap();
        let offered = store.capabilities().pending_writes;
        assert!(tx.pending().is_some() || options.read_only || !offered);
        let Some(pending) = tx.pending() else { continue };
        assert!(pending.writes.is_empty());
        let before = dump(&*pending.base);
        assert_eq!(before, committed(store));
        drop(pending);
        tx.put(b"b", b"2").unwrap();
        tx.remove(b"c").unwrap();
        tx.remove_span(KeySpan::new(b"y", None)).unwrap();
        tx.adjust_counter(b"n", 4).unwrap();
        let pending = tx.pending().unwrap();
        for key in [&b"b"[..], b"c", b"z", b"n"] {
            assert!(pending.writes.touches(key));
        }
        assert!(!pending.writes.touches(b"a"));
        let (writes, base) = (pending.writes.clone(), pending.base);
        assert_eq!(dump(&*base), before);
        let mut made = MutableView::untracked(Arc::clone(&base));
        made.apply(&writes).unwrap();
        assert_eq!(dump(&made), dump(&*tx));
        tx.rollback();
        assert_eq!(dump(&*base), before);
    }
    // Another transaction changes a pair that was shown. A server that finds conflicts itself
    // counts the look as a read.
    let offered = store.capabilities();
    if offered.pending_writes && offered.concurrent_writers && !offered.lazy_begin {
        let mut tx = writing(fixture);
        tx.put(b"mine", b"").unwrap();
        dump(&*tx.pending().unwrap().base);
        put_all(store, &[(b"a", b"3")]);
        tx.commit().unwrap();
    }
}

/// Committed data is still there after the store was closed and opened again.
pub fn t084_data_survives_reopening(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"", b"empty"), (b"a", b""), (b"k", &[7; 10_000])]);
    let before = committed(fixture.store());
    let mut tx = writing(fixture);
    tx.put(b"lost", b"").unwrap();
    drop(tx);
    let persistent = fixture.store().capabilities().persistent;
    assert!(!persistent || fixture.reopen(), "a persistent store must be reopened in this test");
    if persistent {
        assert_eq!(committed(fixture.store()), before);
        put_all(fixture.store(), &[(b"more", b"")]);
        assert!(fixture.reopen());
        assert_eq!(get(fixture.store(), b"more"), Some(vec![]));
    }
}

/// A transaction may begin on one thread and continue on another.
pub fn readers_move_between_threads(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"a", b"1")]);
    let mut tx = writing(fixture);
    tx.put(b"b", b"1").unwrap();
    let reader = reading(fixture);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            tx.put(b"c", b"1").unwrap();
            tx.commit().unwrap();
        });
        scope.spawn(move || assert_eq!(dump(&*reader).len(), 1));
    });
    assert_eq!(committed(fixture.store()).len(), 3);
    let store: &dyn KvDatabase = fixture.store();
    let tx: Box<dyn KvTransaction + Send> = store.begin(&TxOptions::writing()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(tx));
    });
    put_all(store, &[(b"d", b"1")]);
}
