//! Rows 38 to 58: commits, and the rows that they write.

use permazen_kv::counting::CountingStore;
use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Digest, Kind, LastWriterWins, LedgerError, MAIN, Origin, PageId, Repository, decoders,
};

use super::setting::{ALL, Setting, content, noise, pairs};

#[test]
fn t038_a_new_page_is_at_the_first_commit() {
    let setting = Setting::new();
    let first = CommitId(Digest([0; 32]));
    assert_eq!(setting.page.branches().unwrap(), [(MAIN.to_owned(), vec![first])]);
    assert_eq!(setting.page.commit(&first).unwrap(), None);
    assert_eq!(setting.page.log(first).unwrap().count(), 0);
    let next = setting.put(b"key", b"value");
    assert_eq!(setting.page.commit(&next).unwrap().unwrap().generation, 1);
}

#[test]
fn t039_the_id_of_a_commit_is_the_digest_of_its_bytes() {
    let setting = Setting::new();
    let id = setting.put(b"key", b"value");
    let rows = setting.rows(&[0x22]);
    let (key, row) = rows.first_key_value().unwrap();
    // After the commit are the number of its pieces and the checksum.
    let bytes = &row[..row.len() - 8];
    assert_eq!(key[1..], id.0.0);
    assert_eq!(Kind::Commit.digest(bytes), id.0);
    assert_eq!(decoders::commit(bytes).as_deref(), Some(bytes));
}

#[test]
fn t040_a_merge_is_one_generation_above_its_higher_parent() {
    let setting = Setting::new();
    setting.branch("other");
    for number in 0..7 {
        setting.put(b"here", &[number]);
    }
    for number in 0..3 {
        setting.put_on("other", b"there", &[number]);
    }
    let merge = setting.merge("other");
    assert_eq!(setting.page.commit(&merge).unwrap().unwrap().generation, 8);
}

#[test]
fn t041_a_merge_has_the_later_time_and_nothing_random() {
    let setting = Setting::new();
    setting.branch("other");
    let heads = [setting.put(b"here", b"1"), setting.put_on("other", b"there", b"2")];
    let merge = setting.page.commit(&setting.merge("other")).unwrap().unwrap();
    let times = heads.map(|head| setting.page.commit(&head).unwrap().unwrap().time);
    assert_eq!(merge.time, times[0].max(times[1]));
    let Origin::Merge { parents } = merge.origin else { panic!("{merge:?}") };
    assert_eq!(parents, [heads[0].min(heads[1]), heads[0].max(heads[1])]);
}

/// A copy of all rows.
fn copy(setting: &Setting) -> MemoryStore {
    let copy = MemoryStore::new();
    let mut tx = copy.begin(&TxOptions::writing()).unwrap();
    let all = super::setting::pairs(
        &setting.host.snapshot(),
        super::setting::ALL,
        permazen_kv::Direction::Forward,
    );
    all.iter().for_each(|(key, row)| tx.put(key, row).unwrap());
    tx.commit().unwrap();
    copy
}

#[test]
fn t042_the_same_merge_elsewhere_is_the_same_commit() {
    let setting = Setting::new();
    setting.put(b"both", b"0");
    setting.branch("other");
    setting.put(b"both", b"1");
    setting.put_on("other", b"both", b"2");
    let elsewhere = Repository::open(copy(&setting)).unwrap().page("test", PageId::ROOT).unwrap();
    // The other way round: into the other branch.
    let from = elsewhere.head(MAIN).unwrap();
    let theirs = elsewhere.merge("other", &from, &mut LastWriterWins).unwrap();
    assert_eq!(setting.merge("other"), theirs);
}

#[test]
fn t043_the_same_change_elsewhere_is_another_commit_with_the_same_root() {
    let setting = Setting::new();
    let elsewhere = Setting::new();
    let (ours, theirs) = (setting.put(b"key", b"value"), elsewhere.put(b"key", b"value"));
    assert_ne!(ours, theirs);
    assert_eq!(setting.root(), elsewhere.root());
}

#[test]
fn t044_what_comes_and_goes_in_a_transaction_makes_no_commit() {
    let setting = Setting::new();
    let before = setting.put(b"other", b"1");
    let after = setting.write(MAIN, |tx| {
        tx.put(b"key", b"value").unwrap();
        tx.remove(b"key").unwrap();
    });
    assert_eq!(after, before);
}

