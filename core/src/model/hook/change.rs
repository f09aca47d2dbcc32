//! Changes of fields, in the form that hooks and observers get.

use std::fmt;
use std::marker::PhantomData;

use super::former::{in_own_encoding, is_of};
use super::subject::Subject;
use super::watched::{FromChange, Watched};
use crate::encoding::{FieldType, Value};
use crate::id::ObjId;
use crate::model::binding::Binding;
use crate::model::bound_fields::FieldPart;
use crate::model::error::{Error, Result};
use crate::model::fields::{Field, ListField, MapField, SetField};
use crate::model::tx::Tx;
use crate::object::{ChangeKind, FieldChange};

/// A type in which a hook can get a change of a field of type `F`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a change of this field is told as",
    label = "this field has other changes",
    note = "a change of a `{F}`: a simple field with values of type `V` has `&Changed<'_, M, V>`, a set has \
            `&SetChanged<'_, M, E>`, a list `&ListChanged<'_, M, E>`, a map `&MapChanged<'_, M, K, V>`; any field has \
            `&Change<'_, M>`; a counter has none"
)]
pub trait IsChangeOf<F> {
    #[doc(hidden)]
    fn fits(&self, _: F) {}
}

/// A type in which a hook can get a change of any field of model `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what the changes of several fields of `{M}` are told as",
    label = "expected `&Change<'_, {M}>`",
    note = "a hook that names its fields (`#[on_change(fields(…))]`) can have a narrower type"
)]
pub trait IsAnyChangeOf<M> {
    #[doc(hidden)]
    fn fits_all(&self) {}
}

macro_rules! change_type {
    ($(#[$doc:meta])* $name:ident<M $(, $parameter:ident)*>) => {
        $(#[$doc])*
        pub struct $name<'a, M $(, $parameter)*> {
            tx: &'a Tx,
            change: &'a FieldChange,
            types: PhantomData<fn() -> (M, $($parameter),*)>,
        }

        impl<'a, M: Subject $(, $parameter)*> $name<'a, M $(, $parameter)*> {
            /// The changed object.
            ///
            /// # Errors
            /// If the model is not registered.
            pub fn object(&self) -> Result<M::This<'a>> {
                M::this(self.tx, self.change.id())
            }

            /// The name of the field in the schema of the object, which can be a former one.
            pub fn field(&self) -> &'a str {
                &self.change.field().name
            }

            /// Whether this is a change of that field, under whatever name.
            pub fn is(&self, field: impl Watched<Model = M>) -> bool {
                let place = place::<M>(self.tx, self.change);
                place.is_ok_and(|(binding, start)| {
                    is_of(binding, start + field.position(), self.change)
                })
            }

            /// The change, in dynamic form.
            ///
            /// # Errors
            /// If stored values are damaged.
            pub fn kind(&self) -> Result<ChangeKind<Value>> {
                Ok(self.change.decode()?)
            }
        }

        impl<'a, M $(, $parameter)*> FromChange<'a> for $name<'a, M $(, $parameter)*> {
            fn from_change(tx: &'a Tx, change: &'a FieldChange) -> Self {
                $name { tx, change, types: PhantomData }
            }
        }

        impl<M $(, $parameter)*> Clone for $name<'_, M $(, $parameter)*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<M $(, $parameter)*> Copy for $name<'_, M $(, $parameter)*> {}

        impl<M $(, $parameter)*> fmt::Debug for $name<'_, M $(, $parameter)*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.change.fmt(f)
            }
        }
    };
}

change_type! {
    /// A change of any field of an object of model `M`.
    ///
    /// [`kind`](Change::kind) gives the values in dynamic form, [`of`](Change::of) in typed form if
    /// it is a change of a certain field:
    ///
    /// ```
    /// # use permazen::{PermazenObject, model::Change};
    /// # #[derive(PermazenObject)]
    /// # struct Person { age: i32 }
    /// fn describe(change: &Change<'_, Person>) -> permazen::Result<String> {
    ///     Ok(match change.of(Person::AGE) {
    ///         Some(age) => format!("{} years, before {}", age.new()?, age.old()?),
    ///         None => format!("{}: {:?}", change.field(), change.kind()?),
    ///     })
    /// }
    /// ```
    Change<M>
}
change_type! {
    /// A change of a simple field of an object of model `M` with values of type `V`.
    Changed<M, V>
}
change_type! {
    /// A change of a set of an object of model `M` with elements of type `E`.
    SetChanged<M, E>
}
change_type! {
    /// A change of a list of an object of model `M` with elements of type `E`.
    ListChanged<M, E>
}
change_type! {
    /// A change of a map of an object of model `M` from `K` to `V`.
    MapChanged<M, K, V>
}

