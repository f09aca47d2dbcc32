//! Finds the absent pieces of a part of a value, and fetches them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use permazen_kv::__internal::check_can_begin;
use permazen_kv::{KvRead, TxOptions};

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::pinned_page::PinnedPage;
use crate::page::requests::{Arrived, Source};
use crate::page::retries::Retries;
use crate::rows::counts::Counts;
use crate::rows::references::children;
use crate::value::cuts::PieceCutRule;
use crate::value::index::{Index, Part};
use crate::value::read::{PieceStore, check_chunk, index};
use crate::value::reference::Reference;

/// The most bytes of pieces that a transaction writes.
const TRANSACTION: usize = 1 << 20;

/// How long a transaction waits for the write lock of the host.
const WAIT: Duration = Duration::from_secs(30);

/// A piece of a value, as its reference describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted {
    part: Part,
    /// The level of an index piece; `None` for a chunk.
    level: Option<u8>,
    is_top: bool,
    /// It is the last piece of the value at its level.
    is_last: bool,
}

impl Wanted {
    fn kind(&self) -> Kind {
        if self.level.is_some() { Kind::Index } else { Kind::Chunk }
    }

    /// Checks the piece as a reader does, and whether the cut rule allows it.
    fn check(&self, bytes: &[u8], rule: &PieceCutRule) -> Result<()> {
        let is_allowed = match self.level {
            None => {
                check_chunk(&self.part, bytes)?;
                rule.allows_chunk(bytes, self.is_last)
            }
            Some(level) => {
                let bytes = Bytes::copy_from_slice(bytes);
                let index = index(&self.part, bytes, level, self.is_top)?;
                rule.allows_index(&index, self.is_last)
            }
        };
        match is_allowed {
            true => Ok(()),
            false => {
                let expected = "a part of a value that is cut as the secret of this page says";
                let digest = &self.part.digest;
                Err(LedgerError::integrity(self.kind(), digest, expected, "other cuts"))
            }
        }
    }
}

/// A part of a value of a commit.
pub(super) struct PartOfValue<'p> {
    pub(super) page: &'p PinnedPage,
    pub(super) commit: CommitId,
    pub(super) value: Reference,
    /// The first byte, and the one after the last.
    pub(super) bytes: (u64, u64),
}

