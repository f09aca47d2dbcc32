//! What decides for a merge, entry by entry.

use permazen_kv::KvWrite;

use crate::error::Result;

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

    /// Whether [`resolve`](Merger::resolve) looks at values. If not, a [`Conflict`] has none, and values that
    /// are not here can be merged. If so, one that is not here ends the merge with
    /// [`LedgerError::NeedsFetch`](crate::LedgerError::NeedsFetch).
    fn needs_values(&self) -> bool {
        true
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

impl Merger for LastOneWins {
    fn needs_values(&self) -> bool {
        false
    }
}
