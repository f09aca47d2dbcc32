//! Children that are made with `fork` while a store on a server is open.

use permazen::kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, Result, TxOptions};

#[path = "../../../kv/tests/support/in_a_child.rs"]
mod in_a_child;

use in_a_child::holds_in_a_child;

#[track_caller]
fn is_refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it is not refused") };
    assert!(matches!(error, KvError::Forked { .. }), "{error:?}");
    assert!(!error.is_retryable());
}

/// A child cannot use what its parent has open; what the child drops stays as it is for the parent.
/// The child can open the store for itself.
pub(crate) fn a_child_leaves_the_store_to_its_parent<S: KvDatabase>(open: impl Fn() -> S) {
    let mut mine = Some(open());
    let store = mine.as_ref().unwrap();
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    // One transaction has asked the server, and the other has not yet.
    for asks in [true, false] {
        for ends in [Some(true), Some(false), None] {
            let begin = |options: TxOptions| store.begin(&options).unwrap();
            let mut writer = Some(begin(TxOptions::writing()));
            let reader = begin(TxOptions::reading());
            if asks {
                writer.as_ref().unwrap().get(b"key").unwrap();
                reader.get(b"key").unwrap();
            }
            assert!(holds_in_a_child(60, || {
                is_refused(store.begin(&TxOptions::reading()).map(drop));
                is_refused(store.begin(&TxOptions::writing()).map(drop));
                is_refused(store.write(|tx| tx.put(b"theirs", b"")));
                is_refused(reader.get(b"other"));
                let mut writer = writer.take().unwrap();
                is_refused(writer.get(b"other"));
                match ends {
                    Some(true) => {
                        // Nothing is sent before the commit.
                        let _ = writer.put(b"theirs", b"");
                        is_refused(writer.commit());
                    }
                    Some(false) => writer.rollback(),
                    None => drop(writer),
                }
                true
            }));
            assert!(reader.get(b"theirs").unwrap().is_none());
            let mut writer = writer.unwrap();
            writer.put(b"mine", b"").unwrap();
            writer.commit().unwrap();
        }
    }
    assert!(holds_in_a_child(60, || {
        drop(mine.take());
        let anew = open();
        anew.write(|tx| tx.put(b"theirs", b"")).unwrap();
        anew.read(|tx| Ok(tx.get(b"mine")?.is_some())).unwrap()
    }));
    let store = mine.unwrap();
    assert!(store.read(|tx| Ok(tx.get(b"theirs")?.is_some())).unwrap());
    store.write(|tx| tx.put(b"last", b"")).unwrap();
}
