//! Connections that are encrypted, to servers that prove who they are.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvTransaction, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

#[test]
fn a_server_must_prove_who_it_is() {
    let Some(cluster) = Etcd::start_with_certificate(&["--max-request-bytes=8388608"]) else {
        return;
    };
    let (certificate, port) = cluster.certificate();
    let wait = Duration::from_secs(10);
    let open = |host: &str, with: &str| {
        EtcdStore::builder().wait(wait).open(&format!("etcd://{host}:{port}/music?{with}"))
    };
    let own = format!("cacert={}", certificate.display());
    let store = open("localhost", &own).unwrap();
    // More than a record, each way, and more than once on a connection.
    let value = vec![7; 1 << 20];
    for _ in 0..3 {
        store.write(|tx| tx.put(b"key", &value)).unwrap();
        let read = store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap();
        assert_eq!(read, value);
    }
    // Others write while somebody listens.
    let watch = store.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert!(watch.wait_timeout(wait).unwrap());
    assert!(open("localhost", "tls=unverified").is_ok());
    // A name that the certificate does not have, and a certificate that nobody trusts.
    let error = open("127.0.0.1", &own).unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("certificate"), "{error}");
    let error = open("localhost", "tls=on").unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("in cacert"), "{error}");
    let error = open("localhost", "cacert=/does/not/exist").unwrap_err();
    assert!(error.to_string().contains("/does/not/exist"), "{error}");
    // The server takes nobody without it. It says nothing of why.
    let url = format!("etcd://localhost:{port}/music?tls=off");
    assert!(EtcdStore::builder().wait(Duration::from_secs(1)).open(&url).is_err());
}

#[test]
fn a_server_that_does_not_encrypt_is_refused() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let wait = Duration::from_secs(1);
    let url = format!("etcd://localhost:{port}/music?tls=on");
    assert!(EtcdStore::builder().wait(wait).open(&url).is_err());
}
