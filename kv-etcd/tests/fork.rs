//! A process that forks while it has a store on an etcd cluster open. Alone in its process,
//! since a child of a process with other threads may wait for their locks.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, forks};

#[test]
fn a_child_of_a_fork_leaves_the_store_to_its_parent() {
    let Some(cluster) = Etcd::shared() else { return };
    let url = cluster.new_prefix();
    forks::a_child_leaves_the_store_to_its_parent(|| EtcdStore::open(&url).unwrap());
}
