//! Moving objects of types, or with given IDs, to a recorded schema in batches.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use permazen_kv::{Retry, TxOptions};

use super::batches::{
    Batch, Batches, Done, Ended, Found, Progress, Refused, Sizes, Visitor, in_batches,
};
use super::exactly::Losses;
use super::would_lose::WouldLose;
use crate::id::{ObjId, StorageId};
use crate::object::whole::Moves;
use crate::object::{Database, Error, Result, Transaction, TransactionConfig};
use crate::schema::{SchemaId, SchemaRemoval};

/// How many refusals a report has, unless the caller says otherwise.
const LISTED: usize = 1000;

impl Database {
    /// Moves objects to a recorded schema, which may be older or newer, in batches. Each batch is a
    /// transaction of its own, so other transactions run in between.
    ///
    /// Each object moves as with
    /// [`Transaction::migrate_exactly`](crate::object::Transaction::migrate_exactly): one that would
    /// lose something stays where it is.
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
    pub fn migrate_objects(&self, to: SchemaId) -> MigrateObjects<'_> {
        MigrateObjects {
            db: self,
            to,
            wanted: Wanted::All,
            sizes: Sizes::default(),
            dry_run: false,
            listed: LISTED,
            options: TxOptions::default(),
            retry: Retry::default(),
            refusals: Vec::new(),
            accepts_losses: false,
            lost: RefCell::default(),
            lost_in_batch: RefCell::default(),
            progress: None,
            on_refusal: None,
        }
    }
}

/// A run that moves objects to a recorded schema; see [`Database::migrate_objects`].
///
/// * Unless [`only_types`](MigrateObjects::only_types) or
///   [`only_objects`](MigrateObjects::only_objects) says otherwise, it moves the objects of all types
///   that the schema has, wherever they are.
/// * An object that would lose something, or that cannot be moved for another reason, stays as it
///   is, is counted and listed, and is not tried again in this run.
/// * A run that was stopped or killed loses at most the batch that was not committed. The next run
///   continues with what is left: that is recorded in the database with each object.
/// * Other programs read and write meanwhile. If a batch conflicts with them, it is rolled back and
///   done again in smaller parts.
/// * Objects that others create in other schemas during the run are moved too, if the run is not
///   about given objects. It ends when it finds nothing more that can be moved, or after having
///   looked 16 times ([`MigrationEnd::MoreMayCome`]).
///
/// Cost: for each object, the cost of
/// [`Transaction::migrate`](crate::object::Transaction::migrate), and one step to find it, or one get
/// if its ID was given; for each batch, a transaction for reading and one for writing. Memory: one
/// batch, the given IDs, the listed refusals, and about 16 bytes for each refused object.
#[must_use = "nothing is moved until `run` is called"]
pub struct MigrateObjects<'a> {
    db: &'a Database,
    to: SchemaId,
    wanted: Wanted,
    sizes: Sizes,
    dry_run: bool,
    listed: usize,
    options: TxOptions,
    retry: Retry,
    refusals: Vec<NotMigrated>,
    accepts_losses: bool,
    /// What was lost in the batches that are committed.
    lost: RefCell<Lost>,
    /// What is lost in the batch that runs.
    lost_in_batch: RefCell<Lost>,
    progress: Option<Box<OnProgress<'a>>>,
    on_refusal: Option<Box<OnRefusal<'a>>>,
}

type OnProgress<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;
type OnRefusal<'a> = dyn FnMut(&NotMigrated) + 'a;

/// What objects that moved have lost.
#[derive(Default)]
struct Lost {
    objects: u64,
    first: Vec<WouldLose>,
}

impl Lost {
    fn add(&mut self, objects: u64, lost: impl IntoIterator<Item = WouldLose>, most: usize) {
        self.objects += objects;
        let room = most.saturating_sub(self.first.len());
        self.first.extend(lost.into_iter().take(room));
    }
}

/// Which objects a run moves.
#[derive(Debug)]
enum Wanted {
    /// Those of all types that the schema has.
    All,
    /// Those of these types.
    Types(BTreeSet<StorageId>),
    /// These, ascending and each once.
    Objects(Vec<ObjId>),
}

