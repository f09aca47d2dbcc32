//! Values that are not here, and getting them.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KvDatabase, KvDatabaseExt, KvError, KvRead};
use permazen_ledger::{
    CommitId, Digest, Kind, LastWriterWins, LedgerError, MAIN, NewValue, Page, PageSnapshot,
    Priority, Resolution, Retention,
};

use super::setting::{
    ALL, assert_clean, attached, copy, count_rows, each_host, follow, noise, put_lazy, value, write,
};
use super::sources::{Fault, Remote};
use crate::support::faults;
use crate::support::page::within_a_turn;

/// Far longer than anything takes.
const LONG: Duration = Duration::from_secs(600);

/// A page with a lazy value, and a copy without it that knows where it is.
struct Copies {
    there: Page,
    here: Page,
    remote: Arc<Remote>,
    value: Vec<u8>,
}

impl Copies {
    fn new(host: Arc<dyn KvDatabase>, len: usize) -> Self {
        let (there, value) = (copy(), noise(len, 1));
        write(&there, MAIN, |tx| tx.put(b"eager", &noise(20_000, 2)).unwrap());
        put_lazy(&there, b"film", &value);
        let here = attached(host);
        follow(&there, &here);
        let remote = Remote::of(&there);
        here.set_source(remote.clone(), LONG);
        Copies { there, here, remote, value }
    }

    fn head(&self) -> CommitId {
        self.here.head(MAIN).unwrap()
    }

    fn snapshot(&self) -> PageSnapshot {
        self.here.snapshot(&self.head()).unwrap()
    }

    fn fetch(&self) -> Result<Vec<u8>, LedgerError> {
        self.snapshot().fetch(b"film").map(|value| value.unwrap())
    }
}

