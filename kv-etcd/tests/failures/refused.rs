//! Users without a password, without a right, and with both.

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

/// Text as it travels: these have no length that needs more.
fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| char::from(LETTERS[(bits & 63) as usize]);
    text.as_bytes()
        .chunks(3)
        .flat_map(|three| {
            let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| letter(bits >> shift))
        })
        .collect()
}

#[test]
fn rights_are_those_of_the_user() {
    let Some(cluster) = Etcd::start(1, &["--auth-token-ttl=1"]) else { return };
    let port = cluster.endpoints()[0];
    let post = |path: &str, body: String| {
        let answer = crate::support::post(port, path, "", &body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
    };
    for user in ["root", "ann", "eve"] {
        post("auth/user/add", format!(r#"{{"name":"{user}","password":"of {user}"}}"#));
        post("auth/role/add", format!(r#"{{"name":"{user}"}}"#));
        post("auth/user/grant", format!(r#"{{"user":"{user}","role":"{user}"}}"#));
    }
    // All keys that begin with `cities`, and no others.
    let range = format!(r#""key":"{}","range_end":"{}""#, base64("cities"), base64("citiet"));
    for (user, rights) in [("ann", "READWRITE"), ("eve", "READ")] {
        post(
            "auth/role/grant",
            format!(r#"{{"name":"{user}","perm":{{"permType":"{rights}",{range}}}}}"#),
        );
    }
    let url = |login: &str, prefix: &str| format!("etcd://{login}127.0.0.1:{port}/{prefix}");
    // A password is of no use yet, and does no harm.
    let early = EtcdStore::open(&url("ann:of%20ann@", "cities")).unwrap();
    early.write(|tx| tx.put(b"key", b"value")).unwrap();
    post("auth/enable", "{}".to_owned());
    let refused = |url: String, words: &str| {
        let error = EtcdStore::open(&url).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, KvError::Open { .. }), "{text}");
        assert!(
            text.contains(words) && !text.contains("of ann") && !text.contains("wr0ng"),
            "{text}"
        );
    };
    refused(url("", "cities"), "name one in the URL");
    refused(url("ann:wr0ng@", "cities"), "the password in the URL or in ETCD_PASSWORD");
    refused(url("ann@", "cities"), "ETCD_PASSWORD");
    refused(url("ann:of%20ann@", "others"), "read and write all keys of the prefix");
    // A store that was open before logs in now.
    early.write(|tx| tx.put(b"key", b"2")).unwrap();
    let eve = EtcdStore::open(&url("eve:of%20eve@", "cities")).unwrap();
    assert_eq!(eve.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"2");
    let mut tx = eve.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"3").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.to_string().contains("read and write all keys"), "{error}");
    // Sessions end by themselves, and begin again.
    std::thread::sleep(std::time::Duration::from_secs(3));
    early.write(|tx| tx.put(b"key", b"4")).unwrap();
    assert_eq!(eve.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"4");
    let shown = format!("{early:?} {}", early.name());
    assert!(shown.contains("ann@") && !shown.contains("of ann"), "{shown}");
}
