//! How long one request to a cluster of one member takes, over its gateway for HTTP: `cargo bench
//! -p permazen-kv-etcd --bench
//! requests`. `PERMAZEN_ETCD_GRPC` names the program of `tests/servers/etcd-3.7/grpc`, which asks
//! the same member over gRPC.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::process::Command;
use std::time::{Duration, Instant};

use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

/// How many requests of each kind are made.
const TIMES: usize = 2_000;

fn key(number: usize) -> Vec<u8> {
    format!("http {number:08}").into_bytes()
}

fn measure(what: &str, mut ask: impl FnMut(usize)) {
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|number| {
            let begun = Instant::now();
            ask(number);
            begun.elapsed()
        })
        .collect();
    took.sort_unstable();
    println!("HTTP: {what:18} {:?}", took[TIMES / 2]);
}

fn main() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let grpc = std::env::var_os("PERMAZEN_ETCD_GRPC");
    // Both in turn, as other programs may use the machine.
    for _ in 0..3 {
        measure("commit of 8 puts", |number| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            (8 * number..8 * number + 8).for_each(|at| tx.put(&key(at), &[0; 32]).unwrap());
            tx.commit().unwrap();
        });
        let tx = store.begin(&TxOptions::reading()).unwrap();
        // The first read fixes the revision.
        assert!(tx.get(b"none").unwrap().is_none());
        measure("get at a revision", |number| assert!(tx.get(&key(number)).unwrap().is_some()));
        if let Some(grpc) = &grpc {
            let port = cluster.endpoints()[0];
            assert!(
                Command::new(grpc).arg(format!("127.0.0.1:{port}")).status().unwrap().success()
            );
        }
    }
}
