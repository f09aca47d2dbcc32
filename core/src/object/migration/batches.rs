//! Moving many objects in batches, each of which is a transaction of its own.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use crate::id::ObjId;
use crate::layout::SchemaIndex;
use crate::object::whole_object::Moves;
use crate::object::{Error, Transaction};

/// How many objects a batch has, unless the caller says otherwise.
const BATCH: usize = 1000;
/// How many bytes of objects a batch moves, unless the caller says otherwise.
const BATCH_BYTES: usize = 4 << 20;
/// How many refusals a report has, unless the caller says otherwise.
const LISTED: usize = 1000;
/// How often a run looks for objects that other programs have created meanwhile.
const PASSES: usize = 16;
/// Up to how many objects are counted in the beginning.
const COUNTED: usize = 1_000_000;
/// How many objects one transaction reads. A long one keeps stores from
/// reusing space.
const LOOKED_AT: usize = 10_000;
/// Up to how many refused objects are remembered.
const REMEMBERED: usize = 1_000_000;

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// How many objects were moved; in a dry run, how many would be.
    pub moved: u64,
    /// How many objects stay where they are.
    pub refused: u64,
    /// How many of the objects counted at the start the run has not looked at yet; `None` if there
    /// were more than a million.
    pub left: Option<u64>,
}

/// An object to move, and the schema in which it was found.
pub(crate) type ObjectToMove = (SchemaIndex, ObjId);

/// An object that does not move, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotMoved<E> {
    /// The object.
    pub id: ObjId,
    /// Why it does not move: what it would lose, that its own conversion failed, that the schema
    /// lacks its type, or that a key would be too long.
    pub error: E,
}

/// The outcome for the objects of one transaction.
pub(crate) struct Done<E> {
    /// How many of the given objects the batch has handled, from the first one.
    seen: usize,
    moved: u64,
    refused: Vec<NotMoved<E>>,
}

/// Why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MigrationEnd {
    /// Nothing was left that can be moved.
    Done,
    /// The progress callback stopped it.
    Stopped,
    /// There may be more to move. Other programs created objects in other schemas again and again.
    /// Or the run has refused more than a million objects: it then ends, because it can remember no
    /// more of them.
    MoreMayCome,
}

/// How a run makes its batches, what it tells its caller, and the refusals that it lists.
pub(crate) struct RunOptions<'a, E> {
    /// How many objects a batch has at most.
    pub(crate) objects: usize,
    /// After how many bytes of content a batch ends.
    pub(crate) bytes: usize,
    /// How long to wait between two batches.
    pub(crate) pause: Duration,
    /// Whether nothing is to be moved for good.
    pub(crate) is_dry: bool,
    /// How many refusals are listed.
    pub(crate) listed: usize,
    pub(crate) refusals: Vec<NotMoved<E>>,
    /// Is called after each batch. If it returns `Break`, the run ends.
    pub(crate) progress: Option<Box<OnProgress<'a>>>,
    /// Is called with each object that stays where it is, after its batch.
    pub(crate) on_refusal: Option<Box<OnRefusal<'a, E>>>,
}

type OnProgress<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;
type OnRefusal<'a, E> = dyn FnMut(&NotMoved<E>) + 'a;

impl<E> Default for RunOptions<'_, E> {
    fn default() -> Self {
        RunOptions {
            objects: BATCH,
            bytes: BATCH_BYTES,
            pause: Duration::ZERO,
            is_dry: false,
            listed: LISTED,
            refusals: Vec::new(),
            progress: None,
            on_refusal: None,
        }
    }
}

impl<E> RunOptions<'_, E> {
    fn refused(&mut self, refused: NotMoved<E>) {
        // The listener gets every refusal, and the report only the first ones.
        if let Some(listener) = &mut self.on_refusal {
            listener(&refused);
        }
        if self.refusals.len() < self.listed {
            self.refusals.push(refused);
        }
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.progress.as_mut().map_or(ControlFlow::Continue(()), |listener| listener(progress))
    }
}

/// Moves the objects of one batch.
pub(crate) type Batch<'b, E> = dyn FnMut(&Transaction) -> Result<Done<E>, E> + 'b;

/// Is shown objects to move.
pub(crate) trait Visitor {
    /// The transaction for reading has begun, for the first time or again.
    fn begin(&mut self);

    /// An object. If this returns `Break`, no more are shown.
    fn found(&mut self, found: ObjectToMove) -> ControlFlow<()>;
}

/// The part of a run that depends on its caller: the objects, transactions and rules.
pub(crate) trait Batches {
    /// Why an object does not move, or why the run fails.
    type Error: From<Error>;

    /// Whether others cannot add to the objects that are to be moved.
    fn is_fixed(&self) -> bool;

