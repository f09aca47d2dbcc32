//! References as they are stored.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use crate::encoding::EncodingError;
use crate::id::ObjId;

/// A reference as it is stored: the ID of an object of type `M`. It outlives transactions.
/// [`Tx::get`](super::Tx::get) turns it into a handle again.
pub struct Ref<M> {
    id: ObjId,
    target: PhantomData<fn() -> M>,
}

impl<M> Ref<M> {
    /// A reference to the object with this ID. The type of the object is checked when the reference
    /// is used.
    pub const fn new(id: ObjId) -> Self {
        Ref { id, target: PhantomData }
    }

    /// The object ID.
    pub const fn id(self) -> ObjId {
        self.id
    }

    /// The same reference without its type.
    pub const fn any(self) -> Ref<Any> {
        Ref::new(self.id)
    }
}

impl<M> Clone for Ref<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Ref<M> {}

impl<M> PartialEq for Ref<M> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<M> Eq for Ref<M> {}

impl<M> PartialOrd for Ref<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Ref<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl<M> Hash for Ref<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<M> fmt::Debug for Ref<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({})", self.id)
    }
}

impl<M> fmt::Display for Ref<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// From 16 hex digits, as [`ObjId`] is displayed. The type of the object is checked when the
/// reference is used.
impl<M> FromStr for Ref<M> {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self, EncodingError> {
        text.parse().map(Ref::new)
    }
}

impl<M> From<ObjId> for Ref<M> {
    fn from(id: ObjId) -> Ref<M> {
        Ref::new(id)
    }
}

/// The same reference, so that a loop over borrowed ones can pass them on.
impl<M> From<&Ref<M>> for Ref<M> {
    fn from(reference: &Ref<M>) -> Self {
        *reference
    }
}

impl<M> From<&Ref<M>> for ObjId {
    fn from(reference: &Ref<M>) -> Self {
        reference.id()
    }
}

impl<M> From<Ref<M>> for ObjId {
    fn from(reference: Ref<M>) -> ObjId {
        reference.id
    }
}

/// Any object, of a known type or not: `Ref<Any>` is an unrestricted reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Any {}
