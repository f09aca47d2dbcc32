//! Rows 1 to 18: digests, pieces, and how long values are cut.

use std::io::{Read, Seek, SeekFrom};

use permazen_kv::{KvRead, KvWrite, TxOptions};
use permazen_ledger::{Digest, Kind, LedgerError, decoders};

use super::setting::{Setting, noise};

#[test]
fn t001_a_short_value_lies_in_its_leaf() {
    let setting = Setting::new();
    setting.put(b"key", &[7; 512]);
    assert_eq!(setting.pieces(1).len(), 1);
    assert!(setting.pieces(2).is_empty() && setting.pieces(3).is_empty());
    assert_eq!(setting.get(b"key"), Some(vec![7; 512]));
}

#[test]
fn t002_a_longer_value_is_one_row() {
    let setting = Setting::new();
    setting.put(b"key", &[7; 513]);
    assert_eq!(setting.pieces(2), [vec![7; 513]]);
    assert!(setting.pieces(3).is_empty());
    assert_eq!(setting.get(b"key"), Some(vec![7; 513]));
}

#[test]
fn t003_an_empty_value_is_a_value() {
    let setting = Setting::new();
    setting.put(b"key", b"");
    assert!(setting.pieces(2).is_empty());
    assert_eq!(setting.get(b"key"), Some(Vec::new()));
    assert_eq!(setting.get(b"other"), None);
}

#[test]
fn t004_equal_values_are_stored_once() {
    let setting = Setting::new();
    setting.put(b"one", &[7; 3_000]);
    setting.put(b"two", &[7; 3_000]);
    assert_eq!(setting.pieces(2).len(), 1);
}

#[test]
fn t005_a_value_never_passes_for_a_node() {
    let bytes = noise(100, 5);
    let kinds = [Kind::Node, Kind::Chunk, Kind::Index, Kind::Commit];
    for (at, one) in kinds.iter().enumerate() {
        for other in &kinds[at + 1..] {
            assert_ne!(one.digest(&bytes), other.digest(&bytes));
        }
    }
    // The bytes of a node as a value have a row of their own.
    let setting = Setting::new();
    setting.write("main", |tx| (0..40).for_each(|key| tx.put(&[key], &[key; 40]).unwrap()));
    let node = setting.pieces(1).remove(0);
    setting.put(b"node", &node);
    assert!(setting.pieces(1).contains(&node) && setting.pieces(2).contains(&node));
}

#[test]
fn t006_a_digest_has_32_bytes() {
    assert!(Digest::from_slice(&[0; 32]).is_some());
    assert!(Digest::from_slice(&[0; 31]).is_none() && Digest::from_slice(&[0; 33]).is_none());
    // A reference with unused bits is refused: 512 bytes belong into the leaf.
    assert!(decoders::reference(&[0; 40]).is_none());
}

#[test]
fn t008_a_value_of_4096_bytes_is_one_chunk() {
    let setting = Setting::new();
    setting.put(b"key", &noise(4_096, 8));
    assert_eq!(setting.pieces(2), [noise(4_096, 8)]);
    assert!(setting.pieces(3).is_empty());
}

#[test]
fn t009_chunks_have_4096_to_65536_bytes() {
    let (setting, value) = (Setting::new(), noise(1 << 20, 9));
    setting.put(b"key", &value);
    let chunks = setting.pieces(2);
    assert!(chunks.len() > 30, "{} chunks", chunks.len());
    assert_eq!(chunks.iter().map(Vec::len).sum::<usize>(), value.len());
    assert!(chunks.iter().filter(|chunk| chunk.len() < 4_096).count() <= 1);
    assert!(chunks.iter().all(|chunk| chunk.len() <= 65_536));
    assert_eq!(setting.get(b"key"), Some(value));
}

#[test]
fn t010_a_chunk_without_a_cut_has_65536_bytes() {
    let setting = Setting::new();
    setting.put(b"one", &[0; 65_536]);
    assert_eq!(setting.pieces(2), [vec![0; 65_536]]);
    assert!(setting.pieces(3).is_empty());
    setting.put(b"two", &[0; 65_537]);
    assert_eq!(setting.pieces(2).len(), 2);
    assert_eq!(setting.pieces(3).len(), 1);
    assert_eq!(setting.get(b"two"), Some(vec![0; 65_537]));
}

