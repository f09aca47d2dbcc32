//! The check of cuts has the same result as cutting again, and needs no more than the pieces.

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Store, first_chunk, noise, put};
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::secret::Secret;
use crate::value::cuts::{CutCheck, Parts};
use crate::value::index::{Index, Part, ends_group};
use crate::value::read::PieceStore as _;
use crate::value::reference::Reference;

const SECRET: Secret = Secret::new([5; 32]);

/// The pieces that a check asks for, and how often it said that a cut is wrong.
struct Asked<'s> {
    store: &'s Store,
    wrong: usize,
}

impl Parts for Asked<'_> {
    fn index(&mut self, part: &Part, level: u8, _: &Digest, is_top: bool) -> Result<Option<Index>> {
        let bytes = self.store.piece(Kind::Index, &part.digest)?;
        let index = Index::checked(&part.digest, bytes, level, part.len)?;
        self.wrong += usize::from(is_top && index.len() == 1);
        Ok(Some(index))
    }

    fn chunk(&mut self, part: &Part, _: &Digest) -> Result<Option<Bytes>> {
        let bytes = self.store.piece(Kind::Chunk, &part.digest)?;
        assert_eq!(bytes.len() as u64, part.len);
        Ok(Some(bytes))
    }

    fn wrong(&mut self, _: Kind, _: &Part) -> Result<()> {
        self.wrong += 1;
        Ok(())
    }
}

fn is_right(store: &Store, value: &Reference) -> bool {
    let mut asked = Asked { store, wrong: 0 };
    CutCheck::new(Some(&SECRET)).check(&mut asked, value, &value.top).unwrap();
    asked.wrong == 0
}

/// A value of these chunks. Its groups end where `ends` says; `ends` is given the answer of the
/// rule.
fn assemble(chunks: &[&[u8]], mut ends: impl FnMut(bool) -> bool) -> (Store, Reference) {
    let mut store = Store::default();
    let mut add = |kind: Kind, bytes: &[u8]| {
        let digest = kind.digest(bytes);
        store.pieces.insert((kind, digest), Bytes::copy_from_slice(bytes));
        digest
    };
    let part = |digest, len: usize| Part { len: len as u64, digest };
    let mut parts: Vec<Part> =
        chunks.iter().map(|chunk| part(add(Kind::Chunk, chunk), chunk.len())).collect();
    let len = parts.iter().map(|part| part.len).sum();
    let mut levels = 0;
    while parts.len() > 1 {
        let (mut above, mut group) = (Vec::new(), Vec::new());
        for (at, part) in parts.iter().enumerate() {
            group.push(*part);
            let rule = ends_group(&SECRET.boundary_hash(), levels, group.len(), &part.digest);
            if ends(rule) || group.len() == 1_024 || at + 1 == parts.len() {
                let mut bytes = vec![levels];
                for Part { len, digest } in &group {
                    bytes.extend_from_slice(&[&len.to_be_bytes()[..], &digest.0].concat());
                }
                let len = group.drain(..).map(|part| part.len).sum();
                above.push(Part { len, digest: add(Kind::Index, &bytes) });
            }
        }
        (parts, levels) = (above, levels + 1);
    }
    (store, Reference { top: parts[0].digest, levels, len })
}

#[test]
fn the_check_says_what_cutting_again_says() {
    let gear = SECRET.gear().table;
    let mut random = StdRng::seed_from_u64(3);
    let mut found = [0; 2];
    for round in 0..300 {
        // Noise, nothing, and parts that come again.
        let part = match round % 3 {
            0 => noise(random.random_range(1_000..80_000), round),
            1 => vec![0; random.random_range(1_000..80_000)],
            _ => noise(random.random_range(1..300), round),
        };
        let mut value = part.repeat(random.random_range(1..60).min(2_000_000 / part.len()).max(1));
        value.extend_from_slice(&noise(random.random_range(4_000..6_000), round));
        let moved = if random.random_bool(0.5) { 0.0 } else { 0.1 };
        let (mut chunks, mut rest) = (Vec::new(), &value[..]);
        while !rest.is_empty() {
            let right = first_chunk(&gear, rest);
            let len = match random.random_bool(moved) {
                true if random.random_bool(0.5) => random.random_range(1..=rest.len().min(65_536)),
                true => (right + 1).min(rest.len()).min(65_536),
                false => right,
            };
            let (chunk, after) = rest.split_at(len);
            chunks.push(chunk);
            rest = after;
        }
        let turned = if random.random_bool(0.5) { 0.0 } else { 0.01 };
        let (store, made) = assemble(&chunks, |rule| rule != random.random_bool(turned));
        let expected = put(&mut Store::default(), &value, value.len());
        assert_eq!(is_right(&store, &made), made == expected, "round {round}");
        found[usize::from(made == expected)] += 1;
    }
    assert!(found.iter().all(|count| *count > 60), "{found:?}");
}

#[test]
fn values_of_noise_with_several_levels_are_right() {
    let value = noise(30_000_000, 1);
    let mut store = Store::default();
    let reference = put(&mut store, &value, value.len());
    assert!(reference.levels >= 2 && is_right(&store, &reference));
    // The same parts are not loaded again for another version.
    let mut changed = value;
    changed[29_999_999] ^= 1;
    let other = put(&mut store, &changed, 1 << 20);
    let mut check = CutCheck::new(Some(&SECRET));
    let mut loads = Vec::new();
    for value in [&reference, &other] {
        store.loads.replace(0);
        check.check(&mut Asked { store: &store, wrong: 0 }, value, &value.top).unwrap();
        loads.push(*store.loads.borrow());
    }
    assert!(loads[0] > 500 && loads[1] * 2 < loads[0], "{loads:?}");
}

#[test]
fn a_value_of_one_chunk_can_be_as_long_as_any() {
    // A chunk of zeros, in groups of as many as the rule says, as long as one more level fits.
    let chunk = vec![0; 65_536];
    let mut store = Store::default();
    let digest = Kind::Chunk.digest(&chunk);
    store.pieces.insert((Kind::Chunk, digest), chunk.into());
    let (mut part, mut level) = (Part { len: 65_536, digest }, 0);
    let top = loop {
        let rule = |count: &usize| ends_group(&SECRET.boundary_hash(), level, *count, &part.digest);
        let count = (1..).find(rule).unwrap();
        let mut bytes = vec![level];
        (0..count).for_each(|_| {
            bytes.extend_from_slice(&part.len.to_be_bytes());
            bytes.extend_from_slice(&part.digest.0);
        });
        let digest = Kind::Index.digest(&bytes);
        store.pieces.insert((Kind::Index, digest), bytes.into());
        part = Part { len: part.len * count as u64, digest };
        level += 1;
        if part.len >= 1 << 44 {
            break Reference { top: part.digest, levels: level, len: part.len };
        }
    };
    assert!(is_right(&store, &top));
    let loads = *store.loads.borrow();
    assert!(loads < 100, "{loads} loads");
}
