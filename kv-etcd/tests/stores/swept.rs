//! The tombstones of removed keys, and the records that a sweep removes.

use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvTransaction, KvWrite, TxOptions,
};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

fn put(store: &EtcdStore, keys: &[&[u8]]) {
    store.write(|tx| keys.iter().try_for_each(|key| tx.put(key, b"value"))).unwrap();
}

fn remove(store: &EtcdStore, min: &[u8], max: &[u8]) {
    store.write(|tx| tx.remove_span(KeySpan::new(min, Some(max)))).unwrap();
}

fn writing(store: &EtcdStore) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::writing()).unwrap()
}

fn keys(tx: &dyn KvRead, direction: Direction) -> Vec<Vec<u8>> {
    let scan = tx.scan(KeySpan::FULL, direction).unwrap();
    scan.map(|pair| pair.unwrap().0.into_owned()).collect()
}

#[test]
fn a_removed_key_is_noticed_by_transactions_that_have_read_it() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    for swept in [0, 1, 2] {
        put(&store, &[b"m", b"n"]);
        let (mut reader, mut scanner, mut stranger) =
            (writing(&store), writing(&store), writing(&store));
        assert!(reader.get(b"m").unwrap().is_some());
        assert_eq!(keys(&*scanner, Direction::Forward).len(), 2);
        assert!(stranger.get(b"z").unwrap().is_none());
        remove(&store, b"m", b"n");
        for _ in 0..swept {
            store.sweep().unwrap();
        }
        for tx in [&mut reader, &mut scanner, &mut stranger] {
            tx.put(b"other", b"").unwrap();
        }
        let error = reader.commit().unwrap_err();
        assert!(error.is_retryable(), "{swept}: {error}");
        let error = scanner.commit().unwrap_err();
        assert!(error.is_retryable(), "{swept}: {error}");
        // One sweep does not end transactions that are under way; two do.
        match (swept, stranger.commit()) {
            (2, Err(error)) => {
                assert!(error.is_retryable() && error.to_string().contains("horizon"), "{error}");
            }
            (_, done) => done.unwrap(),
        }
        remove(&store, b"n", b"zz");
    }
}

#[test]
fn all_that_is_not_needed_is_swept() {
    let Some(cluster) = Etcd::shared() else { return };
    let url = cluster.new_prefix();
    let store = EtcdStore::open(&url).unwrap();
    put(&store, &[b"a", b"b", b"c", b"d", b"e"]);
    remove(&store, b"b", b"e");
    // It is there again, and must stay.
    put(&store, &[b"c"]);
    assert_eq!(store.sweep().unwrap(), 0);
    put(&store, &[b"f"]);
    // Three tokens, and the tombstones of b and d.
    assert_eq!(store.sweep().unwrap(), 5);
    assert_eq!(store.sweep().unwrap(), 1);
    assert_eq!(store.sweep().unwrap(), 0);
    let tx = writing(&store);
    assert_eq!(keys(&*tx, Direction::Forward), [b"a", b"c", b"e", b"f"]);
}

#[test]
fn many_removed_keys_hide_none() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let many: Vec<Vec<u8>> = (0..3_000_u16).map(|key| key.to_be_bytes().to_vec()).collect();
    put(&store, &many.iter().map(Vec::as_slice).collect::<Vec<_>>());
    put(&store, &[b"\x00\x00\x00", b"\xf0"]);
    remove(&store, &[0, 0, 1], &[0xf0]);
    remove(&store, &[], &[0, 0, 0]);
    let expected = [&b"\x00\x00\x00"[..], b"\xf0"];
    let tx = writing(&store);
    assert_eq!(tx.at_least(&[0, 0, 1], None).unwrap().unwrap().0, expected[1]);
    assert_eq!(tx.at_most(&[], Some(&[0xf0])).unwrap().unwrap().0, expected[0]);
    assert!(tx.at_least(&[0, 0, 1], Some(&[0xf0])).unwrap().is_none());
    for fresh in [true, false] {
        let tx = if fresh { &*writing(&store) } else { &*tx };
        let mut found = keys(tx, Direction::Forward);
        assert_eq!(found, expected);
        found = keys(tx, Direction::Reverse);
        found.reverse();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_key_that_must_be_new_may_have_been_removed() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    put(&store, &[b"old", b"there"]);
    remove(&store, b"old", b"p");
    let put_new = |keys: &[&[u8]]| {
        let mut tx = writing(&store);
        keys.iter().for_each(|key| assert!(tx.put_new(key, b"new").unwrap()));
        tx.commit()
    };
    put_new(&[b"old", b"never"]).unwrap();
    let error = put_new(&[b"fresh", b"there"]).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("must be new"), "{error}");
    let error = put_new(&[b"old"]).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("must be new"), "{error}");
    assert_eq!(keys(&*writing(&store), Direction::Forward), [&b"never"[..], b"old", b"there"]);
}
