//! Values in pieces.

mod cuts;

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use super::read::{ChunkReader, PieceStore};
use super::reference::{MAX_CHUNK, MIN_CHUNK, Reference};
use super::split::{NewPiece, Splitter};
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::Secret;

#[derive(Default)]
struct Store {
    pieces: HashMap<(Kind, Digest), Bytes>,
    loads: RefCell<usize>,
}

impl PieceStore for Store {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        *self.loads.borrow_mut() += 1;
        let missing = || LedgerError::missing(kind, digest);
        self.pieces.get(&(kind, *digest)).cloned().ok_or_else(missing)
    }
}

/// Puts a value in portions of this length.
fn put(store: &mut Store, value: &[u8], portion: usize) -> Reference {
    let mut splitter = Splitter::new(&Secret::new([5; 32]));
    let mut add = |piece: NewPiece| {
        store.pieces.insert((piece.kind, piece.part.digest), piece.bytes);
        Ok(())
    };
    for portion in value.chunks(portion) {
        splitter.push(portion, &mut add).unwrap();
    }
    splitter.finish(&mut add).unwrap()
}

fn read(store: &Store, reference: &Reference, position: u64) -> Vec<u8> {
    let mut reader = ChunkReader::new(store, reference, position).unwrap();
    let mut all = Vec::new();
    while let Some(bytes) = reader.next().unwrap() {
        all.extend_from_slice(&bytes);
    }
    all
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// The rule of the format, written again from its text.
fn first_chunk(gear: &[u64; 256], value: &[u8]) -> usize {
    if value.len() <= 4_096 {
        return value.len();
    }
    let r = value.len().min(65_536);
    let c = r.min(16_384);
    let (mut h, mut i) = (0_u64, 4_096);
    while i < r / 2 * 2 {
        h = (h << 1).wrapping_add(gear[usize::from(value[i])]);
        let mask = if i < c / 2 * 2 { 0x0000_d90f_0353_0000 } else { 0x0000_d903_0353_0000 };
        if h & mask == 0 {
            return i;
        }
        i += 1;
    }
    r
}

#[test]
fn t014_values_come_back_from_any_position() {
    let mut random = StdRng::seed_from_u64(1);
    for (len, seed) in
        [(513, 1), (4_096, 2), (4_097, 3), (65_535, 4), (65_536, 5), (65_537, 6), (3_000_000, 7)]
    {
        let value = noise(len, seed);
        let mut store = Store::default();
        let reference = put(&mut store, &value, len);
        assert_eq!(reference.len, len as u64);
        assert_eq!(Reference::parse(&reference.to_bytes()), Ok(reference));
        for portion in [1_000, 65_536, 70_001] {
            assert_eq!(put(&mut store, &value, portion), reference);
        }
        assert_eq!(read(&store, &reference, 0), value);
        assert_eq!(read(&store, &reference, len as u64), b"");
        for _ in 0..10 {
            let position = random.random_range(0..len);
            assert_eq!(read(&store, &reference, position as u64), value[position..]);
        }
    }
}

#[test]
fn chunks_are_cut_by_the_rule_of_the_format() {
    let gear = Secret::new([5; 32]).gear().table;
    // Noise is cut where hashes say so, zeros at the limits, and odd rests by the last rule.
    for value in [noise(1_000_001, 9), vec![0; 300_001], noise(16_383, 3), noise(70_001, 4)] {
        let mut store = Store::default();
        let reference = put(&mut store, &value, value.len());
        let mut reader = ChunkReader::new(&store, &reference, 0).unwrap();
        let mut rest = &value[..];
        while let Some(chunk) = reader.next().unwrap() {
            assert_eq!(chunk.len(), first_chunk(&gear, rest));
            rest = &rest[chunk.len()..];
        }
        assert!(rest.is_empty());
    }
}

/// The rule of the format for index pieces, written again from its text: the digest of the top
/// piece, and how many levels there are.
fn top(secret: &Secret, chunks: &[Vec<u8>]) -> (Digest, u8) {
    let part = |chunk: &Vec<u8>| (chunk.len() as u64, Kind::Chunk.digest(chunk));
    let mut parts: Vec<_> = chunks.iter().map(part).collect();
    let mut level = 0;
    while parts.len() > 1 || level == 0 && chunks.len() > 1 {
        let mut above = Vec::new();
        let mut group = Vec::new();
        for (at, (len, digest)) in parts.iter().enumerate() {
            group.push((*len, *digest));
            let hash = secret.boundary_hash().of_part(level, digest);
            let is_end = group.len() >= 16 && hash < 1 << 56 || group.len() == 1_024;
            if is_end || at + 1 == parts.len() {
                let mut bytes = vec![level];
                for (len, digest) in &group {
                    bytes.extend_from_slice(&len.to_be_bytes());
                    bytes.extend_from_slice(&digest.0);
                }
                let sum = group.iter().map(|(len, _)| len).sum();
                above.push((sum, Kind::Index.digest(&bytes)));
                group.clear();
            }
        }
        (parts, level) = (above, level + 1);
    }
    (parts[0].1, level)
}

/// A value may end where a chunk or a group would end anyway.
#[test]
fn t015_a_value_can_end_anywhere() {
    let secret = Secret::new([5; 32]);
    let value = noise(12_000_000, 21);
    let (mut chunks, mut rest) = (Vec::new(), &value[..]);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(first_chunk(&secret.gear().table, rest));
        chunks.push(chunk.to_vec());
        rest = after;
    }
    let is_end =
        |chunk: &Vec<u8>| secret.boundary_hash().of_part(0, &Kind::Chunk.digest(chunk)) < 1 << 56;
    let mut ends_of_groups = 0;
    for count in 1..chunks.len() {
        ends_of_groups += usize::from(count >= 16 && is_end(&chunks[count - 1]));
        // Not each of them, but all around the ends of groups.
        if count > 40 && count % 50 != 0 && !chunks[count - 2..=count].iter().any(is_end) {
            continue;
        }
        let value = chunks[..count].concat();
        for portion in [value.len(), 65_536] {
            let mut store = Store::default();
            let reference = put(&mut store, &value, portion);
            assert_eq!(
                (reference.top, reference.levels),
                top(&secret, &chunks[..count]),
                "{count}"
            );
            assert_eq!(read(&store, &reference, 0), value);
        }
    }
    assert!(ends_of_groups >= 2, "{ends_of_groups}");
    // Nothing in these says where to cut, so their chunks have the most bytes.
    for len in [65_535, 65_536, 65_537, 131_072, 64 << 16, 100 << 16] {
        let mut store = Store::default();
        let reference = put(&mut store, &vec![1; len], 1 << 20);
        assert_eq!(read(&store, &reference, 0), vec![1; len]);
    }
}

