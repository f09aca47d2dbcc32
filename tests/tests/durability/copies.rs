//! Compacting copies while another thread continues to write, in a process that is killed. The
//! source stays undamaged, and a copy is complete or does not exist.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use permazen::kv::lmdb::LmdbStore;
use permazen::object::Database;

use crate::model::Model;
use crate::processes::{Role, Store, commit_until, inspect, say};
use crate::random::{Random, seed, setting};
use crate::workload::Workload;

/// Makes one copy after the other beside the store, while a thread writes to the store.
pub(crate) fn child(path: &Path, workload: Workload) {
    let store = LmdbStore::open_or_create(path).unwrap();
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let db = Database::new(Arc::new(store.clone()));
        let enough = &enough;
        scope.spawn(move || commit_until(&db, workload, &|| enough.load(Ordering::Relaxed)));
        for number in 1.. {
            store.copy_to(path.with_file_name(format!("copy-{number}"))).unwrap();
            say(&format!("copied {number}"));
        }
    });
}

#[test]
fn kills_while_a_copy_is_made() {
    let seed = seed("copies");
    let mut random = Random::new(seed, 0);
    let (mut whole, mut absent) = (0, 0);
    for round in 0..setting("PERMAZEN_KILLS").map_or(10, |kills| kills.div_ceil(20)) {
        let when = format!("PERMAZEN_SEED={seed}, round {round}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let workload = Workload { seed: seed.wrapping_add(round), partition: 0, large: true };
        let role = Role { name: "copy", store: Store::Lmdb, path: path.clone(), workload };
        let mut process = role.start();
        (0..1 + random.below(3)).for_each(|_| process.wait_for("copied"));
        let ended = process.kill(Duration::from_micros(random.below(15_000)));
        let found = inspect(Store::Lmdb.create(&path).unwrap(), workload, &when);
        let acknowledged = ended.last("committed ");
        assert!((acknowledged..=acknowledged + 1).contains(&found.last), "{when}");
        assert_eq!(found, Model::after(workload, found.last), "{when}");
        let copied = ended.last("copied ");
        for number in 1..=copied + 1 {
            let copy = path.with_file_name(format!("copy-{number}"));
            match LmdbStore::open(&copy) {
                Ok(store) => {
                    // The copy has some state that the source has had.
                    let held = inspect(Arc::new(store), workload, &when);
                    assert!(held.last <= found.last, "{when}, copy {number}");
                    assert_eq!(held, Model::after(workload, held.last), "{when}, copy {number}");
                    whole += 1;
                }
                Err(_) => {
                    assert_eq!(number, copied + 1, "{when}: a copy that was reported is not there");
                    assert!(!copy.join("data.mdb").exists());
                    absent += 1;
                }
            }
        }
    }
    assert!(whole > 0 && absent > 0, "{whole} copies, {absent} unfinished");
}
