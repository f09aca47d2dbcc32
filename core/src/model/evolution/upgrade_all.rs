//! Moving all objects to the schema of the models, in batches (docs/src/evolution.md).

use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use super::never_called::{never_called, states_conversions};
use super::report::NeverCalled;
use crate::id::StorageId;
use crate::model::error::{About, Error, Result, about};
use crate::model::index::lacks_entries;
use crate::model::object_type::Model;
use crate::model::permazen::Permazen;
use crate::model::tx::Tx;
use crate::object::{
    Batch, Batches, Done, MigrationEnd, Moves, NotMoved, ObjectToMove, Progress, RunOptions,
    Visitor, in_batches,
};
use crate::schema::Schema;

impl Permazen {
    /// Moves all objects of the models to the schema of the models, in batches. Each batch is a
    /// transaction of its own, so other transactions run in between.
    ///
    /// Objects need not be moved: without this, each one moves when it must. Moving all of them
    /// makes queries complete, and lets the other schemas be removed.
    ///
    /// These moves alone are no changes for the rules: an object that could not move would be
    /// missing in the indexes of the new schema, and while an index lacks entries, no object can
    /// get another value in a unique field. So run [`Permazen::check_rules`] afterwards, if fields
    /// have become unique or required, or values that are unique or required are converted.
    ///
    /// ```
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::{Permazen, PermazenObject};
    ///
    /// mod before {
    ///     #[derive(permazen::PermazenObject)]
    ///     pub struct Person {
    ///         pub name: String,
    ///         pub age: i64,
    ///     }
    /// }
    ///
    /// #[derive(PermazenObject)]
    /// struct Person {
    ///     #[permazen(indexed)]
    ///     name: String,
    ///     age: i32,
    /// }
    ///
    /// let store = std::sync::Arc::new(MemoryStore::new());
    /// let old = Permazen::builder_shared(store.clone()).model::<before::Person>().build()?;
    /// old.write(|tx| {
    ///     tx.create(before::Person { name: "Ann".into(), age: 41 })?;
    ///     tx.create(before::Person { name: "Old".into(), age: 5_000_000_000 })?;
    ///     Ok(())
    /// })?;
    ///
    /// let db = Permazen::builder_shared(store).model::<Person>().build()?;
    /// // A dry run moves nothing, and says what would be refused.
    /// let dry = db.upgrade_all().dry_run().run()?;
    /// assert_eq!((dry.moved, dry.refused), (1, 1));
    /// assert!(dry.refusals[0].to_string().contains("5000000000"));
    ///
    /// let report = db.upgrade_all().run()?;
    /// assert_eq!((report.moved, report.refused), (1, 1));
    /// let names = Person::NAME.allow_partial(); // one object has stayed and is not indexed
    /// assert_eq!(db.read(|tx| tx.index(names)?.get("Ann")?.count())?, 1);
    /// # Ok::<(), permazen::Error>(())
    /// ```
    pub fn upgrade_all(&self) -> UpgradeAll<'_> {
        UpgradeAll::new(self, ToUpgrade::All)
    }

    /// Moves the objects that lack entries in an index of the models to the schema of the models:
    /// those that lie in a schema whose type lacks the index. Then queries of these indexes are
    /// complete. Objects of other types stay where they are.
    ///
    /// It runs like [`upgrade_all`](Permazen::upgrade_all): in batches, beside other programs, and
    /// again after an interruption.
    pub fn build_indexes(&self) -> UpgradeAll<'_> {
        UpgradeAll::new(self, ToUpgrade::Indexes)
    }
}

