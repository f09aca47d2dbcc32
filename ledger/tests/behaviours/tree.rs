//! Rows 19 to 37: trees.

use std::io::Write;

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, LedgerError, MAIN, Priority, decoders};

use super::setting::{ALL, Map, Setting, many, noise, pairs};

#[test]
fn t019_the_order_of_insertions_does_not_matter() {
    let map = many(3_000);
    let roots = [false, true].map(|reverse| {
        let setting = Setting::new();
        let mut entries: Vec<_> = map.iter().collect();
        if reverse {
            entries.reverse();
        }
        for portion in entries.chunks(if reverse { 170 } else { 1_100 }) {
            setting.write("main", |tx| {
                portion.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
            });
        }
        setting.root()
    });
    assert_eq!(roots[0], roots[1]);
}

#[test]
fn t020_what_came_and_went_leaves_nothing() {
    let setting = Setting::new();
    setting.put_all(&many(1_000));
    let before = setting.root();
    let more: Map = (0..500_u32).map(|key| (key.to_be_bytes().to_vec(), vec![7; 90])).collect();
    let more: Map = more.into_iter().filter(|(key, _)| setting.get(key).is_none()).collect();
    setting.put_all(&more);
    assert_ne!(setting.root(), before);
    setting.write("main", |tx| more.keys().for_each(|key| tx.remove(key).unwrap()));
    assert_eq!(setting.root(), before);
}

#[test]
fn t021_a_root_is_never_higher_than_its_content_needs() {
    let setting = Setting::new();
    let map = many(5_000);
    setting.put_all(&map);
    let first: Vec<_> = map.keys().skip(1).cloned().collect();
    setting.write("main", |tx| first.iter().for_each(|key| tx.remove(key).unwrap()));
    let (key, value) = map.first_key_value().unwrap();
    let small = Setting::new();
    small.put(key, value);
    assert_eq!(setting.root(), small.root());
}

#[test]
fn t022_an_empty_page_has_the_empty_node() {
    let setting = Setting::new();
    let empty = setting.root();
    setting.put(b"key", b"value");
    assert_ne!(setting.root(), empty);
    setting.remove(b"key");
    assert_eq!(setting.root(), empty);
    assert_eq!(
        empty.to_string(),
        "746ae911890ad9d8602f23d2adde8f182eaf3801c95bf31bca24756ed9a0ca24"
    );
}

#[test]
fn t023_the_same_value_again_makes_no_commit() {
    let setting = Setting::new();
    let before = setting.put(b"key", b"value");
    assert_eq!(setting.put(b"key", b"value"), before);
    setting.put(b"long", &[7; 9_000]);
    let before = setting.head();
    assert_eq!(setting.put(b"long", &[7; 9_000]), before);
}

#[test]
fn t024_the_same_value_as_lazy_is_a_change() {
    for len in [3, 512, 513, 100_000] {
        let (setting, bytes) = (Setting::new(), noise(len, 24));
        let eager = setting.put(b"key", &bytes);
        let eager_root = setting.root();
        let mut writer = setting.page.write_value(None).unwrap();
        writer.write_all(&bytes).unwrap();
        let value = writer.finish().unwrap();
        let lazy = setting.write(MAIN, |tx| tx.put(b"key", value.lazy().as_bytes()).unwrap());
        assert!(lazy != eager && setting.root() != eager_root);
        // One entry has changed, and its bytes have not.
        let changes = setting.page.diff_entries(&eager, &lazy, ALL, Direction::Forward).unwrap();
        let changes: Vec<_> = changes.map(Result::unwrap).collect();
        let [change] = &changes[..] else { panic!("{changes:?}") };
        let (old, new) = (change.old.as_ref().unwrap(), change.new.as_ref().unwrap());
        assert_eq!((old.priority, new.priority), (Priority::Eager, Priority::Lazy));
        assert_eq!((old.len, old.digest), (new.len, new.digest));
        let changes = setting.page.diff(&eager, &lazy, ALL, Direction::Forward).unwrap();
        let changes: Vec<_> = changes.map(Result::unwrap).collect();
        assert_eq!((changes.len(), &changes[0].old), (1, &changes[0].new));
        assert_eq!(setting.get(b"key"), Some(bytes.clone()));
        // The same again is none, and a put makes it eager.
        assert_eq!(
            setting.write(MAIN, |tx| tx.put(b"key", value.lazy().as_bytes()).unwrap()),
            lazy
        );
        setting.put(b"key", &bytes);
        assert_eq!(setting.root(), eager_root);
    }
}

#[test]
fn t025_entries_ascend_and_come_once() {
    let (setting, map) = (Setting::new(), many(10_000));
    setting.put_all(&map);
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    let found = pairs(&snapshot, ALL, Direction::Forward);
    assert!(found.windows(2).all(|two| two[0].0 < two[1].0));
    assert!(found.into_iter().eq(map));
}

