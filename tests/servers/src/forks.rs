//! Children that are made with `fork` while a store on a server is open.

use std::panic::{AssertUnwindSafe, catch_unwind};

use permazen::kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, Result, TxOptions};

/// What a child that is made with `fork` says: whether its work held, without a panic and within a
/// minute.
fn holds_in_a_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: The child does its work, and ends. One that waits for what never comes is ended by
    // the alarm.
    #[allow(unsafe_code)]
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: It sets a clock of this process.
        #[allow(unsafe_code)]
        unsafe {
            libc::alarm(60);
        }
        let held = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: It ends this process, without what the parent has registered for its end.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(i32::from(!held))
        }
    }
    let mut status = 0;
    // SAFETY: It waits for a child of this process, and writes to a number.
    #[allow(unsafe_code)]
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    (ended, status) == (child, 0)
}

#[track_caller]
fn is_refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it is not refused") };
    assert!(matches!(error, KvError::Forked { .. }), "{error:?}");
    assert!(!error.is_retryable());
}

/// A child is refused what its parent has open, and what it drops is the parent's all the same. It
/// can open the store for itself.
pub fn a_child_leaves_the_store_to_its_parent<S: KvDatabase>(open: impl Fn() -> S) {
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
            assert!(holds_in_a_child(|| {
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
    assert!(holds_in_a_child(|| {
        drop(mine.take());
        let anew = open();
        anew.write(|tx| tx.put(b"theirs", b"")).unwrap();
        anew.read(|tx| Ok(tx.get(b"mine")?.is_some())).unwrap()
    }));
    let store = mine.unwrap();
    assert!(store.read(|tx| Ok(tx.get(b"theirs")?.is_some())).unwrap());
    store.write(|tx| tx.put(b"last", b"")).unwrap();
}
