//! Pages of queries, and the tokens with which they continue.

use std::fmt;
use std::str::FromStr;

use permazen_kv::Hex;
use permazen_kv::key::parse_hex;
use sha2::{Digest, Sha256};

use crate::encoding::{Reader, uint};
use crate::object::{IndexShape, IndexView};

/// The first byte of a token: the form of the bytes that follow.
const FORM: u8 = 1;
/// How many bytes of the check sum end a token.
const SUM: usize = 4;

/// Some results of a query, and where the query continues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<E> {
    /// The results, in the order in which they were read.
    pub entries: Vec<E>,
    /// Where the next page begins in the same direction; `None` if there were no more results.
    pub next: Option<PageToken>,
    /// Where the first result of this page is. With this token, the method for the other direction
    /// returns the page before it. `None` if the page is empty.
    pub start: Option<PageToken>,
}

/// A place in an index, or among object IDs, at which a query continues.
///
/// It can be sent away as text (`to_string`, `parse`) or with serde, and outlives the transaction
/// and the program. It names a place, not an entry. So the next page is right if entries have come
/// or gone in the meantime, even the last one of this page: nothing is returned twice, unless its
/// value has changed and it now comes later.
///
/// It belongs to one index of one database. The token of another index is refused. Restrictions are
/// not part of it: query the next page with those of the previous one. The text has a check sum, so
/// damage is noticed. It is neither secret nor signed: a program that has it can read the values of
/// an entry in it, and can make tokens of its own, which name other places of the same index.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PageToken {
    /// The storage ID of the index; 0 for a place among object IDs.
    index: u32,
    /// How many columns the entries have.
    columns: u32,
    /// The columns, encoded.
    position: Vec<u8>,
}

/// Why a page token was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageTokenError {
    /// The text is not that of a token.
    #[error("this is no page token: {reason}; begin with the first page")]
    Damaged {
        /// The defect of the token.
        reason: String,
    },
    /// The token belongs to another query.
    #[error(
        "the page token is not one of {expected}: use it with the query that it came from, or begin with the first page"
    )]
    OtherIndex {
        /// The index that was queried, or `object ids`.
        expected: String,
    },
}

impl<E> Page<E> {
    /// The same page with other results, each made of one of this page.
    pub fn map<F>(self, make: impl FnMut(E) -> F) -> Page<F> {
        let entries = self.entries.into_iter().map(make).collect();
        Page { entries, next: self.next, start: self.start }
    }
}

impl PageToken {
    pub(in crate::model) fn of_id(id: &[u8]) -> Self {
        PageToken { index: 0, columns: 1, position: id.to_vec() }
    }

    /// The object ID; `None` if this is a place in an index.
    pub(in crate::model) fn id(&self) -> Option<&[u8]> {
        // No index has the storage ID 0.
        (self.index == 0 && self.columns == 1).then_some(&self.position)
    }

    /// Its columns, encoded.
    pub(super) fn position(&self) -> &[u8] {
        &self.position
    }

    pub(super) fn of_entry(view: &IndexView<'_>, position: Vec<u8>) -> Self {
        let (index, columns) = identity(view.shape(), view.columns());
        PageToken { index, columns, position }
    }

    pub(super) fn check(&self, view: &IndexView<'_>) -> Result<(), PageTokenError> {
        // The same index without its last column has other positions.
        if (self.index, self.columns) == identity(view.shape(), view.columns()) {
            return Ok(());
        }
        let expected = format!("index {} with {} columns", view.shape().name(), view.columns());
        Err(PageTokenError::OtherIndex { expected })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        uint::write(self.index, &mut out);
        uint::write(self.columns, &mut out);
        out.extend_from_slice(&self.position);
        let sum = sum(&out);
        out.extend_from_slice(&sum);
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let content = bytes.len().checked_sub(SUM).and_then(|at| bytes.split_at_checked(at));
        let Some((content, end)) = content else { return Err("it is too short") };
        // Asked before the content is read, so that damage is not taken for another form.
        if end != sum(content) {
            return Err("its check sum does not match");
        }
        let mut reader = Reader::new(content);
        // A later version may write other tokens, and these can outlive a program.
        if reader.byte() != Ok(FORM) {
            return Err("it has a form that this program does not know");
        }
        let (Ok(index), Ok(columns)) = (uint::read(&mut reader), uint::read(&mut reader)) else {
            return Err("it does not name an index");
        };
        Ok(PageToken { index, columns, position: reader.rest().to_vec() })
    }
}

/// The identity of an index.
fn identity(shape: &IndexShape, columns: usize) -> (u32, u32) {
    // Each column is a field of a recorded schema, or one of two more, so it is never clamped.
    (shape.storage_id().get(), u32::try_from(columns).unwrap_or(u32::MAX))
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.iter_mut().zip(Sha256::digest(bytes)).for_each(|(to, from)| *to = from);
    sum
}

/// `PageToken(…)`: its text.
impl fmt::Debug for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageToken({self})")
    }
}

/// Letters and digits only.
impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.to_bytes()).fmt(f)
    }
}

impl FromStr for PageToken {
    type Err = PageTokenError;

    fn from_str(text: &str) -> Result<Self, PageTokenError> {
        let damaged = |reason: &str| PageTokenError::Damaged { reason: reason.to_owned() };
        let bytes = parse_hex(text).map_err(|_| damaged("it is no hexadecimal number"))?;
        PageToken::from_bytes(&bytes).map_err(damaged)
    }
}

/// As text.
#[cfg(feature = "serde")]
impl serde::Serialize for PageToken {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for PageToken {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
