//! What comes of two states that have a common base.

use permazen_kv::{Direction, KeySpan};

use crate::digest::Digest;
use crate::error::Result;
use crate::node::items::Payload;
use crate::page::shared::Shared;
use crate::page::snapshot::value;
use crate::tree::diff::Stored;
use crate::tree::edit::{Drop, Edited, Edits, End, edit};
use crate::tree::nodes::root;
use crate::tree::three_way::{ThreeWay, ThreeWayDiff};
use crate::value::split::Piece;

/// Decides what a merge makes of entries.
///
/// It must decide the same whenever it is asked the same: no clock, no random numbers, no look at
/// anything else. Otherwise copies of a page that merge the same commits differ.
pub trait Merger {
    /// What the value of a key is.
    fn class(&self, key: &[u8]) -> KeyClass {
        let _ = key;
        KeyClass::Value
    }

    /// What becomes of an entry that both sides have changed in different ways. Unless it says
    /// otherwise, it is as the newer side has it.
    ///
    /// # Errors
    /// Its errors end the merge, and change nothing.
    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        let _ = conflict;
        Ok(Resolution::Newer)
    }
}

/// What a value is, for a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyClass {
    /// Bytes.
    Value,
    /// A counter of eight bytes: what both sides have added is added up. If it has no eight bytes on
    /// a side, or a side has removed it, it is as any value.
    Counter,
}

/// An entry that both sides of a merge have changed in different ways.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Conflict<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value that both sides came from; `None` if there was none.
    pub base: Option<&'a [u8]>,
    /// The value on the side with the older head.
    pub older: Option<&'a [u8]>,
    /// The value on the side with the newer head.
    pub newer: Option<&'a [u8]>,
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// What the newer side has.
    Newer,
    /// What the older side has.
    Older,
    /// This value.
    Value(Vec<u8>),
    /// There is no entry.
    Remove,
}

/// The side with the newer head wins where both have changed the same entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastOneWins;

impl Merger for LastOneWins {}

/// An entry of the merge, if it is not as the newer side has it.
enum Outcome {
    Newer,
    Stored(Option<Stored>),
    Value(Vec<u8>),
}

/// The tree of a merge, and the pieces of its new values.
pub(super) fn merged(
    shared: &Shared,
    base: &Digest,
    older: &Digest,
    newer: &Digest,
    merger: &mut dyn Merger,
) -> Result<(Edited, Vec<Piece>)> {
    let [base, left, right] = [base, older, newer].map(|digest| root(shared, digest));
    let all = KeySpan::new(b"", None);
    let (base, sides) = (base?, (left?, right?));
    let mut diff =
        ThreeWayDiff::new(&shared, &base, (&sides.0, &sides.1), all, Direction::Forward)?;
    let (mut edits, mut pieces) = (Edits::default(), Vec::new());
    while let Some(found) = diff.next()? {
        match outcome(shared, &found, merger)? {
            Outcome::Newer => {}
            Outcome::Stored(None) => {
                let to = End::Included(found.key.clone());
                edits.drops.push(Drop { from: found.key, to });
            }
            Outcome::Stored(Some(stored)) => edits.puts.push(&[&found.key], stored.payload()),
            Outcome::Value(value) => {
                shared.put(&mut edits.puts, &found.key, &value, &mut pieces)?;
            }
        }
    }
    Ok((edit(shared, &shared.boundaries, newer, edits)?, pieces))
}

fn outcome(shared: &Shared, found: &ThreeWay, merger: &mut dyn Merger) -> Result<Outcome> {
    let ThreeWay { key, base, ours: older, theirs: newer } = found;
    if older == base {
        return Ok(Outcome::Newer);
    }
    if newer == base {
        return Ok(Outcome::Stored(older.clone()));
    }
    // Before equality: if both sides have added the same number, it counts twice.
    if merger.class(key) == KeyClass::Counter
        && let Some(sum) = sum(base.as_ref(), older.as_ref(), newer.as_ref())
    {
        return Ok(Outcome::Value(sum.to_be_bytes().to_vec()));
    }
    if older == newer {
        return Ok(Outcome::Newer);
    }
    let read = |stored: &Option<Stored>| match stored {
        Some(stored) => value(shared, stored.payload()).map(|value| Some(value.into_owned())),
        None => Ok(None),
    };
    let values = (read(base)?, read(older)?, read(newer)?);
    let conflict = Conflict {
        key,
        base: values.0.as_deref(),
        older: values.1.as_deref(),
        newer: values.2.as_deref(),
    };
    Ok(match merger.resolve(&conflict)? {
        Resolution::Newer => Outcome::Newer,
        Resolution::Older => Outcome::Stored(older.clone()),
        Resolution::Remove => Outcome::Stored(None),
        Resolution::Value(value) => Outcome::Value(value),
    })
}

/// What both sides have added, if all three are counters. No counter in the base is 0.
fn sum(base: Option<&Stored>, older: Option<&Stored>, newer: Option<&Stored>) -> Option<i64> {
    let number = |stored: &Stored| {
        let Payload { flags, bytes } = stored.payload();
        let bytes = bytes.try_into().ok().filter(|_| flags == 0)?;
        Some(i64::from_be_bytes(bytes))
    };
    let base = base.map_or(Some(0), number)?;
    let (older, newer) = (number(older?)?, number(newer?)?);
    Some(older.wrapping_add(newer.wrapping_sub(base)))
}
