//! Loading objects into a new database.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use permazen_kv::KvError;

use super::binding::Bindings;
use super::error::{Error, Result};
use super::load::ObjectWriter;
use super::object_type::{Model, PlainData};
use super::permazen::Permazen;
use super::reference::Ref;
use super::rules::{self, Validation};
use crate::object::{self, LoadProgress, Loaded, Memory, ObjectData, UnfinishedLoad};

/// Fills a new database with objects, faster than transactions can: see [`Permazen::loader`].
///
/// Objects that were added are sorted, in memory and in a temporary file. Only
/// [`finish`](Loader::finish) writes to the database. To give up before, drop the loader. It stays
/// on the thread that has made it.
pub struct Loader<'p> {
    db: Permazen,
    bindings: Arc<Bindings>,
    core: object::Loader,
    /// Whether the rules of the models are checked.
    checks: bool,
    tell: Option<Box<dyn FnMut(LoadProgress) + 'p>>,
    /// Its memory is reused.
    last: Option<ObjectData>,
}

/// How much memory is used unless the caller says something else.
const MEMORY: usize = 192 << 20;

/// Progress is reported after each this many objects.
const OBJECTS: u64 = 1 << 14;

impl Permazen {
    /// A loader, which fills this database, if it has no objects yet.
    ///
    /// The result is the same as that of transactions that create the same objects with the same
    /// IDs. It is faster, because pairs are written in the order of their keys, which fills the
    /// pages of a store one after the other. The objects can be more than fit into memory.
    ///
    /// Hooks, listeners and observers are not called. The rules of the models are checked, unless
    /// [`Builder::validation`](super::Builder::validation) says that commits do not check them, and
    /// references must lead to objects that are loaded too.
    ///
    /// ```
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::{Permazen, PermazenObject, Ref};
    ///
    /// #[derive(PermazenObject)]
    /// struct Person {
    ///     #[permazen(indexed)]
    ///     name: String,
    ///     friend: Option<Ref<Person>>,
    /// }
    ///
    /// let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// let mut loader = db.loader()?.progress(|so_far| println!("{so_far:?}"));
    /// let bob = loader.id::<Person>()?; // comes later
    /// let ann = loader.add(Person { name: "Ann".into(), friend: Some(bob) })?;
    /// loader.add_with_id(bob, Person { name: "Bob".into(), friend: Some(ann) })?;
    /// assert_eq!(loader.finish()?.objects, 2);
    ///
    /// db.read(|tx| {
    ///     let bob = tx.index(Person::NAME)?.get("Bob")?.first()?;
    ///     assert_eq!(bob.unwrap().friend()?.unwrap().name()?, "Ann");
    ///     Ok(())
    /// })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: one transaction that reads a seek or two.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin_read`]; [`Error::Object`] if the database has objects, and
    /// [`KvError::Unsupported`](permazen_kv::KvError::Unsupported) on a store with
    /// [small transactions](permazen_kv::Capabilities::small_transactions), such as etcd.
    pub fn loader<'p>(&self) -> Result<Loader<'p>> {
        if self.database().kv().capabilities().small_transactions {
            return Err(KvError::Unsupported("a loader, which writes large transactions,").into());
        }
        let tx = self.begin_read()?;
        tx.core().check_empty()?;
        let (bindings, validation) = (tx.shared_bindings()?, tx.rule_options()?.validation);
        let memory = Memory { bytes: MEMORY, directory: std::env::temp_dir() };
        let core = object::Loader::new(tx.schema(), tx.core().max_key_len(), memory)?;
        Ok(Loader {
            db: self.clone(),
            bindings,
            core,
            checks: !matches!(validation, Validation::Manual | Validation::Off),
            tell: None,
            last: None,
        })
    }
}

