//! Branches, and the prefix and read-only wrappers.

use permazen_kv::counting::CountingStore;
use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::prefix::Prefixed;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::{
    Branch, Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
    Writes,
};

fn keys(store: &dyn KvRead) -> Vec<Vec<u8>> {
    let scan = store.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.unwrap().0.into_owned()).collect()
}

fn db_with(keys: &[u8]) -> OptimisticDatabase<MemoryStore> {
    let db = OptimisticDatabase::new(MemoryStore::new());
    set(&db, keys);
    db
}

fn set(db: &dyn KvDatabase, keys: &[u8]) {
    db.write(|tx| keys.iter().try_for_each(|key| tx.put(&[*key], &[*key]))).unwrap();
}

#[test]
fn t092_a_branch_merges_if_what_it_read_is_unchanged() {
    let db = db_with(&[1, 2]);
    let mut branch = Branch::open(&db).unwrap();
    assert!(branch.get(&[1]).unwrap().is_some());
    branch.scan(KeySpan::new(&[5], Some(&[9])), Direction::Forward).unwrap().for_each(drop);
    branch.put(&[3], b"new").unwrap();
    branch.adjust_counter(&[2], 1).unwrap();
    // Key 1 changes and changes back. Key 4 changes, and was not read yet.
    db.write(|tx| tx.put(&[1], b"other")).unwrap();
    set(&db, &[1, 4]);
    assert!(branch.get(&[4]).unwrap_or_default().is_none());
    let untouched = Branch::open(&db).unwrap();
    let error = branch.merge(&db).unwrap_err();
    assert_eq!(error.error.conflict().unwrap().to_string(), "read/write conflict at 04");
    untouched.merge(&db).unwrap();
    assert_eq!(db.version(), 3);

    // The branch that could not be merged still exists.
    let branch = *error.branch;
    db.write(|tx| tx.remove(&[4])).unwrap();
    branch.merge(&db).unwrap();
    assert_eq!(keys(&db.begin(&TxOptions::reading()).unwrap()), [[1], [2], [3]]);
}

#[test]
fn t092_the_first_difference_is_named() {
    type Act = fn(&mut dyn KvWrite);
    let rows: [(Act, &str); 5] = [
        (|tx| tx.put(&[2], &[]).unwrap(), "read/write conflict at 02"),
        (|tx| tx.remove(&[2]).unwrap(), "read/remove conflict at [02]"),
        (|tx| tx.put(&[3], &[]).unwrap(), "read/write conflict at 03"),
        (|tx| tx.remove(&[8]).unwrap(), "read/remove conflict at [08]"),
        (|tx| tx.put(&[9], &[]).unwrap(), "read/write conflict at 09"),
    ];
    for single in [false, true] {
        for (act, text) in rows {
            let db = db_with(&[2, 8]);
            let mut branch = Branch::open(&db).unwrap();
            match single {
                false => drop(keys(&branch)),
                true => (0..12).for_each(|key| drop(branch.get(&[key]).unwrap())),
            }
            branch.put(&[1], &[]).unwrap();
            db.write(|mut tx| {
                act(&mut tx);
                Ok(())
            })
            .unwrap();
            let before = keys(&db.begin(&TxOptions::reading()).unwrap());
            let error: KvError = branch.merge(&db).unwrap_err().into();
            assert!(error.is_retryable());
            assert_eq!(error.conflict().unwrap().to_string(), text);
            assert_eq!(keys(&db.begin(&TxOptions::reading()).unwrap()), before);
        }
    }
}

#[test]
fn t092_a_branch_outlives_its_creator() {
    let store = MemoryStore::new();
    let mut branch = {
        let db = OptimisticDatabase::new(store.clone());
        set(&db, &[1]);
        Branch::open(&db).unwrap()
    };
    let branch = std::thread::spawn(move || {
        assert_eq!(branch.untracked().get(&[1]).unwrap().as_deref(), Some(&[1][..]));
        assert!(branch.reads().is_empty());
        branch.put(&[2], &[2]).unwrap();
        let pending = branch.pending();
        assert!(pending.writes.touches(&[2]) && pending.writes == branch.writes());
        assert_eq!(keys(&pending.base), [[1]]);
        branch
    });
    branch.join().unwrap().merge(&store).unwrap();
    assert_eq!(keys(&store.snapshot()), [[1], [2]]);
}

#[test]
fn t093_the_last_pair_of_a_branch() {
    let db = db_with(&[0x10, 0x20, 0x30]);
    let mut branch = Branch::open(&db).unwrap();
    branch.put(&[0x25], &[]).unwrap();
    branch.remove(&[0x30]).unwrap();
    let last =
        |min: &[u8], max: Option<&[u8]>| branch.at_most(min, max).unwrap().map(|(key, _)| key[0]);
    assert_eq!(last(&[], None), Some(0x25));
    assert_eq!(last(&[0x10], Some(&[0x25])), Some(0x20));
    assert_eq!(last(&[], Some(&[0x10])), None);
    assert_eq!(last(&[0x26], Some(&[0x30])), None);
}

