//! Checks a page.

use std::collections::HashSet;

use permazen_kv::{Direction, KeySpan, KvRead};

use super::commits::Graph;
use super::marks::Marks;
use super::numbers::Numbers;
use super::pieces::PieceChecker;
use super::references::CheckReferences;
use super::report::Verification;
use super::statuses::Statuses;
use super::trees::Trees;
use crate::commit::encoding::Commit;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::page::shared::Shared;
use crate::rows::counts::Counts;
use crate::rows::inspect::{
    COUNTS_KEY, DecodedPageRow, KEEP_VERSION_KEY, PARAMETERS_KEY, PieceRow, RowRange, commit_key,
    heads_key, page_row, piece_key, resets_key,
};
use crate::rows::inspect_repository::is_lease;
use crate::rows::page::{MAIN, Rows};
use crate::rows::process::{Hold, StreamState, lease};
use crate::rows::references::References;
use crate::rows::separate::OWN_KEY;
use crate::rows::statuses::Remote;
use crate::value::index::Index;
use crate::value::reference::MAX_CHUNK;

/// Checks a page.
///
/// # Errors
/// Those of the host.
pub(crate) fn verify(page: &Shared) -> Result<Verification> {
    let mut report = Verification::default();
    check(&page.read()?, &page.open.rows, None, &mut report)?;
    Ok(report)
}

/// Checks all rows of a page, in one transaction of its host, and compares them with the device of
/// the repository.
///
/// # Errors
/// Those of the host.
pub(super) fn check(
    tx: &dyn KvRead,
    rows: &Rows,
    device: Option<[u8; 24]>,
    report: &mut Verification,
) -> Result<()> {
    let page = rows.number;
    let at = (page, &PARAMETERS_KEY[..]);
    let parameters = report.readable(at, "the parameters of the page", rows.parameters(tx))?;
    // An eviction that was not completed leaves the flag in a database of its own. The next process
    // that opens the page removes it.
    let is_half_evicted =
        || Ok::<_, LedgerError>(rows.is_separate() && rows.is_marked_deleted(tx)?);
    if let Some(None) = parameters
        && !is_half_evicted()?
    {
        let found = "no row, or that of a page that is deleted";
        report.add(page, &PARAMETERS_KEY, "the parameters of the page", found);
    }
    let at = (page, &COUNTS_KEY[..]);
    let counts = report.readable(at, "the counts of the page", rows.counts(tx))?;
    if let Some(found) = counts.as_ref().and_then(Counts::contradiction) {
        report.add(page, &COUNTS_KEY, "a state of the collector", found);
    }
    let (graph, streamed, reference_rows) =
        check_small((tx, device), rows, counts.as_ref(), report)?;
    report.commits += graph.len();
    graph.check(report);

    let secret = parameters.flatten().map(|parameters| parameters.secret);
    // A damaged row is reported by the check of all rows.
    let is_attached = rows.remote(tx).is_ok_and(|remote| remote == Remote::Attached);
    let mut trees = Trees::new(PieceChecker::new(tx, rows, report), secret.as_ref(), is_attached);
    for (commit, root) in graph.roots() {
        trees.check(commit, &root)?;
    }
    let state = counts.as_ref().map(|counts| counts.references).unwrap_or_default();
    let mut references = CheckReferences::new(tx, rows, state);
    let mut last = None;
    for (commit, root) in graph.roots() {
        // Content and conflicts of a commit can be the same.
        if last.replace((*commit, root)) != Some((*commit, root)) {
            references.root(commit, &root, trees.pieces.report)?;
        }
    }
    check_pieces(tx, trees.pieces, counts.as_ref(), &streamed, &mut references)?;
    references.end(reference_rows, &graph, report)
}

/// Calls `each` with each row of a part of a page.
fn visit(
    tx: &dyn KvRead,
    rows: &Rows,
    range: RowRange,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let prefix = rows.all().0.len();
    let (min, max) = rows.row_range(range);
    for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
        let (key, row) = pair?;
        each(key.get(prefix..).unwrap_or_default(), &row)?;
    }
    Ok(())
}