    /// Shows the objects to move after `last`, always in the same order, in a transaction for
    /// reading. If that is run again, the visitor begins again.
    fn look(
        &self,
        last: Option<ObjectToMove>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), Self::Error>;

    /// Runs `body` in a transaction and commits it, as often as the conflicts of one are retried.
    /// If `is_dry`, nothing is committed.
    fn transact(
        &self,
        is_dry: bool,
        body: &mut Batch<'_, Self::Error>,
    ) -> Result<Done<Self::Error>, Self::Error>;

    /// Moves one object. Returns how many bytes of content it had; `None` if it is no longer where
    /// it was found.
    fn migrate(
        &self,
        moves: &mut Moves<'_>,
        found: ObjectToMove,
    ) -> Result<Option<usize>, Self::Error>;

    /// Whether an error is about the transaction or the store, and not about the object that was to
    /// move.
    fn ends_run(error: &Self::Error) -> bool;

    /// Whether running the transaction again may succeed.
    fn is_retryable(error: &Self::Error) -> bool;
}

/// Moves the objects. Returns how many were moved, how many were refused, and why the run has
/// ended.
///
/// # Errors
/// The errors of transactions, if running the batch again does not help. Objects that earlier
/// batches moved stay moved.
pub(crate) fn in_batches<B: Batches>(
    batches: &B,
    options: &mut RunOptions<'_, B::Error>,
) -> Result<(u64, u64, MigrationEnd), B::Error> {
    // They are counted for the listener alone.
    let counted = if options.progress.is_some() { count(batches)? } else { None };
    let size = options.objects;
    // The first batch has the full size, and shrinks only if there are conflicts.
    let mut run = Run { moved: 0, refused: 0, counted, seen: 0, size, ..Run::default() };
    for _ in 0..PASSES {
        let before = run.moved;
        // The caller wants to stop, which is no failure.
        if run.pass(batches, options)?.is_break() {
            return Ok((run.moved, run.refused, MigrationEnd::Stopped));
        }
        // A dry run would find the same objects again. Given objects do not become more. If nothing
        // has moved, what is left cannot be moved.
        if options.is_dry || batches.is_fixed() || run.moved == before {
            return Ok((run.moved, run.refused, MigrationEnd::Done));
        }
        // Another pass would try the refusals again that were not remembered.
        if run.passed_over.len() > REMEMBERED {
            break;
        }
    }
    Ok((run.moved, run.refused, MigrationEnd::MoreMayCome))
}

/// The state of a run.
#[derive(Default)]
struct Run {
    moved: u64,
    refused: u64,
    /// How many objects were counted in the beginning.
    counted: Option<u64>,
    /// How many objects the run has handled.
    seen: u64,
    /// The refused objects, which are not tried again.
    passed_over: HashSet<ObjId>,
    /// How many objects the next transaction has at most. It shrinks with each conflict.
    size: usize,
    /// Whether a batch has run, so that a pause is due before the next one.
    pause_due: bool,
}