#[test]
fn t045_after_everything_is_removed_a_put_stays() {
    let setting = Setting::new();
    for key in 0..9 {
        setting.put(&[key], b"");
    }
    setting.write(MAIN, |tx| {
        tx.remove_span(KeySpan::new(b"", None)).unwrap();
        tx.put(b"a", b"1").unwrap();
    });
    assert_eq!(setting.content().into_keys().collect::<Vec<_>>(), [b"a"]);
}

#[test]
fn t046_what_was_put_before_everything_was_removed_is_gone() {
    let setting = Setting::new();
    setting.write(MAIN, |tx| {
        tx.put(b"a", b"1").unwrap();
        tx.remove_span(KeySpan::new(b"", None)).unwrap();
        tx.put(b"b", b"2").unwrap();
    });
    assert_eq!(setting.content().into_keys().collect::<Vec<_>>(), [b"b"]);
}

#[test]
fn t047_a_transaction_that_did_not_end_leaves_nothing() {
    let setting = Setting::new();
    setting.put(b"key", b"1");
    let before = copy(&setting).snapshot();
    let db = setting.page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", &[7; 100_000]).unwrap();
    let other = copy(&setting);
    let all =
        |read| super::setting::pairs(read, super::setting::ALL, permazen_kv::Direction::Forward);
    assert_eq!(all(&before), all(&other.snapshot()));
    let page = Repository::open(other).unwrap().page("test", PageId::ROOT).unwrap();
    assert_eq!(content(&page, &page.head(MAIN).unwrap())[&b"key"[..]], b"1");
}

#[test]
fn t048_a_commit_has_one_parent_or_two() {
    let setting = Setting::new();
    setting.branch("other");
    setting.put(b"here", b"1");
    setting.put_on("other", b"there", b"2");
    let merge = setting.merge("other");
    let row = setting.rows(&[&[0x22][..], &merge.0.0].concat()).into_values().next().unwrap();
    let bytes = row[..row.len() - 8].to_vec();
    assert!(decoders::commit(&bytes).is_some());
    // The number of parents comes after version, flags, time, generation and root.
    for count in [0, 1, 3] {
        let mut other = bytes.clone();
        other[50] = count;
        assert!(decoders::commit(&other).is_none(), "{count} parents");
        other.resize(51 + usize::from(count) * 32, 0xee);
        assert!(decoders::commit(&other).is_none(), "{count} parents");
    }
}

#[test]
fn t050_a_commit_that_comes_twice_is_added_once() {
    let (setting, elsewhere) = (Setting::new(), Setting::new());
    let first = elsewhere.put(b"key", &noise(20_000, 50));
    let second = elsewhere.put(b"key", b"value");
    let from = elsewhere.page.remote();
    let mut receiver = setting.page.receive();
    let mut add = |id: &CommitId| {
        let commit = from.commit_bytes(id).unwrap().unwrap();
        while let wanted = receiver.wanted(&commit).unwrap()
            && !wanted.is_empty()
        {
            for (kind, digest) in wanted {
                receiver.add_piece(kind, from.piece_bytes(&digest).unwrap().unwrap()).unwrap();
            }
        }
        receiver.add_commit(id, &commit).unwrap();
        setting.rows(&[])
    };
    add(&first);
    let before = add(&second);
    assert!(add(&second) == before && add(&first) == before);
    // Also with all pieces again, and from another receiver.
    let mut receiver = setting.page.receive();
    for (kind, bytes) in [(Kind::Node, 1), (Kind::Chunk, 2), (Kind::Index, 3)]
        .into_iter()
        .flat_map(|(kind, byte)| elsewhere.pieces(byte).into_iter().map(move |bytes| (kind, bytes)))
    {
        receiver.add_piece(kind, bytes).unwrap();
    }
    for id in [first, second] {
        receiver.add_commit(&id, &from.commit_bytes(&id).unwrap().unwrap()).unwrap();
    }
    assert!(setting.rows(&[]) == before);
    // A commit that was made here is no other one.
    let ours = setting.put(b"ours", b"1");
    let before = setting.rows(&[]);
    let bytes = setting.page.remote().commit_bytes(&ours).unwrap().unwrap();
    receiver.add_commit(&ours, &bytes).unwrap();
    assert!(setting.rows(&[]) == before);
    assert!(setting.page.verify().unwrap().findings.is_empty());
}

