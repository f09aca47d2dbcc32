//! Creating objects.

use super::binding::Binding;
use super::error::{Error, Result};
use super::load::ObjectWriter;
use super::obj::Obj;
use super::object_type::{Model, PlainData};
use super::reference::Ref;
use super::tx::Tx;
use crate::id::ObjId;

impl Tx {
    /// Creates an object with these values and a new ID. The value is a struct or a reference to
    /// one, so that a closure which runs again can create the object again.
    ///
    /// Cost: one get for each reference that may not dangle, one put for each stored pair, index
    /// entries included.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::Encode`] if a field cannot hold its value;
    /// [`Error::Object`] if a reference is to an object that does not exist, or if a hook deletes
    /// the object while it is created. Nothing is created in these cases. If a listener fails, its
    /// error is returned, but the object exists.
    pub fn create<M: Model>(&self, value: impl PlainData<M>) -> Result<Obj<'_, M>> {
        let binding = self.binding::<M>()?;
        let value = value.plain();
        let id = self.create_of(binding, &mut |content| value.write(content))?;
        Ok(Obj::new(self, binding, id))
    }

    /// Creates objects with these values and new IDs, all or none, and returns them in the order of
    /// the values. It does what [`create`](Tx::create) does for one after the other, and is faster
    /// for many. For more objects than fit into memory, call it several times; for a new database,
    /// see [`Permazen::loader`](super::Permazen::loader).
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// db.write(|tx| {
    ///     let people = tx.create_many(["Ann", "Bob"].map(|name| Person { name: name.into() }))?;
    ///     assert_eq!(people[1].name()?, "Bob");
    ///     Ok(())
    /// })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: one get for each reference that may not dangle, one put for each stored pair, index
    /// entries included. All values are read before the first object is created, and are in memory
    /// in their encoded form until the last one is.
    ///
    /// # Errors
    /// The errors of [`create`](Tx::create), of the first value that has one. Nothing is created
    /// then, not even after the error of a listener. The objects are created together: the call
    /// also fails if a hook for one of them deletes another one, and with
    /// [`Validation::Early`](super::Validation::Early), rules are checked after the last one.
    pub fn create_many<M: Model, V: PlainData<M>>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Vec<Obj<'_, M>>> {
        let binding = self.binding::<M>()?;
        let mut objects = Vec::new();
        for value in values {
            match ObjectWriter::content(&binding.fields, value.plain()) {
                Ok(object) => objects.push(object),
                // If one before it has an error too, that is the first.
                Err(error) => {
                    return self.core.as_a_whole(|| {
                        self.core.create_many(&objects)?;
                        Err(error)
                    });
                }
            }
        }
        let ids = self.core.create_many(&objects)?;
        Ok(ids.into_iter().map(|id| Obj::new(self, binding, id)).collect())
    }

    /// Does the same as [`create`](Tx::create) without types, so that the compiler makes it once
    /// for all models.
    fn create_of(
        &self,
        binding: &Binding,
        write: &mut dyn FnMut(&mut ObjectWriter<'_>) -> Result<()>,
    ) -> Result<ObjId> {
        let data = ObjectWriter::content_of(&binding.fields, write)?;
        let created = self.core.create_with(None, &data)?;
        created.ok_or_else(|| Error::other("a new object was not created"))
    }

    /// Creates an object with these values and this ID, for example one that was exported. Returns
    /// `None`, and does nothing, if an object has the ID. Costs the same as [`create`](Tx::create),
    /// and one get.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// # db.write(|tx| {
    /// let ann = tx.create(Person { name: "Ann".into() })?;
    /// let (id, plain) = (ann.id(), ann.load()?);
    /// assert!(tx.create_with_id(id, &plain)?.is_none());
    /// ann.delete()?;
    /// let again = tx.create_with_id(id, &plain)?;
    /// assert_eq!(again, Some(ann));
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`create`](Tx::create); [`Error::WrongType`] if the ID belongs to another type.
    pub fn create_with_id<M: Model>(
        &self,
        id: impl Into<Ref<M>>,
        value: impl PlainData<M>,
    ) -> Result<Option<Obj<'_, M>>> {
        let object = self.get(id)?;
        let data = ObjectWriter::content(&self.binding::<M>()?.fields, value.plain())?;
        let created = self.core.create_with(Some(object.id()), &data)?;
        Ok(created.map(|_| object))
    }

    /// Creates an object with default values and a new ID: those the model states (`default = …`),
    /// else those of the encodings. A `String` without a default is then null, and reading it fails
    /// until it is set. Hooks for creations are called before the stated values are set, and what
    /// they write to other fields stays. If all values are known, [`create`](Tx::create) is
    /// cheaper.
    ///
    /// Cost: two puts; one put for each counter, each indexed simple field and each
    /// composite index.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::Object`] if a hook deletes the object while it is
    /// created.
    pub fn create_default<M: Model>(&self) -> Result<Obj<'_, M>> {
        let binding = self.binding::<M>()?;
        let id = match binding.defaults()? {
            None => self.core.create(&binding.fields.object_type.name)?,
            Some((data, stated)) => {
                let created = self.core.create_and_set(None, &data, &stated)?;
                created.ok_or_else(|| Error::other("a new object was not created"))?
            }
        };
        Ok(Obj::new(self, binding, id))
    }
}
