//! A branch of a page does what every store must do, on every host.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::testsuite::Fixture;
use permazen_kv::{Durability, KvDatabase, conformance, conformance_tests};
use permazen_ledger::{BranchingDatabase, MAIN, Page, PageId, PageStore, Repository};

/// A page in this host, which is made unless it is there.
fn page(host: impl KvDatabase + 'static) -> Page {
    let repository = Repository::create(host).unwrap();
    let page = repository.page("test", PageId::ROOT);
    page.or_else(|_| repository.create_page("test", PageId::ROOT)).unwrap()
}

/// Its main branch.
fn branch(host: impl KvDatabase + 'static) -> OptimisticDatabase<PageStore> {
    page(host).database(MAIN).unwrap()
}

/// The same for several heads.
fn branching(host: impl KvDatabase + 'static) -> BranchingDatabase {
    page(host).branching_database(MAIN).unwrap()
}

fn on_disk<D: KvDatabase + 'static, S: KvDatabase + 'static>(
    open: fn(&Path) -> D,
    store: fn(D) -> S,
) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let first = store(open(&path));
    Fixture::new(first).reopening(move || store(open(&path))).keeping(dir)
}

fn lmdb(path: &Path) -> LmdbStore {
    let builder = LmdbStore::builder().create(true).map_size(64 << 20);
    builder.durability(Durability::MayLoseEverything).open(path).unwrap()
}

fn sqlite(path: &Path) -> SqliteStore {
    SqliteStore::open_or_create(path).unwrap()
}

conformance!(on_memory, || Fixture::new(branch(MemoryStore::new())));
conformance!(on_lmdb, || on_disk(lmdb, branch));
conformance!(on_sqlite, || on_disk(sqlite, branch));

/// All of the suite but the histories that are strictly serializable: a merge can undo what a
/// transaction has written.
macro_rules! branching_conformance {
    ($name:ident, $make:expr) => {
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
                    t074_t075_t076_snapshots t077_watches_fire t078_watches_do_not_fire
                    t079_watches_outlive t080_watches_end t081_untracked_reads
                    pending_writes t084_data_survives_reopening readers_move_between_threads;
                isolation: t058_both_read_and_write t059_lost_update t060_write_skew t061_phantom
                    t062_absent_key_read t063_blind_writes t064_disjoint_writes
                    t066_counter_read_and_adjust read_only_anomaly;
                visits: visits_are_scans visitors_may_read visits_share_a_snapshot
                    versions_name_states;
                threads: t067_retried_until_done t105_remove_span_races_put
                    readers_see_whole_commits unique_by_scan;
                model: equals_a_sorted_map
            }
        }
    };
}

branching_conformance!(branching_on_memory, || Fixture::new(branching(MemoryStore::new())));
branching_conformance!(branching_on_lmdb, || on_disk(lmdb, branching));
branching_conformance!(branching_on_sqlite, || on_disk(sqlite, branching));
