//! Values that are fetched while a collection removes the pieces of them that are here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen_ledger::{CommitId, Kind, Page, PageSnapshot};

use super::setting::{assert_clean, attached, count_rows, follow, noise, put_lazy, write};
use super::sources::Remote;

type Hook = Box<dyn FnOnce() + Send>;

/// A host in which something happens before one of the next transactions.
#[derive(Default)]
struct Hooked {
    store: MemoryStore,
    before: Mutex<Option<(usize, Hook)>>,
    count: AtomicUsize,
}

impl KvDatabase for Hooked {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let hook = self.before.lock().unwrap().take_if(|(number, _)| *number == count);
        if let Some((_, hook)) = hook {
            hook();
        }
        self.store.begin(options)
    }
}

/// A value whose top piece leads to other index pieces, with the secret of these copies.
const SEED: u64 = 32;
const LEN: usize = 400_000;

fn index_pieces(page: &Page) -> usize {
    let (mut count, mut after) = (0, None);
    loop {
        let pieces = page.remote().local_pieces(after.as_ref(), 1_000).unwrap();
        count += pieces.iter().filter(|piece| piece.kind == Kind::Index).count();
        match pieces.last() {
            Some(last) => after = Some(last.digest),
            None => return count,
        }
    }
}

/// A page, and its snapshot with a lazy value that is not here. `other` makes another value of that
/// one, whose pieces are here without a commit. A collection sweeps, and has not come to these
/// pieces yet.
fn sweeping(
    host: &Arc<Hooked>,
    other: impl FnOnce(&[u8]) -> Vec<u8>,
) -> (Page, PageSnapshot, Vec<u8>) {
    let (there, value) = (attached(Arc::new(MemoryStore::new())), noise(LEN, SEED));
    put_lazy(&there, b"film", &value);
    assert!(index_pieces(&there) > 2);
    let here = attached(Arc::clone(host) as _);
    let head = follow(&there, &here);
    here.set_source(Remote::of(&there), Duration::from_secs(600));
    here.create_branch("other", &CommitId::FIRST).unwrap();
    write(&here, "other", |tx| tx.put(b"other", &other(&value)).unwrap());
    here.remove_branch("other").unwrap();
    while phase(host) != 2 {
        assert!(here.collect_slice().unwrap());
    }
    let snapshot = here.snapshot(&head).unwrap();
    assert!(count_rows(&**host, 0x23) > 20 && !snapshot.has(b"film").unwrap());
    (here, snapshot, value)
}

/// Another value with the same pieces at the beginning.
fn longer(value: &[u8]) -> Vec<u8> {
    [value, &noise(50_000, 2)].concat()
}

/// The phase of the collection: 0 none, 1 marks, 2 sweeps, 3 clears.
fn phase(host: &Hooked) -> u8 {
    host.store.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap()[47]
}

/// Does something with a value of which index pieces and chunks are here that no commit reaches,
/// and that a collection removes before this transaction. `false` if there are fewer transactions.
fn beside_a_sweep(number: usize, run: fn(&PageSnapshot, &[u8])) -> bool {
    let host = Arc::new(Hooked::default());
    let (here, snapshot, value) = sweeping(&host, longer);
    let before = count_rows(&*host, 0x23);
    let (page, of_hook) = (here.clone(), Arc::clone(&host));
    let hook = move || {
        while page.collect_slice().unwrap() {}
        assert!(count_rows(&of_hook.store, 0x23) < before, "nothing was removed");
    };
    let now = host.count.load(Ordering::Relaxed);
    *host.before.lock().unwrap() = Some((now + number, Box::new(hook)));
    run(&snapshot, &value);
    let was_removed = host.before.lock().unwrap().take().is_none();
    while here.collect_slice().unwrap() {}
    fetch(&snapshot, &value);
    assert_clean(&here);
    was_removed
}

fn fetch(snapshot: &PageSnapshot, value: &[u8]) {
    assert!(snapshot.fetch(b"film").unwrap().as_deref() == Some(value));
}

#[test]
fn what_a_collection_removes_meanwhile_is_fetched() {
    let count = (0..1_000).take_while(|number| beside_a_sweep(*number, fetch)).count();
    assert!(count > 20, "{count} transactions");
}

#[test]
fn whether_a_value_is_here_is_told_while_a_collection_removes_it() {
    let has = |snapshot: &PageSnapshot, value: &[u8]| {
        // Its end and the top piece come. The rest is here as long as it is not removed.
        let end = snapshot.fetch_partial(b"film", -1, 1).unwrap();
        assert_eq!(end.as_deref(), value.last_chunk::<1>().map(|end| &end[..]));
        snapshot.has(b"film").unwrap();
        fetch(snapshot, value);
    };
    let count = (0..30).take_while(|number| beside_a_sweep(*number, has)).count();
    assert_eq!(count, 30);
}

#[test]
fn what_was_fetched_stays_although_a_collection_had_not_marked_it() {
    let host = Arc::new(Hooked::default());
    let (here, snapshot, value) = sweeping(&host, longer);
    fetch(&snapshot, &value);
    assert_eq!(phase(&host), 0, "the fetch ends the round");
    while here.collect_slice().unwrap() {}
    assert!(snapshot.has(b"film").unwrap());
    // The collection has begun anew, and has removed the rest.
    assert_eq!(here.collect().unwrap().pieces, 0);
    here.remote().detach().unwrap();
    assert_clean(&here);
    assert!(snapshot.get(b"film").unwrap().as_deref() == Some(&value[..]));
}

#[test]
fn a_fetch_beside_which_nothing_is_at_risk_ends_no_round() {
    let host = Arc::new(Hooked::default());
    let (here, snapshot, value) = sweeping(&host, |_| noise(LEN, 7));
    fetch(&snapshot, &value);
    assert_eq!(phase(&host), 2);
    while here.collect_slice().unwrap() {}
    assert!(snapshot.has(b"film").unwrap());
    assert_clean(&here);
}
