//! Paths with the types of both ends.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::step::{Meets, ReferenceAt, ReferenceField, TypeNames, storage_ids};
use super::walk::Walk;
use crate::id::StorageId;
use crate::model::binding::Models;
use crate::model::error::Result;
use crate::model::objects::Objs;
use crate::model::target::{Any, Ref, Target};
use crate::model::tx::Tx;
use crate::object::{IdFilter, PathStep};

/// The path leads from an object to at most one.
#[derive(Debug, Clone, Copy)]
pub enum One {}

/// The path leads from an object to any number of objects.
#[derive(Debug, Clone, Copy)]
pub enum Many {}

/// To how many objects a path leads: [`One`] or [`Many`].
pub trait Plurality: Sized + 'static {
    /// After a step of the other plurality.
    type Then<N: Plurality>: Plurality;

    /// What a path finds from one object.
    type Found<'t, T: Target>;

    #[doc(hidden)]
    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Self::Found<'_, T>>;
}

impl Plurality for One {
    type Then<N: Plurality> = N;
    type Found<'t, T: Target> = Option<T::Live<'t>>;

    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Option<T::Live<'_>>> {
        objects.first()
    }
}

impl Plurality for Many {
    type Then<N: Plurality> = Many;
    type Found<'t, T: Target> = Objs<'t, T>;

    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Objs<'_, T>> {
        Ok(objects)
    }
}

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
/// the index finds. So objects of other schemas take part as they do there: a field that was renamed
/// is found, one that is missing in the object's schema has no reference, and an object whose field
/// must be converted moves. After each step, objects of types that the path does not allow there
/// are left out without an error.
///
/// The field of a step can be one that several models share: that of a kind (`PetKind::NAMED.owner`),
/// or of a mix-in in all models (`Named::OWNER`), whose owners are [`Any`].
///
/// A path is a description. It is made once, and cheap to clone; a `static` holds it in a
/// [`LazyLock`](std::sync::LazyLock).
pub struct Path<A, B, N> {
    /// Which types are declared before the first step, after it, and so on.
    types: Arc<[TypeNames]>,
    steps: Arc<[Step]>,
    ends: PhantomData<Ends<A, B, N>>,
}

type Ends<A, B, N> = fn() -> (A, B, N);

/// A step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) field: ReferenceAt,
    /// Whether it leads from the target of a reference to the referring object.
    pub(super) back: bool,
}

impl Step {
    /// The types that are declared at the end of the step.
    fn after(&self) -> TypeNames {
        if self.back { self.field.owner() } else { self.field.to() }
    }

    /// The types that can be at the end of the step where the field is, if `owner`, or else at the
    /// end to which it refers. `None` means all types.
    fn types(&self, owner: bool, models: &Models) -> Result<Option<BTreeSet<StorageId>>> {
        if owner {
            Ok(Some(self.field.of(models)?.types()))
        } else {
            storage_ids(self.field.to(), models)
        }
    }
}

impl Path<Any, Any, One> {
    /// The path without steps, from an object to itself.
    pub fn of<M: Target>() -> Path<M, M, One> {
        Path { types: [M::TYPES].into(), steps: [].into(), ends: PhantomData }
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
        self.then(Step { field: field.at(), back: false })
    }

    /// This path, then to the objects that refer to what it has reached through a field.
    #[must_use]
    pub fn from<F: ReferenceField>(&self, field: F) -> Path<A, F::Owner, Many>
    where
        B: Meets<F::To>,
    {
        self.then(Step { field: field.at(), back: true })
    }

    fn then<C, P>(&self, step: Step) -> Path<A, C, P> {
        let types = self.types.iter().copied().chain([step.after()]);
        let steps = self.steps.iter().copied().chain([step]);
        Path { types: types.collect(), steps: steps.collect(), ends: PhantomData }
    }