/// A run that moves objects to the schema of the models; see [`Permazen::upgrade_all`] and
/// [`Permazen::build_indexes`].
///
/// * The objects are those of the models' types that lie in other recorded schemas, newer ones
///   included. So run it from the program whose schema will stay.
/// * An object that would lose something, or that cannot be moved for another reason, stays as it
///   is. It continues to work in its schema, is counted and listed, and is not tried again in this
///   run.
/// * A run that was stopped or killed loses at most the batch that was not committed. The next run
///   continues with the objects that are left: the database records the schema of each object.
/// * Other programs read and write meanwhile. If a batch conflicts with them, it is rolled back and
///   done again in smaller parts.
/// * Objects that older programs create in their schema during the run are moved too. The run ends
///   when it has looked at all schemas and found nothing more that can be moved, or after 16 such
///   passes ([`MigrationEnd::MoreMayCome`]).
///
/// Cost: for each object, the cost of [`Obj::migrate`](crate::model::Obj::migrate), and one step to
/// find it in the object schema index; for each batch, a transaction for reading and one for
/// writing; for each pass, one seek per recorded schema. Memory: one batch, the listed refusals,
/// and about 16 bytes for each refused object.
#[must_use = "nothing is moved until `run` is called"]
pub struct UpgradeAll<'a> {
    moves: ModelMoves<'a>,
    options: RunOptions<'a, Error>,
}

/// Which objects are moved to the schema of the models.
struct ModelMoves<'a> {
    db: &'a Permazen,
    wanted: ToUpgrade,
    only: Vec<fn(&Tx) -> Result<StorageId>>,
}

/// Which objects a run moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToUpgrade {
    /// All.
    All,
    /// Those that lack entries in an index of the models.
    Indexes,
}

impl fmt::Display for NotMoved<Error> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            // They begin with the object, or name it after the field.
            Error::Refused(_) | Error::Upgrade { .. } => self.error.fmt(f),
            error => write!(f, "object {}: {error}", self.id),
        }
    }
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct UpgradeReport {
    /// How many objects were moved; in a dry run, how many would be.
    pub moved: u64,
    /// How many objects stay where they are.
    pub refused: u64,
    /// The first of these, at most [`UpgradeAll::list`] many.
    pub refusals: Vec<NotMoved<Error>>,
    /// Conversions that the models state, and that are never called for a recorded schema, as they
    /// were when the run began.
    pub never_called: Vec<NeverCalled>,
    /// Why the run has ended.
    pub end: MigrationEnd,
}

impl fmt::Debug for UpgradeAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradeAll")
            .field("wanted", &self.moves.wanted)
            .field("dry_run", &self.options.is_dry)
            .finish_non_exhaustive()
    }
}

impl<'a> UpgradeAll<'a> {
    fn new(db: &'a Permazen, wanted: ToUpgrade) -> Self {
        let moves = ModelMoves { db, wanted, only: Vec::new() };
        UpgradeAll { moves, options: RunOptions::default() }
    }

    /// Moves only objects of this model. Called several times, it names several models.
    pub fn only<M: Model>(mut self) -> Self {
        self.moves.only.push(|tx| Ok(tx.binding::<M>()?.storage_id()));
        self
    }

    /// Sets how many objects a batch has at most, 1,000 by default.
    pub fn batch(mut self, objects: usize) -> Self {
        // A batch of no objects would never come to an end.
        self.options.objects = objects.max(1);
        self
    }

    /// Sets after how many bytes of content a batch ends, 4 MiB by default. A batch has at least
    /// one object.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.options.bytes = bytes;
        self
    }

    /// Sets how long to wait between two batches, so that others get more of the store's time. By
    /// default there is no pause.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.options.pause = pause;
        self
    }

    /// Moves nothing, and finds out what would be moved and what would be refused, for every
    /// object. Each object is moved in a snapshot that is then dropped. So this also finds own
    /// conversions that fail and index entries that are too long, and costs about as much as a run.
    /// Each batch has a snapshot of its own: an own conversion that looks at an object of another
    /// batch sees it before its move.
    pub fn dry_run(mut self) -> Self {
        self.options.is_dry = true;
        self
    }

    /// Sets how many refusals the report lists, 1,000 by default. All of them are counted, and
    /// passed to [`on_refusal`](UpgradeAll::on_refusal).
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
    /// objects to move are counted in the beginning, which costs a step for each, up to a million.
    pub fn progress(mut self, listener: impl FnMut(&Progress) -> ControlFlow<()> + 'a) -> Self {
        self.options.progress = Some(Box::new(listener));
        self
    }

    /// Moves the objects.
    ///
    /// # Errors
    /// [`Error::NotRegistered`] for a model of [`only`](UpgradeAll::only); the errors of
    /// [`Permazen::begin`] and of the commit, if running the batch again does not help. Objects
    /// that earlier batches moved stay moved. That an object cannot be moved is no error; the
    /// report says so.
    pub fn run(mut self) -> Result<UpgradeReport> {
        let db = self.moves.db;
        let never_called = match states_conversions(db.bindings().models()) {
            // This is asked before the objects move: later no object is left for which nothing was
            // called.
            true => db.read(|tx| never_called(tx.core(), tx.bindings()?))?,
            false => Vec::new(),
        };
        let (moved, refused, end) = in_batches(&self.moves, &mut self.options)?;
        let refusals = self.options.refusals;
        Ok(UpgradeReport { moved, refused, refusals, never_called, end })
    }
}

