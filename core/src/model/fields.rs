//! Typed field constants: `Person::NAME` and the like.
//!
//! A constant names a field of a model at compile time, with the type of its values and whether it
//! is indexed. So a query on a field without index does not compile.

use std::fmt;
use std::marker::PhantomData;

/// The field has an index.
#[derive(Debug, Clone, Copy)]
pub enum Indexed {}

/// The field has no index.
#[derive(Debug, Clone, Copy)]
pub enum Unindexed {}

macro_rules! field_constant {
    ($(#[$doc:meta])* $name:ident<M $(, $parameter:ident)*>) => {
        $(#[$doc])*
        pub struct $name<M $(, $parameter)*> {
            pub(crate) position: usize,
            types: PhantomData<fn() -> (M, $($parameter),*)>,
        }

        impl<M $(, $parameter)*> $name<M $(, $parameter)*> {
            /// The constant of the field at a position among the fields of the struct.
            #[doc(hidden)]
            pub const fn new(position: usize) -> Self {
                $name { position, types: PhantomData }
            }
        }

        impl<M $(, $parameter)*> Clone for $name<M $(, $parameter)*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<M $(, $parameter)*> Copy for $name<M $(, $parameter)*> {}

        impl<M $(, $parameter)*> fmt::Debug for $name<M $(, $parameter)*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.position)
            }
        }
    };
}

field_constant! {
    /// A simple field of model `M` with values of type `V`; `I` is [`Indexed`] or [`Unindexed`].
    Field<M, V, I>
}
field_constant! {
    /// A counter field of model `M`.
    CounterField<M>
}
field_constant! {
    /// A set field of model `M` with elements of type `E`.
    SetField<M, E, I>
}
field_constant! {
    /// A list field of model `M` with elements of type `E`.
    ListField<M, E, I>
}
field_constant! {
    /// A map field of model `M` from `K` to `V`; `KI` and `VI` say whether keys and values are
    /// indexed.
    MapField<M, K, V, KI, VI>
}
field_constant! {
    /// A composite index of model `M` on values of the types in the tuple `T`.
    Composite<M, T>
}
field_constant! {
    /// The positions of the elements of a list: `Playlist::TRACKS.positions()`.
    Positions<M, E>
}
field_constant! {
    /// The keys of a map: `Playlist::LABELS.key()`.
    MapKey<M, K, I>
}
field_constant! {
    /// The values of a map: `Playlist::LABELS.value()`.
    MapValue<M, K, V, I>
}
field_constant! {
    /// The values of a map with their keys: `Playlist::LABELS.value().with_keys()`.
    MapValueKeys<M, K, V>
}

impl<M, E> ListField<M, E, Indexed> {
    /// The index of the elements with their positions in the list.
    pub const fn positions(self) -> Positions<M, E> {
        Positions::new(self.position)
    }
}

impl<M, K, V, KI, VI> MapField<M, K, V, KI, VI> {
    /// The keys, for a query.
    pub const fn key(self) -> MapKey<M, K, KI> {
        MapKey::new(self.position)
    }

    /// The values, for a query.
    pub const fn value(self) -> MapValue<M, K, V, VI> {
        MapValue::new(self.position)
    }
}

impl<M, K, V> MapValue<M, K, V, Indexed> {
    /// The index of the values, with the keys they belong to.
    pub const fn with_keys(self) -> MapValueKeys<M, K, V> {
        MapValueKeys::new(self.position)
    }
}