impl Run {
    /// Goes through all objects to move once, and moves them. Returns `Break` if the caller stopped
    /// the run.
    fn pass<B: Batches>(
        &mut self,
        batches: &B,
        options: &mut RunOptions<'_, B::Error>,
    ) -> Result<ControlFlow<()>, B::Error> {
        let mut last = None;
        loop {
            // An object that was refused is not tried again in a later pass.
            let mut next = Next::new(options.objects, &self.passed_over);
            batches.look(last, &mut next)?;
            let (found, end) = (next.found, next.end);
            // Nothing was read, so the pass is at its end.
            if end.is_none() {
                return Ok(ControlFlow::Continue(()));
            }
            // The pass goes on behind the last object that was read, even if that was passed over.
            last = end;
            if self.move_found(found, batches, options)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Moves the found objects, in one batch or several.
    fn move_found<B: Batches>(
        &mut self,
        mut found: VecDeque<ObjectToMove>,
        batches: &B,
        options: &mut RunOptions<'_, B::Error>,
    ) -> Result<ControlFlow<()>, B::Error> {
        while !found.is_empty() {
            // The pause is between two batches, so there is none before the first.
            if std::mem::replace(&mut self.pause_due, true) {
                thread::sleep(options.pause);
            }
            let done = move_batch(batches, options, found.make_contiguous(), &mut self.size)?;
            // A batch without a conflict lets the next one be larger again.
            self.size = self.size.saturating_mul(2).min(options.objects);
            // This ends even if nothing was read.
            found.drain(..done.seen.clamp(1, found.len()));
            self.seen += done.seen as u64;
            self.moved += done.moved;
            for refused in done.refused {
                self.refused += 1;
                // One more than the limit is kept, so that the run knows that some are not
                // remembered.
                if self.passed_over.len() <= REMEMBERED {
                    self.passed_over.insert(refused.id);
                }
                options.refused(refused);
            }
            let left = self.counted.map(|counted| counted.saturating_sub(self.seen));
            let progress = Progress { moved: self.moved, refused: self.refused, left };
            if options.progress(&progress).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Moves the first of the found objects in one transaction: at most `size` of them, and after each
/// conflict half as many.
fn move_batch<B: Batches>(
    batches: &B,
    options: &RunOptions<'_, B::Error>,
    found: &[ObjectToMove],
    size: &mut usize,
) -> Result<Done<B::Error>, B::Error> {
    // A dry run writes nothing, so it cannot conflict.
    let bytes = options.bytes;
    if options.is_dry {
        return batches.transact(true, &mut |tx| attempt(batches, bytes, tx, found));
    }
    let half = |size: usize| (size.min(found.len()) / 2).max(1);
    loop {
        // The store runs the body again after a conflict, and a smaller batch conflicts less.
        let mut tried = false;
        let result = batches.transact(false, &mut |tx| {
            // This is run again after a conflict.
            if std::mem::replace(&mut tried, true) {
                *size = half(*size);
            }
            attempt(batches, bytes, tx, found.get(..*size).unwrap_or(found))
        });
        match result {
            // It is no longer run again, and there is something to halve.
            Err(error) if B::is_retryable(&error) && (*size).min(found.len()) > 1 => {
                *size = half(*size);
            }
            result => return result,
        }
    }
}

/// Moves objects in `tx`, from the first one, until the batch is full.
fn attempt<B: Batches>(
    batches: &B,
    most_bytes: usize,
    tx: &Transaction,
    found: &[ObjectToMove],
) -> Result<Done<B::Error>, B::Error> {
    let mut done = Done { seen: 0, moved: 0, refused: Vec::new() };
    let mut bytes = 0;
    let mut moves = Moves::new(tx);
    for &found in found {
        // With a limit of 0 bytes, objects would otherwise be passed over without an attempt.
        if done.seen > 0 && bytes >= most_bytes {
            break;
        }
        done.seen += 1;
        match batches.migrate(&mut moves, found) {
            Ok(Some(size)) => {
                done.moved += 1;
                bytes += size;
            }
            // Meanwhile others have deleted or moved it.
            Ok(None) => {}
            // A failed store fails for all objects, so the run ends.
            Err(error) if B::ends_run(&error) => return Err(error),
            // The other objects of the batch can still move.
            Err(error) => done.refused.push(NotMoved { id: found.1, error }),
        }
    }
    // Index entries of the batch are written together at its end.
    moves.finish()?;
    Ok(done)
}

/// The next objects to move, at most one batch.
struct Next<'p> {
    batch: usize,
    passed_over: &'p HashSet<ObjId>,
    found: VecDeque<ObjectToMove>,
    looked_at: usize,
    /// The last object that was read; `None` if there is no more.
    end: Option<ObjectToMove>,
}

impl<'p> Next<'p> {
    fn new(batch: usize, passed_over: &'p HashSet<ObjId>) -> Self {
        Next { batch, passed_over, found: VecDeque::new(), looked_at: 0, end: None }
    }
}

impl Visitor for Next<'_> {
    fn begin(&mut self) {
        // The transaction for reading can be run again, and the objects are then read anew.
        *self = Next::new(self.batch, self.passed_over);
    }

    fn found(&mut self, found: ObjectToMove) -> ControlFlow<()> {
        self.looked_at += 1;
        // The place is noted even for an object that is passed over, so that the pass goes on.
        self.end = Some(found);
        if !self.passed_over.contains(&found.1) {
            self.found.push_back(found);
        }
        // A long transaction for reading keeps old versions in the store.
        match self.found.len() < self.batch && self.looked_at < LOOKED_AT {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// Objects that are counted in one transaction.
struct Counting {
    count: usize,
    last: Option<ObjectToMove>,
}

impl Visitor for Counting {
    fn begin(&mut self) {
        self.count = 0;
    }

    fn found(&mut self, found: ObjectToMove) -> ControlFlow<()> {
        self.count += 1;
        self.last = Some(found);
        match self.count < LOOKED_AT {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// How many objects there are to move; `None` if there are too many to count.
fn count<B: Batches>(batches: &B) -> Result<Option<u64>, B::Error> {
    let (mut count, mut last) = (0, None);
    while count <= COUNTED {
        let mut counting = Counting { count: 0, last };
        batches.look(last, &mut counting)?;
        count += counting.count;
        last = counting.last;
        // Fewer than a full round were left.
        if counting.count < LOOKED_AT {
            return Ok(Some(count as u64));
        }
    }
    Ok(None)
}