macro_rules! watched {
    ($field:ident<M $(, $value:ident)+; $($index:ident),+> as $change:ident) => {
        impl<M: Subject, $($value: FieldType,)+ $($index: 'static),+> Watched for $field<M, $($value,)+ $($index),+> {
            type Model = M;
            type Change<'a> = $change<'a, M, $($value),+>;

            fn position(self) -> usize {
                self.position
            }

            fn told<'a>(tx: &'a Tx, change: &'a FieldChange) -> Self::Change<'a> {
                $change::from_change(tx, change)
            }
        }
    };
}

watched!(Field<M, V; I> as Changed);
watched!(SetField<M, E; I> as SetChanged);
watched!(ListField<M, E; I> as ListChanged);
watched!(MapField<M, K, V; KI, VI> as MapChanged);

impl<M, F> IsChangeOf<F> for Change<'_, M> where F: Watched<Model = M> {}
impl<M> IsAnyChangeOf<M> for Change<'_, M> {}
impl<M, V, I> IsChangeOf<Field<M, V, I>> for Changed<'_, M, V> {}
impl<M, E, I> IsChangeOf<SetField<M, E, I>> for SetChanged<'_, M, E> {}
impl<M, E, I> IsChangeOf<ListField<M, E, I>> for ListChanged<'_, M, E> {}
impl<M, K, V, KI, VI> IsChangeOf<MapField<M, K, V, KI, VI>> for MapChanged<'_, M, K, V> {}

impl<'a, M: Subject> Change<'a, M> {
    /// The change with its types, if it is one of that field.
    pub fn of<F: Watched<Model = M>>(&self, field: F) -> Option<F::Change<'a>> {
        self.is(field).then(|| F::told(self.tx, self.change))
    }
}

impl<M: Subject, V: FieldType> Changed<'_, M, V> {
    /// The value before the change.
    ///
    /// # Errors
    /// [`Error::Missing`] if the field had no value and `V` has no null, as in a new object whose
    /// fields get their values; [`old_if_any`](Changed::old_if_any) is for that.
    /// [`Error::Decode`] if the stored value was damaged.
    pub fn old(&self) -> Result<V> {
        let (old, _) = self.bytes()?;
        decoded::<M, V>(self.tx, self.change, FieldPart::Main, old)
    }

    /// The value before the change; `None` if the field had no value and `V` has no null.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored value was damaged.
    pub fn old_if_any(&self) -> Result<Option<V>> {
        match self.old() {
            Err(Error::Missing { .. }) => Ok(None),
            old => old.map(Some),
        }
    }

    /// The value after the change. The field may have another one by now.
    ///
    /// # Errors
    /// [`Error::Missing`] if the value is null and `V` has no null.
    #[allow(clippy::new_ret_no_self, reason = "the new value")]
    pub fn new(&self) -> Result<V> {
        let (_, new) = self.bytes()?;
        decoded::<M, V>(self.tx, self.change, FieldPart::Main, new)
    }

    fn bytes(&self) -> Result<(&[u8], &[u8])> {
        match self.change.kind() {
            ChangeKind::Simple { old, new } => Ok((old, new)),
            _ => Err(other_kind(self.change)),
        }
    }
}

/// A change in a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetChange<E> {
    /// An element was added.
    Add(E),
    /// An element was removed.
    Remove(E),
    /// The set, which had elements, became empty.
    Clear,
}

/// A change in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListChange<E> {
    /// An element was inserted.
    Add {
        /// Its new position.
        index: u32,
        /// The element.
        element: E,
    },
    /// An element was removed.
    Remove {
        /// The position that it had. If `remove_range`, `replace`, `store` or a copy removes
        /// several elements, that is before all of them went: the first two of three have 0 and 1.
        /// Otherwise each removal is reported as if it were made alone, after the removals reported
        /// before it. So the same two have 0 and 0. This is so for `retain`, for a deletion of the
        /// objects to which the elements refer, and for a move to a schema that does not allow such
        /// references.
        index: u32,
        /// The element.
        element: E,
    },
    /// An element was replaced.
    Replace {
        /// Its position.
        index: u32,
        /// The old element.
        old: E,
        /// The new element.
        new: E,
    },
    /// The list, which had elements, became empty.
    Clear,
}