#[test]
fn a_small_change_of_a_value_writes_few_pieces() {
    let value = noise(40_000_000, 1);
    let mut store = Store::default();
    let reference = put(&mut store, &value, 1_000_000);
    assert!(reference.levels >= 2, "{reference:?}");
    let before = store.pieces.len();
    let mut changed = value.clone();
    changed.splice(20_000_000..20_000_000, *b"inserted");
    let other = put(&mut store, &changed, 1_000_000);
    assert_ne!(other, reference);
    let new = store.pieces.len() - before;
    assert!(new <= 8, "{new} of {before} pieces are new");
    // Only the requested chunks are loaded.
    store.loads.replace(0);
    let mut reader = ChunkReader::new(&store, &other, 20_000_000).unwrap();
    assert_eq!(reader.next().unwrap().unwrap()[..8], *b"inserted");
    assert!(*store.loads.borrow() <= usize::from(reference.levels) + 2);
}

#[test]
fn damaged_pieces_are_errors() {
    let value = noise(1_000_000, 2);
    let mut store = Store::default();
    let reference = put(&mut store, &value, 1_000_000);
    let keys: Vec<_> = store.pieces.keys().copied().collect();
    for key in keys {
        let bytes = store.pieces[&key].clone();
        let mut damaged = bytes.to_vec();
        damaged[7] ^= 1;
        store.pieces.insert(key, damaged.into());
        let read = || {
            let mut reader = ChunkReader::new(&store, &reference, 0)?;
            while reader.next()?.is_some() {}
            Ok(())
        };
        assert!(matches!(read(), Err(LedgerError::Integrity { .. })));
        store.pieces.insert(key, bytes);
    }
    assert_eq!(read(&store, &reference, 0), value);
}

#[test]
fn references_that_cannot_be_are_refused() {
    let top = Kind::Chunk.digest(b"");
    let parse = |levels, len| Reference::parse(&Reference { top, levels, len }.to_bytes());
    assert!(parse(0, 513).is_ok() && parse(0, 512).is_err());
    assert!(parse(0, MAX_CHUNK as u64).is_ok() && parse(0, MAX_CHUNK as u64 + 1).is_err());
    assert!(parse(1, MIN_CHUNK as u64).is_err() && parse(1, MIN_CHUNK as u64 + 1).is_ok());
    assert!(parse(11, (1 << 48) - 1).is_ok() && parse(12, 1 << 40).is_err());
    assert!(parse(11, 1 << 48).is_err());
    assert!(Reference::parse(&[0; 39]).is_err() && Reference::parse(&[1; 41]).is_err());
}
