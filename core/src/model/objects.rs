//! Sets of objects.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

use super::binding::Binding;
use super::error::Result;
use super::index::{Page, PageToken, PageTokenError};
use super::object_type::Model;
use super::reference::{Any, Ref};
use super::target::{Handles, Target};
use super::tx::Tx;
use crate::id::ObjId;
use crate::object::{IdSet, Ids};

/// A live, ordered set of objects: all objects of a type, the objects with a value in an index, or
/// a combination of such sets.
///
/// Making a set reads nothing; it is only a description. Combinations of sets merge sorted streams
/// as they are read, and keep nothing in memory: one seek for each set that was combined, then one
/// step per entry of an index, or per pair of the objects of a type. A union reads all of its sets.
/// An intersection and a difference skip with seeks the objects that the other set rules out. So
/// put the smallest set first, and use [`tx.all`](Tx::all) only where no index has the wanted
/// objects. All sets of a combination must be of one transaction.
///
/// Objects may be changed, created and deleted during an iteration. The iterator does not return
/// objects that were deleted, or otherwise left the set, ahead of it; and it does return objects
/// that were created, or came into the set, ahead of it. This also holds for combinations: if
/// something was changed since the last step, the next one seeks anew in each set that was
/// combined.
pub struct Objs<'t, T> {
    pub(super) tx: &'t Tx,
    ids: IdSet<'t>,
    target: PhantomData<fn() -> T>,
}

impl<T> Clone for Objs<'_, T> {
    fn clone(&self) -> Self {
        Objs { tx: self.tx, ids: self.ids.clone(), target: PhantomData }
    }
}

impl<T> fmt::Debug for Objs<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objs").field(&self.ids).finish()
    }
}

impl<'t, T: Target> Objs<'t, T> {
    pub(crate) fn new(tx: &'t Tx, ids: IdSet<'t>) -> Self {
        Objs { tx, ids, target: PhantomData }
    }