/// Checks each row other than those of pieces. Returns the graph of commits, the pieces of streams,
/// and the number of reference rows.
fn check_small(
    (tx, device): (&dyn KvRead, Option<[u8; 24]>),
    rows: &Rows,
    counts: Option<&Counts>,
    report: &mut Verification,
) -> Result<(Graph, HashSet<Digest>, u64)> {
    let page = rows.number;
    let (mut graph, mut keep_version, mut reference_rows) = (Graph::new(page), 0, 0);
    let mut statuses = Statuses::default();
    let (mut expiring, mut pins, mut streamed) = (Vec::new(), Vec::new(), HashSet::new());
    let (mut marks, mut has_main) = (Marks::new(counts), false);
    let mut each = |key: &[u8], row: &[u8]| {
        has_main |= key.starts_with(&heads_key(MAIN)) || key == resets_key(MAIN);
        // These two were checked before.
        if rows.is_separate() && (key == OWN_KEY || is_lease(key, row)) {
            return Ok(());
        }
        match page_row(page, key, row) {
            Ok(DecodedPageRow::Head { branch, head }) => graph.add_head(key, branch, head),
            Ok(DecodedPageRow::Merge { parents, merge }) => graph.add_merge(parents, merge),
            Ok(DecodedPageRow::Commit { id, bytes, pieces }) => {
                let read = Commit::checked(page, &id, bytes);
                let commit = report.readable((page, key), "a commit with this ID", read)?;
                graph.add_commit(id, commit.as_ref());
                if let Some(counts) = counts
                    && u64::from(pieces) > counts.next
                {
                    let expected = format!("at most {} new pieces, as row 32 says", counts.next);
                    report.add(page, key, expected, pieces.to_string());
                }
            }
            Ok(DecodedPageRow::Tag { commit }) => graph.add_tag(key, commit),
            Ok(DecodedPageRow::KeepVersion(count)) => keep_version = count,
            Ok(DecodedPageRow::Pruned { id, pruned }) => graph.add_pruned(id, pruned),
            Ok(DecodedPageRow::Expiring { id }) => expiring.push((key.to_vec(), id)),
            Ok(DecodedPageRow::FirstOpened(life)) => {
                if let Some(device) = device.filter(|device| device[..16] == life[..16])
                    && life > device
                {
                    let expected = "an epoch that this device has reached";
                    report.add(page, key, expected, format!("{life:02x?}"));
                }
            }
            Ok(DecodedPageRow::Hold(Hold::Pin(pin))) => pins.push((key.to_vec(), pin)),
            Ok(DecodedPageRow::Hold(Hold::Stream(_, StreamState::Attached { round, .. }))) => {
                check_round(round, key, counts, report, page);
            }
            Ok(DecodedPageRow::Streamed(row)) => {
                if streamed.insert(row.digest) && rows.inspect_piece(tx, &row.digest)?.is_none() {
                    report.add(page, key, "a piece with a row", format!("piece {}", row.digest));
                }
            }
            Ok(DecodedPageRow::Unsynced { id, generation }) => {
                statuses.unsynced.push((key.to_vec(), id, generation));
            }
            Ok(DecodedPageRow::Local { digest }) => {
                statuses.local += 1;
                statuses.first_local.get_or_insert_with(|| key.to_vec());
                if rows.inspect_piece(tx, &digest)?.is_none() {
                    report.add(page, key, "a piece with a row", format!("piece {digest}"));
                }
            }
            Ok(DecodedPageRow::Reference(_)) => reference_rows += 1,
            Ok(DecodedPageRow::Marks { round, part, bytes }) => {
                check_round(round, key, counts, report, page);
                marks.add((page, key), (round, part, bytes), report);
            }
            // Pieces do not lie here, and the other rows were read before or need no further check.
            Ok(
                DecodedPageRow::Hold(Hold::Stream(..))
                | DecodedPageRow::Piece { .. }
                | DecodedPageRow::Resets
                | DecodedPageRow::Suspect { .. }
                | DecodedPageRow::Note
                | DecodedPageRow::Remote
                | DecodedPageRow::Parameters
                | DecodedPageRow::Counts,
            ) => {}
            Err(wrong) => {
                // A damaged row of a commit is reported here, and not again as missing by its
                // children.
                if let Some(id) = commit_of(key) {
                    graph.add_commit(id, None);
                }
                report.add_wrong(page, key, wrong);
            }
        }
        Ok(())
    };
    visit(tx, rows, RowRange::BeforePieces, &mut each)?;
    visit(tx, rows, RowRange::AfterPieces, &mut each)?;
    marks.check(page, report);
    if !has_main {
        let expected = "a head of the branch main, which was never removed";
        report.add(page, &heads_key(MAIN), expected, "no row");
    }
    statuses.check((tx, rows), &graph, counts, report)?;
    let least = graph.kept(MAIN);
    if keep_version < least {
        let expected = format!("{least} or more, for as many branches and tags");
        report.add(page, &KEEP_VERSION_KEY, expected, keep_version.to_string());
    }
    for (key, id) in expiring.iter().filter(|(_, id)| !graph.has(id)) {
        report.add(page, key, "a commit with a row", format!("commit {id}"));
    }
    for (key, pin) in &pins {
        // Pins of a process without a lease do not count.
        let lives = report.readable((page, key), "a lease", lease(tx, &pin.process))?.flatten();
        if lives.is_some() && !graph.has(&pin.commit) {
            report.add(page, key, "a commit with a row", format!("commit {}", pin.commit));
        }
    }
    Ok((graph, streamed, reference_rows))
}