/// An object that does not move, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotMigrated {
    /// The object.
    pub id: ObjId,
    /// Why it does not move: mostly [`Error::MoveRefused`] with
    /// [`WouldLose`](crate::object::WouldLose), [`Error::TypeNotInSchema`] or
    /// [`Error::KeyTooLong`].
    pub error: Error,
}

impl fmt::Display for NotMigrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            // They name the object.
            Error::MoveRefused(_) | Error::TypeNotInSchema { .. } => self.error.fmt(f),
            error => write!(f, "object {}: {error}", self.id),
        }
    }
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

/// What a run has done.
#[derive(Debug)]
#[non_exhaustive]
pub struct MigrationReport {
    /// How many objects were moved; in a dry run, how many would be.
    pub moved: u64,
    /// How many objects stay where they are.
    pub refused: u64,
    /// The first of these, at most [`MigrateObjects::list`] many.
    pub refusals: Vec<NotMigrated>,
    /// How many of the objects that moved have lost something; in a dry run, how many would. None,
    /// unless that was accepted ([`MigrateObjects::accept_losses`]).
    pub lossy: u64,
    /// What the first of these have lost, at most [`MigrateObjects::list`] many.
    pub losses: Vec<WouldLose>,
    /// Why the run has ended.
    pub end: MigrationEnd,
}