#[test]
fn t011_a_long_value_of_zeros_has_several_levels() {
    let len = 70 << 20;
    let setting = Setting::new();
    setting.put(b"key", &vec![0; len]);
    // All chunks are the same.
    assert_eq!(setting.pieces(2), [vec![0; 65_536]]);
    let levels: Vec<u8> = setting.pieces(3).iter().map(|piece| piece[0]).collect();
    assert!(levels.contains(&0) && levels.contains(&1), "{levels:?}");
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    let value = snapshot.get(b"key").unwrap().unwrap();
    assert!(value.len() == len && value.iter().all(|byte| *byte == 0));
}

#[test]
fn t012_a_byte_in_the_middle_changes_a_few_chunks() {
    let (setting, mut value) = (Setting::new(), noise(2 << 20, 12));
    setting.put(b"key", &value);
    let before = setting.pieces(2);
    value.insert(1 << 20, 7);
    setting.put(b"key", &value);
    let new = setting.pieces(2).iter().filter(|chunk| !before.contains(chunk)).count();
    assert!((1..=3).contains(&new), "{new} new chunks of {}", before.len());
}

#[test]
fn t013_each_secret_cuts_elsewhere() {
    let chunks = [1, 2, 1].map(|secret| {
        let setting = Setting::with_secret(secret);
        setting.put(b"key", &noise(1 << 20, 13));
        setting.pieces(2)
    });
    assert_eq!(chunks[0], chunks[2]);
    assert!(chunks[0].iter().filter(|chunk| chunks[1].contains(chunk)).count() <= 1);
}

#[test]
fn t016_an_index_piece_that_is_wrong_is_damage() {
    let setting = Setting::new();
    setting.put(b"key", &noise(300_000, 16));
    let rows = setting.rows(&[0x23]);
    let (key, row) = rows.iter().find(|(_, row)| row[0] == 3).unwrap();
    let mut row = row.clone();
    // The length of the first chunk.
    row[12 + 8] ^= 1;
    let mut tx = permazen_kv::KvDatabase::begin(&setting.host, &TxOptions::writing()).unwrap();
    tx.put(&[&[0x10, 1], &key[..]].concat(), &row).unwrap();
    tx.commit().unwrap();
    let page = setting.cold();
    let snapshot = page.snapshot(&setting.head()).unwrap();
    let error = LedgerError::from(snapshot.get(b"key").unwrap_err());
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Index, .. }), "{error}");
}

#[test]
fn t017_a_part_loads_only_its_pieces() {
    let (setting, value) = (Setting::new(), noise(2 << 20, 17));
    setting.put(b"key", &value);
    // All chunks but those of the part are removed.
    let page = setting.cold();
    let part = 1_000_000..1_040_000;
    let chunks = setting.pieces(2);
    let mut tx = permazen_kv::KvDatabase::begin(&setting.host, &TxOptions::writing()).unwrap();
    let mut at = 0;
    while at < value.len() {
        let chunk = chunks.iter().find(|chunk| value[at..].starts_with(chunk)).unwrap();
        let has_part = at < part.end && at + chunk.len() > part.start;
        at += chunk.len();
        if !has_part {
            let digest = Kind::Chunk.digest(chunk);
            tx.remove(&[&[0x10, 1, 0x23][..], &digest.0].concat()).unwrap();
        }
    }
    tx.commit().unwrap();
    let snapshot = page.snapshot(&setting.head()).unwrap();
    let mut reader = snapshot.read_value(b"key").unwrap().unwrap();
    reader.seek(SeekFrom::Start(part.start as u64)).unwrap();
    let mut found = vec![0; part.len()];
    reader.read_exact(&mut found).unwrap();
    assert!(found == value[part]);
    assert!(snapshot.get(b"key").is_err());
}

#[test]
fn t018_a_part_begins_anywhere() {
    let (setting, value) = (Setting::new(), noise(100_000, 18));
    setting.put(b"key", &value);
    let snapshot = setting.page.snapshot(&setting.head()).unwrap();
    let len = value.len() as i64;
    for (offset, expected) in [(-len, &value[..]), (-1, &value[99_999..]), (0, &[]), (7, &[])] {
        let mut reader = snapshot.read_value(b"key").unwrap().unwrap();
        reader.seek(SeekFrom::End(offset)).unwrap();
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap();
        assert!(found == expected, "{offset}");
    }
    let mut reader = snapshot.read_value(b"key").unwrap().unwrap();
    assert!(reader.seek(SeekFrom::End(-len - 1)).is_err());
    assert_eq!(reader.seek(SeekFrom::Start(99_999)).unwrap(), 99_999);
}