#[test]
fn t094_a_prefix_view_stays_among_its_keys() {
    for prefix in [&b"p"[..], &[0xff], &[0xff, 0xff], &[0x12, 0xff], &[]] {
        let outer = MemoryStore::new();
        let neighbours = [&[][..], b"o\xff", b"q", &[0x12, 0xfe], &[0x13], &[0xfe, 0xff]];
        let own = |key: &[u8]| !prefix.is_empty() && !key.starts_with(prefix);
        let foreign: Vec<Vec<u8>> =
            neighbours.iter().filter(|key| own(key)).map(|key| key.to_vec()).collect();
        outer.write(|tx| foreign.iter().try_for_each(|key| tx.put(key, b"foreign"))).unwrap();

        let db = Prefixed::new(outer.clone(), prefix);
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        assert!(tx.at_least(&[], None).unwrap().is_none());
        assert!(tx.at_most(&[], None).unwrap().is_none());
        for key in [&[][..], &[0], &[0xff, 0xff]] {
            tx.put(key, &1_i64.to_be_bytes()).unwrap();
        }
        assert_eq!(keys(&tx), [&[][..], &[0], &[0xff, 0xff]]);
        let reversed: Vec<_> = tx
            .scan(KeySpan::new(&[0], None), Direction::Reverse)
            .unwrap()
            .map(|pair| pair.unwrap().0.into_owned())
            .collect();
        assert_eq!(reversed, [&[0xff, 0xff][..], &[0]]);
        assert_eq!(tx.at_least(&[0, 0], None).unwrap().unwrap().0[..], [0xff, 0xff]);
        assert_eq!(tx.at_most(&[], None).unwrap().unwrap().0[..], [0xff, 0xff]);
        assert_eq!(tx.at_most(&[], Some(&[0])).unwrap().unwrap().0[..], [0; 0]);
        assert!(tx.at_most(&[], Some(&[])).unwrap().is_none());
        assert!(tx.scan(KeySpan::new(&[1], Some(&[0])), Direction::Forward).is_err());

        let mut writes = Writes::default();
        writes.removes.add(KeySpan::new(&[0xff], None));
        writes.puts.insert(vec![7], b"x".to_vec());
        writes.adjusts.insert(vec![], 1);
        tx.apply(&writes).unwrap();
        assert_eq!(keys(&tx), [&[][..], &[0], &[7]]);
        assert_eq!(tx.get(&[]).unwrap().unwrap()[..], 2_i64.to_be_bytes());
        let snapshot = tx.snapshot().unwrap();
        tx.remove(&[7]).unwrap();
        tx.commit().unwrap();
        assert_eq!(keys(&*snapshot), [&[][..], &[0], &[7]]);

        let in_outer = keys(&outer.snapshot());
        let own_keys = [&[][..], &[0]].map(|key| [prefix, key].concat());
        let mut expected = [&foreign[..], &own_keys].concat();
        expected.sort();
        assert_eq!(in_outer, expected, "{prefix:?}");
        db.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
        assert_eq!(
            keys(&outer.snapshot()),
            foreign
                .into_iter()
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_prefix_view_knows_the_longest_key() {
    let view = Prefixed::new(MemoryStore::new().snapshot(), b"abc");
    assert_eq!(view.max_key_len(), usize::MAX - 3);
}

#[test]
#[cfg(feature = "lmdb")]
fn a_counter_whose_key_is_too_long_with_the_prefix_stays_absent() {
    let dir = tempfile::tempdir().unwrap();
    let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
    let mut tx = Prefixed::new(store, b"p").begin(&TxOptions::writing()).unwrap();
    for len in [510, 511] {
        let key = vec![7; len];
        assert!(matches!(tx.put(&key, b""), Err(KvError::KeyTooLong { max: 509, .. })));
        tx.adjust_counter(&key, 1).unwrap();
    }
    assert!(keys(&tx).is_empty());
    tx.commit().unwrap();
}

#[test]
fn t095_a_read_only_wrapper_refuses_every_change() {
    let store = MemoryStore::new();
    set(&store, &[1]);
    let db = ReadOnly(store.clone());
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert!(tx.is_read_only());
    assert_eq!(tx.get(&[1]).unwrap().as_deref(), Some(&[1][..]));
    let results = [
        tx.put(&[1], &[]),
        tx.remove(&[1]),
        tx.remove_span(KeySpan::FULL),
        tx.adjust_counter(&[1], 1),
        tx.apply(&Writes::default()),
    ];
    for result in results {
        assert!(matches!(result, Err(KvError::Unsupported(_))), "{result:?}");
    }
    // This is a change only if the key is absent.
    assert_eq!(tx.get_or_put(&[1], &[9]).unwrap().as_deref(), Some(&[1][..]));
    assert!(matches!(tx.get_or_put(&[2], &[]), Err(KvError::Unsupported(_))));
    assert_eq!(keys(&tx), [[1]]);
    tx.commit().unwrap();
    let mut snapshot = ReadOnly(store.snapshot());
    assert!(snapshot.put(&[1], &[]).is_err());
    assert_eq!(keys(&store.snapshot()), [[1]]);
}

#[test]
#[cfg(feature = "lmdb")]
fn wrappers_pass_on_a_check_of_the_structure() {
    let dir = tempfile::tempdir().unwrap();
    let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
    set(&store, &[1, 2]);
    let wrapped: [Box<dyn KvDatabase>; 5] = [
        Box::new(OptimisticDatabase::new(store.clone())),
        Box::new(Prefixed::new(store.clone(), b"p")),
        Box::new(ReadOnly(store.clone())),
        Box::new(CountingStore::new(store.clone())),
        Box::new(FaultStore::new(store.clone())),
    ];
    for store in wrapped {
        assert_eq!(store.verify().unwrap(), [""; 0]);
    }
    let without = OptimisticDatabase::new(MemoryStore::new());
    assert!(matches!(without.verify(), Err(KvError::Unsupported(_))));
}
