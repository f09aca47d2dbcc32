//! Where a collection is, and what its views do with typed values.

use std::ops::RangeBounds;

use crate::encoding::{EncodingError, FieldType};
use crate::model::error::{Error, Result};
use crate::model::handle::Handle;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::values::EncodeAs;
use crate::object::{self, EncodedRange, encode_bound};

/// The object and the field to which a collection belongs. The views of sets, lists and maps share
/// this type.
#[derive(Clone, Copy)]
pub(super) struct CollectionField<'t> {
    pub(super) handle: Handle<'t>,
    /// The position of the field in the struct.
    pub(super) position: usize,
}

impl<'t> CollectionField<'t> {
    fn undecodable(&self, source: EncodingError) -> Error {
        match self.handle.binding.field(self.position) {
            Ok(field) => self.handle.undecodable(field, source),
            Err(error) => error,
        }
    }

    pub(super) fn decode<V: FieldType>(&self, bytes: &[u8]) -> Result<V> {
        V::decode_all(bytes).map_err(|source| self.undecodable(source))
    }

    /// The object to which a reference in the collection refers.
    pub(super) fn follow<T: Target>(&self, reference: Ref<T>) -> Result<T::Live<'t>> {
        self.handle.follow(self.position, reference)
    }

    /// The object to which an element of the collection refers; `None` for null.
    pub(super) fn follow_some<T: Target>(
        &self,
        reference: Result<Option<Ref<T>>>,
    ) -> Option<Result<T::Live<'t>>> {
        Some(reference.transpose()?.and_then(|reference| self.follow(reference)))
    }

    /// Runs a change. The change decodes the old value with the closure that it receives, before it
    /// writes anything. So if the old value is damaged, nothing changes.
    pub(super) fn decoding<V: FieldType, R>(
        &self,
        change: impl FnOnce(&mut dyn FnMut(&[u8]) -> object::Result<V>) -> Result<R>,
    ) -> Result<R> {
        // The object layer can only pass on its own errors, so the error with field and object is
        // kept here.
        let mut damage = None;
        let result = change(&mut |bytes| {
            self.decode(bytes).map_err(|error| {
                let refused = object::Error::inconsistent(error.to_string());
                damage = Some(error);
                refused
            })
        });
        match damage {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Runs `body` on the encoded form of a value.
    pub(super) fn encoded<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        body: impl FnOnce(&[u8]) -> object::Result<R>,
    ) -> Result<R> {
        self.handle.tx.with_encoded(value, |result, bytes| {
            self.check_encoded(result)?;
            Ok(body(bytes)?)
        })
    }

    fn check_encoded(&self, result: Result<(), EncodingError>) -> Result<()> {
        let Err(source) = result else { return Ok(()) };
        let field = self.handle.binding.field(self.position)?;
        Err(self.handle.unencodable(field, source))
    }

    /// Changes the collection with the encoded form of a value. The object moves first if it must.
    pub(super) fn change<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        mut change: impl FnMut(&[u8]) -> object::Result<R>,
    ) -> Result<R> {
        self.handle.tx.with_encoded(value, |result, bytes| {
            self.check_encoded(result)?;
            // The change may be tried twice: where the object is, and after it has moved.
            self.handle.change(self.position, || change(bytes))
        })
    }

    /// Whether removing changes nothing, because the object has nothing for the collection.
    pub(super) fn has_nothing_to_remove(&self) -> Result<bool> {
        self.handle.has_nothing_to_remove(self.position)
    }

    /// Changes the collection. The object moves first if it must.
    pub(super) fn change_all<R>(&self, change: impl FnMut() -> object::Result<R>) -> Result<R> {
        self.handle.change(self.position, change)
    }

    /// The encoded forms of all values that an iterator gives. Nothing is written before the
    /// iterator has ended, so it may read and change anything.
    pub(super) fn encoded_all<V>(
        &self,
        values: impl IntoIterator<Item: EncodeAs<V>>,
    ) -> Result<Vec<Vec<u8>>> {
        values.into_iter().map(|value| self.encoded(&value, |bytes| Ok(bytes.to_vec()))).collect()
    }

    pub(super) fn bounds<V, Q: EncodeAs<V>>(
        &self,
        range: &impl RangeBounds<Q>,
    ) -> Result<EncodedRange> {
        let bytes = |value: &Q| self.encoded(value, |bytes| Ok(bytes.to_vec()));
        Ok((encode_bound(range.start_bound(), bytes)?, encode_bound(range.end_bound(), bytes)?))
    }
}

/// Views can be cloned and displayed for debugging, whatever the types of their values.
macro_rules! view_basics {
    ($name:ident<$($parameter:ident),*>) => {
        impl<$($parameter),*> Clone for $name<'_, $($parameter),*> {
            fn clone(&self) -> Self {
                $name { at: self.at, view: self.view.clone(), types: std::marker::PhantomData }
            }
        }

        impl<$($parameter),*> std::fmt::Debug for $name<'_, $($parameter),*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.view).finish()
            }
        }
    };
}

pub(super) use view_basics;
