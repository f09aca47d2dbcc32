//! Paths with the types of both ends.

use std::fmt;
use std::marker::PhantomData;

use super::plurality::{Many, One, Plurality};
use super::step::{Meets, ReferenceField};
use super::way::Way;
use crate::model::error::Result;
use crate::model::objects::Objs;
use crate::model::reference::{Any, Ref};
use crate::model::target::Target;
use crate::model::tx::Tx;
use crate::object::{IdFilter, PathStep};

/// A way along references, from objects of `A` to objects of `B`. `N` is [`One`] if it only takes
/// steps through references, and [`Many`] if it also goes through collections or back.
///
/// ```
/// use permazen::model::{Many, Path};
/// use permazen::{Permazen, PermazenObject, Ref, kv::memory::MemoryStore};
///
/// #[derive(PermazenObject, Default)]
/// struct Artist {
///     name: String,
/// }
///
/// #[derive(PermazenObject, Default)]
/// struct Album {
///     artist: Option<Ref<Artist>>,
/// }
///
/// let db = Permazen::builder(MemoryStore::new()).model::<Artist>().model::<Album>().build()?;
/// // The albums of the same artist.
/// let related: Path<Album, Album, Many> =
///     Path::of::<Album>().to(Album::ARTIST).from(Album::ARTIST);
/// db.write(|tx| {
///     let artist = tx.create(Artist { name: "Ella".into() })?;
///     let first = tx.create(Album { artist: Some(artist.to_ref()) })?;
///     tx.create(Album { artist: Some(artist.to_ref()) })?;
///     assert_eq!(first.follow(&related)?.count()?, 2);
///     assert_eq!(artist.referrers(Album::ARTIST)?.count()?, 2);
///     let singular = Path::of::<Album>().to(Album::ARTIST);
///     assert_eq!(first.follow(&singular)?, Some(artist));
///     Ok(())
/// })?;
/// # Ok::<(), permazen::Error>(())
/// ```
///
/// A step forward reads what the accessor of the field reads, and a step back finds what a query of
/// the index finds. So objects of other schemas take part as they do there: a field that was
/// renamed is found, one that is missing in the object's schema has no reference, and an object
/// whose field must be converted moves. After each step, objects of types that the path does not
/// allow there are left out without an error.
///
/// The field of a step can be one that several models share: that of a kind
/// (`PetKind::NAMED.owner`), or of a mix-in in all models (`Named::OWNER`), whose owners are
/// [`Any`].
///
/// A path is a description. It is made once, and cheap to clone; a `static` holds it in a
/// [`LazyLock`](std::sync::LazyLock).
pub struct Path<A, B, N> {
    way: Way,
    ends: PhantomData<Ends<A, B, N>>,
}

type Ends<A, B, N> = fn() -> (A, B, N);

impl Path<Any, Any, One> {
    /// The path without steps, from an object to itself.
    pub fn of<M: Target>() -> Path<M, M, One> {
        Path { way: Way::of(M::TYPES), ends: PhantomData }
    }
}

impl<A: Target, B: Target, N: Plurality> Path<A, B, N> {
    /// This path, then to the objects to which a field refers: a reference, the elements of a set
    /// or list, or the keys or values of a map (`Person::LABELS.value()`).
    #[must_use]
    pub fn to<F: ReferenceField>(&self, field: F) -> Path<A, F::To, N::Then<F::Plurality>>
    where
        B: Meets<F::Owner>,
    {
        Path { way: self.way.then(field.at(), false), ends: PhantomData }
    }

    /// This path, then through a field back to the objects that refer to the objects it has
    /// reached.
    #[must_use]
    pub fn from<F: ReferenceField>(&self, field: F) -> Path<A, F::Owner, Many>
    where
        B: Meets<F::To>,
    {
        Path { way: self.way.then(field.at(), true), ends: PhantomData }
    }

    /// The same way back: from `B` to the objects of `A` from which this path leads there.
    #[must_use]
    pub fn inverted(&self) -> Path<B, A, Many> {
        Path { way: self.way.inverted(), ends: PhantomData }
    }

    /// The objects that the path reaches from any of these objects, each once, by ascending ID.
    /// Objects among `starts` of a type that the path does not allow are left out.
    ///
    /// All steps but the last are made at once. If the last step leads back, the set is live and
    /// reads the index when it is used; otherwise it has the objects of this moment. Cost for each
    /// object and step: one get for a reference, one seek and a step per element of a collection,
    /// one seek and a step per referring object; for a field that several models share, one seek
    /// for each of them.
    ///
    /// # Errors
    /// [`NotRegistered`](crate::Error::NotRegistered) if a type of the path has no model here. If
    /// an object does not exist and the step reads a reference from it; collections of such objects
    /// are skipped. [`PartialIndex`](crate::Error::PartialIndex) if a step leads back, and objects
    /// of other schemas may have such references without entries in the index.
    pub fn follow<'t>(
        &self,
        tx: &'t Tx,
        starts: impl IntoIterator<Item = impl Into<Ref<A>>>,
    ) -> Result<Objs<'t, B>> {
        let starts = starts.into_iter().map(|start| start.into().id());
        self.follow_ids(tx, starts.map(Ok))
    }

    /// The objects of `A` from which the path leads to any of `targets`: [`follow`](Path::follow)
    /// along the [`inverted`](Path::inverted) path.
    ///
    /// # Errors
    /// The errors of [`follow`](Path::follow).
    pub fn invert<'t>(
        &self,
        tx: &'t Tx,
        targets: impl IntoIterator<Item = impl Into<Ref<B>>>,
    ) -> Result<Objs<'t, A>> {
        self.inverted().follow(tx, targets)
    }

    /// How many objects the path reaches from any of these objects. Costs the same as reading all
    /// that [`follow`](Path::follow) finds.
    ///
    /// # Errors
    /// The errors of [`follow`](Path::follow).
    pub fn count(
        &self,
        tx: &Tx,
        starts: impl IntoIterator<Item = impl Into<Ref<A>>>,
    ) -> Result<usize> {
        self.follow(tx, starts)?.count()
    }

    pub(in crate::model) fn follow_ids<'t>(
        &self,
        tx: &'t Tx,
        starts: impl IntoIterator<Item = Result<crate::ObjId>>,
    ) -> Result<Objs<'t, B>> {
        let starts = starts.into_iter().collect::<Result<Vec<_>>>()?;
        let ids = self.way.follow(tx, starts)?;
        Ok(Objs::new(tx, ids))
    }

    /// The path as the object layer sees it: its steps, and which objects it allows before the
    /// first step, after it, and so on. For listeners along paths. Fields with another name in
    /// other schemas are other fields there, and not part of it.
    ///
    /// # Errors
    /// [`NotRegistered`](crate::Error::NotRegistered) if a type of the path has no model here.
    pub fn resolve(&self, tx: &Tx) -> Result<(Vec<PathStep>, Vec<Option<IdFilter>>)> {
        self.way.resolve(tx.models()?)
    }

    /// The path without its types.
    pub(in crate::model) fn way(&self) -> &Way {
        &self.way
    }
}

impl<A, B, N> Clone for Path<A, B, N> {
    fn clone(&self) -> Self {
        Path { way: self.way.clone(), ends: PhantomData }
    }
}

impl<A, B, N> fmt::Debug for Path<A, B, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("types", &self.way.types).finish_non_exhaustive()
    }
}
