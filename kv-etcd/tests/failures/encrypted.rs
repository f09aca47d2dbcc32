//! Connections that are encrypted, to servers that prove their identity.

use std::path::PathBuf;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvTransaction, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, post_to_etcd};

#[test]
fn a_server_must_prove_its_identity() {
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
    // Another program writes while a watch listens.
    let watch = store.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert!(watch.wait_timeout(wait).unwrap());
    assert!(open("localhost", "tls=unverified").is_ok());
    // A name that the certificate does not have, and a certificate that is not trusted.
    let error = open("127.0.0.1", &own).unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("certificate"), "{error}");
    let error = open("localhost", "tls=on").unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("in cacert"), "{error}");
    let error = open("localhost", "cacert=/does/not/exist").unwrap_err();
    assert!(error.to_string().contains("/does/not/exist"), "{error}");
    // The server accepts no connection without encryption, and does not say why.
    let url = format!("etcd://localhost:{port}/music?tls=off");
    let error = EtcdStore::builder().wait(Duration::from_secs(5)).open(&url).unwrap_err();
    assert!(error.to_string().contains("write tls=on in the URL"), "{error}");
}

#[test]
fn a_server_that_does_not_encrypt_is_refused() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let wait = Duration::from_secs(5);
    let url = format!("etcd://localhost:{port}/music?tls=on");
    let error = EtcdStore::builder().wait(wait).open(&url).unwrap_err();
    assert!(error.to_string().contains("does not encrypt connections"), "{error}");
}

/// Where clients must have a certificate, this program shows its own. The certificate does not name
/// the user.
#[test]
fn a_client_must_prove_its_identity() {
    let Some(cluster) = Etcd::start_with_authority(&[]) else { return };
    let (_, port) = cluster.certificate();
    let trusted = format!("cacert={}", cluster.authority().display());
    let with = |(certificate, key): (PathBuf, PathBuf)| {
        format!("{trusted}&cert={}&key={}", certificate.display(), key.display())
    };
    let named = with(cluster.client_certificate("ann", "/CN=ann"));
    let nameless = with(cluster.client_certificate("music", "/O=music"));
    let open = |login: &str, with: &str| {
        let url = format!("etcd://{login}localhost:{port}/music?{with}");
        EtcdStore::builder().wait(Duration::from_secs(30)).open(&url)
    };
    let refused = |login: &str, with: &str, words: &str| {
        let error = open(login, with).unwrap_err();
        assert!(matches!(error, KvError::Open { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused("", &trusted, "as cert and key");
    refused("", &format!("{trusted}&cert=/does/not/exist&key=/nor/this"), "/does/not/exist");
    let early = open("", &named).unwrap();
    early.write(|tx| tx.put(b"key", b"value")).unwrap();
    open("", &nameless).unwrap().write(|tx| tx.put(b"key", b"2")).unwrap();
    let post = |path: &str, body: &str| {
        let answer = post_to_etcd(cluster.endpoints()[0], path, body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
    };
    post("auth/role/add", r#"{"name":"root"}"#);
    for user in ["root", "ann"] {
        post("auth/user/add", &format!(r#"{{"name":"{user}","password":"of {user}"}}"#));
        post("auth/user/grant", &format!(r#"{{"user":"{user}","role":"root"}}"#));
    }
    post("auth/enable", "{}");
    // The gateway refuses a certificate with a name instead of looking at it, with and without a
    // login.
    for login in ["", "ann:of%20ann@"] {
        refused(login, &named, "common name");
    }
    let error = early.read(|tx| Ok(tx.get(b"key")?.is_some())).unwrap_err();
    assert!(error.to_string().contains("common name"), "{error}");
    refused("ann@", &named, "ETCD_PASSWORD");
    refused("ann@", &nameless, "ETCD_PASSWORD");
    refused("", &nameless, "name one in the URL");
    let store = open("ann:of%20ann@", &nameless).unwrap();
    store.write(|tx| tx.put(b"key", b"3")).unwrap();
    assert_eq!(store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"3");
}