#[test]
fn t026_a_scan_begins_at_the_next_key() {
    let setting = Setting::new();
    setting.write("main", |tx| {
        (0..200).for_each(|key: u8| tx.put(&[key, 5], &[key; 60]).unwrap());
    });
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    for key in 0..200 {
        let from = [key, 6];
        let from = KeySpan::new(&from, None);
        let first = snapshot.scan(from, Direction::Forward).unwrap().next();
        let first = first.map(|pair| pair.unwrap().0.to_vec());
        assert_eq!(first, (key < 199).then(|| vec![key + 1, 5]));
    }
}

#[test]
fn t027_in_reverse_all_comes_in_reverse() {
    let setting = Setting::new();
    setting.put_all(&many(10_000));
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    let mut reverse = pairs(&snapshot, ALL, Direction::Reverse);
    reverse.reverse();
    assert!(reverse == pairs(&snapshot, ALL, Direction::Forward));
}

#[test]
fn t028_a_prefix_has_its_keys_only() {
    let setting = Setting::new();
    setting.write("main", |tx| {
        for key in [&b"a"[..], b"aa\xff", b"ab", b"ab\0", b"abc", b"ab\xff\xff", b"ac", b"b"] {
            tx.put(key, b"").unwrap();
        }
    });
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    let end = permazen_kv::key::after_prefix(b"ab");
    let span = KeySpan::new(b"ab", end.as_deref());
    let found = pairs(&snapshot, span, Direction::Forward);
    let keys: Vec<_> = found.iter().map(|(key, _)| &key[..]).collect();
    assert_eq!(keys, [&b"ab"[..], b"ab\0", b"abc", b"ab\xff\xff"]);
}

#[test]
fn t031_differences_in_both_directions_are_mirror_images() {
    let setting = Setting::new();
    let small = setting.put(b"only", b"one");
    let large = setting.put_all(&many(8_000));
    for direction in [Direction::Forward, Direction::Reverse] {
        let diff = |old: &CommitId, new: &CommitId| {
            let found = setting.page.diff(old, new, ALL, direction).unwrap();
            found.map(|change| change.unwrap()).collect::<Vec<_>>()
        };
        let (there, back) = (diff(&small, &large), diff(&large, &small));
        assert_eq!(there.len(), 8_000);
        for (there, back) in there.iter().zip(&back) {
            assert_eq!((&there.key, &there.old, &there.new), (&back.key, &back.new, &back.old));
        }
    }
}

#[test]
fn t033_nodes_that_cannot_be_are_refused() {
    let node = b"\0\0\0\0\x02\0\x04\0appl\0\x04\0\x09\0\x01e1\0\x01y22";
    assert_eq!(decoders::node(node).as_deref(), Some(&node[..]));
    for (at, byte) in [(0, 41), (7, 1), (13, 5), (18, b'z'), (16, 0xc0), (22, b'e')] {
        let mut other = node.to_vec();
        other[at] = byte;
        assert!(decoders::node(&other).is_none(), "byte {at}");
    }
}

#[test]
fn t036_a_removed_range_is_the_same_as_removed_keys() {
    let map = many(6_000);
    let keys: Vec<_> = map.keys().cloned().collect();
    let [range, single] = [true, false].map(|is_range| {
        let setting = Setting::new();
        setting.put_all(&map);
        setting.write("main", |tx| match is_range {
            true => tx.remove_span(KeySpan::new(&keys[700], Some(&keys[4_900]))).unwrap(),
            false => keys[700..4_900].iter().for_each(|key| tx.remove(key).unwrap()),
        });
        setting.root()
    });
    assert_eq!(range, single);
}

#[test]
fn t037_keys_have_up_to_8192_bytes_and_may_be_empty() {
    let (setting, long) = (Setting::new(), noise(8_192, 37));
    setting.put(b"", b"empty");
    setting.put(&long, b"long");
    assert_eq!(setting.get(b"").as_deref(), Some(&b"empty"[..]));
    assert_eq!(setting.get(&long).as_deref(), Some(&b"long"[..]));
    let before = setting.head();
    let db = setting.page.database("main").unwrap();
    let mut tx = permazen_kv::KvDatabase::begin(&db, &TxOptions::writing()).unwrap();
    let error = match tx.put(&noise(8_193, 37), b"") {
        Err(error) => error,
        Ok(()) => tx.commit().unwrap_err(),
    };
    let error = LedgerError::from(error);
    assert!(matches!(error, LedgerError::KeyTooLong { len: 8_193, .. }), "{error}");
    assert_eq!(setting.head(), before);
}
