//! The conformance suite on etcd clusters. Its many short tests begin last, by its name, and fill
//! the time in which the others wait.

use std::sync::{Once, OnceLock};

use permazen_kv::conformance;
use permazen_kv::testsuite::Fixture;
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

use crate::support::{ELECTION, HEARTBEAT};

fn on(cluster: Option<&Etcd>, parameters: &str) -> Fixture {
    // Without a cluster, which was said, the tests run on another store.
    let Some(cluster) = cluster else {
        return Fixture::new(permazen_kv::memory::MemoryStore::new());
    };
    let url = format!("{}{parameters}", cluster.new_prefix());
    let open = move || EtcdStore::open(&url).expect("a new prefix");
    Fixture::new(open()).reopening(open)
}

fn one_member() -> Fixture {
    on(Etcd::shared(), "")
}

conformance!(one_member, one_member);

/// A commit may compare many ranges.
fn large() -> Fixture {
    // The members take a while to elect a leader, for which the tests on them need not wait.
    static BEFORE: Once = Once::new();
    BEFORE.call_once(|| drop(std::thread::spawn(three)));
    on(Etcd::shared(), "?max_txn_ops=100000")
}

conformance!(large, large);

fn three() -> Option<&'static Etcd> {
    static SHARED: OnceLock<Option<Etcd>> = OnceLock::new();
    let flags = ["--max-txn-ops=100000", "--max-request-bytes=67108864", HEARTBEAT, ELECTION];
    SHARED.get_or_init(|| Etcd::start(3, &flags)).as_ref()
}

fn three_members() -> Fixture {
    on(three(), "")
}

conformance!(three_members, three_members);
