//! Connections that are encrypted, to servers that prove their identity.

use std::os::unix::fs::PermissionsExt;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvTransaction, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

#[test]
fn a_server_must_prove_its_identity() {
    let Some(server) = Postgres::start_with_certificate(&["fsync=off"]) else { return };
    let wait = std::time::Duration::from_secs(10);
    let open = |host: &str, with: &str| {
        let url = format!("postgres://test@{host}:{}/test?{with}", server.port());
        PostgresStore::builder().wait(wait).open(&url)
    };
    let certificate = server.certificate().display().to_string();
    let own = format!("sslrootcert={certificate}");
    let store = open("localhost", &own).unwrap();
    // More than a record, each way.
    let value = vec![7; 1 << 20];
    store.write(|tx| tx.put(b"key", &value)).unwrap();
    let read = store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap();
    assert_eq!(read, value);
    // Another program writes while a watch listens.
    let watching = open("localhost", &format!("{own}&watches=on")).unwrap();
    let watch = watching.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap();
    watching.write(|tx| tx.put(b"key", b"")).unwrap();
    assert!(watch.wait_timeout(wait).unwrap());
    assert!(open("localhost", "sslmode=require").is_ok());
    // Any name is accepted if the authority has signed the certificate.
    assert!(open("127.0.0.1", &format!("{own}&sslmode=verify-ca")).is_ok());
    let error = open("127.0.0.1", "sslmode=verify-ca").unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("in sslrootcert"), "{error}");
    // A name that the certificate does not have, and a certificate that is not trusted.
    let error = open("127.0.0.1", &own).unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("certificate"), "{error}");
    let error = open("localhost", "sslmode=verify-full").unwrap_err();
    assert!(!error.is_retryable() && error.to_string().contains("in sslrootcert"), "{error}");
    let error = open("localhost", "sslrootcert=/does/not/exist").unwrap_err();
    assert!(error.to_string().contains("/does/not/exist"), "{error}");
    // The server accepts no connection without encryption.
    let error = open("localhost", "sslmode=disable").unwrap_err();
    assert!(error.to_string().contains("SQLSTATE 28000"), "{error}");
}

#[test]
fn a_program_proves_its_identity() {
    let settings = ["fsync=off", "ssl_ca_file=server.crt"];
    let Some(server) = Postgres::start_with_certificate(&settings) else { return };
    let certificate = server.certificate();
    let folder = certificate.parent().unwrap();
    let rules = "hostssl all all all trust clientcert=verify-ca\nlocal all all trust\n";
    std::fs::write(folder.join("pg_hba.conf"), rules).unwrap();
    server.sql("SELECT pg_reload_conf()");
    let url = format!("postgres://test@localhost:{}/test", server.port());
    let path = |name: &str| folder.join(name).display().to_string();
    let builder = || PostgresStore::builder().setting("sslrootcert", path("server.crt"));
    // The server reads its rules anew when it can.
    let begun = std::time::Instant::now();
    let error = loop {
        match builder().open(&url) {
            Ok(_) => assert!(begun.elapsed() < std::time::Duration::from_secs(60)),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("sslcert and sslkey"), "{error}");
    let trusted = builder().setting("sslcert", path("server.crt"));
    let store = trusted.setting("sslkey", path("server.key")).open(&url).unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();

    // A certificate of another authority.
    let own = tempfile::tempdir().unwrap();
    let mut make = std::process::Command::new("openssl");
    make.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=eve"]);
    make.args(["-keyout", "eve.key", "-out", "eve.crt"]).current_dir(own.path());
    assert!(make.output().unwrap().status.success());
    let path = |name: &str| own.path().join(name).display().to_string();
    let begun = std::time::Instant::now();
    let strange = builder().setting("sslcert", path("eve.crt")).setting("sslkey", path("eve.key"));
    let wait = std::time::Duration::from_secs(120);
    let error = strange.wait(wait).open(&url).unwrap_err();
    assert!(begun.elapsed() < wait, "{error}");
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error:?}");
    let refused = format!("the server refuses the certificate {} of sslcert", path("eve.crt"));
    assert!(error.to_string().contains(&refused), "{error}");

    // A key that needs a password, and one that others can read.
    let key = |name: &str| {
        let builder = builder().setting("sslcert", path("eve.crt")).setting("sslkey", path(name));
        builder.wait(wait).open(&url).unwrap_err()
    };
    let mut make = std::process::Command::new("openssl");
    make.args(["pkcs8", "-topk8", "-in", "eve.key", "-passout", "pass:x", "-out", "secret.key"]);
    assert!(make.current_dir(own.path()).output().unwrap().status.success());
    let only_mine = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path("secret.key"), only_mine).unwrap();
    let error = key("secret.key");
    assert!(error.to_string().contains("the key is encrypted"), "{error}");
    std::fs::set_permissions(path("eve.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = key("eve.key");
    assert!(matches!(error, KvError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("others can read the key"), "{error}");
}

#[test]
fn a_server_that_does_not_encrypt_is_refused() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = format!("postgres://test@localhost:{}/test?sslmode=require", server.port());
    let error = PostgresStore::open(&url).unwrap_err();
    assert!(error.to_string().contains("does not encrypt"), "{error}");
}
