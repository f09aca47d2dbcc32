//! Programs as processes of their own on one cluster: members and programs are killed, members are
//! paused and cut off, and the reported outcome of each commit is compared with the data.

mod faults;

use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, programs};

use crate::support::{ELECTION, HEARTBEAT};

fn open(url: &str) -> EtcdStore {
    EtcdStore::open(url).unwrap()
}

/// Plays the role that the process was started for, if any.
pub(crate) fn play_if_asked() {
    if let Some(words) = programs::role() {
        programs::play(&words, open);
    }
}

#[test]
fn processes_are_strictly_serializable() {
    let Some(cluster) = Etcd::start(3, &[HEARTBEAT, ELECTION]) else { return };
    let url = cluster.new_prefix();
    programs::are_strictly_serializable(&open(&url), &url);
}

#[test]
fn a_child_of_a_fork_leaves_the_store_to_its_parent() {
    let Some(cluster) = Etcd::shared() else { return };
    programs::a_child_of_a_fork_leaves_the_store_to_its_parent(&cluster.new_prefix());
}

#[test]
fn each_order_of_steps_is_as_good_as_one_after_another() {
    let Some(cluster) = Etcd::shared() else { return };
    programs::are_as_good_as_one_after_another(open, || cluster.new_prefix());
}

#[test]
fn processes_with_threads_do_as_if_each_were_alone() {
    // A folder is deleted with all papers in it.
    let flags = ["--max-txn-ops=10000", HEARTBEAT, ELECTION];
    let Some(cluster) = Etcd::start(3, &flags) else { return };
    let url = cluster.new_prefix();
    programs::do_as_if_each_were_alone(&open(&url), &url);
}
