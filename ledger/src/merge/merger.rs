//! Mergers decide a merge, entry by entry.

use permazen_kv::KvWrite;

use super::sides::MergeSides;
use crate::error::Result;

/// Decides the result of a merge entry by entry.
///
/// It must be deterministic: no clock, no random numbers, no other input. Otherwise copies of a
/// page that merge the same commits differ.
///
/// To fail for a reason of its own, an implementation returns
/// [`LedgerError::other`](crate::LedgerError::other).
pub trait Merger {
    /// Looks at both sides before anything is decided. Called for each merge in which both sides
    /// have changes, under every policy, also if a resolver decides.
    ///
    /// ```
    /// use permazen_kv::KeySpan;
    /// use permazen_ledger::{LedgerError, MergeSides, Merger, Result};
    ///
    /// /// Merges nothing that changes settings.
    /// struct SameSettings;
    ///
    /// impl Merger for SameSettings {
    ///     fn begin(&mut self, sides: &MergeSides<'_>) -> Result<()> {
    ///         match sides.changes(KeySpan::new(b"settings/", Some(b"settings0")))?.next() {
    ///             Some(change) => Err(LedgerError::other(format!("{:?} differs", change?.key))),
    ///             None => Ok(()),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// An error ends the merge, and nothing is changed.
    fn begin(&mut self, sides: &MergeSides<'_>) -> Result<()> {
        let _ = sides;
        Ok(())
    }

    /// How the value of a key is merged.
    fn class(&self, key: &[u8]) -> KeyClass {
        let _ = key;
        KeyClass::Value
    }

    /// Decides a conflict: an entry that both sides have changed in different ways. By default the
    /// newer side wins.
    ///
    /// # Errors
    /// An error ends the merge, and nothing is changed.
    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        let _ = conflict;
        Ok(Resolution::Newer)
    }

    /// Whether [`resolve`](Merger::resolve) reads values. If not, a [`Conflict`] has no values, and
    /// absent values can be merged. If so, an absent value ends the merge with
    /// [`LedgerError::NeedsFetch`](crate::LedgerError::NeedsFetch).
    fn needs_values(&self) -> bool {
        true
    }

    /// Whether some keys are [`KeyClass::Derived`], so that [`finish`](Merger::finish) is called.
    fn has_derived(&self) -> bool {
        false
    }

    /// Rebuilds the derived entries from the others: `merged` has the entries of the merge, and the
    /// derived ones of the newer side. Its writes are part of the merge. Called once for each merge
    /// in which both sides have changes, if [`has_derived`](Merger::has_derived).
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
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("list", PageId::ROOT)?;
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
    /// An error ends the merge, and nothing is changed.
    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        let _ = merged;
        Ok(())
    }

    /// The same with both sides of the merge; by default it calls [`finish`](Merger::finish).
    /// Derived entries can be updated at the cost of the changes: `sides.changes` iterates the
    /// entries that a side has changed, and `merged` has their merged state.
    ///
    /// ```
    /// use permazen_kv::{KeySpan, KvWrite};
    /// use permazen_ledger::{KeyClass, MergeSides, Merger, Result};
    ///
    /// /// Keeps the names of people, key `p…`, also in an index, key `i` and name and `p…`.
    /// struct Names;
    ///
    /// impl Merger for Names {
    ///     fn class(&self, key: &[u8]) -> KeyClass {
    ///         if key.starts_with(b"i") { KeyClass::Derived } else { KeyClass::Value }
    ///     }
    ///     fn has_derived(&self) -> bool {
    ///         true
    ///     }
    ///     fn finish_with(&mut self, merged: &mut dyn KvWrite, sides: &MergeSides<'_>) -> Result<()> {
    ///         let entry = |name: &[u8], person: &[u8]| [b"i", name, person].concat();
    ///         for change in sides.changes(KeySpan::new(b"p", Some(b"q")))? {
    ///             let change = change?;
    ///             for old in [&change.base, &change.newer, &change.older].into_iter().flatten() {
    ///                 merged.remove(&entry(old.bytes.as_deref().unwrap_or_default(), &change.key))?;
    ///             }
    ///             if let Some(name) = merged.get(&change.key)?.map(|name| name.into_owned()) {
    ///                 merged.put(&entry(&name, &change.key), b"")?;
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// # use permazen_kv::{KvDatabase, TxOptions, memory::MemoryStore};
    /// # use permazen_ledger::{MAIN, PageId, Repository};
    /// # use permazen_kv::KvRead;
    /// # let page = Repository::open_or_create(MemoryStore::new())?.create_page("names", PageId::ROOT)?;
    /// # let write = |branch: &str, pairs: &[(&[u8], &[u8])], gone: &[&[u8]]| {
    /// #     let db = page.database(branch)?;
    /// #     let mut tx = db.begin(&TxOptions::writing())?;
    /// #     for key in gone { tx.remove(key)?; }
    /// #     for (key, value) in pairs { tx.put(key, value)?; }
    /// #     Ok::<_, permazen_ledger::LedgerError>(tx.commit()?)
    /// # };
    /// # write(MAIN, &[(b"p1", b"Ann"), (b"iAnnp1", b"")], &[])?;
    /// # page.create_branch("other", &page.head(MAIN)?)?;
    /// # write(MAIN, &[(b"p1", b"Anna"), (b"iAnnap1", b"")], &[b"iAnnp1"])?;
    /// # write("other", &[(b"p1", b"Anne"), (b"iAnnep1", b""), (b"p2", b"Bob"), (b"iBobp2", b"")], &[b"iAnnp1"])?;
    /// # let merge = page.merge(MAIN, &page.head("other")?, &mut Names)?;
    /// # let merged = page.snapshot(&merge)?;
    /// # let name = merged.get(b"p1")?.unwrap().into_owned();
    /// # assert_eq!(merged.count(KeySpan::new(b"i", Some(b"j")))?, 2);
    /// # assert!(merged.get(&[b"i", &name[..], b"p1"].concat())?.is_some() && merged.get(b"iBobp2")?.is_some());
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// An error ends the merge, and nothing is changed.
    fn finish_with(&mut self, merged: &mut dyn KvWrite, sides: &MergeSides<'_>) -> Result<()> {
        let _ = sides;
        self.finish(merged)
    }
}

/// How a value is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyClass {
    /// As a whole: one of the values wins.
    Value,
    /// A counter of eight bytes, such as a counter field of permazen: the amounts that both sides
    /// have added are summed. If a side has removed it, or its value there does not have eight
    /// bytes, it is merged as any value.
    Counter,
    /// An entry that can be rebuilt from others, such as one of an index. Changes on both sides are
    /// no conflict: [`Merger::finish`] rebuilds it. Without [`Merger::has_derived`] the newer side
    /// wins.
    Derived,
}

/// An entry that both sides of a merge have changed in different ways.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Conflict<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value in the merge base; `None` if there was none.
    pub base: Option<&'a [u8]>,
    /// The value on the side with the older head.
    pub older: Option<&'a [u8]>,
    /// The value on the side with the newer head.
    pub newer: Option<&'a [u8]>,
}

/// The decision about a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// The entry of the newer side.
    Newer,
    /// The entry of the older side.
    Older,
    /// This value.
    Value(Vec<u8>),
    /// There is no entry.
    Remove,
}

/// The side with the newer head wins where both have changed the same entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastWriterWins;

impl Merger for LastWriterWins {
    fn needs_values(&self) -> bool {
        false
    }
}
