//! Moving objects of types, or with given IDs, to a recorded schema in batches.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Bound, ControlFlow};

use permazen_kv::{Retry, TxOptions};

use super::batches::{
    Batch, Batches, Done, MigrationEnd, NotMoved, ObjectToMove, Progress, RunOptions, Visitor,
    in_batches,
};
use super::exactly::Losses;
use super::would_lose::WouldLose;
use crate::id::{ObjId, StorageId};
use crate::object::whole_object::Moves;
use crate::object::{Database, Error, Result, Transaction, TransactionConfig};
use crate::schema::{SchemaId, SchemaRemoval};

impl Database {
    /// Moves objects to a recorded schema, which may be older or newer, in batches. Each batch is a
    /// transaction of its own, so other transactions run in between.
    ///
    /// Each object moves as with
    /// [`Transaction::migrate_exactly`](crate::object::Transaction::migrate_exactly): one that
    /// would lose something stays where it is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::encoding::{Value, ids};
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::object::{Database, Migrate, MigrationEnd, TransactionConfig};
    /// use permazen::schema::{Field, ObjectType, SchemaModel, SchemaRemoval, Simple};
    ///
    /// let schema = |age| {
    ///     let person = ObjectType::new("Person").field(Field::new("age", Simple::of(age)));
    ///     SchemaModel::new().object_type(person)
    /// };
    /// let (long, int) = (schema(ids::LONG), schema(ids::INT));
    /// let db = Database::new(Arc::new(MemoryStore::new()));
    /// let tx = db.begin(&TransactionConfig::new(long)?)?;
    /// tx.add_schema(&int)?;
    /// for age in [41, 5_000_000_000] {
    ///     let id = tx.create("Person")?;
    ///     tx.set(id, "age", &Value::Long(age), Migrate::No)?;
    /// }
    /// tx.commit()?;
    ///
    /// let report = db.migrate_objects(int.schema_id()).run()?;
    /// assert_eq!((report.moved, report.refused, report.end), (1, 1, MigrationEnd::Done));
    /// assert!(report.refusals[0].to_string().contains("5000000000"));
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn migrate_objects(&self, to: SchemaId) -> MigrateObjects<'_> {
        let moves = ObjectMoves {
            db: self,
            to,
            wanted: ToMove::All,
            options: TxOptions::default(),
            retry: Retry::default(),
            accepts_losses: false,
            listed: 0,
            lost: RefCell::default(),
            lost_in_batch: RefCell::default(),
        };
        MigrateObjects { moves, options: RunOptions::default() }
    }
}

/// A run that moves objects to a recorded schema; see [`Database::migrate_objects`].
///
/// * Unless [`only_types`](MigrateObjects::only_types) or
///   [`only_objects`](MigrateObjects::only_objects) says otherwise, it moves the objects of all
///   types that the schema has, wherever they are.
/// * An object that would lose something, or that cannot be moved for another reason, stays as it
///   is, is counted and listed, and is not tried again in this run.
/// * A run that was stopped or killed loses at most the batch that was not committed. The next run
///   continues with the objects that are left: the database records the schema of each object.
/// * Other programs read and write meanwhile. If a batch conflicts with them, it is rolled back and
///   done again in smaller parts.
/// * Objects that others create in other schemas during the run are moved too, if the run is not
///   about given objects. It ends when it finds nothing more that can be moved, or after having
///   looked 16 times ([`MigrationEnd::MoreMayCome`]).
///
/// Cost: for each object, the cost of
/// [`Transaction::migrate`](crate::object::Transaction::migrate), and one step to find it, or one
/// get if its ID was given; for each batch, a transaction for reading and one for writing. Memory:
/// one batch, the given IDs, the listed refusals, and about 16 bytes for each refused object.
#[must_use = "nothing is moved until `run` is called"]
pub struct MigrateObjects<'a> {
    moves: ObjectMoves<'a>,
    options: RunOptions<'a, Error>,
}

/// Which objects are moved, and how.
struct ObjectMoves<'a> {
    db: &'a Database,
    to: SchemaId,
    wanted: ToMove,
    options: TxOptions,
    retry: Retry,
    accepts_losses: bool,
    /// How many losses are listed.
    listed: usize,
    /// The losses in the batches that are committed.
    lost: RefCell<Lost>,
    /// The losses in the batch that runs.
    lost_in_batch: RefCell<Lost>,
}

/// The losses of objects that moved.
#[derive(Default)]
struct Lost {
    objects: u64,
    first: Vec<WouldLose>,
}

impl Lost {
    fn add(&mut self, objects: u64, lost: impl IntoIterator<Item = WouldLose>, most: usize) {
        self.objects += objects;
        // All losses are counted, but only the first ones are kept.
        let room = most.saturating_sub(self.first.len());
        self.first.extend(lost.into_iter().take(room));
    }
}

