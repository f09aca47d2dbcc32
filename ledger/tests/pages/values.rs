//! Values that are read in parts.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use permazen_kv::counting::CountingStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{MAIN, PageId, PageSnapshot, Repository};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::noise;

/// A page with these values by their lengths, and the counter of the operations of its host.
fn snapshot(values: &[Vec<u8>]) -> (PageSnapshot, permazen_kv::counting::Counter) {
    let host = CountingStore::new(MemoryStore::new());
    let counter = host.counter();
    // Nothing else reads from the host.
    let repository = Repository::builder(host).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("a", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    values.iter().for_each(|value| tx.put(&value.len().to_be_bytes(), value).unwrap());
    tx.commit().unwrap();
    (page.snapshot(&page.head(MAIN).unwrap()).unwrap(), counter)
}

#[test]
fn values_are_read_from_any_position() {
    let values = [0, 1, 512, 513, 4_096, 30_000, 1_000_000].map(|len| noise(len, len as u64));
    let (snapshot, _) = snapshot(&values);
    let mut random = StdRng::seed_from_u64(1);
    for value in &values {
        let (key, len) = (value.len().to_be_bytes(), value.len() as u64);
        assert_eq!(snapshot.value_len(&key).unwrap(), Some(len));
        let mut reader = snapshot.read_value(&key).unwrap().unwrap();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert!(all == *value);
        assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
        for _ in 0..50 {
            let at = random.random_range(0..=value.len());
            let end = random.random_range(at..=value.len());
            let mut part = vec![0; end - at];
            match random.random_range(0..3) {
                0 => reader.seek(SeekFrom::Start(at as u64)).unwrap(),
                1 => reader.seek(SeekFrom::End(at as i64 - len as i64)).unwrap(),
                _ => {
                    let from = reader.stream_position().unwrap();
                    reader.seek(SeekFrom::Current(at as i64 - from as i64)).unwrap()
                }
            };
            reader.read_exact(&mut part).unwrap();
            assert!(part == value[at..end]);
        }
        reader.seek(SeekFrom::Start(len + 1)).unwrap();
        assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
        let error = reader.seek(SeekFrom::End(-1 - len as i64)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(snapshot.value_len(b"absent").unwrap(), None);
    assert!(snapshot.read_value(b"absent").unwrap().is_none());
}

#[test]
fn a_part_of_a_long_value_loads_only_its_pieces() {
    let value = noise(30_000_000, 30_000_000);
    let (snapshot, counter) = snapshot(std::slice::from_ref(&value));
    let key = value.len().to_be_bytes();
    counter.take();
    let mut reader = snapshot.read_value(&key).unwrap().unwrap();
    // The root is loaded with the snapshot.
    assert_eq!(counter.take().reads(), 0);
    for at in [0, 15_000_000, 29_999_000] {
        reader.seek(SeekFrom::Start(at)).unwrap();
        assert_eq!(counter.take().reads(), 0);
        let mut part = [0; 1_000];
        reader.read_exact(&mut part).unwrap();
        assert!(part == value[at as usize..][..1_000]);
        // Two chunks at most, and the index pieces above the first and after it.
        let reads = counter.take().reads();
        assert!((2..=8).contains(&reads), "{reads} reads");
    }
    // Bytes of the same chunk are not loaded again.
    reader.seek(SeekFrom::Current(-10)).unwrap();
    reader.read_exact(&mut [0; 5]).unwrap();
    assert_eq!(counter.take().reads(), 0);
}
