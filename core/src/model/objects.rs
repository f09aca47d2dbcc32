//! Sets of objects.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use super::error::Result;
use super::target::{Ref, Target};
use super::tx::Tx;
use crate::id::ObjId;
use crate::object::{IdSet, Ids};

/// A live, ordered set of objects: all objects of a type, the objects with a value in an index, or
/// a combination of such sets.
///
/// Making a set reads nothing; it is only a description. Combinations of sets merge sorted streams.
/// Objects may be changed, created and deleted during an iteration. The iterator does not return
/// objects that were deleted ahead of it, and does return objects that were created ahead of it.
pub struct Objs<'t, T> {
    tx: &'t Tx,
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
        ObjsIter { tx: self.tx, ids: self.ids.iter(), target: PhantomData }
    }

    /// The set of the object IDs.
    pub fn ids(&self) -> &IdSet<'t> {
        &self.ids
    }

    /// Whether an object is in the set.
    pub fn contains(&self, object: impl Into<Ref<T>>) -> Result<bool> {
        Ok(self.ids.contains(object.into().id())?)
    }

    /// The objects in this set or the other one.
    #[must_use]
    pub fn union(&self, other: &Objs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.union(&other.ids))
    }

    /// The objects in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Objs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.intersection(&other.ids))
    }

    /// The objects in this set and not in the other one.
    #[must_use]
    pub fn difference(&self, other: &Objs<'t, T>) -> Self {
        Objs::new(self.tx, self.ids.difference(&other.ids))
    }

    /// The objects in this set or any of the others.
    #[must_use]
    pub fn union_all(&self, others: impl IntoIterator<Item = impl Borrow<Self>>) -> Self {
        let others = others.into_iter().map(|other| other.borrow().ids.clone());
        Objs::new(self.tx, self.ids.union_all(others))
    }

    /// The objects in this set and all of the others.
    #[must_use]
    pub fn intersection_all(&self, others: impl IntoIterator<Item = impl Borrow<Self>>) -> Self {
        let others = others.into_iter().map(|other| other.borrow().ids.clone());
        Objs::new(self.tx, self.ids.intersection_all(others))
    }

    /// The object with the smallest ID.
    pub fn first(&self) -> Result<Option<T::Live<'t>>> {
        self.iter().next().transpose()
    }

    /// The object with the largest ID.
    pub fn last(&self) -> Result<Option<T::Live<'t>>> {
        self.iter().next_back().transpose()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.ids.is_empty()?)
    }

    /// How many objects there are. Reads all IDs.
    pub fn count(&self) -> Result<usize> {
        Ok(self.ids.count()?)
    }

    /// All objects.
    pub fn to_vec(&self) -> Result<Vec<T::Live<'t>>> {
        self.iter().collect()
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
    tx: &'t Tx,
    ids: Ids<'t>,
    target: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for ObjsIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjsIter").finish_non_exhaustive()
    }
}

impl<'t, T: Target> ObjsIter<'t, T> {
    fn live(&self, id: crate::object::Result<ObjId>) -> Result<T::Live<'t>> {
        T::live(self.tx, id?)
    }
}

impl<'t, T: Target> Iterator for ObjsIter<'t, T> {
    type Item = Result<T::Live<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ids.next().map(|id| self.live(id))
    }
}

impl<T: Target> DoubleEndedIterator for ObjsIter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ids.next_back().map(|id| self.live(id))
    }
}