/// Which objects a run moves.
#[derive(Debug)]
enum ToMove {
    /// Those of all types that the schema has.
    All,
    /// Those of these types.
    Types(BTreeSet<StorageId>),
    /// These, ascending and each once.
    Objects(Vec<ObjId>),
}

impl fmt::Display for NotMoved<Error> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            // They name the object.
            Error::MoveRefused(_) | Error::TypeNotInSchema { .. } => self.error.fmt(f),
            error => write!(f, "object {}: {error}", self.id),
        }
    }
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct MigrationReport {
    /// How many objects were moved; in a dry run, how many would be.
    pub moved: u64,
    /// How many objects stay where they are.
    pub refused: u64,
    /// The first of these, at most [`MigrateObjects::list`] many.
    pub refusals: Vec<NotMoved<Error>>,
    /// How many of the objects that moved have lost something; in a dry run, how many would. None,
    /// unless that was accepted ([`MigrateObjects::accept_losses`]).
    pub lossy: u64,
    /// The losses of the first of these, at most [`MigrateObjects::list`] many.
    pub losses: Vec<WouldLose>,
    /// Why the run has ended.
    pub end: MigrationEnd,
}

impl fmt::Debug for MigrateObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrateObjects")
            .field("to", &self.moves.to)
            .field("dry_run", &self.options.is_dry)
            .finish_non_exhaustive()
    }
}

impl<'a> MigrateObjects<'a> {
    /// Moves only objects of these types.
    pub fn only_types(mut self, types: impl IntoIterator<Item = StorageId>) -> Self {
        self.moves.wanted = ToMove::Types(types.into_iter().collect());
        self
    }

    /// Moves only these objects. Those that do not exist are passed over.
    pub fn only_objects(mut self, ids: impl IntoIterator<Item = ObjId>) -> Self {
        let mut ids: Vec<ObjId> = ids.into_iter().collect();
        // The objects are shown in order, so that a run can go on behind the last one.
        ids.sort_unstable();
        ids.dedup();
        self.moves.wanted = ToMove::Objects(ids);
        self
    }

    /// Sets how many objects a batch has at most, 1,000 by default. It ends earlier after 4 MiB of
    /// content.
    pub fn batch(mut self, objects: usize) -> Self {
        self.options.objects = objects.max(1);
        self
    }

    /// Sets how transactions of the store begin, for example how long they wait for others.
    pub fn kv_options(mut self, options: TxOptions) -> Self {
        self.moves.options = options;
        self
    }

    /// Sets how often a batch is run again after a failure that may pass.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.moves.retry = retry;
        self
    }

    /// Moves nothing, and finds out what would be moved and what would be refused, for every
    /// object. Each object is moved in a snapshot that is then dropped, so this costs about as much
    /// as a run.
    pub fn dry_run(mut self) -> Self {
        self.options.is_dry = true;
        self
    }

    /// Also moves objects that lose something by that, as
    /// [`Transaction::migrate_losing`](crate::object::Transaction::migrate_losing) does. The report
    /// says what was lost.
    pub fn accept_losses(mut self) -> Self {
        self.moves.accepts_losses = true;
        self
    }

    /// Sets how many refusals the report lists, 1,000 by default. All of them are counted, and
    /// passed to [`on_refusal`](MigrateObjects::on_refusal).
    pub fn list(mut self, refusals: usize) -> Self {
        self.options.listed = refusals;
        self
    }

    /// Calls `listener` for each object that stays where it is, after its batch.
    pub fn on_refusal(mut self, listener: impl FnMut(&NotMoved<Error>) + 'a) -> Self {
        self.options.on_refusal = Some(Box::new(listener));
        self
    }

    /// Calls `listener` after each batch. If it returns `Break`, the run ends. With this, the
    /// objects to move are counted in the beginning, which costs a step or a get for each, up to a
    /// million.
    pub fn progress(mut self, listener: impl FnMut(&Progress) -> ControlFlow<()> + 'a) -> Self {
        self.options.progress = Some(Box::new(listener));
        self
    }

    /// Moves the objects.
    ///
    /// # Errors
    /// [`SchemaError::UnknownSchema`](crate::schema::SchemaError::UnknownSchema); the errors of
    /// [`Database::begin`] and of the commit, if running the batch again does not help. Objects
    /// that earlier batches moved stay moved. That an object cannot be moved is no error; the
    /// report says so.
    pub fn run(mut self) -> Result<MigrationReport> {
        self.moves.listed = self.options.listed;
        let (moved, refused, end) = in_batches(&self.moves, &mut self.options)?;
        let refusals = self.options.refusals;
        let Lost { objects: lossy, first: losses } = self.moves.lost.into_inner();
        Ok(MigrationReport { moved, refused, refusals, lossy, losses, end })
    }
}

