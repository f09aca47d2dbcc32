//! Typed transactions in memory.

use std::collections::BTreeSet;
use std::ops::Deref;

use permazen_kv::memory::MemoryStore;
use permazen_kv::overlay::MutableView;
use permazen_kv::{Hex, KvWrite, Writes};

use crate::model::error::{Error, Result};
use crate::model::permazen::Permazen;
use crate::model::tx::Tx;
use crate::object::{self, CopyOptions, Migrate};

/// The first bytes of serialized detached transactions, with the version of their form.
const HEADER: &[u8] = b"permazen detached 1\n";

/// A transaction in memory, with objects, references, indexes and all else that a [`Tx`] has, but
/// no commit. It keeps nothing of the transaction from which it was made, so it may live as long as
/// the program and go to another thread.
///
/// References in it may be to objects that it does not have.
#[derive(Debug)]
pub struct Detached {
    tx: Tx,
}

impl Tx {
    /// An empty transaction in memory with the same models and schemas. Fill it with
    /// [`Obj::copy_to`](crate::Obj::copy_to) or with new objects. Cost: the recorded schemas are
    /// copied.
    ///
    /// # Errors
    /// If the transaction has ended.
    pub fn detached(&self) -> Result<Detached> {
        self.beside(self.core.detached()?)
    }

    /// A transaction in memory with everything that this one has now. Changes of one do not affect
    /// the other. Cost: one snapshot of the store; nothing is copied.
    ///
    /// # Errors
    /// If the transaction has ended or is detached itself, or the store has no snapshots.
    pub fn snapshot(&self) -> Result<Detached> {
        self.beside(self.core.snapshot()?)
    }

    /// A transaction in memory with the models and rules of this one.
    fn beside(&self, core: object::Transaction) -> Result<Detached> {
        let bindings = self.shared_bindings()?;
        bindings.hook(&core);
        let tx = Tx::new(core, bindings);
        tx.set_validation(self.rule_options()?.validation)?;
        Ok(Detached { tx })
    }
}

impl Detached {
    /// Removes all objects, without calling listeners. Schemas stay.
    ///
    /// # Errors
    /// If an earlier failure could not be undone.
    pub fn reset(&self) -> Result<()> {
        Ok(self.tx.core.reset()?)
    }

    /// Everything in it as bytes, schemas included. [`Permazen::detached_from_bytes`] reads them,
    /// also in another program, with other versions of the models. Cost: one scan.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Default)]
    /// # struct Person { #[permazen(indexed)] name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// let bytes = db.write(|tx| {
    ///     let ann = tx.create(Person { name: "Ann".into() })?;
    ///     let memory = tx.detached()?;
    ///     ann.copy_to(&memory, Default::default())?;
    ///     memory.to_bytes()
    /// })?;
    /// let memory = db.detached_from_bytes(&bytes)?;
    /// assert_eq!(memory.index(Person::NAME)?.get("Ann")?.count()?, 1);
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a pair is longer than 2³¹−1 bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let puts = self.tx.core.all_pairs()?;
        let writes = Writes { puts, ..Writes::default() };
        let body = writes.to_bytes().map_err(object::Error::from)?;
        Ok([HEADER, &body].concat())
    }
}

impl Permazen {
    /// The transaction in memory that [`Detached::to_bytes`] has written, with the models of this
    /// database. If its objects are in other schemas, they are converted as in a database.
    ///
    /// # Errors
    /// If the bytes are no such transaction, if anything in them is damaged, or if their schemas
    /// contradict the models. Everything is read and checked: each value, and that there are the
    /// index entries of the objects and nothing else. So bytes from strangers do no harm; your
    /// rules must check the meaning of the values. Cost: that of reading and creating all objects
    /// in memory.
    pub fn detached_from_bytes(&self, bytes: &[u8]) -> Result<Detached> {
        let Some(mut body) = bytes.strip_prefix(HEADER) else {
            return Err(Error::other("these bytes are no detached transaction of this version"));
        };
        let writes = Writes::decode(&mut body).map_err(object::Error::from)?;
        // Only puts are written by `to_bytes`. Anything else was made by other means.
        if !body.is_empty() || !writes.removes.is_empty() || !writes.adjusts.is_empty() {
            return Err(Error::other("the bytes of a detached transaction have other content"));
        }
        let mut memory = MutableView::untracked(MemoryStore::new().snapshot());
        for (key, value) in &writes.puts {
            memory.put(key, value).map_err(object::Error::from)?;
        }
        let tx = self.over_detached(memory)?;
        // The bytes may come from anywhere, so nothing in them is taken for good.
        check(&tx.core)?;
        Ok(Detached { tx })
    }
}

impl Deref for Detached {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

/// Checks that a transaction has objects with good values, the pairs that belong to them, and
/// nothing else.
fn check(tx: &object::Transaction) -> object::Result<()> {
    let again = tx.detached()?;
    let bundle = tx.bundle();
    let types = bundle.schemas().iter().flat_map(|schema| &schema.types);
    let types: BTreeSet<_> = types.map(|of_type| of_type.storage_id).collect();
    for id in tx.objects_of(types)?.iter() {
        let id = id?;
        let data = tx.load(id, Migrate::No)?;
        // Values are checked before they are copied: the copy takes encoded values as they are.
        data.check_values()?;
        tx.copy_to(id, &again, &mut CopyOptions::new().silent())?;
    }
    // The copies have exactly the pairs that belong to them.
    let (all, expected) = (tx.all_pairs()?, again.all_pairs()?);
    let differs = all.iter().find(|(key, value)| expected.get(*key) != Some(*value));
    match differs
        .map(|(key, _)| key)
        .or_else(|| expected.keys().find(|key| !all.contains_key(*key)))
    {
        None => Ok(()),
        Some(key) => Err(object::Error::inconsistent(format!(
            "the pair with the key {} belongs to no object, is missing, or has another value than it must have",
            Hex(key)
        ))),
    }
}