impl fmt::Debug for MigrateObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrateObjects")
            .field("to", &self.to)
            .field("sizes", &self.sizes)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl<'a> MigrateObjects<'a> {
    /// Moves only objects of these types.
    pub fn only_types(self, types: impl IntoIterator<Item = StorageId>) -> Self {
        MigrateObjects { wanted: Wanted::Types(types.into_iter().collect()), ..self }
    }

    /// Moves only these objects. Those that do not exist are passed over.
    pub fn only_objects(self, ids: impl IntoIterator<Item = ObjId>) -> Self {
        let mut ids: Vec<ObjId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        MigrateObjects { wanted: Wanted::Objects(ids), ..self }
    }

    /// Sets how many objects a batch has at most, 1,000 by default.
    pub fn batch(mut self, objects: usize) -> Self {
        self.sizes.objects = objects.max(1);
        self
    }

    /// Sets after how many bytes of content a batch ends, 4 MiB by default. A batch has at least
    /// one object.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.sizes.bytes = bytes;
        self
    }

    /// Sets how long to wait between two batches, so that others get more of the store's time. By
    /// default there is no pause.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.sizes.pause = pause;
        self
    }

    /// Sets how transactions of the store begin, for example how long they wait for others.
    pub fn kv_options(mut self, options: TxOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets how often a batch is run again after a failure that may pass.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Moves nothing, and finds out what would be moved and what would be refused, for every
    /// object. Each object is moved in a snapshot that is then dropped, so this costs about as much
    /// as a run.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Also moves objects that lose something by that, as
    /// [`Transaction::migrate_losing`](crate::object::Transaction::migrate_losing) does. The report
    /// says what was lost.
    pub fn accept_losses(mut self) -> Self {
        self.accepts_losses = true;
        self
    }

    /// Sets how many refusals the report lists, 1,000 by default. All of them are counted, and
    /// passed to [`on_refusal`](MigrateObjects::on_refusal).
    pub fn list(mut self, refusals: usize) -> Self {
        self.listed = refusals;
        self
    }

    /// Calls `listener` for each object that stays where it is, after its batch.
    pub fn on_refusal(mut self, listener: impl FnMut(&NotMigrated) + 'a) -> Self {
        self.on_refusal = Some(Box::new(listener));
        self
    }

    /// Calls `listener` after each batch. If it returns `Break`, the run ends. With this, the
    /// objects to move are counted in the beginning, which costs a step or a get for each, up to a
    /// million.
    pub fn progress(mut self, listener: impl FnMut(&Progress) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(listener));
        self
    }

    /// Moves the objects.
    ///
    /// # Errors
    /// [`SchemaError::UnknownSchema`](crate::schema::SchemaError::UnknownSchema); the errors of
    /// [`Database::begin`] and of the commit, if running the batch again does not help. What was
    /// moved in earlier batches stays moved. That an object cannot be moved is no error; the report
    /// says so.
    pub fn run(mut self) -> Result<MigrationReport> {
        let (moved, refused, ended) = in_batches(&mut self)?;
        let end = match ended {
            Ended::Done => MigrationEnd::Done,
            Ended::Stopped => MigrationEnd::Stopped,
            Ended::MoreMayCome => MigrationEnd::MoreMayCome,
        };
        let Lost { objects: lossy, first: losses } = self.lost.into_inner();
        Ok(MigrationReport { moved, refused, refusals: self.refusals, lossy, losses, end })
    }

    /// Runs `attempt` in a transaction, and again after a failure that may pass.
    fn retrying<T>(
        &self,
        reading: bool,
        mut attempt: impl FnMut(Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let begin = |failed| {
            let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
            let config = config.kv_options(self.options.after_failures(failed).ending_here());
            self.db.begin(&if reading { config.read_only() } else { config })
        };
        self.retry.run(begin, &mut attempt, Error::is_retryable)
    }

    /// Shows the given objects after `last` that exist and are in another schema.
    fn each_given(
        &self,
        tx: &Transaction<'_>,
        ids: &[ObjId],
        last: Option<Found>,
        visitor: &mut dyn Visitor,
    ) -> Result<()> {
        let to = tx.recorded(self.to)?;
        let start = ids.partition_point(|id| last.is_some_and(|(_, last)| *id <= last));
        for &id in ids.get(start..).unwrap_or_default() {
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
        tx: &Transaction<'_>,
        types: Option<&BTreeSet<StorageId>>,
        last: Option<Found>,
        visitor: &mut dyn Visitor,
    ) -> Result<()> {
        let (to, bundle) = (tx.recorded(self.to)?, tx.bundle());
        let mut indexes: Vec<_> = bundle.schemas().iter().map(|schema| schema.index).collect();
        indexes.sort_unstable();
        let types: Vec<StorageId> = match types {
            Some(types) => types.iter().copied().collect(),
            None => to.types.iter().map(|it| it.storage_id).collect(),
        };
        for index in indexes {
            if index == to.index || last.is_some_and(|(last, _)| index < last) {
                continue;
            }
            let mut ids = tx.objects_in_schema(index)?.of_types(types.iter().copied());
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

impl Batches for MigrateObjects<'_> {
    type Error = Error;

    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn is_dry(&self) -> bool {
        self.dry_run
    }

    fn is_counted(&self) -> bool {
        self.progress.is_some()
    }

    fn is_fixed(&self) -> bool {
        matches!(self.wanted, Wanted::Objects(_))
    }

    fn look(&self, last: Option<Found>, visitor: &mut dyn Visitor) -> Result<()> {
        self.retrying(true, |tx| {
            visitor.begin();
            match &self.wanted {
                Wanted::All => self.each_of_types(&tx, None, last, visitor),
                Wanted::Types(types) => self.each_of_types(&tx, Some(types), last, visitor),
                Wanted::Objects(ids) => self.each_given(&tx, ids, last, visitor),
            }
        })
    }

    fn transact(&self, body: &mut Batch<'_, Error>) -> Result<Done<Error>> {
        let done = self.retrying(self.dry_run, |tx| {
            // What a batch has lost that was rolled back is not lost.
            self.lost_in_batch.take();
            let done = body(&tx)?;
            if self.dry_run {
                return Ok(done);
            }
            tx.commit()?;
            Ok(done)
        })?;
        let Lost { objects, first } = self.lost_in_batch.take();
        self.lost.borrow_mut().add(objects, first, self.listed);
        Ok(done)
    }

    fn migrate(&self, moves: &mut Moves<'_, '_>, (from, id): Found) -> Result<Option<usize>> {
        let mut losses = match self.accepts_losses {
            true => Losses::Accepted(None),
            false => Losses::Refused,
        };
        let moved = moves.each(|tx, late| {
            tx.migrate_by_rule(id, from, &tx.recorded(self.to)?, late, &mut losses)
        })?;
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

    fn refused(&mut self, Refused { id, error }: Refused<Error>) {
        let refused = NotMigrated { id, error };
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
