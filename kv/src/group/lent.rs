//! Reads of the transaction that the leader of a group lends.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::shared::Group;
use crate::{Blob, Direction, KeySpan, KvRead, Pair, Result, Scan};

/// A scan copies this many pairs at first. Each further page has twice as many, up to
/// [`LAST_PAGE`].
const FIRST_PAGE: usize = 4;
const LAST_PAGE: usize = 256;
/// A page ends at the pair with which it reaches this many bytes, because the leader may be waiting
/// to take its transaction back.
const PAGE_BYTES: usize = 64 << 10;

/// Reads the state with the writes of the leader and of the members before. Everything is copied.
pub(super) struct Lent {
    pub(super) group: Arc<Group>,
}

impl KvRead for Lent {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.group.read(|kv| Ok(kv.get(key)?.map(owned)))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        span.check()?;
        Ok(Box::new(LentScan {
            lent: self,
            min: span.min.to_vec(),
            max: span.max.map(<[u8]>::to_vec),
            direction,
            page: Vec::new().into_iter(),
            next_page: FIRST_PAGE,
            ended: span.is_empty(),
        }))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.group.read(|kv| Ok(kv.at_least(min, max)?.map(owned_pair)))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.group.read(|kv| Ok(kv.at_most(min, max)?.map(owned_pair)))
    }

    fn max_key_len(&self) -> usize {
        self.group.max_key_len()
    }
}

fn owned<'a>(value: Blob<'_>) -> Blob<'a> {
    Cow::Owned(value.into_owned())
}

fn owned_pair<'a>((key, value): Pair<'_>) -> Pair<'a> {
    (owned(key), owned(value))
}

type OwnedPair = (Vec<u8>, Vec<u8>);

/// A scan that copies one page at a time.
struct LentScan<'a> {
    lent: &'a Lent,
    /// The rest of the span, without the page.
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    direction: Direction,
    page: std::vec::IntoIter<OwnedPair>,
    next_page: usize,
    ended: bool,
}

impl LentScan<'_> {
    fn read(&mut self) -> Result<()> {
        let span = KeySpan::new(&self.min, self.max.as_deref());
        let (mut page, mut bytes, mut is_full) = (Vec::new(), 0, false);
        self.lent.group.read(|kv| {
            kv.visit(span, self.direction, &mut |key, value| {
                bytes += key.len() + value.len();
                page.push((key.to_vec(), value.to_vec()));
                is_full = page.len() == self.next_page || bytes >= PAGE_BYTES;
                if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        })?;
        self.ended = !is_full;
        self.next_page = (self.next_page * 2).min(LAST_PAGE);
        if let Some((key, _)) = page.last() {
            match self.direction {
                Direction::Forward => self.min = crate::key::next_key(key),
                Direction::Reverse => self.max = Some(key.clone()),
            }
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl<'a> Iterator for LentScan<'a> {
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.page.next() {
                return Some(Ok((Cow::Owned(key), Cow::Owned(value))));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read() {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }
}