fn needs_fetch(result: Result<impl Sized, impl Into<LedgerError>>, copies: &Copies) {
    match result.err().map(Into::into) {
        Some(LedgerError::NeedsFetch { page, commit, key, len, .. }) => {
            assert_eq!((page, commit, &key[..]), (1, copies.head(), &b"film"[..]));
            assert_eq!(len, copies.value.len() as u64);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_here_needs_a_fetch() {
    each_host(|host| {
        let copies = Copies::new(host, 300_000);
        let (here, snapshot) = (&copies.here, copies.snapshot());
        needs_fetch(snapshot.get(b"film"), &copies);
        needs_fetch(snapshot.get_partial(b"film", 5, 5), &copies);
        let scanned = snapshot.scan(ALL, Direction::Forward).unwrap();
        needs_fetch(scanned.collect::<Result<Vec<_>, _>>(), &copies);
        let visited = snapshot
            .visit(ALL, Direction::Forward, &mut |_, _| std::ops::ControlFlow::Continue(()));
        needs_fetch(visited, &copies);
        let mut reader = snapshot.read_value(b"film").unwrap().unwrap();
        let error = reader.read(&mut [0; 9]).unwrap_err().downcast::<LedgerError>();
        needs_fetch(Err::<(), _>(error.unwrap()), &copies);
        let database = here.database(MAIN).unwrap();
        let tx = database.begin(&permazen_kv::TxOptions::reading()).unwrap();
        needs_fetch(tx.get(b"film"), &copies);

        assert!(!snapshot.has(b"film").unwrap() && snapshot.has(b"eager").unwrap());
        assert!(!snapshot.has(b"other").unwrap());
        assert_eq!(snapshot.count(ALL).unwrap(), 2);
        assert_eq!(snapshot.value_len(b"film").unwrap(), Some(300_000));
        assert_eq!(snapshot.priority(b"film").unwrap(), Some(Priority::Lazy));
        assert_eq!(snapshot.get_partial(b"film", 300_000, 5).unwrap(), Some(Vec::new()));
        assert_eq!(snapshot.get_partial(b"film", 0, 0).unwrap(), Some(Vec::new()));
        let entries = snapshot.entries(ALL, Direction::Reverse).unwrap();
        let entries: Vec<_> = entries.map(Result::unwrap).collect();
        let film = &entries[0].value;
        assert_eq!((film.len, &film.bytes), (300_000, &None));
        assert_eq!(entries[1].value.bytes, Some(noise(20_000, 2)));

        let changes = here.diff_entries(&CommitId::FIRST, &copies.head(), ALL, Direction::Forward);
        let changes: Vec<_> = changes.unwrap().map(Result::unwrap).collect();
        assert_eq!(changes.len(), 2);
        assert!(changes[1].new.as_ref().is_some_and(|new| new.digest == film.digest));
        let diff = here.diff(&CommitId::FIRST, &copies.head(), ALL, Direction::Forward).unwrap();
        needs_fetch(diff.collect::<Result<Vec<_>, _>>(), &copies);
        here.collect().unwrap();
        assert_clean(here);
        assert!(copies.remote.take_asked().is_empty());
    });
}

#[test]
fn values_that_are_not_here_are_merged_and_watched() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 100_000);
    let (here, there) = (&copies.here, &copies.there);
    here.create_branch("other", &copies.head()).unwrap();
    there.create_branch("other", &copies.head()).unwrap();
    let mut watcher = here.watch(MAIN, b"film").unwrap();
    // Both sides have another film, and neither is here.
    put_lazy(there, b"film", &noise(90_000, 3));
    let value_there = value(there, &noise(80_000, 4));
    write(there, "other", |tx| tx.put(b"film", value_there.lazy().as_bytes()).unwrap());
    let mut receiver = here.remote().receive();
    for branch in [MAIN, "other"] {
        let head = there.head(branch).unwrap();
        super::setting::bring(there, &mut receiver, &head);
        receiver.add_head(branch, &head).unwrap();
    }
    let told = watcher.next(LONG).unwrap().unwrap();
    let [update] = &told.updates[..] else { panic!("{told:?}") };
    assert!(matches!(update.value, Some(NewValue::Long { len: 90_000, .. })), "{update:?}");

    struct Reads;
    impl permazen_ledger::Merger for Reads {
        fn resolve(
            &mut self,
            conflict: &permazen_ledger::Conflict<'_>,
        ) -> permazen_ledger::Result<Resolution> {
            Ok(Resolution::Value(conflict.newer.unwrap_or_default().to_vec()))
        }
    }
    let other = here.head("other").unwrap();
    let error = here.merge(MAIN, &other, &mut Reads).unwrap_err();
    assert!(
        matches!(&error, LedgerError::NeedsFetch { key, .. } if **key == b"film"[..]),
        "{error}"
    );
    let merge = here.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    let theirs = there.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    assert_eq!(merge, theirs);
    assert!(copies.remote.take_asked().is_empty());
    assert_eq!(here.snapshot(&merge).unwrap().fetch(b"film").unwrap(), Some(noise(80_000, 4)));
    assert_clean(here);
}

#[test]
fn what_is_fetched_stays() {
    each_host(|host| {
        let copies = Copies::new(Arc::clone(&host), 5_000_000);
        assert!(copies.fetch().unwrap() == copies.value);
        let asked = copies.remote.take_asked();
        assert!(asked.iter().all(|request| request.len() <= 32), "{asked:?}");
        let pieces: Vec<_> = asked.concat();
        let distinct: BTreeSet<_> = pieces.iter().map(|(_, digest)| digest).collect();
        assert_eq!(distinct.len(), pieces.len());
        assert_eq!(count_rows(&*host, 0x23), rows_of(&copies.there));
        assert!(copies.remote.most_running.load(Ordering::SeqCst) <= 5);

        let snapshot = copies.snapshot();
        assert!(snapshot.has(b"film").unwrap());
        assert!(copies.fetch().unwrap() == copies.value);
        assert!(snapshot.get(b"film").unwrap().unwrap() == copies.value);
        assert!(copies.remote.take_asked().is_empty());
        // It came from the remote, so nothing of it is only here.
        assert!(copies.here.remote().local_pieces(None, 9).unwrap().is_empty());
        assert_clean(&copies.here);
        copies.here.collect().unwrap();
        assert!(copies.fetch().unwrap() == copies.value);
        assert!(copies.remote.take_asked().is_empty());
    });
}

/// How many pieces the last commit of a page reaches.
fn rows_of(page: &Page) -> usize {
    page.set_retention(Retention::All).unwrap();
    page.verify().unwrap().pieces as usize
}

#[test]
fn a_part_is_what_a_slice_of_the_value_is() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 70_000);
    let (snapshot, n) = (copies.snapshot(), 70_000_i64);
    let offsets = [0, 1, 4_095, 65_536, n - 1, n, n + 1, -1, -n, -n - 1, i64::MIN, i64::MAX];
    for offset in offsets {
        for max in [0, 1, 9_000, n, -1, i64::MIN, i64::MAX] {
            let begin = if offset < 0 { offset.saturating_add(n) } else { offset };
            let expected = match (0..n).contains(&begin) {
                false => &[][..],
                true => {
                    let most = if max < 0 { n - begin } else { max.min(n - begin) };
                    &copies.value[begin as usize..(begin + most) as usize]
                }
            };
            let found = snapshot.fetch_partial(b"film", offset, max).unwrap().unwrap();
            assert!(found == expected, "{offset}, {max}");
            assert!(snapshot.get_partial(b"film", offset, max).unwrap().unwrap() == expected);
        }
    }
    // A value in a leaf.
    let here = write(&copies.here, MAIN, |tx| tx.put(b"short", b"abcdef").unwrap());
    let snapshot = copies.here.snapshot(&here).unwrap();
    assert_eq!(snapshot.get_partial(b"short", -3, 2).unwrap().as_deref(), Some(&b"de"[..]));
    assert_eq!(snapshot.fetch_partial(b"short", -7, 2).unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(snapshot.fetch_partial(b"none", 0, 2).unwrap(), None);
}

