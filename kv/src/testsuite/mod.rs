//! The conformance suite: tests of what every store must do, for any store. Other crates may call
//! [`conformance!`](crate::conformance) and everything that is public here.
//!
//! A store declares what it offers in its [`Capabilities`](crate::Capabilities). Operations that it
//! offers are tested. Operations that it does not offer must return an error.
//!
//! ```
//! use permazen_kv::memory::MemoryStore;
//! use permazen_kv::testsuite::Fixture;
//!
//! permazen_kv::conformance!(memory, || Fixture::new(MemoryStore::new()));
//! # fn main() {}
//! ```
//!
//! makes a module `memory` with these tests: one for each row about stores in general of the table
//! of required behaviour, named by the number of the row; two model-based random tests, one of
//! which makes one change in each transaction; and histories of concurrent transactions that are
//! checked for strict serializability.
//!
//! Some rows are missing. The rows 30, 53 and 54 cannot be violated: with the types of this crate
//! no call can do it, because ending a transaction consumes it. The others are about one store, or
//! about layers above stores. In addition to the rows, the suite tests what
//! [`KvRead::visit`](crate::KvRead::visit),
//! [`KvTransaction::version`](crate::KvTransaction::version) and
//! [`KvTransaction::pending`](crate::KvTransaction::pending) promise.
//!
//! Everything in this module panics if the store is wrong, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::cast_possible_truncation, reason = "bytes of keys and values that tests make up")]

mod fixture;
pub(crate) mod shapes;

pub mod counters;
pub mod history;
pub mod isolation;
pub mod model;
pub mod reads;
pub mod removals;
pub mod small_transactions;
pub mod threads;
pub mod transactions;
pub mod visits;
pub mod writes;

pub use fixture::{Fixture, Tx, attempt, begin, committed, dump, get, put_all, write};
pub use small_transactions::one_change_each;

/// Makes tests of whether a store behaves as required; see [`testsuite`](crate::testsuite).
///
/// Takes the name of the module to make, and an expression. The expression is a closure that makes
/// a [`Fixture`](crate::testsuite::Fixture) with a new, empty store each time it is called.
///
/// A third argument leaves out tests that two kinds of stores cannot pass:
/// `without serializability` leaves out the histories, for a store that merges the writes of
/// concurrent transactions. `without exact_watches` leaves out `t078_watches_do_not_fire`, for a
/// store that also ends watches of keys that no transaction changed.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $make:expr) => {
        $crate::conformance! { @ $name, $make, [t078_watches_do_not_fire]
            [; history: lists_are_strictly_serializable] }
    };
    ($name:ident, $make:expr, without serializability) => {
        $crate::conformance! { @ $name, $make, [t078_watches_do_not_fire] [] }
    };
    ($name:ident, $make:expr, without exact_watches) => {
        $crate::conformance! { @ $name, $make, [] [; history: lists_are_strictly_serializable] }
    };
    (@ $name:ident, $make:expr, [$($watches:ident)?] [$($histories:tt)*]) => {
        #[cfg(test)]
        #[allow(unused_imports)]
        mod $name {
            use super::*;
            $crate::conformance_tests! { $make;
                reads: t001_absent_key get_near_is_two_gets t002_value_is_returned t003_put_replaces t004_empty_key
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
                    t047_apply_put_wins_over_remove large_values_and_long_keys
                    put_new_refuses_what_is_there put_new_by_two
                    put_if_absent_says_whether_it_was get_or_put_shows_what_is_there append_is_a_put prefetch_changes_no_answer;
                removals: remove_where_is_its_parts remove_where_in_a_deep_tree
                    remove_where_whose_judge_panics;
                counters: t037_counter_encoding t038_counter_round_trip t039_counter_of_other_length
                    t040_adjust_is_visible t041_adjust_wraps t042_adjust_absent
                    t043_adjust_other_value t044_adjust_after_put t045_adjust_before_put_or_remove
                    t065_adjusts_do_not_conflict;
                transactions: t048_uncommitted_is_invisible t049_own_writes_are_visible
                    t050_committed_is_visible t051_rollback_leaves_nothing t052_commit_untouched
                    transactions_keep_the_store_open t055_dead_transaction_stays_dead t056_t057_reads_repeat
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
                small_transactions: one_change_a_transaction;
                model: equals_a_sorted_map $($histories)*
            }
        }
    };
}

/// Makes the tests for [`conformance`](crate::conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr; $($module:ident: $($test:ident)*);*) => {
        $(mod $module {
            use super::*;
            $(
                #[test]
                fn $test() {
                    let make: fn() -> $crate::testsuite::Fixture = $make;
                    $crate::testsuite::$module::$test(&mut make());
                }
            )*
        })*
    };
}