#[test]
fn t051_a_commit_writes_these_rows() {
    let setting = Setting::new();
    let first = setting.put(b"key", b"1");
    let before = setting.rows(&[]);
    let second = setting.put(b"key", b"2");
    let after = setting.rows(&[]);
    let new: Vec<u8> =
        after.keys().filter(|key| !before.contains_key(*key)).map(|key| key[0]).collect();
    // The head, the commit and a leaf; the counts have changed, and the former head is gone.
    assert_eq!(new, [0x20, 0x22, 0x23]);
    let gone: Vec<_> = before.keys().filter(|key| !after.contains_key(*key)).collect();
    assert_eq!(gone, [&[&[0x20][..], b"main\0", &first.0.0].concat()]);
    assert!(after.contains_key(&[&[0x20][..], b"main\0", &second.0.0].concat()));
    let changed = before.iter().filter(|(key, row)| after.get(*key).is_some_and(|now| now != *row));
    assert_eq!(changed.map(|(key, _)| key[0]).collect::<Vec<_>>(), [0x32]);
}

#[test]
fn t051_a_commit_with_a_remote_and_with_reference_rows_writes_these_too() {
    let setting = Setting::new();
    setting.page.set_reference_rows(true).unwrap();
    setting.page.remote().attach().unwrap();
    let first = setting.put(b"key", b"1");
    let before = setting.rows(&[]);
    let second = setting.put(b"key", b"2");
    let after = setting.rows(&[]);
    let new: Vec<_> = after.iter().filter(|(key, _)| !before.contains_key(*key)).collect();
    // The head, the commit, a leaf, its reference row, the commit and the leaf that are not at the
    // remote.
    let firsts: Vec<u8> = new.iter().map(|(key, _)| key[0]).collect();
    assert_eq!(firsts, [0x20, 0x22, 0x23, 0x24, 0x25, 0x27]);
    let root = setting.root();
    assert_eq!(*new[3].0, [&[0x24][..], &root.0, &[2], &second.0.0].concat());
    assert_eq!(*new[4].0, [&[0x25][..], &second.0.0].concat());
    assert_eq!(new[4].1[..8], 2_u64.to_be_bytes());
    assert_eq!(*new[5].0, [&[0x27][..], &root.0].concat());
    let gone: Vec<_> = before.keys().filter(|key| !after.contains_key(*key)).collect();
    assert_eq!(gone, [&[&[0x20][..], b"main\0", &first.0.0].concat()]);
    let changed = before.iter().filter(|(key, row)| after.get(*key).is_some_and(|now| now != *row));
    assert_eq!(changed.map(|(key, _)| key[0]).collect::<Vec<_>>(), [0x32]);
}

#[test]
fn t052_a_merge_has_a_row_with_the_smaller_parent_first() {
    let setting = Setting::new();
    setting.branch("other");
    let heads = [setting.put(b"here", b"1"), setting.put_on("other", b"there", b"2")];
    let merge = setting.merge("other");
    let (first, second) = (heads[0].min(heads[1]), heads[0].max(heads[1]));
    let key = [&[0x21][..], &first.0.0, &second.0.0, &merge.0.0].concat();
    assert_eq!(setting.rows(&[0x21]).into_keys().collect::<Vec<_>>(), [key]);
}

#[test]
fn t054_a_short_value_has_no_row() {
    let setting = Setting::new();
    setting.put(b"key", b"short");
    // A head, a commit, its leaf, parameters and counts.
    let rows: Vec<u8> = setting.rows(&[]).into_keys().map(|key| key[0]).collect();
    assert_eq!(rows, [0x20, 0x22, 0x23, 0x2b, 0x2f, 0x32]);
}

/// All rows of a host.
fn all_rows(host: &MemoryStore) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs(&host.snapshot(), ALL, Direction::Forward)
}

#[test]
fn t058_when_the_host_fails_nothing_has_happened() {
    for n in 1.. {
        let host = MemoryStore::new();
        let failing = FaultStore::new(host.clone());
        let faults = failing.faults();
        let repository =
            Repository::builder(failing).manual_maintenance().open_or_create().unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        let mut watcher = page.watch(MAIN, b"").unwrap();
        let db = page.database(MAIN).unwrap();
        let before = all_rows(&host);
        faults.fail_nth(n, || KvError::Stale("broken".into()));
        let mut tx = match db.begin(&TxOptions::writing()) {
            Ok(tx) => tx,
            Err(_) => {
                assert_eq!(faults.hits(), 1);
                assert!(all_rows(&host) == before, "operation {n}");
                continue;
            }
        };
        tx.put(b"key", &[7; 5_000]).unwrap();
        let result = tx.commit();
        let hits = faults.hits();
        faults.fail_nth(u64::MAX, || KvError::Stale("never".into()));
        match result {
            Ok(()) => {
                assert!(hits > 0 || n > 5, "{n}");
                if hits == 0 {
                    break;
                }
            }
            Err(_) => {
                assert_eq!(page.head(MAIN).unwrap(), CommitId::FIRST, "operation {n}");
                assert!(all_rows(&host) == before, "operation {n}");
                let told = watcher.next(std::time::Duration::ZERO).unwrap();
                assert!(told.is_none(), "operation {n}");
            }
        }
    }
}

