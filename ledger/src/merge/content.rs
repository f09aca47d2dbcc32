//! What comes of two states that have a common base.

use std::sync::Arc;

use permazen_kv::overlay::MutableView;
use permazen_kv::{Direction, KeySpan, KvWrite};

use crate::digest::Digest;
use crate::error::Result;
use crate::node::items::Payload;
use crate::page::shared::Shared;
use crate::page::snapshot::{PageSnapshot, value};
use crate::page::write::Draft;
use crate::process::pins::Pin;
use crate::tree::diff::Stored;
use crate::tree::edit::{Drop, Edits, End, edit};
use crate::tree::nodes::root;
use crate::tree::three_way::{ThreeWay, ThreeWayDiff};

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

    /// Whether some keys are [`KeyClass::Derived`], so that [`finish`](Merger::finish) is called.
    fn has_derived(&self) -> bool {
        false
    }

    /// Makes the derived entries anew from the others: `merged` has the entries of the merge, and the
    /// derived ones as the newer side has them. Whatever it writes is part of the merge. Called once
    /// for each merge in which both sides have changes, if [`has_derived`](Merger::has_derived).
    ///
    /// ```
    /// use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{KeyClass, MAIN, Merger, PageId, Repository, Result};
    ///
    /// /// Counts the entries under the key "count".
    /// struct Counting;
    ///
    /// impl Merger for Counting {
    ///     fn class(&self, key: &[u8]) -> KeyClass {
    ///         if key == b"count" { KeyClass::Derived } else { KeyClass::Value }
    ///     }
    ///     fn has_derived(&self) -> bool {
    ///         true
    ///     }
    ///     fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
    ///         let all = merged.scan(KeySpan::new(b"", None), Direction::Forward)?.count();
    ///         Ok(merged.put(b"count", &[all as u8 - 1])?)
    ///     }
    /// }
    ///
    /// let page = Repository::create(MemoryStore::new())?.create_page("list", PageId::ROOT)?;
    /// let write = |branch: &str, key: &[u8], count: u8| {
    ///     let db = page.database(branch)?;
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(key, b"")?;
    ///     tx.put(b"count", &[count])?;
    ///     Ok::<_, permazen_ledger::LedgerError>(tx.commit()?)
    /// };
    /// write(MAIN, b"Ann", 1)?;
    /// page.create_branch("other", &page.head(MAIN)?)?;
    /// write(MAIN, b"Bob", 2)?;
    /// write("other", b"Cleo", 2)?;
    /// let merge = page.merge(MAIN, &page.head("other")?, &mut Counting)?;
    /// assert_eq!(page.snapshot(&merge)?.get(b"count")?.as_deref(), Some(&[3][..]));
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// Its errors end the merge, and change nothing.
    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        let _ = merged;
        Ok(())
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
    /// Something that can be made anew from the other entries, such as an index. Both sides may
    /// change it, and nobody is asked: [`Merger::finish`] makes it anew. Without
    /// [`Merger::has_derived`] it is as the newer side has it.
    Derived,
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

/// The content of a merge.
pub(super) fn merged(
    shared: &Arc<Shared>,
    base: &Digest,
    older: &Digest,
    (pin, newer): (&Pin, &Digest),
    merger: &mut dyn Merger,
) -> Result<Draft> {
    if merger.has_derived() {
        return finished(shared, base, older, (pin, newer), merger);
    }
    let (mut edits, mut pieces) = (Edits::default(), Vec::new());
    each(shared, [base, older, newer], merger, &mut |key, outcome| {
        match outcome {
            Outcome::Newer => {}
            Outcome::Stored(None) => {
                let to = End::Included(key.clone());
                edits.drops.push(Drop { from: key, to });
            }
            Outcome::Stored(Some(stored)) => edits.puts.push(&[&key], stored.payload()),
            Outcome::Value(value) => shared.put(&mut edits.puts, &key, &value, &mut pieces)?,
        }
        Ok(())
    })?;
    let edited = edit(&**shared, &shared.boundaries, newer, edits)?;
    Ok(Draft { root: edited.root, nodes: edited.nodes, pieces })
}

/// The content of a merge whose derived entries the merger makes anew. It reads what is merged, so all
/// changed values are in memory.
fn finished(
    shared: &Arc<Shared>,
    base: &Digest,
    older: &Digest,
    (pin, newer): (&Pin, &Digest),
    merger: &mut dyn Merger,
) -> Result<Draft> {
    let snapshot = PageSnapshot::new(Arc::clone(shared), pin.clone(), newer)?;
    let mut content = MutableView::untracked(snapshot);
    each(shared, [base, older, newer], merger, &mut |key, outcome| {
        match outcome {
            Outcome::Newer => {}
            Outcome::Stored(None) => content.remove(&key)?,
            Outcome::Stored(Some(stored)) => {
                content.put(&key, &value(&**shared, stored.payload())?)?
            }
            Outcome::Value(value) => content.put(&key, &value)?,
        }
        Ok(())
    })?;
    merger.finish(&mut content)?;
    shared.draft(newer, content.writes())
}

/// Calls a function with each entry that a side has changed.
fn each(
    shared: &Arc<Shared>,
    [base, older, newer]: [&Digest; 3],
    merger: &mut dyn Merger,
    with: &mut dyn FnMut(Vec<u8>, Outcome) -> Result<()>,
) -> Result<()> {
    let [base, left, right] = [base, older, newer].map(|digest| root(&**shared, digest));
    let all = KeySpan::new(b"", None);
    let (base, sides) = (base?, (left?, right?));
    let mut diff = ThreeWayDiff::new(shared, &base, (&sides.0, &sides.1), all, Direction::Forward)?;
    while let Some(found) = diff.next()? {
        let outcome = outcome(shared, &found, merger)?;
        with(found.key, outcome)?;
    }
    Ok(())
}

fn outcome(shared: &Shared, found: &ThreeWay, merger: &mut dyn Merger) -> Result<Outcome> {
    let ThreeWay { key, base, ours: older, theirs: newer } = found;
    let class = merger.class(key);
    if older == base || class == KeyClass::Derived {
        return Ok(Outcome::Newer);
    }
    if newer == base {
        return Ok(Outcome::Stored(older.clone()));
    }
    // Before equality: if both sides have added the same number, it counts twice.
    if class == KeyClass::Counter
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