    /// The objects by ascending ID; can also be read from the back.
    pub fn iter(&self) -> ObjsIter<'t, T> {
        let ahead = self.tx.core().prefetches().then(|| Ahead::new(self.tx, &self.ids));
        let (from, ids) = (Handles::many::<T>(self.tx), self.ids.iter());
        ObjsIter { from, ids, ahead, target: PhantomData }
    }

    /// The set of the object IDs.
    pub fn ids(&self) -> &IdSet<'t> {
        &self.ids
    }

    /// Whether an object is in the set.
    pub fn contains(&self, object: impl Into<Ref<T>>) -> Result<bool> {
        Ok(self.ids.contains(object.into().id())?)
    }

    /// The same set as one of any objects, to combine it with sets of other types.
    #[must_use]
    pub fn any(&self) -> Objs<'t, Any> {
        Objs::new(self.tx, self.ids.clone())
    }

    /// The objects in this set or the other one.
    #[must_use]
    pub fn union(&self, other: impl SetOfObjs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.union(&other.into_ids()))
    }

    /// The objects in both sets.
    #[must_use]
    pub fn intersection(&self, other: impl SetOfObjs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.intersection(&other.into_ids()))
    }

    /// The objects in this set and not in the other one.
    #[must_use]
    pub fn difference(&self, other: impl SetOfObjs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.difference(&other.into_ids()))
    }

    /// The objects in this set or any of the others.
    #[must_use]
    pub fn union_all(&self, others: impl IntoIterator<Item = impl SetOfObjs<'t, T>>) -> Self {
        let others = others.into_iter().map(SetOfObjs::into_ids);
        Objs::new(self.tx, self.ids.union_all(others))
    }

    /// The objects in this set and all of the others.
    #[must_use]
    pub fn intersection_all(
        &self,
        others: impl IntoIterator<Item = impl SetOfObjs<'t, T>>,
    ) -> Self {
        let others = others.into_iter().map(SetOfObjs::into_ids);
        Objs::new(self.tx, self.ids.intersection_all(others))
    }

    /// A page of objects by ascending ID: the first `limit` of those after the token of the
    /// previous page. `None` gives the first page. A limit of 0 counts as 1. See
    /// [`Index::page`](super::Index::page).
    ///
    /// Cost: that of reading the objects of the page, and one more to see whether there are more.
    ///
    /// # Errors
    /// [`Error::PageToken`](super::Error::PageToken) if the token is one of an index.
    pub fn page(&self, limit: usize, token: Option<&PageToken>) -> Result<Page<T::Live<'t>>> {
        let after = |id| (Bound::Excluded(id), Bound::Unbounded);
        let rest = place(token)?.map_or_else(|| self.ids.clone(), |id| self.ids.range(after(id)));
        self.read_page(limit, rest.iter())
    }

    /// A page of objects by descending ID: the last `limit` of those before the token. `None` gives
    /// the last page. Costs as much as [`page`](Objs::page).
    ///
    /// # Errors
    /// The errors of [`page`](Objs::page).
    pub fn page_back(&self, limit: usize, token: Option<&PageToken>) -> Result<Page<T::Live<'t>>> {
        let rest = place(token)?.map_or_else(|| self.ids.clone(), |id| self.ids.range(..id));
        self.read_page(limit, rest.iter().rev())
    }

    fn read_page(
        &self,
        limit: usize,
        mut ids: impl Iterator<Item = crate::object::Result<ObjId>>,
    ) -> Result<Page<T::Live<'t>>> {
        let read: Vec<ObjId> = ids.by_ref().take(limit.max(1)).collect::<Result<_, _>>()?;
        let more = ids.next().transpose()?.is_some();
        let from = Handles::many::<T>(self.tx);
        let entries = read.iter().map(|id| T::live(from, *id)).collect::<Result<_>>()?;
        let token = |id: &ObjId| PageToken::of_id(id.as_bytes());
        let next = read.last().filter(|_| more).map(token);
        Ok(Page { entries, next, start: read.first().map(token) })
    }

    /// The object with the smallest ID.
    pub fn first(&self) -> Result<Option<T::Live<'t>>> {
        if self.tx.core().prefetches() {
            return self.iter().next().transpose();
        }
        self.ids.first()?.map(|id| T::live(Handles::one(self.tx), id)).transpose()
    }

    /// The object with the largest ID.
    pub fn last(&self) -> Result<Option<T::Live<'t>>> {
        if self.tx.core().prefetches() {
            return self.iter().next_back().transpose();
        }
        self.ids.last()?.map(|id| T::live(Handles::one(self.tx), id)).transpose()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.ids.is_empty()?)
    }

    /// How many objects there are. Reads all IDs. For all objects of a model or kind, these come
    /// from the object schema index: a seek for each recorded schema, then a step for each object.
    pub fn count(&self) -> Result<usize> {
        match self.ids.filter_of_all() {
            Some(all) => Ok(self.tx.core().count_objects(all)?),
            None => Ok(self.ids.count()?),
        }
    }

    /// All objects.
    pub fn to_vec(&self) -> Result<Vec<T::Live<'t>>> {
        self.iter().collect()
    }
}

/// The place of a token among object IDs.
fn place(token: Option<&PageToken>) -> Result<Option<ObjId>> {
    let Some(token) = token else { return Ok(None) };
    let id = token.id().and_then(|id| ObjId::from_slice(id).ok());
    let other = || PageTokenError::OtherIndex { expected: "a set of objects".to_owned() };
    Ok(Some(id.ok_or_else(other)?))
}

/// A set of objects of type `T` to combine with another one: [`Objs`], or a reference to it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of objects of type `{T}`",
    label = "expected `Objs<{T}>`",
    note = "combine sets of one type; to combine sets of several types, make both sets of any objects: \
            `one.any().union(other.any())`; a view of an index gives a set by `get(value)`"
)]
pub trait SetOfObjs<'t, T> {
    /// The set of the object IDs.
    #[doc(hidden)]
    fn into_ids(self) -> IdSet<'t>;
}

