//! Paths and references from an object, or from a set of objects.

use super::plurality::Plurality;
use super::step::{Meets, ReferenceField};
use super::typed::Path;
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::error::Result;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::objects::Objs;
use crate::model::target::Target;
use crate::model::tx::Tx;

impl<'t, M: Model> Obj<'t, M> {
    /// The objects that refer to this one through a field, each once, by ascending ID: a reference,
    /// or the elements, keys or values of a collection.
    ///
    /// The set is live and reads the index when it is used. Cost then: one seek, and a step per
    /// entry.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Default)]
    /// # struct Artist { name: String }
    /// # #[derive(PermazenObject, Default)]
    /// # struct Album { artist: Option<Ref<Artist>> }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Artist>().model::<Album>().build()?;
    /// # db.write(|tx| {
    /// let artist = tx.create(Artist { name: "Ella".into() })?;
    /// let album = tx.create(Album { artist: Some(artist.to_ref()) })?;
    /// assert_eq!(artist.referrers(Album::ARTIST)?.to_vec()?, [album]);
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotRegistered`](crate::Error::NotRegistered);
    /// [`Error::PartialIndex`](crate::Error::PartialIndex) if objects of other schemas may refer to
    /// this one without entries in the index. If their schemas just lack the field, they refer to
    /// nothing through it, and do not count.
    pub fn referrers<F: ReferenceField>(&self, field: F) -> Result<Objs<'t, F::Owner>>
    where
        M: Meets<F::To>,
    {
        referrers(self.tx(), field, self.id())
    }

    /// The objects at the end of a path from this object: for a path of references, the object
    /// there or `None`; otherwise all objects that it reaches. See [`Path::follow`] for costs and
    /// errors.
    pub fn follow<A: Target, B: Target, N: Plurality>(
        &self,
        path: &Path<A, B, N>,
    ) -> Result<N::Found<'t, B>>
    where
        M: Meets<A>,
    {
        N::found(path.follow_ids(self.tx(), [Ok(self.id())])?)
    }
}

impl<'t> AnyObj<'t> {
    /// The objects that refer to this one through a field, each once. See
    /// [`Obj::referrers`] for costs and errors.
    pub fn referrers<F: ReferenceField>(&self, field: F) -> Result<Objs<'t, F::Owner>> {
        referrers(self.tx(), field, self.id())
    }

    /// The objects at the end of a path from this object. See [`Obj::follow`].
    ///
    /// # Errors
    /// The errors of [`Path::follow`].
    pub fn follow<A: Target, B: Target, N: Plurality>(
        &self,
        path: &Path<A, B, N>,
    ) -> Result<N::Found<'t, B>> {
        N::found(path.follow_ids(self.tx(), [Ok(self.id())])?)
    }
}

impl<'t, T: Target> Objs<'t, T> {
    /// The objects that a path reaches from any object of this set, each once. Reads this set at
    /// once. See [`Path::follow`] for costs and errors.
    pub fn follow<A: Target, B: Target, N: Plurality>(
        &self,
        path: &Path<A, B, N>,
    ) -> Result<Objs<'t, B>>
    where
        T: Meets<A>,
    {
        path.follow_ids(self.tx, self.ids().iter().map(|id| Ok(id?)))
    }
}

/// The objects that refer to `target` through a field.
fn referrers<F: ReferenceField>(tx: &Tx, field: F, target: ObjId) -> Result<Objs<'_, F::Owner>> {
    Ok(Objs::new(tx, field.at().of(tx.models()?)?.referrers(tx, target)?))
}
