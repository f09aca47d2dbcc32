//! A key that is removed is absent after the commit, also if other transactions have changed it
//! meanwhile.

use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

/// The page with the own pair says that the removed key was not there, but that key was not asked
/// for.
#[test]
fn what_was_only_read_ahead_does_not_spare_a_tombstone() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let mut tx = store.begin(&TxOptions::default()).unwrap();
    tx.put(b"a", b"own").unwrap();
    tx.remove(b"m").unwrap();
    let (key, _) = tx.at_least(b"", None).unwrap().unwrap();
    assert_eq!(&key[..], b"a");
    drop(key);
    store.write(|other| other.put(b"m", b"of another")).unwrap();
    tx.commit().unwrap();
    assert!(store.read(|tx| Ok(tx.get(b"m")?.is_none())).unwrap());
}
