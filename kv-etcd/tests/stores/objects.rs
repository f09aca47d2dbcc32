//! Objects on an etcd cluster that several programs use at the same time.

use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, objects};

#[test]
fn a_database_of_objects_is_used_as_anywhere() {
    let Some(cluster) = Etcd::shared() else { return };
    let url = cluster.new_prefix();
    objects::one_after_the_other(|| EtcdStore::open(&url).unwrap());
}

#[test]
fn programs_side_by_side_lose_nothing() {
    let Some(cluster) = Etcd::shared() else { return };
    let url = cluster.new_prefix();
    objects::side_by_side(|| EtcdStore::open(&url).unwrap());
}