/// A change in a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapChange<K, V> {
    /// An entry was added.
    Add {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
    /// An entry was removed.
    Remove {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
    /// The value of an entry was replaced.
    Replace {
        /// The key.
        key: K,
        /// The old value.
        old: V,
        /// The new value.
        new: V,
    },
    /// The map, which had entries, became empty.
    Clear,
}

impl<M: Subject, E: FieldType> SetChanged<'_, M, E> {
    /// The change, decoded.
    ///
    /// # Errors
    /// [`Error::Decode`] if a stored element was damaged.
    pub fn what(&self) -> Result<SetChange<E>> {
        let element = |bytes: &[u8]| decoded::<M, E>(self.tx, self.change, FieldPart::Main, bytes);
        Ok(match self.change.kind() {
            ChangeKind::SetAdd { value } => SetChange::Add(element(value)?),
            ChangeKind::SetRemove { value } => SetChange::Remove(element(value)?),
            ChangeKind::SetClear => SetChange::Clear,
            _ => return Err(other_kind(self.change)),
        })
    }
}

impl<M: Subject, E: FieldType> ListChanged<'_, M, E> {
    /// The change, decoded.
    ///
    /// # Errors
    /// [`Error::Decode`] if a stored element was damaged.
    pub fn what(&self) -> Result<ListChange<E>> {
        let element = |bytes: &[u8]| decoded::<M, E>(self.tx, self.change, FieldPart::Main, bytes);
        Ok(match self.change.kind() {
            ChangeKind::ListAdd { index, value } => {
                ListChange::Add { index: *index, element: element(value)? }
            }
            ChangeKind::ListRemove { index, value } => {
                ListChange::Remove { index: *index, element: element(value)? }
            }
            ChangeKind::ListReplace { index, old, new } => {
                ListChange::Replace { index: *index, old: element(old)?, new: element(new)? }
            }
            ChangeKind::ListClear => ListChange::Clear,
            _ => return Err(other_kind(self.change)),
        })
    }
}

impl<M: Subject, K: FieldType, V: FieldType> MapChanged<'_, M, K, V> {
    /// The change, decoded.
    ///
    /// # Errors
    /// [`Error::Decode`] if a stored key or value was damaged.
    pub fn what(&self) -> Result<MapChange<K, V>> {
        let key_of = |bytes: &[u8]| decoded::<M, K>(self.tx, self.change, FieldPart::Main, bytes);
        let value_of =
            |bytes: &[u8]| decoded::<M, V>(self.tx, self.change, FieldPart::MapValue, bytes);
        Ok(match self.change.kind() {
            ChangeKind::MapAdd { key, value } => {
                MapChange::Add { key: key_of(key)?, value: value_of(value)? }
            }
            ChangeKind::MapRemove { key, value } => {
                MapChange::Remove { key: key_of(key)?, value: value_of(value)? }
            }
            ChangeKind::MapReplace { key, old, new } => {
                MapChange::Replace { key: key_of(key)?, old: value_of(old)?, new: value_of(new)? }
            }
            ChangeKind::MapClear => MapChange::Clear,
            _ => return Err(other_kind(self.change)),
        })
    }
}

fn decoded<M: Subject, V: FieldType>(
    tx: &Tx,
    change: &FieldChange,
    part: FieldPart,
    bytes: &[u8],
) -> Result<V> {
    let schema = change.object_type().schema_of;
    let (binding, _) = place::<M>(tx, change)?;
    let undecodable =
        |source| binding.fields.undecodable(change.id(), Some(schema), change.field(), source);
    match in_own_encoding(binding, change, part, bytes)? {
        Some(converted) => V::decode_all(&converted).map_err(undecodable),
        None => V::decode_all(bytes).map_err(undecodable),
    }
}

/// The model of the changed object, and where the fields of `M` begin in it.
fn place<'a, M: Subject>(tx: &'a Tx, change: &FieldChange) -> Result<(&'a Binding, usize)> {
    M::AMONG.place(tx.models()?, change.id())
}

fn other_kind(change: &FieldChange) -> Error {
    let (id, field): (ObjId, _) = (change.id(), &change.field().name);
    Error::other(format!("field {field:?} of object {id} is of another kind than its model says"))
}
