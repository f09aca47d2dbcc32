//! Checks that values are cut where the rule cuts. A piece that a value contains several times is
//! checked once.

use std::collections::HashMap;

use bytes::Bytes;

use super::index::{Index, Part, ends_group};
use super::reference::{MAX_CHUNK, MIN_CHUNK, Reference};
use super::split::cut;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::secret::{BoundaryHash, Gear, Secret};

/// Supplies the parts of a value to a check of its cuts, and receives its result.
pub(crate) trait Parts {
    /// An index piece with this level, which `from` refers to. `None` if it is absent: then the
    /// cuts before it are not known.
    fn index(
        &mut self,
        part: &Part,
        level: u8,
        from: &Digest,
        is_top: bool,
    ) -> Result<Option<Index>>;

    /// The bytes of a chunk, which have the length of the part. `None` if it is absent.
    fn chunk(&mut self, part: &Part, from: &Digest) -> Result<Option<Bytes>>;

    /// Called with a part that does not end where the rule cuts, at most once for each value.
    fn wrong(&mut self, kind: Kind, part: &Part) -> Result<()>;
}

/// The bytes after a part of a value: with the part, they decide whether the part ends where the
/// rule cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct After {
    /// How many bytes follow, at most the length of a chunk.
    left: usize,
    /// The first two of them, as far as there are any.
    first: [u8; 2],
}

impl After {
    const END: After = After { left: 0, first: [0; 2] };

    /// The bytes after the part before `bytes`.
    fn before(self, bytes: &[u8]) -> Self {
        let mut first = bytes.iter().chain(&self.first).copied();
        let first = [first.next().unwrap_or_default(), first.next().unwrap_or_default()];
        After { left: (self.left + bytes.len()).min(MAX_CHUNK), first }
    }
}

/// A visit of an index piece: its digest and length, its level, whether it is a top piece, and the
/// bytes after it, if these are known.
type IndexVisit = (Digest, u64, u8, bool, Option<After>);

/// Compares cuts with the rule. Remembers its visits of index pieces, about 100 bytes for each.
#[derive(Debug)]
pub(crate) struct CutCheck {
    /// `None` if cuts are not compared.
    rule: Option<(Gear, BoundaryHash)>,
    /// For each visit the bytes after the part before it. `None` if these are not known.
    known: HashMap<IndexVisit, Option<After>>,
}

impl CutCheck {
    /// Without the secret, only the parts are requested.
    pub(crate) fn new(secret: Option<&Secret>) -> Self {
        let rule = secret.map(|secret| (secret.gear(), secret.boundary_hash()));
        CutCheck { rule, known: HashMap::new() }
    }

    /// Checks a value, from its end. Requests each part at least once.
    ///
    /// # Errors
    /// Those of `parts`.
    pub(crate) fn check(
        &mut self,
        parts: &mut dyn Parts,
        value: &Reference,
        from: &Digest,
    ) -> Result<()> {
        let part = Part { len: value.len, digest: value.top };
        let after = self.rule.is_some().then_some(After::END);
        match value.levels.checked_sub(1) {
            None => self.chunk(parts, &part, from, after)?,
            Some(level) => self.index(parts, (&part, level, true), from, after)?,
        };
        Ok(())
    }

    /// Checks an index piece. Returns the bytes after the part before it.
    fn index(
        &mut self,
        parts: &mut dyn Parts,
        (part, level, is_top): (&Part, u8, bool),
        from: &Digest,
        after: Option<After>,
    ) -> Result<Option<After>> {
        let visit = (part.digest, part.len, level, is_top, after);
        if let Some(known) = self.known.get(&visit) {
            return Ok(*known);
        }
        let before = match parts.index(part, level, from, is_top)? {
            Some(index) => self.below(parts, &index, part, after)?,
            None => None,
        };
        self.known.insert(visit, before);
        Ok(before)
    }

    fn below(
        &mut self,
        parts: &mut dyn Parts,
        index: &Index,
        above: &Part,
        after: Option<After>,
    ) -> Result<Option<After>> {
        // The last piece of a level ends with the value.
        let is_last = after.is_none_or(|after| after.left == 0);
        let (mut now, mut chunks) = (after, HashMap::new());
        for at in (0..index.len()).rev() {
            let Some(part) = index.part(at) else { continue };
            if let (Some((_, hash)), Some(_)) = (&self.rule, now) {
                let is_end = ends_group(hash, index.level(), at + 1, &part.digest);
                let is_there = at + 1 == index.len();
                if is_end && !is_there || !is_end && is_there && !is_last {
                    parts.wrong(Kind::Index, above)?;
                    now = None;
                }
            }
            now = match index.level().checked_sub(1) {
                Some(level) => self.index(parts, (&part, level, false), &above.digest, now)?,
                None => match chunks.get(&(part.digest, part.len, now)) {
                    Some(known) => *known,
                    None => {
                        let before = self.chunk(parts, &part, &above.digest, now)?;
                        chunks.insert((part.digest, part.len, now), before);
                        before
                    }
                },
            };
        }
        Ok(now)
    }

    fn chunk(
        &self,
        parts: &mut dyn Parts,
        part: &Part,
        from: &Digest,
        after: Option<After>,
    ) -> Result<Option<After>> {
        let Some(bytes) = parts.chunk(part, from)? else { return Ok(None) };
        let (Some((gear, _)), Some(after)) = (&self.rule, after) else { return Ok(None) };
        if !is_cut(gear, &bytes, after) {
            parts.wrong(Kind::Chunk, part)?;
            return Ok(None);
        }
        Ok(Some(after.before(&bytes)))
    }
}

/// The part of the rule for a single piece, with any bytes before and after it.
pub(crate) struct PieceCutRule {
    gear: Gear,
    hash: BoundaryHash,
}

impl PieceCutRule {
    pub(crate) fn new(secret: &Secret) -> Self {
        PieceCutRule { gear: secret.gear(), hash: secret.boundary_hash() }
    }

    /// Whether the rule can make such an index piece. `is_last` if the value ends with it.
    pub(crate) fn allows_index(&self, index: &Index, is_last: bool) -> bool {
        (0..index.len()).filter_map(|at| Some((at + 1, index.part(at)?))).all(|(count, part)| {
            let is_there = count == index.len();
            let is_end = ends_group(&self.hash, index.level(), count, &part.digest);
            let is_short = index.level() == 0 && part.len < MIN_CHUNK as u64;
            is_there && is_last || is_end == is_there && !is_short
        })
    }

    /// Whether the rule can make such a chunk: there is no cut before its end.
    pub(crate) fn allows_chunk(&self, chunk: &[u8], is_last: bool) -> bool {
        match is_last {
            true => is_cut(&self.gear, chunk, After::END),
            // The rule looks at bytes in pairs, so only the following bytes decide whether there is
            // a cut at its end.
            false => chunk.len() >= MIN_CHUNK && cut(&self.gear, chunk) + 2 >= chunk.len(),
        }
    }
}

/// Whether the rule cuts after this chunk, before the bytes that follow it.
fn is_cut(gear: &Gear, chunk: &[u8], after: After) -> bool {
    match after.left {
        0 if chunk.len() <= MIN_CHUNK => true,
        left if left > 0 && chunk.len() < MIN_CHUNK => false,
        left => {
            // A cut depends on the byte after it, and the rule looks at bytes in pairs.
            let source = [chunk, &after.first[..left.min(2)]].concat();
            cut(gear, &source) == chunk.len()
        }
    }
}