/// Checks that a round which a row names has begun.
fn check_round(
    round: u64,
    key: &[u8],
    counts: Option<&Counts>,
    report: &mut Verification,
    page: u64,
) {
    if let Some(counts) = counts
        && round > counts.round.number
    {
        let expected = format!("round {} at most, as row 32 says", counts.round.number);
        report.add(page, key, expected, format!("round {round}"));
    }
}

/// The commit whose row has this key.
fn commit_of(key: &[u8]) -> Option<CommitId> {
    let id = CommitId(Digest::from_slice(key.get(1..)?)?);
    (commit_key(&id) == key).then_some(id)
}

/// Checks each row of a piece, and all unreachable pieces.
fn check_pieces(
    tx: &dyn KvRead,
    pieces: PieceChecker<'_>,
    counts: Option<&Counts>,
    streamed: &HashSet<Digest>,
    references: &mut CheckReferences<'_>,
) -> Result<()> {
    let PieceChecker { rows, report, reached, needed, .. } = pieces;
    let page = rows.number;
    let (mut numbers, mut count) = (Numbers::default(), 0_u64);
    visit(tx, rows, RowRange::Pieces, |key, row| {
        count += 1;
        let (digest, piece) = match page_row(page, key, row) {
            Ok(DecodedPageRow::Piece { digest, piece }) => (digest, piece),
            // Other rows do not lie here.
            Ok(_) => return Ok(()),
            Err(wrong) => {
                report.add_wrong(page, key, wrong);
                return Ok(());
            }
        };
        let number = piece.number;
        if let Some(counts) = counts
            && number >= counts.next
        {
            let expected = format!("a number below {}, as row 32 says", counts.next);
            report.add(page, key, expected, format!("number {number}"));
        }
        if !numbers.insert(number) {
            report.add(page, key, "a number that no other piece has", format!("number {number}"));
        }
        if digest == Node::empty().0 {
            report.add(page, key, "no row for the empty node", "one");
        }
        // Parts of a lazy value may be stored only because a stream has them; needed pieces must
        // not be transient.
        if needed.contains(&digest) && streamed.contains(&digest) {
            match rows.is_transient(tx, &digest) {
                Ok(true) => {
                    let expected = "a piece that streams do not have alone, since a commit has it";
                    report.add(page, key, expected, "a row 26 with 1, and no stream with a commit");
                }
                // A damaged row is reported by its own check.
                Ok(false) | Err(LedgerError::DamagedRow { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        references.piece(&digest, &piece, reached.contains(&digest), report)?;
        if !reached.contains(&digest) {
            if let Some(counts) = counts
                && counts.references == References::Off
                && counts.has_collected(number)
                && !streamed.contains(&digest)
            {
                let expected = "no unreachable piece after a collection";
                report.add(page, key, expected, format!("number {number}"));
            }
            report.unreachable_pieces += 1;
            report.unreachable_bytes += piece.bytes.len() as u64;
            if let Err(wrong) = unreached(&digest, piece) {
                report.add(page, &piece_key(&digest), wrong.0, wrong.1);
            }
        }
        Ok(())
    })?;
    report.pieces += count;
    if let Some(counts) = counts
        && counts.pieces != count
    {
        let expected = format!("{count} pieces, as there are rows 23");
        report.add(page, &COUNTS_KEY, expected, format!("{} pieces", counts.pieces));
    }
    Ok(())
}

/// Checks an unreachable piece. The error has the expected and the found content.
fn unreached(digest: &Digest, piece: PieceRow<'_>) -> std::result::Result<(), (String, String)> {
    let kind = piece.kind;
    let found = kind.digest(&piece.bytes);
    if found != *digest {
        return Err((format!("a {kind} with this digest"), format!("digest {found}")));
    }
    let bytes = piece.bytes.into_owned().into();
    let parsed = match kind {
        Kind::Node => Node::parse(bytes).map(drop),
        Kind::Index => Index::parse(bytes).map(drop),
        _ if (1..=MAX_CHUNK).contains(&bytes.len()) => Ok(()),
        _ => Err("no bytes, or more than 65,536"),
    };
    parsed.map_err(|found| (format!("the one encoding of a {kind}"), found.to_owned()))
}
