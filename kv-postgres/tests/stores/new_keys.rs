//! Pairs that are inserted, because they cannot be there, and pairs that are put, because they may
//! be.

use permazen_kv::{KvDatabase, KvDatabaseExt, KvWrite, Result, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

const ID: &[u8] = b"12345678";

/// Commits the writes of `write` to a store that has an index entry of an object that does not
/// exist.
fn commit(write: impl FnOnce(&mut dyn KvWrite) -> Result<()>) -> Option<(Result<()>, Vec<u8>)> {
    let store = PostgresStore::open(&Postgres::shared()?.new_table()).unwrap();
    let entry = [b"index", ID].concat();
    store.write(|tx| tx.put(&entry, b"stale")).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    write(&mut *tx).unwrap();
    let committed = tx.commit();
    let found = store.read(|tx| Ok(tx.get(&entry)?.unwrap().into_owned())).unwrap();
    Some((committed, found))
}

/// A transaction that runs again draws another ID.
#[test]
fn what_ends_with_a_new_key_must_be_new_as_well() {
    let written = commit(|tx| {
        assert!(tx.put_new(ID, b"")?);
        tx.put(b"index", b"")?;
        tx.put(&[ID, b"field"].concat(), b"")?;
        tx.put(&[b"index", ID].concat(), b"")
    });
    let Some((committed, found)) = written else { return };
    assert!(committed.unwrap_err().is_retryable());
    assert_eq!(found, b"stale");
}

/// The program has chosen this ID, and would choose it again.
#[test]
fn what_ends_with_another_key_may_be_there() {
    for is_other_new in [false, true] {
        let written = commit(|tx| {
            assert!(!is_other_new || tx.put_new(b"87654321", b"")?);
            tx.put(ID, b"")?;
            tx.put(&[b"index", ID].concat(), b"new")
        });
        let Some((committed, found)) = written else { return };
        committed.unwrap();
        assert_eq!(found, b"new");
    }
}

/// Neither keys that the transaction has removed before nor keys beside new keys of several lengths
/// count as new.
#[test]
fn what_was_removed_may_be_there() {
    for (is_removed, other) in [(true, None), (false, Some(b"longer than that"))] {
        let written = commit(|tx| {
            assert!(tx.put_new(ID, b"")?);
            if let Some(other) = other {
                assert!(tx.put_new(other, b"")?);
            }
            let entry = [b"index", ID].concat();
            if is_removed {
                tx.remove(&entry)?;
            }
            tx.put(&entry, b"new")
        });
        let Some((committed, found)) = written else { return };
        committed.unwrap();
        assert_eq!(found, b"new");
    }
}