#[test]
fn a_commit_with_an_unknown_parent_is_refused() {
    let setting = Setting::new();
    let elsewhere = Setting::with_secret(2);
    let unknown = elsewhere.put(b"key", b"value");
    let before = setting.rows(&[]);
    let error = setting.page.merge(MAIN, &unknown, &mut LastWriterWins).unwrap_err();
    assert!(matches!(error, LedgerError::NoCommit { commit, .. } if commit == unknown), "{error}");
    assert!(matches!(
        setting.page.create_branch("other", &unknown),
        Err(LedgerError::NoCommit { .. })
    ));
    assert_eq!(setting.rows(&[]), before);
}

#[test]
fn a_search_for_what_two_commits_have_in_common_gets_each_once() {
    let setting = Setting::new();
    let base = setting.put(b"key", b"base");
    setting.branch("other");
    for number in 0..100 {
        setting.put(b"key", &[number]);
    }
    let merge = |from| {
        let store = CountingStore::new(setting.host.clone());
        let counter = store.counter();
        let repository =
            Repository::builder(store).exclusive().manual_maintenance().open().unwrap();
        let page = repository.page("test", PageId::ROOT).unwrap();
        counter.take();
        page.merge(MAIN, from, &mut LastWriterWins).unwrap();
        counter.take().gets
    };
    let gets = merge(&base);
    assert!((100..115).contains(&gets), "{gets} gets");
}

#[test]
fn a_piece_that_is_damaged_is_written_again_by_a_commit_that_has_it() {
    let setting = Setting::new();
    let long = noise(30_000, 1);
    for stream in [false, true] {
        let values: [&[u8]; 2] = [&long, b"other"];
        for value in values {
            setting.put(b"key", value);
        }
        // The bytes of all pieces of the first commit, which the head does not have.
        let mut tx = setting.host.begin(&TxOptions::writing()).unwrap();
        for (key, mut row) in setting.rows(&[0x23]) {
            if row[0] == 2 {
                row[100] ^= 1;
                tx.put(&[&[0x10, 1], &key[..]].concat(), &row).unwrap();
            }
        }
        tx.commit().unwrap();
        if stream {
            let mut writer = setting.page.write_value(None).unwrap();
            std::io::Write::write_all(&mut writer, &long).unwrap();
            let value = writer.finish().unwrap();
            setting.put(b"key", value.as_bytes());
        } else {
            setting.put(b"key", &long);
        }
        let cold = setting.cold();
        let snapshot = cold.snapshot(&cold.head(MAIN).unwrap()).unwrap();
        assert!(snapshot.get(b"key").unwrap().unwrap() == long, "streamed: {stream}");
        assert_eq!(setting.page.verify().unwrap().findings, []);
        setting.put(b"key", b"other");
    }
}

#[test]
fn an_error_about_a_piece_of_a_stream_names_its_row() {
    let setting = Setting::new();
    let mut writer = setting.page.write_value(None).unwrap();
    std::io::Write::write_all(&mut writer, &noise(30_000, 1)).unwrap();
    let _value = writer.finish().unwrap();
    let (key, _) = setting.rows(&[0x26]).into_iter().next().unwrap();
    let mut hasher = blake3::Hasher::new_derive_key("permazen ledger 1: row");
    hasher.update(&1_u64.to_be_bytes()).update(&key).update(b"no");
    let row = [&b"no"[..], &hasher.finalize().as_bytes()[..4]].concat();
    let mut tx = setting.host.begin(&TxOptions::writing()).unwrap();
    tx.put(&[&[0x10, 1], &key[..]].concat(), &row).unwrap();
    tx.commit().unwrap();
    let digest = permazen_ledger::Digest::from_slice(&key[1..33]).unwrap();
    let error = setting.page.piece_status(&digest).unwrap_err();
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(error.to_string().contains(&hex), "{error} has no {hex}");
}
