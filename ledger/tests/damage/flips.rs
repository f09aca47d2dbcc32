//! A flipped bit in any row of a page that has rows of each kind, and a row in the place of another
//! one: each read is an error or returns the written data.
//!
//! `PERMAZEN_FLIPS` says how many bits of each row are flipped, one after the other (2).

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{LastWriterWins, MAIN, PageId, Repository, Result, Retention};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::clock::TestClock;
use crate::support::page::{Map, host_of, noise, pairs, put, try_pairs};

/// The rows of a page as a process leaves them that is killed.
fn sample(has_references: bool) -> Map {
    let (host, clock) = (MemoryStore::new(), TestClock::at(1 << 40));
    let builder = Repository::builder(host.clone()).exclusive().manual_maintenance();
    let repository = builder.clock(clock.clone()).open_or_create().unwrap();
    let page = repository.create_page("a", PageId::ROOT).unwrap();
    page.set_reference_rows(has_references).unwrap();
    for value in 0..4 {
        put(&page, MAIN, b"old", &[value]);
    }
    page.set_retention(Retention::Last(2)).unwrap();
    page.collect().unwrap();
    page.remote().attach().unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..400_u32).for_each(|n| tx.put(&n.to_be_bytes(), &[9; 30]).unwrap());
    tx.put(b"long", &noise(60_000, 1)).unwrap();
    tx.commit().unwrap();
    let base = page.head(MAIN).unwrap();
    page.create_branch("other", &base).unwrap();
    put(&page, MAIN, b"a", b"1");
    let other = put(&page, "other", b"b", b"2");
    page.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    page.set_tag("tag", &base).unwrap();
    page.create_branch("gone", &base).unwrap();
    page.remove_branch("gone").unwrap();
    let pieces = page.remote().local_pieces(None, 3).unwrap();
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
    page.remote().mark_synced(&[], &pieces, &[(b"note", b"of sync")]).unwrap();
    // A pin with a row, a value that is being written, and one that a commit has taken.
    let snapshot = page.snapshot(&base).unwrap();
    clock.advance(Duration::from_millis(70_000));
    repository.maintain().unwrap();
    let mut taken = page.write_value(None).unwrap();
    taken.write_all(&noise(40_000, 2)).unwrap();
    let taken = taken.finish().unwrap();
    put(&page, MAIN, b"taken", taken.as_bytes());
    let mut begun = page.write_value(None).unwrap();
    begun.write_all(&noise(1_200_000, 3)).unwrap();
    let rows = pairs(&host.snapshot());
    drop((snapshot, begun));
    rows
}

/// All that can be read of the page.
fn read(host: &MemoryStore) -> Result<Vec<(String, Map)>> {
    let page =
        Repository::builder(host.clone()).manual_maintenance().open()?.page("a", PageId::ROOT)?;
    let mut found = Vec::new();
    for (branch, heads) in page.branches()? {
        for head in heads {
            for commit in page.log(head)? {
                let (id, commit) = commit?;
                let map = try_pairs(&page.snapshot(&id)?)?;
                found.push((format!("{branch}: {id}, {commit:?}"), map));
            }
        }
    }
    for (tag, id) in page.tags()? {
        found.push((format!("{tag}: {id}"), try_pairs(&page.snapshot(&id)?)?));
    }
    Ok(found)
}

#[test]
fn a_flipped_bit_in_a_row_of_any_kind_is_an_error_or_changes_nothing() {
    let flips = std::env::var("PERMAZEN_FLIPS").map_or(2, |flips| flips.parse().unwrap());
    let (mut kinds, mut errors) = (BTreeSet::new(), 0);
    for has_references in [false, true] {
        let rows = sample(has_references);
        let (expected, mut random) = (read(&host_of(&rows)).unwrap(), StdRng::seed_from_u64(5));
        kinds.extend(rows.keys().map(|key| if key[0] == 0x10 { key[2] } else { key[0] }));
        let mut check = |key: &[u8], other: Option<&[u8]>, row: &[u8], what: &str| {
            let mut rows = rows.clone();
            rows.remove(key);
            rows.insert(other.unwrap_or(key).to_vec(), row.to_vec());
            match read(&host_of(&rows)) {
                // Nothing else says that there was a branch or a tag.
                Ok(found) if other.is_some() && matches!(key, [0x10, _, 0x20 | 0x2e, ..]) => {
                    assert!(found.iter().all(|version| expected.contains(version)), "{key:02x?}");
                }
                Ok(found) => assert!(found == expected, "row {key:02x?}, {what}"),
                Err(_) => errors += 1,
            }
        };
        let all: Vec<_> = rows.iter().collect();
        for (number, (key, row)) in all.iter().enumerate() {
            // There are many of these, which are all alike.
            let first = if key[0] == 0x10 { key[2] } else { 0 };
            if matches!(first, 0x23 | 0x24 | 0x26 | 0x27) && number % 10 != 0 {
                continue;
            }
            for _ in 0..flips {
                let mut damaged = row.to_vec();
                let at = random.random_range(0..damaged.len());
                damaged[at] ^= 1 << random.random_range(0..8);
                check(key, None, &damaged, &format!("byte {at}"));
            }
            let mut moved = key.to_vec();
            let at = random.random_range(0..moved.len());
            moved[at] ^= 1 << random.random_range(0..8);
            check(key, Some(&moved), row, &format!("moved to {moved:02x?}"));
        }
    }
    let all = [0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c];
    let all = all.into_iter().chain([0x2e, 0x2f, 0x30, 0x31, 0x32]);
    let missing: Vec<u8> = all.filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty() && errors > 100, "{missing:02x?}, {errors} errors");
}
