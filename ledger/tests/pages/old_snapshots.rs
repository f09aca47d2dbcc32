//! A snapshot that is open for long does not make the file of an LMDB host grow, as a transaction
//! of the host does.

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Durability, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{MAIN, PageId, Repository, Retention};

/// The transaction or snapshot that is open while a page is changed again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Open {
    Nothing,
    Snapshot,
    TransactionOfHost,
}

/// The length of the file after many changes.
fn file_after_changes(open: Open) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let host = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(dir.path())
        .unwrap();
    let builder = Repository::builder(host.clone()).exclusive().manual_maintenance();
    let page = builder.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Heads).unwrap();
    let db = page.database(MAIN).unwrap();
    let put_all = |round: u32| {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (0..2_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[round as u8; 50]).unwrap());
        tx.commit().unwrap();
        page.collect().unwrap();
    };
    put_all(0);
    let snapshot = || page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let snapshot = (open == Open::Snapshot).then(snapshot);
    let transaction = || {
        let tx = host.begin(&TxOptions::reading()).unwrap();
        // It begins with its first read.
        assert!(tx.get(&[0]).unwrap().is_some());
        tx
    };
    let transaction = (open == Open::TransactionOfHost).then(transaction);
    (1..40).for_each(put_all);
    if let Some(snapshot) = snapshot {
        let value = snapshot.get(&77_u32.to_be_bytes()).unwrap();
        assert_eq!(value.as_deref(), Some(&[0; 50][..]));
    }
    drop(transaction);
    std::fs::metadata(dir.path().join("data.mdb")).unwrap().len()
}

#[test]
fn an_open_snapshot_does_not_make_the_file_grow() {
    let [nothing, snapshot, transaction] =
        [Open::Nothing, Open::Snapshot, Open::TransactionOfHost].map(file_after_changes);
    // The snapshot keeps one version more: the nodes of one commit.
    assert!(snapshot < 3 * nothing, "{snapshot} bytes, without it {nothing}");
    assert!(transaction > 5 * snapshot, "{transaction} bytes, with a snapshot {snapshot}");
}