impl ModelMoves<'_> {
    /// Visits the objects to move, by the numbers of their schemas and then by ID.
    fn each_found(
        &self,
        tx: &Tx,
        last: Option<ObjectToMove>,
        visitor: &mut dyn Visitor,
    ) -> Result<()> {
        let only: Vec<StorageId> = self.only.iter().map(|of| of(tx)).collect::<Result<_>>()?;
        let bundle = tx.core.bundle();
        let mut schemas: Vec<&Schema> = bundle.schemas().iter().map(|schema| &**schema).collect();
        // The order of the schemas must be the same in each batch, or `last` would mean nothing.
        schemas.sort_unstable_by_key(|schema| schema.index);
        for schema in schemas {
            let before = last.is_some_and(|(index, _)| schema.index < index);
            // Schemas before that one are done, and objects of the own schema need no move.
            if before || schema.index == tx.core.schema_index() {
                continue;
            }
            let types = self.types_in(tx, schema, &only)?;
            if types.is_empty() {
                continue;
            }
            let mut ids = tx.core.objects_in_schema(schema.index)?.of_types(types);
            if let Some((_, id)) = last.filter(|(index, _)| *index == schema.index) {
                // The next batch begins after the last object, whether that has moved or was
                // refused.
                ids = ids.range((Bound::Excluded(id), Bound::Unbounded));
            }
            for id in &ids {
                if visitor.found((schema.index, id?)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The types of a schema whose objects are moved.
    fn types_in(&self, tx: &Tx, schema: &Schema, only: &[StorageId]) -> Result<Vec<StorageId>> {
        let mut types = Vec::new();
        for binding in tx.models()?.iter() {
            let id = binding.storage_id();
            let wanted = (only.is_empty() || only.contains(&id))
                && schema.type_by_storage_id(id).is_some()
                && match self.wanted {
                    ToUpgrade::All => true,
                    ToUpgrade::Indexes => lacks_entries(tx, binding, schema.index)?,
                };
            if wanted {
                types.push(id);
            }
        }
        Ok(types)
    }
}

impl Batches for ModelMoves<'_> {
    type Error = Error;

    fn is_fixed(&self) -> bool {
        false
    }

    fn look(&self, last: Option<ObjectToMove>, visitor: &mut dyn Visitor) -> Result<()> {
        self.db.read(|tx| {
            visitor.begin();
            self.each_found(tx, last, visitor)
        })
    }

    fn transact(&self, is_dry: bool, body: &mut Batch<'_, Error>) -> Result<Done<Error>> {
        match is_dry {
            // A dry run moves objects in a snapshot, whose changes are lost.
            true => self.db.read(|tx| body(&tx.core)),
            false => self.db.write(|tx| body(&tx.core)),
        }
    }

    fn migrate(&self, moves: &mut Moves<'_>, (from, id): ObjectToMove) -> Result<Option<usize>> {
        Ok(moves.migrate_from(id, from)?)
    }

    fn ends_run(error: &Error) -> bool {
        about(error) == About::Transaction
    }

    fn is_retryable(error: &Error) -> bool {
        error.is_retryable()
    }
}