impl<'t, T> SetOfObjs<'t, T> for Objs<'t, T> {
    fn into_ids(self) -> IdSet<'t> {
        self.ids
    }
}

impl<'t, T> SetOfObjs<'t, T> for &Objs<'t, T> {
    fn into_ids(self) -> IdSet<'t> {
        self.ids.clone()
    }
}

impl<'t, T: Target> IntoIterator for &Objs<'t, T> {
    type Item = Result<T::Live<'t>>;
    type IntoIter = ObjsIter<'t, T>;

    fn into_iter(self) -> ObjsIter<'t, T> {
        self.iter()
    }
}

impl<'t, T: Target> IntoIterator for Objs<'t, T> {
    type Item = Result<T::Live<'t>>;
    type IntoIter = ObjsIter<'t, T>;

    fn into_iter(self) -> ObjsIter<'t, T> {
        self.iter()
    }
}

/// The objects of a set by ascending ID.
pub struct ObjsIter<'t, T> {
    from: Handles<'t>,
    ids: Ids<'t>,
    /// `None` where it does not help to say what comes next.
    ahead: Option<Box<Ahead<'t>>>,
    target: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for ObjsIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjsIter").finish_non_exhaustive()
    }
}

/// This number of objects is requested at once where each request is a round trip.
const AHEAD: usize = 64;

/// Asks for the next objects before they are used.
struct Ahead<'t> {
    tx: &'t Tx,
    ids: Ids<'t>,
    /// How many of those that were asked for are still to come.
    left: usize,
}

impl<'t> Ahead<'t> {
    fn new(tx: &'t Tx, ids: &IdSet<'t>) -> Box<Self> {
        Box::new(Ahead { tx, ids: ids.iter(), left: 0 })
    }

    /// Another object is about to come. Fails if the transaction must run again; then no read says
    /// so any more.
    fn step(
        &mut self,
        next: impl FnMut(&mut Ids<'t>) -> Option<crate::object::Result<ObjId>>,
    ) -> crate::object::Result<()> {
        if self.left == 0 {
            let ids = std::iter::repeat_with({
                let (ids, mut next) = (&mut self.ids, next);
                move || next(ids)
            });
            let mut asked = Vec::with_capacity(AHEAD);
            for id in ids.map_while(|id| id).take(AHEAD) {
                match id {
                    Ok(id) => asked.push(id),
                    Err(error) if error.is_retryable() => return Err(error),
                    // The reader of the objects gets the error again.
                    Err(_) => break,
                }
            }
            self.tx.core().prefetch_objects(&asked);
            self.left = AHEAD;
        }
        self.left -= 1;
        Ok(())
    }
}

impl<'t, T: Target> ObjsIter<'t, T> {
    fn live(&self, id: crate::object::Result<ObjId>) -> Result<T::Live<'t>> {
        T::live(self.from, id?)
    }
}

impl<'t, T: Target> Iterator for ObjsIter<'t, T> {
    type Item = Result<T::Live<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(ahead) = &mut self.ahead
            && let Err(error) = ahead.step(Iterator::next)
        {
            return Some(Err(error.into()));
        }
        self.ids.next().map(|id| self.live(id))
    }
}

impl<T: Target> DoubleEndedIterator for ObjsIter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if let Some(ahead) = &mut self.ahead
            && let Err(error) = ahead.step(DoubleEndedIterator::next_back)
        {
            return Some(Err(error.into()));
        }
        self.ids.next_back().map(|id| self.live(id))
    }
}

