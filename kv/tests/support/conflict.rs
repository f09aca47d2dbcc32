//! A conflict, on any store that can have one.
#![allow(dead_code, clippy::unwrap_used)]

use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};

/// Two transactions read and write one key. The first one runs again.
pub(crate) fn conflict_once(store: &dyn KvDatabase) {
    let mut attempts = 0;
    store
        .write(|tx| {
            attempts += 1;
            tx.get(b"key")?;
            if attempts == 1 {
                let mut other = store.begin(&TxOptions::writing())?;
                other.get(b"key")?;
                other.put(b"key", b"other")?;
                other.commit()?;
            }
            tx.put(b"key", b"")
        })
        .unwrap();
    assert_eq!(attempts, 2);
}