#[test]
fn a_part_gets_its_pieces_only() {
    // Two levels of index pieces.
    let copies = Copies::new(Arc::new(MemoryStore::new()), 9_000_000);
    let (from, to) = (4_000_000, 4_100_000);
    let snapshot = copies.snapshot();
    let part = snapshot.fetch_partial(b"film", from as i64, (to - from) as i64).unwrap();
    assert!(part.unwrap() == copies.value[from..to]);
    let pieces = copies.remote.take_pieces();
    let remote = copies.there.remote();
    let mut covered = 0;
    for (kind, digest) in &pieces {
        if *kind == Kind::Chunk {
            let chunk = remote.piece_bytes(digest).unwrap().unwrap();
            let near = &copies.value[from - 65_536..to + 65_536];
            let at = near.windows(chunk.len()).position(|window| window == chunk).unwrap();
            let begin = from - 65_536 + at;
            assert!(begin < to && begin + chunk.len() > from, "a chunk from {begin} on");
            covered += (begin + chunk.len()).min(to) - begin.max(from);
        }
    }
    assert_eq!(covered, to - from);
    let indexes = pieces.iter().filter(|(kind, _)| *kind == Kind::Index).count();
    assert!((2..=3).contains(&indexes), "{indexes} index pieces");
    // Again without traffic; the pieces beside it are not here.
    assert!(snapshot.get_partial(b"film", from as i64, 100_000).unwrap().is_some());
    needs_fetch(snapshot.get_partial(b"film", 0, 10), &copies);
    assert!(copies.remote.take_asked().is_empty() && !snapshot.has(b"film").unwrap());
    // The rest asks for none of it again.
    assert!(copies.fetch().unwrap() == copies.value);
    let rest = copies.remote.take_pieces();
    assert!(rest.iter().all(|piece| !pieces.contains(piece)));
    assert_clean(&copies.here);
}

#[test]
fn a_part_that_begins_with_a_chunk_needs_none_before_it() {
    let chunks = |copies: &Copies, offset: usize, max: i64| {
        let part = copies.snapshot().fetch_partial(b"film", offset as i64, max).unwrap();
        assert!(part.unwrap() == copies.value[offset..][..max as usize]);
        let mut pieces = copies.remote.take_pieces();
        pieces.retain(|(kind, _)| *kind == Kind::Chunk);
        pieces
    };
    let copies = || Copies::new(Arc::new(MemoryStore::new()), 300_000);
    let one = copies();
    let [(_, first)] = chunks(&one, 0, 1)[..] else { panic!("not one chunk") };
    let len = one.there.remote().piece_bytes(&first).unwrap().unwrap().len();
    assert_eq!(chunks(&copies(), 0, len as i64), [(Kind::Chunk, first)]);
    let [(_, second)] = chunks(&copies(), len, 1)[..] else { panic!("not one chunk") };
    assert_ne!(second, first);
}