    /// The same way back: from `B` to the objects of `A` from which this path leads there.
    #[must_use]
    pub fn inverted(&self) -> Path<B, A, Many> {
        let turned = |step: &Step| Step { field: step.field, back: !step.back };
        Path {
            types: self.types.iter().rev().copied().collect(),
            steps: self.steps.iter().rev().map(turned).collect(),
            ends: PhantomData,
        }
    }

    /// The objects that the path reaches from any of these objects, each once, by ascending ID.
    /// Objects among `starts` of a type that the path does not allow are left out.
    ///
    /// All steps but the last are made at once. If the last step leads back, the set is live and
    /// reads the index when it is used; otherwise it has the objects of this moment. Cost for each
    /// object and step: one get for a reference, one seek and a step per element of a collection,
    /// one seek and a step per referring object; for a field that several models share, one seek for each
    /// of them.
    ///
    /// # Errors
    /// [`NotRegistered`](crate::Error::NotRegistered) if a type of the path has no model here. If an
    /// object does not exist and the step reads a reference from it; collections of such objects
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
        let allowed = self.allowed(tx.models()?)?;
        let starts = starts.into_iter().collect::<Result<Vec<_>>>()?;
        let ids = Walk { tx, steps: &self.steps, allowed: &allowed }.from(starts)?;
        Ok(Objs::new(tx, ids))
    }

    /// The path as the object layer sees it: its steps, and which objects it allows before the first
    /// step, after it, and so on. For listeners along paths. Fields with another name in other
    /// schemas are other fields there, and not part of it.
    ///
    /// # Errors
    /// [`NotRegistered`](crate::Error::NotRegistered) if a type of the path has no model here.
    pub fn resolve(&self, tx: &Tx) -> Result<(Vec<PathStep>, Vec<Option<IdFilter>>)> {
        self.resolve_in(tx.models()?)
    }

    /// The path as the object layer sees it, for models that are bound.
    pub(in crate::model) fn resolve_in(
        &self,
        models: &Models,
    ) -> Result<(Vec<PathStep>, Vec<Option<IdFilter>>)> {
        let step = |step: &Step| {
            let field = step.field.of(models)?.storage_id()?;
            Ok(if step.back { PathStep::Inverse(field) } else { PathStep::Forward(field) })
        };
        let steps = self.steps.iter().map(step).collect::<Result<_>>()?;
        let filters = self.allowed(models)?.into_iter().map(|types| types.map(IdFilter::of_types));
        Ok((steps, filters.collect()))
    }

    /// The same path without its types.
    pub(in crate::model) fn untyped(&self) -> Path<Any, Any, Many> {
        Path { types: Arc::clone(&self.types), steps: Arc::clone(&self.steps), ends: PhantomData }
    }

    /// Which types are allowed before the first step, after it, and so on: those that are declared
    /// there, as far as the steps before and after can have them.
    fn allowed(&self, models: &Models) -> Result<Vec<Option<Vec<StorageId>>>> {
        let position = |(at, declared): (usize, &TypeNames)| {
            let ends = at.checked_sub(1).and_then(|before| self.steps.get(before));
            let begins = self.steps.get(at);
            let wanted = [
                Some(storage_ids(*declared, models)),
                ends.map(|step| step.types(step.back, models)),
                begins.map(|step| step.types(!step.back, models)),
            ];
            let mut allowed: Option<BTreeSet<StorageId>> = None;
            for types in wanted.into_iter().flatten() {
                let Some(types) = types? else { continue };
                allowed = Some(match allowed {
                    None => types,
                    Some(before) => &before & &types,
                });
            }
            Ok(allowed.map(|types| types.into_iter().collect()))
        };
        self.types.iter().enumerate().map(position).collect()
    }
}

impl<A, B, N> Clone for Path<A, B, N> {
    fn clone(&self) -> Self {
        Path { types: Arc::clone(&self.types), steps: Arc::clone(&self.steps), ends: PhantomData }
    }
}

impl<A, B, N> fmt::Debug for Path<A, B, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("types", &self.types).finish_non_exhaustive()
    }
}