impl PartOfValue<'_> {
    /// Whether all pieces of the part are stored here.
    pub(super) fn is_here(&self) -> Result<bool> {
        match self.go(&mut |wanted| Ok(self.missing(wanted)?.is_empty())) {
            // A collection has removed a piece that was stored a moment ago.
            Err(LedgerError::Missing { .. }) => Ok(false),
            is_here => is_here,
        }
    }

    /// Fetches the absent pieces of the part.
    pub(super) fn get(&self, source: &Source) -> Result<()> {
        let gone = self.go(&mut |wanted| self.get_pieces(wanted, source).map(|()| true));
        gone.map(drop).map_err(|error| PieceStore::explain(self.page, error))
    }

    /// Calls `each` with the pieces of the part, from the top down, the children of one piece
    /// together, until it returns `false`. Returns whether it never did.
    fn go(&self, each: &mut dyn FnMut(&[Wanted]) -> Result<bool>) -> Result<bool> {
        let Reference { top, levels, len } = self.value;
        let part = Part { len, digest: top };
        let wanted = Wanted { part, level: levels.checked_sub(1), is_top: true, is_last: true };
        Ok(each(&[wanted])? && self.below(&wanted, 0, &mut HashSet::new(), each)?)
    }

    /// The same for the pieces below a stored one, which begins at this position. A piece that lies
    /// in the part as a whole is visited once, however often the value contains it.
    fn below(
        &self,
        above: &Wanted,
        begin: u64,
        seen: &mut HashSet<Wanted>,
        each: &mut dyn FnMut(&[Wanted]) -> Result<bool>,
    ) -> Result<bool> {
        let Some(level) = above.level else { return Ok(true) };
        let is_whole = self.bytes.0 <= begin && begin + above.part.len <= self.bytes.1;
        if is_whole && !seen.insert(*above) {
            return Ok(true);
        }
        let bytes = self.page.piece(Kind::Index, &above.part.digest)?;
        let index = index(&above.part, bytes, level, above.is_top);
        let index: Index = index.map_err(|error| PieceStore::explain(self.page, error))?;
        let (mut below, mut at) = (Vec::new(), begin);
        for (number, part) in (0..index.len()).filter_map(|at| Some((at, index.part(at)?))) {
            if at < self.bytes.1 && at + part.len > self.bytes.0 {
                let is_last = above.is_last && number + 1 == index.len();
                let wanted = Wanted { part, level: level.checked_sub(1), is_top: false, is_last };
                below.push((wanted, at));
            }
            at += part.len;
        }
        let wanted: Vec<_> = below.iter().map(|(wanted, _)| *wanted).collect();
        if !each(&wanted)? {
            return Ok(false);
        }
        for (wanted, begin) in &below {
            if !self.below(wanted, *begin, seen, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Those of these pieces that are absent, each once.
    fn missing(&self, wanted: &[Wanted]) -> Result<Vec<(Kind, Digest)>> {
        let (shared, mut missing) = (&self.page.shared, Vec::new());
        let (tx, mut seen) = (shared.read()?, HashSet::new());
        for Wanted { part, .. } in wanted.iter().filter(|wanted| seen.insert(wanted.part.digest)) {
            if shared.open.rows.number_of(&tx, &part.digest)?.is_none() {
                missing.push(part.digest);
            }
        }
        let kinds: HashMap<_, _> =
            wanted.iter().map(|wanted| (wanted.part.digest, wanted.kind())).collect();
        Ok(missing.into_iter().map(|digest| (kinds[&digest], digest)).collect())
    }

    fn get_pieces(&self, wanted: &[Wanted], source: &Source) -> Result<()> {
        let requests = &self.page.shared.requests;
        loop {
            let missing = self.missing(wanted)?;
            if missing.is_empty() {
                return Ok(());
            }
            let mut claimed = requests.claim(&missing, source);
            let others_fetch = claimed.pieces().len() < missing.len();
            // Another thread may have written a missing piece before it was claimed here.
            if !claimed.pieces().is_empty() {
                let missing: HashSet<_> =
                    self.missing(wanted)?.into_iter().map(|(_, digest)| digest).collect();
                claimed.retain(|digest| missing.contains(digest));
            }
            let names: HashMap<_, _> =
                wanted.iter().map(|wanted| (wanted.part.digest, *wanted)).collect();
            let result = claimed.get(source, |arrived| self.store_arrived(&names, arrived, source));
            // Dropped before the wait below, or this thread would wait for itself.
            drop(claimed);
            result?;
            // Wait for the pieces that other threads fetch, then check again which pieces are
            // missing. These threads may need the write lock of the host, which this one may hold.
            if others_fetch {
                check_can_begin(&*self.page.shared.open.host)?;
            }
            requests.wait(&missing)?;
        }
    }

    /// Stores the pieces that have arrived and pass the check.
    fn store_arrived(
        &self,
        names: &HashMap<Digest, Wanted>,
        arrived: Arrived,
        source: &Source,
    ) -> Result<()> {
        let (mut good, mut wrong) = (Vec::new(), None);
        let rule = PieceCutRule::new(&self.page.shared.secret);
        for (kind, digest, bytes) in arrived {
            match names.get(&digest).map_or(Ok(()), |wanted| wanted.check(&bytes, &rule)) {
                Ok(()) => good.push((kind, digest, bytes)),
                Err(LedgerError::Integrity { kind, digest, expected, found, .. }) => {
                    let found = format!("{found}, from source {}", source.name());
                    let error = LedgerError::integrity(kind, &digest, expected, found);
                    // Returned at the end: the good pieces of this answer are stored before.
                    wrong.get_or_insert(error.needed(|by| by.received = true));
                }
                Err(error) => return Err(error),
            }
        }
        // In the order of their keys, which a B+tree writes fastest.
        good.sort_unstable_by_key(|(_, digest, _)| *digest);
        let mut rest = &good[..];
        while !rest.is_empty() {
            let mut size = 0;
            let fits = |(_, _, bytes): &&(Kind, Digest, Vec<u8>)| {
                size += bytes.len();
                size <= TRANSACTION
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            self.write(now)?;
            rest = later;
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Writes pieces, unless the commit is gone. Repeats the transaction after a conflict.
    fn write(&self, pieces: &[(Kind, Digest, Vec<u8>)]) -> Result<()> {
        let (host, mut retries) = (&*self.page.shared.open.host, Retries::new(WAIT));
        loop {
            match self.write_once(pieces, retries.left()) {
                Err(LedgerError::Host(error)) if error.is_retryable() && retries.pause(host)? => {}
                result => return result,
            }
        }
    }

    fn write_once(&self, pieces: &[(Kind, Digest, Vec<u8>)], wait: Duration) -> Result<()> {
        let (open, commit) = (&self.page.shared.open, self.commit);
        let mut tx = open.host.begin(&TxOptions::writing().with_wait(wait))?;
        open.rows.check_exists(&tx)?;
        let mut counts = open.rows.counts(&tx)?;
        let before = counts.pieces;
        // The collector then begins another round, which marks the pieces below these.
        if counts.round.can_remove() && self.may_lose_pieces_below(&tx, &counts, pieces)? {
            counts.end_round();
        }
        for (kind, digest, bytes) in pieces {
            // It came from the remote, so it gets no row as a local piece.
            open.rows.add_piece(&mut tx, (*kind, digest), bytes, &mut counts)?;
        }
        // Without a row of the commit, it is gone, and its reader gets that as an error.
        if !open.rows.add_pieces_of(&mut tx, &commit, counts.pieces - before)? {
            return Err(self.page.shared.expired(&commit));
        }
        open.rows.put_counts(&mut tx, &counts)?;
        Ok(tx.commit()?)
    }

    /// Whether a piece right below one of these index pieces was stored before the running round
    /// began. If no commit reaches it in another way, the round removes it: it could not find it
    /// through the index piece, which was absent.
    fn may_lose_pieces_below(
        &self,
        tx: &dyn KvRead,
        counts: &Counts,
        pieces: &[(Kind, Digest, Vec<u8>)],
    ) -> Result<bool> {
        let rows = &self.page.shared.open.rows;
        for (kind, digest, bytes) in pieces.iter().filter(|(kind, ..)| *kind == Kind::Index) {
            for below in children(*kind, digest, bytes.clone())? {
                let number = rows.number_of(tx, &below.to)?;
                if number.is_some_and(|number| counts.renews(number)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
