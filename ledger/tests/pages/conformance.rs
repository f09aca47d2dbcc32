//! A branch of a page passes the tests of every store: in each store, with the pages under prefixes
//! and in databases of their own, through one handle and through two that know nothing of each
//! other.

use std::sync::atomic::{AtomicUsize, Ordering};

use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::testsuite::Fixture;
use permazen_kv::{
    Capabilities, KvDatabase, KvTransaction, Result, Statistics, TxOptions, conformance,
};
use permazen_ledger::{BranchingDatabase, LedgerError, MAIN, Page, PageId, PageStore};

use crate::support::hosts::{Location, Pages, Store};

/// A page there, which is made unless it is there.
fn page(location: &Location) -> Page {
    let repository = location.builder().open_or_create().unwrap();
    match repository.page("test", PageId::ROOT) {
        Err(LedgerError::NoSuch { .. }) => repository.create_page("test", PageId::ROOT).unwrap(),
        page => page.unwrap(),
    }
}

/// Its main branch.
fn branch(location: &Location) -> OptimisticDatabase<PageStore> {
    page(location).database(MAIN).unwrap()
}

/// The same for several heads.
fn branching(location: &Location) -> BranchingDatabase {
    page(location).branching_database(MAIN).unwrap()
}

/// Two handles of a branch, of two repositories as two processes have them. Each transaction begins
/// with the other one.
struct InTurn {
    handles: [OptimisticDatabase<PageStore>; 2],
    begun: AtomicUsize,
}

fn in_turn(location: &Location) -> InTurn {
    InTurn { handles: [branch(location), branch(location)], begun: AtomicUsize::new(0) }
}

impl KvDatabase for InTurn {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        self.handles[begun % 2].begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.handles[0].capabilities()
    }

    fn verify(&self) -> Result<Vec<String>> {
        self.handles[1].verify()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.handles[1].statistics()
    }
}

fn fixture<D: KvDatabase + 'static>(
    store: Store,
    pages: Pages,
    open: fn(&Location) -> D,
) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::new(store, pages, folder.path()).fast();
    let fixture = Fixture::new(open(&location)).keeping(folder);
    match location.is_persistent() {
        true => fixture.reopening(move || open(&location)),
        false => fixture,
    }
}

/// The suite for a host, its pages, how they are opened, and the tests to leave out.
macro_rules! each_host {
    ($($name:ident: $store:ident $pages:ident $open:ident $(without $without:ident)?;)*) => {
        $(conformance!($name, || fixture(Store::$store, Pages::$pages, $open) $(, without $without)?);)*
    };
}

each_host! {
    on_memory: Memory Prefixes branch;
    on_lmdb: Lmdb Prefixes branch;
    on_sqlite: Sqlite Prefixes branch;
    separate_on_memory: Memory Separate branch;
    separate_on_lmdb: Lmdb Separate branch;
    separate_on_sqlite: Sqlite Separate branch;
    // A merge can undo the writes of a transaction.
    branching_on_memory: Memory Prefixes branching without serializability;
    branching_on_lmdb: Lmdb Prefixes branching without serializability;
    branching_on_sqlite: Sqlite Prefixes branching without serializability;
    branching_separate_on_memory: Memory Separate branching without serializability;
    branching_separate_on_lmdb: Lmdb Separate branching without serializability;
    branching_separate_on_sqlite: Sqlite Separate branching without serializability;
    // A commit on one of others ends all watches of its handle, because the handle does not know
    // which keys they wrote.
    two_handles_on_memory: Memory Prefixes in_turn without exact_watches;
    two_handles_on_lmdb: Lmdb Prefixes in_turn without exact_watches;
    two_handles_on_sqlite: Sqlite Prefixes in_turn without exact_watches;
    two_handles_separate_on_memory: Memory Separate in_turn without exact_watches;
    two_handles_separate_on_lmdb: Lmdb Separate in_turn without exact_watches;
    two_handles_separate_on_sqlite: Sqlite Separate in_turn without exact_watches;
}