#[test]
fn a_part_that_ends_with_an_index_piece_needs_none_after_it() {
    // Two levels of index pieces.
    let copies = Copies::new(Arc::new(MemoryStore::new()), 9_000_000);
    let snapshot = copies.snapshot();
    let entries = snapshot.entries(ALL, Direction::Reverse).unwrap();
    let film = entries.map(Result::unwrap).next().unwrap().value;
    let top = copies.there.remote().piece_bytes(&film.digest.unwrap()).unwrap().unwrap();
    assert_eq!(top[0], 1);
    // How many bytes are below the first of the index pieces.
    let len = u64::from_be_bytes(top[1..9].try_into().unwrap()) as usize;
    assert!(len < copies.value.len());
    let (from, max) = (len - 10, 10);
    let part = snapshot.fetch_partial(b"film", from as i64, max).unwrap();
    assert!(part.unwrap() == copies.value[from..len]);
    // The top piece, the index piece below it and the chunk.
    assert_eq!(copies.remote.take_pieces().len(), 3);
    assert!(snapshot.get_partial(b"film", from as i64, max).unwrap().is_some());
    needs_fetch(snapshot.get_partial(b"film", from as i64, max + 1), &copies);
    let mut reader = snapshot.read_value(b"film").unwrap().unwrap();
    reader.seek(SeekFrom::Start(from as u64)).unwrap();
    let mut part = [0; 10];
    reader.read_exact(&mut part).unwrap();
    assert!(part == copies.value[from..len]);
}

/// The pieces of the value that a source is asked for after its top piece.
fn pieces(copies: &Copies) -> Vec<Digest> {
    let other = attached(Arc::new(MemoryStore::new()));
    follow(&copies.there, &other);
    let remote = Remote::of(&copies.there);
    other.set_source(remote.clone(), LONG);
    other.snapshot(&copies.head()).unwrap().fetch(b"film").unwrap();
    remote.take_pieces().into_iter().map(|(_, digest)| digest).collect()
}

#[test]
fn a_wrong_answer_is_an_error_and_the_good_ones_of_its_request_stay() {
    let faults = [
        (Fault::Absent, true),
        (Fault::Wrong, true),
        (Fault::TooLong, true),
        (Fault::Refused, false),
        (Fault::Panics, false),
        (Fault::Short, false),
    ];
    for (fault, keeps) in faults {
        let copies = Copies::new(Arc::new(MemoryStore::new()), 300_000);
        let pieces = pieces(&copies);
        assert!((10..33).contains(&pieces.len()), "{} pieces", pieces.len());
        let bad = pieces[4];
        copies.remote.fail(bad, Some(fault));
        let error = copies.fetch().unwrap_err();
        assert!(error.to_string().contains("the attic"), "{error}");
        match (fault, &error) {
            (Fault::Absent, LedgerError::NotAtSource { digest, .. }) => assert_eq!(*digest, bad),
            (Fault::Wrong | Fault::TooLong, LedgerError::Integrity { digest, .. }) => {
                assert_eq!(*digest, bad);
            }
            (Fault::Refused | Fault::Panics | Fault::Short, LedgerError::Network { .. }) => {}
            _ => panic!("{fault:?}: {error}"),
        }
        assert_eq!(error.is_retryable(), matches!(error, LedgerError::Network { .. }));
        assert!(KvError::from(error).to_string().contains("the attic"));
        copies.remote.take_asked();
        assert_clean(&copies.here);

        copies.remote.fail(bad, None);
        assert!(copies.fetch().unwrap() == copies.value);
        let again: Vec<_> = copies.remote.take_pieces().into_iter().map(|piece| piece.1).collect();
        match keeps {
            true => assert_eq!(again, [bad]),
            // Only the top piece has come.
            false => assert_eq!(again.len(), pieces.len() - 1),
        }
        assert_clean(&copies.here);
    }
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 300_000);
    let pieces = pieces(&copies);
    copies.remote.fail(pieces[4], Some(Fault::Hangs));
    copies.here.set_source(copies.remote.clone(), Duration::from_millis(20));
    // Each request that hangs keeps its place; after five of them, none begins.
    let mut asked = 0;
    for _ in 0..8 {
        let error = copies.fetch().unwrap_err();
        assert!(matches!(error, LedgerError::Network { .. }) && error.is_retryable(), "{error}");
        asked += copies.remote.take_pieces().iter().filter(|piece| piece.1 == pieces[4]).count();
    }
    assert!(asked <= 5, "{asked} requests");
    copies.remote.let_go();
    copies.here.set_source(copies.remote.clone(), LONG);
    assert!(copies.fetch().unwrap() == copies.value);
    assert_clean(&copies.here);
}