impl<'p> Loader<'p> {
    /// Uses about this many bytes of memory, in place of 192 MiB. With less, the temporary file is
    /// in more parts, and transactions are smaller: each writes at most a quarter of this, which is
    /// kept until it is committed.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.core.set_memory(bytes);
        self
    }

    /// Makes its temporary file in this directory, in place of the system's. It takes about as much
    /// space as keys and values. It has no name, so nothing is left of it if the program is killed.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.core.set_directory(directory.into());
        self
    }

    /// Calls `tell` now and then: after some thousand objects, and after each transaction that
    /// writes.
    #[must_use]
    pub fn progress(mut self, tell: impl FnMut(LoadProgress) + 'p) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// A new ID, for an object that is added later with [`add_with_id`](Loader::add_with_id).
    ///
    /// IDs of a model ascend, and so the objects lie in the database in the order in which their
    /// IDs were drawn. The steps between them are random.
    ///
    /// # Errors
    /// [`Error::NotRegistered`].
    pub fn id<M: Model>(&mut self) -> Result<Ref<M>> {
        let storage_id = self.bindings.models().of::<M>()?.storage_id();
        Ok(Ref::new(self.core.draw(storage_id)?))
    }

    /// Adds an object with these values and a new ID, and returns the ID.
    ///
    /// # Errors
    /// The errors of [`add_with_id`](Loader::add_with_id).
    pub fn add<M: Model>(&mut self, value: impl PlainData<M>) -> Result<Ref<M>> {
        let id = self.id()?;
        self.add_at(id, value)?;
        Ok(id)
    }

    /// Adds an object with these values and this ID, which comes from [`id`](Loader::id), or from
    /// elsewhere, such as a database that is copied.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::Encode`] if a field cannot hold its value;
    /// [`Error::Invalid`] if a required value is missing, or the model's own validation of plain
    /// data refuses it; [`Error::Object`] if a reference is to an object of a wrong type, a key is
    /// too long, or the ID is of another type. The object was not added then, and others can be.
    ///
    /// [`object::Error::TemporaryFile`] if the temporary file cannot be written; then the load has
    /// failed.
    pub fn add_with_id<M: Model>(
        &mut self,
        id: impl Into<Ref<M>>,
        value: impl PlainData<M>,
    ) -> Result<()> {
        self.core.ids_are_given();
        self.add_at(id.into(), value)
    }

    fn add_at<M: Model>(&mut self, id: Ref<M>, value: impl PlainData<M>) -> Result<()> {
        let binding = self.bindings.models().of::<M>()?;
        let mut writer = ObjectWriter::reusing(&binding.fields, self.last.take());
        value.plain().write(&mut writer)?;
        let (data, _) = writer.finish();
        if self.checks {
            rules::check_content(&self.bindings, binding, id.id(), &data)?;
        }
        self.core.add(id.id(), &data)?;
        self.last = Some(data);
        if self.core.objects().is_multiple_of(OBJECTS)
            && let Some(tell) = &mut self.tell
        {
            tell(self.core.progress());
        }
        Ok(())
    }

    /// How far it is.
    pub fn so_far(&self) -> LoadProgress {
        self.core.progress()
    }

    /// Writes all objects to the database, in several transactions in the order of their keys. A
    /// transaction that fails for a reason that may pass runs again, as
    /// [`Builder::retry`](super::Builder::retry) says.
    ///
    /// No other user may have the database open meanwhile: until this has returned, it is refused
    /// with [`SchemaError::LoadUnfinished`](crate::schema::SchemaError::LoadUnfinished). If the
    /// program is killed, it stays so; then remove the store, and load it again. A panic is as an
    /// error.
    ///
    /// Cost: one put for each pair, index entries included; the check of unique fields costs what
    /// [`Permazen::check_rules`] says of them. Objects of models that have hooks that validate are
    /// checked once more, as at a commit ([`Tx::validate`](super::Tx::validate)).
    ///
    /// # Errors
    /// [`Error::Object`] if an ID was given twice, or a reference is to an object that was not
    /// added. [`Error::Invalid`] with up to [`RulesReport::LIMIT`](super::RulesReport::LIMIT)
    /// objects that break a rule. [`Error::Hook`] as in [`Tx::validate`](super::Tx::validate). The
    /// errors of the store and of the temporary file. After an error, the database is as empty as
    /// it was, with two exceptions:
    ///
    /// - After [`Error::LoadNotUndone`] it stays refused.
    /// - If the outcome of the last commit is unknown
    ///   ([`KvError::OutcomeUnknown`](permazen_kv::KvError::OutcomeUnknown)), or a function fails
    ///   that a hook has registered to be called after the commit, the database can have all
    ///   objects. It has all of them or none.
    pub fn finish(mut self) -> Result<LoadProgress> {
        let mut tell = self.tell.take();
        let checks = self.checks;
        let (db, loaded) = (self.db, self.core.finish()?);
        let load = UnfinishedLoad::new(db.database().kv(), db.kv_options(), db.retry())?;
        let tell: &mut dyn FnMut(LoadProgress) = match &mut tell {
            Some(tell) => tell,
            None => &mut |_| (),
        };
        match write(&db, &loaded, &load, checks, tell) {
            Ok(written) => {
                load.ended();
                Ok(written)
            }
            Err(failed) => Err(match load.undo() {
                Ok(()) => failed,
                Err(undo) => Error::LoadNotUndone { source: Box::new(failed), undo: undo.into() },
            }),
        }
    }
}

fn write(
    db: &Permazen,
    loaded: &Loaded,
    load: &UnfinishedLoad,
    checks: bool,
    tell: &mut dyn FnMut(LoadProgress),
) -> Result<LoadProgress> {
    // The schemas of the version of the store that this commits must not be known: the next
    // transaction has to read that the store is being loaded.
    db.changing(|kv| {
        let tx = db.open_changed(kv)?;
        tx.core().begin_load(load, loaded.schema())?;
        Ok(tx.commit()?)
    })?;
    let written = loaded.write(load, tell)?;
    db.changing(|mut kv| {
        load.end(&mut kv)?;
        let tx = db.open_changed(kv)?;
        if checks {
            // Together, as at a commit, also where each operation would be checked by itself.
            tx.set_validation(Validation::AtCommit)?;
            rules::check_together(&tx)?;
        }
        Ok(tx.commit()?)
    })?;
    Ok(written)
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").field("so_far", &self.so_far()).finish_non_exhaustive()
    }
}
