//! A branch of a page does what every store must do: in each store, with the pages under prefixes and in databases of
//! their own, through one handle and through two that know nothing of each other.
#![allow(clippy::unwrap_used, clippy::panic)]

mod hosts;

use std::sync::atomic::{AtomicUsize, Ordering};

use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::testsuite::Fixture;
use permazen_kv::{
    Capabilities, KvDatabase, KvTransaction, Result, Statistics, TxOptions, conformance,
    conformance_tests,
};
use permazen_ledger::{BranchingDatabase, LedgerError, MAIN, Page, PageId, PageStore};

use hosts::{Pages, Place, Store};

/// A page there, which is made unless it is there.
fn page(place: &Place) -> Page {
    let repository = place.builder().create().unwrap();
    match repository.page("test", PageId::ROOT) {
        Err(LedgerError::NoSuch { .. }) => repository.create_page("test", PageId::ROOT).unwrap(),
        page => page.unwrap(),
    }
}

/// Its main branch.
fn branch(place: &Place) -> OptimisticDatabase<PageStore> {
    page(place).database(MAIN).unwrap()
}

/// The same for several heads.
fn branching(place: &Place) -> BranchingDatabase {
    page(place).branching_database(MAIN).unwrap()
}

/// Two handles of a branch, of two repositories as two processes have them. Each transaction begins with the other
/// one.
struct InTurn {
    handles: [OptimisticDatabase<PageStore>; 2],
    begun: AtomicUsize,
}

fn in_turn(place: &Place) -> InTurn {
    InTurn { handles: [branch(place), branch(place)], begun: AtomicUsize::new(0) }
}

impl KvDatabase for InTurn {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + '_>> {
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

fn fixture<D: KvDatabase + 'static>(store: Store, pages: Pages, open: fn(&Place) -> D) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(store, pages, folder.path()).fast();
    let fixture = Fixture::new(open(&place)).keeping(folder);
    match place.is_persistent() {
        true => fixture.reopening(move || open(&place)),
        false => fixture,
    }
}

/// The suite for one host, its pages, and how they are opened.
macro_rules! each_host {
    ($suite:ident, $open:expr; $($name:ident: $store:ident $pages:ident;)*) => {
        $($suite!($name, || fixture(Store::$store, Pages::$pages, $open));)*
    };
}

each_host! { conformance, branch;
    on_memory: Memory Prefixes;
    on_lmdb: Lmdb Prefixes;
    on_sqlite: Sqlite Prefixes;
    separate_on_memory: Memory Separate;
    separate_on_lmdb: Lmdb Separate;
    separate_on_sqlite: Sqlite Separate;
}

/// The suite without some of it: whether watches of other keys go on, and histories that are strictly serializable.
macro_rules! most_of_conformance {
    ($name:ident, $make:expr, [$($watches:ident)?] [$($history:tt)*]) => {
        #[allow(unused_imports)]
        mod $name {
            use super::*;
            conformance_tests! { $make;
                reads: t001_absent_key t002_value_is_returned t003_put_replaces t004_empty_key
                    t005_empty_value t006_zero_bytes t007_unsigned_order t008_prefix_sorts_first
                    t009_sort_order t010_keys_beginning_ff t013_at_least_is_inclusive
                    t014_at_least_finds_next t015_at_least_excludes_max t016_at_least_of_all
                    t017_at_least_reversed_bounds t018_at_most_excludes_max
                    t019_at_most_includes_min t020_at_most_of_all t021_at_most_reversed_bounds
                    t022_at_most_below_empty_key t023_t024_scan_both_ways t025_scan_empty_and_full
                    t026_scan_reversed_bounds t027_scan_from_empty_key t028_end_of_scan_lasts
                    t028_scans_of_many_pairs;
                writes: t011_remove_absent t012_removed_is_gone t029_remove_while_walking
                    t031_walk_sees_changes t032_remove_span_bounds t033_remove_everything
                    t034_remove_span_open_ended t035_remove_span_empty_or_reversed
                    t036_remove_span_then_put t046_apply_is_its_parts
                    t047_apply_put_wins_over_remove large_values_and_long_keys;
                counters: t037_counter_encoding t038_counter_round_trip t039_counter_of_other_length
                    t040_adjust_is_visible t041_adjust_wraps t042_adjust_absent
                    t043_adjust_other_value t044_adjust_after_put t045_adjust_before_put_or_remove
                    t065_adjusts_do_not_conflict;
                transactions: t048_uncommitted_is_invisible t049_own_writes_are_visible
                    t050_committed_is_visible t051_rollback_leaves_nothing t052_commit_untouched
                    t055_dead_transaction_stays_dead t056_t057_reads_repeat
                    t068_t069_read_only_writes_are_dropped t070_read_only_flag
                    t071_read_only_after_access t072_time_out_values t073_time_out
                    t074_t075_t076_snapshots t077_watches_fire $($watches)?
                    t079_watches_outlive t080_watches_end t081_untracked_reads
                    pending_writes t084_data_survives_reopening readers_move_between_threads;
                isolation: t058_both_read_and_write t059_lost_update t060_write_skew t061_phantom
                    t062_absent_key_read t063_blind_writes t064_disjoint_writes
                    t066_counter_read_and_adjust read_only_anomaly;
                visits: visits_are_scans visitors_may_read visits_share_a_snapshot
                    versions_name_states;
                threads: t067_retried_until_done t105_remove_span_races_put
                    readers_see_whole_commits unique_by_scan;
                model: equals_a_sorted_map $($history)*
            }
        }
    };
}

/// A merge can undo what a transaction has written.
macro_rules! branching_conformance {
    ($name:ident, $make:expr) => {
        most_of_conformance! { $name, $make, [t078_watches_do_not_fire] [] }
    };
}

/// A commit on one of others ends all watches of its handle, because the handle does not know what they wrote.
macro_rules! two_handles_conformance {
    ($name:ident, $make:expr) => {
        most_of_conformance! { $name, $make, [] [; history: lists_are_strictly_serializable] }
    };
}

each_host! { branching_conformance, branching;
    branching_on_memory: Memory Prefixes;
    branching_on_lmdb: Lmdb Prefixes;
    branching_on_sqlite: Sqlite Prefixes;
    branching_separate_on_memory: Memory Separate;
    branching_separate_on_lmdb: Lmdb Separate;
    branching_separate_on_sqlite: Sqlite Separate;
}

each_host! { two_handles_conformance, in_turn;
    two_handles_on_memory: Memory Prefixes;
    two_handles_on_lmdb: Lmdb Prefixes;
    two_handles_on_sqlite: Sqlite Prefixes;
    two_handles_separate_on_memory: Memory Separate;
    two_handles_separate_on_lmdb: Lmdb Separate;
    two_handles_separate_on_sqlite: Sqlite Separate;
}