#[test]
fn threads_that_want_the_same_share_one_answer() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 3_000_000);
    let pieces = pieces(&copies);
    // The first answers come when all threads have begun.
    for digest in &pieces[..3] {
        copies.remote.fail(*digest, Some(Fault::Hangs));
    }
    let begun = Barrier::new(9);
    thread::scope(|scope| {
        for number in 0..8 {
            let (copies, begun) = (&copies, &begun);
            scope.spawn(move || {
                begun.wait();
                let snapshot = copies.snapshot();
                if number % 2 == 0 {
                    assert!(snapshot.fetch(b"film").unwrap().unwrap() == copies.value);
                } else {
                    let part = snapshot.fetch_partial(b"film", 1_000_000, 500_000).unwrap();
                    assert!(part.unwrap() == copies.value[1_000_000..1_500_000]);
                }
            });
        }
        begun.wait();
        copies.remote.let_go();
    });
    let mut asked: Vec<_> =
        copies.remote.take_pieces().into_iter().map(|(_, digest)| digest).collect();
    asked.sort();
    let mut expected = pieces.clone();
    expected.sort();
    assert!(asked == expected, "{} pieces for {}", asked.len(), expected.len());
    assert!(copies.remote.most_running.load(Ordering::SeqCst) <= 5);
    assert_clean(&copies.here);
}

#[test]
fn a_collection_removes_nothing_that_is_fetched_meanwhile() {
    for slices in 0.. {
        let host = Arc::new(MemoryStore::new());
        let copies = Copies::new(host, 200_000);
        // Garbage: a part of it is a part of the film.
        let garbage = value(&copies.here, &copies.value[..100_000]);
        drop(garbage);
        let mut is_running = true;
        for _ in 0..slices {
            is_running = copies.here.collect_slice().unwrap();
        }
        let half = copies.snapshot().fetch_partial(b"film", 50_000, 100_000).unwrap();
        assert!(half.unwrap() == copies.value[50_000..150_000], "{slices} slices");
        while copies.here.collect_slice().unwrap() {}
        assert_clean(&copies.here);
        assert!(copies.fetch().unwrap() == copies.value);
        copies.here.collect().unwrap();
        assert_clean(&copies.here);
        assert!(copies.snapshot().has(b"film").unwrap());
        if !is_running {
            assert!(slices > 3, "{slices} slices");
            break;
        }
    }
}

#[test]
fn values_are_fetched_beside_a_collector_and_a_writer() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 2_000_000);
    let here = &copies.here;
    here.set_retention(Retention::Last(1)).unwrap();
    let snapshot = copies.snapshot();
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            for part in 0..20 {
                let from = part * 100_000;
                let found = snapshot.fetch_partial(b"film", from, 100_000).unwrap().unwrap();
                assert!(found == copies.value[from as usize..][..100_000]);
            }
        });
        let mut number = 0_u64;
        while !fetching.is_finished() {
            number += 1;
            write(here, MAIN, |tx| tx.put(b"number", &noise(5_000, number)).unwrap());
            here.collect().unwrap();
        }
    });
    assert!(copies.fetch().unwrap() == copies.value);
    assert_clean(here);
}

/// A source that uses the page when it goes.
struct Leaves(Page, std::sync::mpsc::Sender<()>);

impl permazen_ledger::PieceSource for Leaves {
    fn name(&self) -> String {
        "the moving van".to_owned()
    }

    fn fetch(
        &self,
        _: permazen_ledger::PageId,
        _: &[(Kind, Digest)],
        _: std::time::Instant,
    ) -> Result<Vec<Option<Vec<u8>>>, LedgerError> {
        Err(LedgerError::other("it is on the road"))
    }
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.remove_source();
        self.1.send(()).unwrap();
    }
}

#[test]
fn a_source_that_goes_may_use_the_page() {
    let page = copy();
    let (sender, gone) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for _ in 0..2 {
            page.set_source(Arc::new(Leaves(page.clone(), sender.clone())), LONG);
        }
        page.remove_source();
    });
    for _ in 0..2 {
        gone.recv_timeout(LONG / 10).unwrap();
    }
}

