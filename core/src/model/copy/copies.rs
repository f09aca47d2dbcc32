//! Copying objects, with those that belong to them, to any transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::cascade::Cascade;
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::error::Result;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::tx::Tx;
use crate::object::{self, CopyOptions, IdMap, Migrate, MissingTargets};

/// How to copy an object: which others are copied with it, and whether the copies get new IDs.
///
/// ```
/// # use permazen::{PermazenObject, Permazen, Ref, model::Copy, kv::memory::MemoryStore};
/// # #[derive(PermazenObject, Default)]
/// # struct Node {
/// #     #[permazen(cascade(forward = ["tree"], inverse = ["tree"]))]
/// #     parent: Option<Ref<Node>>,
/// # }
/// # let db = Permazen::builder(MemoryStore::new()).model::<Node>().build()?;
/// # db.write(|tx| {
/// let root = tx.create(Node { parent: None })?;
/// let child = tx.create(Node { parent: Some(root.to_ref()) })?;
/// let memory = tx.detached()?;
/// let copy = root.copy_to(&memory, Copy::new().cascade("tree"))?;
/// assert_eq!(copy.id(), root.id());
/// assert_eq!(memory.all::<Node>()?.count()?, 2);
/// // The same tree again, beside the first one.
/// let clone = root.copy_to(tx, Copy::new().cascade("tree").clone_ids())?;
/// assert_ne!(clone, root);
/// assert_eq!(clone.referrers(Node::PARENT)?.count()?, 1);
/// # Ok(()) })
/// # ; Ok::<(), permazen::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "these are options for `copy_to`"]
pub struct Copy {
    names: Vec<String>,
    limit: Option<usize>,
    silent: bool,
    new_ids: bool,
    migrate: bool,
}

impl Copy {
    /// Copies the object alone, with its ID.
    pub fn new() -> Self {
        Copy::default()
    }

    /// Also copies the objects to which this cascade leads. Several cascades work together, as
    /// [`Cascade`] says.
    pub fn cascade(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Copies only objects that are at most this many steps away.
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = Some(steps);
        self
    }

    /// Calls no listeners to creation and changes at the destination.
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Gives every copy a new ID, and lets references among the copied objects refer to the copies.
    /// References to other objects stay.
    pub fn clone_ids(mut self) -> Self {
        self.new_ids = true;
        self
    }

    /// First moves each source object to the schema of its transaction. Needed where the
    /// destination does not record the schema in which the object is.
    pub fn migrating(mut self) -> Self {
        self.migrate = true;
        self
    }
}

impl<'t, M: Model> Obj<'t, M> {
    /// Copies the object, and those to which the cascades of `copy` lead, to another transaction or
    /// within this one. Returns the copy of this object. See [`Tx::copy_all`] for costs and errors.
    ///
    /// # Errors
    /// [`Error::NotRegistered`](crate::Error::NotRegistered) if the destination lacks the model;
    /// the errors of [`Tx::copy_all`].
    pub fn copy_to<'d>(&self, dest: &'d Tx, copy: Copy) -> Result<Obj<'d, M>> {
        // Before anything is copied: without the model at the destination, the copy could not be
        // returned.
        dest.binding::<M>()?;
        let copied = self.tx().copy_all([self.id()], dest, copy)?;
        dest.get(Ref::<M>::new(copied.get(&self.id()).copied().unwrap_or(self.id())))
    }
}

impl<'t> AnyObj<'t> {
    /// Copies the object, and those to which the cascades of `copy` lead. Returns the copy of this
    /// object. See [`Tx::copy_all`] for costs and errors.
    pub fn copy_to<'d>(&self, dest: &'d Tx, copy: Copy) -> Result<AnyObj<'d>> {
        let copied = self.tx().copy_all([self.id()], dest, copy)?;
        Ok(dest.any(copied.get(&self.id()).copied().unwrap_or(self.id())))
    }
}

impl Tx {
    /// Copies objects, and those to which the cascades of `copy` lead from them, to another
    /// transaction or within this one. An object that exists at the destination is replaced.
    /// Returns the ID of each copy by that of its source.
    ///
    /// Everything is copied or nothing. References may go to objects that are copied later, so
    /// cycles are no problem. Objects are copied in the schema in which they are.
    ///
    /// Cost: that of [`Cascade::ids`], and for each object that of reading it whole at the source
    /// and of creating or storing it at the destination.
    ///
    /// # Errors
    /// Nothing is copied then, except that [`migrating`](Copy::migrating) may have moved source
    /// objects. If an object does not exist, or an object that is not copied is missing at the
    /// destination and a reference to it may not dangle there (in a [`Detached`](super::Detached)
    /// transaction any may); [`SchemaMismatch`](object::Error::SchemaMismatch) if the destination
    /// does not record the schema of an object; if a hook deletes a copy that is new; errors of
    /// listeners.
    pub fn copy_all(
        &self,
        objects: impl IntoIterator<Item = impl Into<ObjId>>,
        dest: &Tx,
        copy: Copy,
    ) -> Result<BTreeMap<ObjId, ObjId>> {
        let starts: Vec<ObjId> = objects.into_iter().map(Into::into).collect();
        let cascade = Cascade::new(self, starts, copy.names.clone()).limited(copy.limit);
        // Without cascades, objects are copied as they are, and lead nowhere.
        let ids = match copy.names.is_empty() {
            true => cascade.limit(0).ids()?,
            false => cascade.ids()?,
        };
        // One operation for all, so that a failure leaves no part of the copies.
        let copy_all = || dest.core.mutate(|| copy_each(self, &ids, dest, &copy));
        let copied = dest.core.creating(copy_all, |(_, created)| created.clone());
        Ok(copied?.0)
    }
}

/// Copies these objects. Returns the ID of each copy by that of its source, and the copies that did
/// not exist before.
fn copy_each(
    tx: &Tx,
    ids: &[ObjId],
    dest: &Tx,
    copy: &Copy,
) -> object::Result<(BTreeMap<ObjId, ObjId>, Vec<ObjId>)> {
    let mut new_ids = IdMap::new();
    if copy.new_ids {
        // All IDs are known before the first object is copied, because objects may refer to each
        // other in a circle.
        let mut taken = BTreeSet::new();
        for id in ids {
            let name = tx.core.object_type(*id)?.name.clone();
            let new = loop {
                let new = dest.core.generate_id(&name)?;
                // An ID that is drawn is not reserved, so it may be drawn again before it is used.
                if taken.insert(new) {
                    break new;
                }
            };
            new_ids.insert(*id, Some(new));
        }
    }
    let mut missing = MissingTargets::new();
    let mut copied = BTreeMap::new();
    let mut created = Vec::new();
    for id in ids {
        // A later object of the same copy may be the target, so missing ones are judged at the end.
        let mut options = CopyOptions::new().noting_missing(&mut missing);
        if copy.new_ids {
            options = options.mapping_ids(&mut new_ids);
        }
        if copy.silent {
            options = options.silent();
        }
        if copy.migrate {
            options = options.migrating(Migrate::Yes);
        }
        let is_new = tx.core.copy_to(*id, &dest.core, &mut options)?;
        let copy = new_ids.get(id).copied().flatten().unwrap_or(*id);
        copied.insert(*id, copy);
        created.extend(is_new.then_some(copy));
    }
    // The last check, when all copies are there.
    for (id, field) in missing {
        if !dest.core.exists(id)? {
            let attempted =
                format!("a copy may not refer to it in field {field:?}, because it was not copied");
            let type_name = dest.core.type_name_of(id);
            return Err(object::Error::DeletedObject { id, type_name, attempted });
        }
    }
    Ok((copied, created))
}
