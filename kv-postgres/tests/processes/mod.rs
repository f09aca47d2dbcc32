//! Programs as processes of their own on one server: the reported outcome of each commit is
//! compared with the data. Where programs are killed, that is in `crashes`.

mod clock;

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, programs};

pub(crate) fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url).unwrap()
}

/// Plays the role that the process was started for, if any.
pub(crate) fn play_if_asked() {
    let Some(words) = programs::role() else { return };
    match &words[..] {
        [role, url] if role == "clock" => clock::work(url),
        words => programs::play(words, open),
    }
}

#[test]
fn processes_are_strictly_serializable() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    programs::are_strictly_serializable(&open(&url), &url);
}

#[test]
fn a_child_of_a_fork_leaves_the_store_to_its_parent() {
    let Some(server) = Postgres::shared() else { return };
    programs::a_child_of_a_fork_leaves_the_store_to_its_parent(&server.new_table());
}

#[test]
fn each_order_of_steps_is_as_good_as_one_after_another() {
    let Some(server) = Postgres::shared() else { return };
    programs::are_as_good_as_one_after_another(open, || server.new_table());
}

#[test]
fn processes_with_threads_do_as_if_each_were_alone() {
    let settings = ["max_pred_locks_per_transaction=1024", "fsync=off"];
    let Some(server) = Postgres::start(&settings) else { return };
    programs::do_as_if_each_were_alone(&open(&server.url()), &server.url());
}