#[test]
fn another_source_is_asked_for_what_the_former_one_does_not_answer() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 1 << 20);
    copies.remote.fail(pieces(&copies)[0], Some(Fault::Hangs));
    let asks = || {
        let (sender, answer) = std::sync::mpsc::channel();
        let snapshot = copies.snapshot();
        thread::spawn(move || sender.send(snapshot.fetch(b"film").map(Option::unwrap)));
        answer
    };
    let late: Vec<_> = (0..5).map(|_| asks()).collect();
    while copies.remote.asked.lock().unwrap().is_empty() {
        thread::yield_now();
    }
    copies.here.set_source(Remote::of(&copies.there), LONG);
    assert_eq!(asks().recv_timeout(LONG / 10).unwrap().unwrap(), copies.value);
    copies.remote.let_go();
    for late in late {
        assert_eq!(late.recv_timeout(LONG / 10).unwrap().unwrap(), copies.value);
    }
}

#[test]
fn without_a_source_or_a_remote_fetching_is_getting() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 100_000);
    copies.here.remove_source();
    needs_fetch(copies.snapshot().fetch(b"film"), &copies);
    assert_eq!(copies.snapshot().fetch(b"eager").unwrap(), Some(noise(20_000, 2)));
    copies.here.set_source(copies.remote.clone(), LONG);
    copies.here.remote().detach().unwrap();
    let error = copies.snapshot().fetch(b"film").unwrap_err();
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    assert!(KvError::from(error).is_damage());
    assert!(copies.remote.take_asked().is_empty());
}

#[test]
fn a_failure_of_the_host_loses_nothing_that_has_come() {
    let kinds: [fn() -> KvError; 3] = [
        || KvError::Stale("broken".into()),
        || KvError::Retry("busy".into()),
        || KvError::OutcomeUnknown("cut".into()),
    ];
    for (row, kind) in (0..).zip(kinds) {
        for n in faults::failing(row, faults::distance(3)) {
            let failing = FaultStore::new(MemoryStore::new());
            let faults = failing.faults();
            let copies = Copies::new(Arc::new(failing), 200_000);
            let snapshot = copies.snapshot();
            faults.fail_nth(n, kind);
            let result = snapshot.fetch(b"film");
            let hits = faults.hits();
            faults.fail_nth(u64::MAX, kind);
            if let Ok(value) = &result {
                assert!(value.as_ref() == Some(&copies.value), "operation {n}");
            }
            assert_clean(&copies.here);
            assert!(copies.fetch().unwrap() == copies.value, "operation {n}");
            assert_clean(&copies.here);
            if hits == 0 {
                result.unwrap();
                assert!(n > 20, "{n} operations");
                break;
            }
        }
    }
}

#[test]
fn a_fetch_within_a_transaction_that_holds_the_host_is_refused_at_once() {
    let copies = Copies::new(Arc::new(MemoryStore::new()), 300_000);
    within_a_turn(&copies.here, |is_held| {
        let begun = Instant::now();
        match (is_held, copies.fetch()) {
            // It would try for 30 seconds.
            (true, Err(LedgerError::Host(KvError::Retry(_)))) => {
                assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
            }
            (false, fetched) => assert_eq!(fetched.unwrap(), copies.value),
            (true, other) => panic!("{other:?}"),
        }
    });
}

/// The other thread has claimed them, and waits for the right to write that this thread has.
#[test]
fn pieces_that_another_thread_fetches_are_not_waited_for_within_a_write_of_the_host() {
    let host = MemoryStore::new();
    let copies = &Copies::new(Arc::new(host.clone()), 300_000);
    thread::scope(|scope| {
        let mut running = Vec::new();
        host.write(|_| {
            running.push(scope.spawn(|| copies.fetch()));
            while copies.remote.asked.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            let error = copies.fetch().unwrap_err();
            assert!(matches!(error, LedgerError::Host(KvError::WithinWrite { .. })), "{error:?}");
            Ok(())
        })
        .unwrap();
        // Its time to wait is not over.
        for thread in running {
            assert_eq!(thread.join().unwrap().unwrap(), copies.value);
        }
    });
}