/// All objects, of some types or of any.
impl Tx {
    /// All objects of a model or kind by ascending ID, in whichever schema they are stored. Reads
    /// nothing.
    ///
    /// Cost of reading the set: one seek, then one step per pair of the objects. Objects with many
    /// pairs cost a seek each instead.
    ///
    /// # Errors
    /// [`Error::NotRegistered`](super::Error::NotRegistered).
    pub fn all<T: Target>(&self) -> Result<Objs<'_, T>> {
        if T::TYPES.is_none() {
            return Ok(Objs::new(self, self.core.all_objects()?));
        }
        let of_types = self.bindings_of::<T>()?.into_iter().map(Binding::storage_id);
        Ok(Objs::new(self, self.core.objects_of(of_types)?))
    }

    /// All objects in the database, also those of types that are not registered. Costs the same as
    /// [`all`](Tx::all).
    pub fn everything(&self) -> Result<Objs<'_, Any>> {
        Ok(Objs::new(self, self.core.all_objects()?))
    }

    /// All objects of types that are not registered. Costs the same as
    /// [`everything`](Tx::everything).
    pub fn untyped(&self) -> Result<Objs<'_, Any>> {
        let known = self.core.objects_of(self.bindings()?.storage_ids())?;
        Ok(Objs::new(self, self.core.all_objects()?.difference(&known)))
    }
}

/// Reading many objects at once.
impl Tx {
    /// Reads all fields of these objects, in their order; one that comes twice is there twice.
    ///
    /// Cost: that of [`load`](super::Obj::load) for each. A store on a server is asked once for
    /// each 64 of them, where to load them one by one takes a round trip for each.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Debug, PartialEq)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// # db.write(|tx| {
    /// let ann = tx.create(Person { name: "Ann".into() })?.to_ref();
    /// let bob = tx.create(Person { name: "Bob".into() })?.to_ref();
    /// let people: Vec<Person> = tx.load_all([bob, ann])?;
    /// assert_eq!(people[0].name, "Bob");
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of [`load`](super::Obj::load) for the first object for which it fails, such as one
    /// that does not exist; [`Error::NotRegistered`](super::Error::NotRegistered);
    /// [`Error::WrongType`](super::Error::WrongType) if an ID belongs to another type.
    pub fn load_all<M: Model>(
        &self,
        objects: impl IntoIterator<Item = impl Into<Ref<M>>>,
    ) -> Result<Vec<M>> {
        let ids: Vec<ObjId> = objects.into_iter().map(|object| object.into().id()).collect();
        let mut loaded = Vec::with_capacity(ids.len());
        for some in ids.chunks(AHEAD) {
            self.core.prefetch_objects(some);
            for id in some {
                loaded.push(self.get::<M>(*id)?.load()?);
            }
        }
        Ok(loaded)
    }

    /// Asks a store on a server for these objects, of any types, before they are used one by one:
    /// once for each 64, where their first uses take a round trip each. Objects that do not exist
    /// are passed over. An object that is damaged makes its use fail, not this. A transaction keeps
    /// about 32 MiB of the data that it has read.
    ///
    /// Cost: nothing on other stores. Where transactions are checked for conflicts by their reads,
    /// as on etcd, these objects count as read.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Order { lines: Vec<Ref<Line>> }
    /// # #[derive(PermazenObject)]
    /// # struct Line { count: i32 }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Order>().model::<Line>().build()?;
    /// # db.write(|tx| {
    /// # let line = tx.create(Line { count: 2 })?.to_ref();
    /// # let order = tx.create(Order { lines: vec![line] })?.to_ref();
    /// let lines = tx.get(order)?.load()?.lines;
    /// tx.prefetch(&lines)?;
    /// let mut count = 0;
    /// for line in lines {
    ///     count += tx.get(line)?.count()?;
    /// }
    /// # assert_eq!(count, 2);
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the store.
    pub fn prefetch(&self, objects: impl IntoIterator<Item = impl Into<ObjId>>) -> Result<()> {
        if !self.core.prefetches() {
            return Ok(());
        }
        let ids: Vec<ObjId> = objects.into_iter().map(Into::into).collect();
        for some in ids.chunks(AHEAD) {
            self.core.fetch_objects(some)?;
        }
        Ok(())
    }
}