impl ObjectMoves<'_> {
    /// Runs `attempt` in a transaction, and again after a failure that may pass.
    fn retrying<T>(
        &self,
        reading: bool,
        mut attempt: impl FnMut(Transaction) -> Result<T>,
    ) -> Result<T> {
        let begin = |failed| {
            // The schema to which objects move may have none yet. It must not be removed as unused.
            let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
            // The failures are counted for the store, which can then wait longer or lock.
            let config = config.kv_options(self.options.after_failures(failed).ending_here());
            self.db.begin(&if reading { config.read_only() } else { config })
        };
        self.retry.run(begin, &mut attempt, Error::is_retryable)
    }

    /// Shows the given objects after `last` that exist and are in another schema.
    fn each_given(
        &self,
        tx: &Transaction,
        ids: &[ObjId],
        last: Option<ObjectToMove>,
        visitor: &mut dyn Visitor,
    ) -> Result<()> {
        let to = tx.recorded(self.to)?;
        let start = ids.partition_point(|id| last.is_some_and(|(_, last)| *id <= last));
        for &id in ids.get(start..).unwrap_or_default() {
            // An object that is gone or moved already is passed over.
            let found = match tx.find_info(id)? {
                Some(info) if info.schema != to.index => (info.schema, id),
                _ => continue,
            };
            if visitor.found(found).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Shows the objects of types after `last` that are in another schema, by the numbers of their
    /// schemas and then by ID.
    fn each_of_types(
        &self,
        tx: &Transaction,
        types: Option<&BTreeSet<StorageId>>,
        last: Option<ObjectToMove>,
        visitor: &mut dyn Visitor,
    ) -> Result<()> {
        let (to, bundle) = (tx.recorded(self.to)?, tx.bundle());
        let mut indexes: Vec<_> = bundle.schemas().iter().map(|schema| schema.index).collect();
        // The schemas are gone through by number, so that the place of a run is a number and an ID.
        indexes.sort_unstable();
        let types: Vec<StorageId> = match types {
            Some(types) => types.iter().copied().collect(),
            None => to.types.iter().map(|it| it.storage_id).collect(),
        };
        for index in indexes {
            // The target's own objects need no move, and schemas before the place were gone
            // through.
            if index == to.index || last.is_some_and(|(last, _)| index < last) {
                continue;
            }
            let mut ids = tx.objects_in_schema(index)?.of_types(types.iter().copied());
            // Within the schema of the place, the run goes on behind the ID.
            if let Some((_, id)) = last.filter(|(last, _)| *last == index) {
                ids = ids.range((Bound::Excluded(id), Bound::Unbounded));
            }
            for id in &ids {
                if visitor.found((index, id?)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Batches for ObjectMoves<'_> {
    type Error = Error;

    fn is_fixed(&self) -> bool {
        matches!(self.wanted, ToMove::Objects(_))
    }

    fn look(&self, last: Option<ObjectToMove>, visitor: &mut dyn Visitor) -> Result<()> {
        self.retrying(true, |tx| {
            // The visitor forgets what an earlier attempt showed.
            visitor.begin();
            match &self.wanted {
                ToMove::All => self.each_of_types(&tx, None, last, visitor),
                ToMove::Types(types) => self.each_of_types(&tx, Some(types), last, visitor),
                ToMove::Objects(ids) => self.each_given(&tx, ids, last, visitor),
            }
        })
    }

    fn transact(&self, is_dry: bool, body: &mut Batch<'_, Error>) -> Result<Done<Error>> {
        let done = self.retrying(is_dry, |tx| {
            // A batch that was rolled back has lost nothing.
            self.lost_in_batch.take();
            let done = body(&tx)?;
            // A dry run ends without a commit, which takes back all moves.
            if is_dry {
                return Ok(done);
            }
            tx.commit()?;
            Ok(done)
        })?;
        // The losses count only now, when the batch can no longer be rolled back.
        let Lost { objects, first } = self.lost_in_batch.take();
        self.lost.borrow_mut().add(objects, first, self.listed);
        Ok(done)
    }

    fn migrate(&self, moves: &mut Moves<'_>, (from, id): ObjectToMove) -> Result<Option<usize>> {
        let mut losses = match self.accepts_losses {
            true => Losses::Accepted(None),
            false => Losses::Refused,
        };
        let moved = moves.each(|tx, late| {
            tx.migrate_by_rule(id, from, &tx.recorded(self.to)?, late, &mut losses)
        })?;
        // A refused object has lost nothing, since it stays.
        if let Losses::Accepted(Some(lost)) = losses {
            self.lost_in_batch.borrow_mut().add(1, [lost], self.listed);
        }
        Ok(moved)
    }

    fn ends_run(error: &Error) -> bool {
        error.ends_transaction()
    }

    fn is_retryable(error: &Error) -> bool {
        error.is_retryable()
    }
}
