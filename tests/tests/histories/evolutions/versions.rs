//! A version of a program, as the test uses it.

use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::{ObjId, Permazen, PermazenObject, Ref, Result, Tx};

use crate::evolutions::naive::{Cell, Content, Contents, Type, Version};
use crate::evolutions::values::{Random, Simple, random_object};

/// The effect of an operation on a field.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Set(Content),
    Add(i64),
    Append(Cell),
    Insert(Cell, Cell),
    Clear,
}

/// How a query treats an index that lacks entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum How {
    Strict,
    Allowing,
    Scanning,
}

/// The outcome of storing a value with a base.
pub(crate) struct Merged {
    /// The value that the base alone gives.
    pub(crate) of_base: Result<Contents>,
    pub(crate) wanted: Contents,
    pub(crate) stored: Result<Contents>,
}

/// A version of the program, as the test uses it.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) open: fn(Arc<dyn KvDatabase>) -> Permazen,
    pub(crate) item: Model,
    /// Not all versions have this type.
    pub(crate) note: Option<Model>,
}

impl Program {
    pub(crate) fn model(&self, of_type: &str) -> Option<&Model> {
        match of_type {
            "Item" => Some(&self.item),
            _ => self.note.as_ref(),
        }
    }
}

/// A type of a program.
#[allow(clippy::type_complexity, reason = "each is used once")]
pub(crate) struct Model {
    pub(crate) version: Version,
    pub(crate) create: fn(&Tx, &mut Random) -> Result<(ObjId, Contents)>,
    pub(crate) get: fn(&Tx, ObjId, &str) -> Result<Content>,
    pub(crate) load: fn(&Tx, ObjId) -> Result<Contents>,
    /// Changes one field.
    pub(crate) change: fn(&Tx, ObjId, &str, &mut Random) -> (Effect, Result<()>),
    /// Stores a struct that has some random values, and the others from the database.
    pub(crate) store: fn(&Permazen, &Tx, ObjId, &mut Random) -> (Contents, Result<()>),
    /// Loads the object with its base, as bytes.
    pub(crate) load_base: fn(&Tx, ObjId) -> Result<(Contents, Vec<u8>)>,
    /// Stores a struct with that base that has some random values, and the others from the base.
    pub(crate) store_base: fn(&Permazen, &Tx, &[u8], &mut Random) -> Merged,
    /// The entries of an index.
    pub(crate) query: fn(&Tx, &str, How) -> Result<Vec<(Vec<Cell>, ObjId)>>,
    pub(crate) migrate: fn(&Tx, ObjId) -> Result<bool>,
    pub(crate) delete: fn(&Tx, ObjId) -> Result<bool>,
}

/// A type that never changes.
#[derive(PermazenObject, Debug, Clone)]
pub struct Place {
    label: String,
}

impl Simple for Ref<Place> {
    fn of() -> Type {
        Type::Ref(Some(&["Place"]))
    }
    fn random(random: &mut Random) -> Self {
        Ref::new(random_object(random, "Place"))
    }
    fn cell(&self) -> Cell {
        Some(self.id().to_string())
    }
}

pub(crate) fn new_place(tx: &Tx) -> Result<ObjId> {
    Ok(tx.create(Place { label: "here".into() })?.id())
}

/// How a field of each kind is changed.
macro_rules! changed {
    (one $object:ident $random:ident $field:ident $set:ident $type:ty) => {{
        let value = <$type as Whole>::random($random);
        (Effect::Set(value.content()), $object.$set(value))
    }};
    (counter $object:ident $random:ident $field:ident $set:ident $type:ty) => {{
        if $random.one_in(3) {
            let value = <$type as Whole>::random($random);
            (Effect::Set(value.content()), $object.$field().set(value.0))
        } else {
            let by = $random.pick(&[1, -2, 1000]);
            (Effect::Add(by), $object.$field().add(by))
        }
    }};
    (list $object:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop() {
            None => (Effect::Clear, $object.$field().and_then(|list| list.clear())),
            Some(element) => (
                Effect::Append(element.cell()),
                $object.$field().and_then(|list| list.push(element)),
            ),
        }
    }};
    (set $object:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop_last() {
            None => (Effect::Clear, $object.$field().and_then(|set| set.clear())),
            Some(element) => {
                let added = $object.$field().and_then(|set| set.add(element.clone()).map(drop));
                (Effect::Insert(element.cell(), None), added)
            }
        }
    }};
    (map $object:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop_last() {
            None => (Effect::Clear, $object.$field().and_then(|map| map.clear())),
            Some((key, value)) => {
                let effect = Effect::Insert(key.cell(), value.cell());
                (effect, $object.$field().and_then(|map| map.insert(key, value).map(drop)))
            }
        }
    }};
}

/// Declares a version of a type: each field with its meaning, its kind, its setter, and what the
/// attributes say about former names, the default, losses and own conversions.
macro_rules! version {
    ($name:ident $of:ident, $(#[$of_type:meta])* removed $removed:expr, own $own_of_type:expr,
     indexes { $($index:ident($($on:tt),*) => $query:expr),* }, {
        $($means:ident: $kind:ident $(#[$attribute:meta])* $field:ident $set:ident $type:ty, $was:expr, $default:expr, $policy:ident $(, $own:path)?;)*
    }) => {
        pub mod $name {
            use super::*;
            #[allow(unused_imports, reason = "not all versions have indexes")]
            use crate::evolutions::naive::Index;
            use crate::evolutions::naive::{Policy, Spec};
            use crate::evolutions::values::*;

            #[derive(PermazenObject, Debug, Clone)]
            $(#[$of_type])*
            pub struct $of {
                $($(#[$attribute])* pub $field: $type,)*
            }

            impl Simple for Ref<$of> {
                fn of() -> Type {
                    Type::Ref(Some(&[stringify!($of)]))
                }
                fn random(random: &mut Random) -> Self {
                    Ref::new(random_object(random, stringify!($of)))
                }
                fn cell(&self) -> Cell {
                    Some(self.id().to_string())
                }
            }

            fn contents(value: &$of) -> Contents {
                [$((stringify!($means), value.$field.content())),*].into()
            }

            fn random_value(random: &mut Random) -> $of {
                $of { $($field: <$type as Whole>::random(random)),* }
            }

            /// Some fields get the values of another.
            fn keep_some(value: &mut $of, of: &$of, random: &mut Random) {
                $(if !random.one_in(4) {
                    value.$field = of.$field.clone();
                })*
            }

            fn create(tx: &Tx, random: &mut Random) -> Result<(ObjId, Contents)> {
                let value = random_value(random);
                let contents = contents(&value);
                Ok((tx.create(value)?.id(), contents))
            }

            fn get(tx: &Tx, id: ObjId, means: &str) -> Result<Content> {
                let object = tx.get::<$of>(id)?;
                match means {
                    $(stringify!($means) => object.$field().read(),)*
                    _ => unreachable!(),
                }
            }

            fn load(tx: &Tx, id: ObjId) -> Result<Contents> {
                Ok(contents(&tx.get::<$of>(id)?.load()?))
            }

            fn change(tx: &Tx, id: ObjId, means: &str, random: &mut Random) -> (Effect, Result<()>) {
                let object = tx.get::<$of>(id).unwrap();
                match means {
                    $(stringify!($means) => changed!($kind object random $field $set $type),)*
                    _ => unreachable!(),
                }
            }

            fn store(db: &Permazen, tx: &Tx, id: ObjId, random: &mut Random) -> (Contents, Result<()>) {
                let mut value = random_value(random);
                if let Ok(loaded) = db.read(|tx| tx.get::<$of>(id)?.load()) {
                    keep_some(&mut value, &loaded, random);
                }
                (contents(&value), tx.get::<$of>(id).and_then(|object| object.store(&value)))
            }

            fn load_base(tx: &Tx, id: ObjId) -> Result<(Contents, Vec<u8>)> {
                let loaded = tx.get::<$of>(id)?.load_versioned()?;
                Ok((contents(&loaded), loaded.base().to_bytes()))
            }

            fn store_base(db: &Permazen, tx: &Tx, base: &[u8], random: &mut Random) -> Merged {
                let base = Base::from_bytes(base).unwrap();
                let id = base.id();
                let of_base = Versioned::<$of>::from_base(tx, base.clone());
                let of_base = of_base.map(Versioned::into_value);
                let mut value = random_value(random);
                match &of_base {
                    Ok(of_base) => keep_some(&mut value, of_base, random),
                    Err(_) => if let Ok(loaded) = db.read(|tx| tx.get::<$of>(id)?.load()) {
                        keep_some(&mut value, &loaded, random);
                    },
                }
                let wanted = contents(&value);
                let stored = Versioned::new(value, base).store(tx);
                let stored = stored.map(|stored| contents(&stored));
                Merged { of_base: of_base.map(|value| contents(&value)), wanted, stored }
            }

            #[allow(unused_variables)]
            fn query(tx: &Tx, name: &str, how: How) -> Result<Vec<(Vec<Cell>, ObjId)>> {
                match name {
                    $(concat!(stringify!($index), $(" ", $on),*) => {
                        let index = match how {
                            How::Strict => tx.index($query)?,
                            How::Allowing => tx.index($query.allow_partial().skip_unknown())?,
                            How::Scanning => tx.index($query.complete_by_scan())?,
                        };
                        index.iter().map(|entry| Ok(entry?.cells())).collect()
                    })*
                    _ => unreachable!(),
                }
            }

            fn migrate(tx: &Tx, id: ObjId) -> Result<bool> {
                tx.get::<$of>(id)?.migrate()
            }

            fn delete(tx: &Tx, id: ObjId) -> Result<bool> {
                tx.get::<$of>(id)?.delete()
            }

            pub(crate) fn model() -> Model {
                let default: fn(Option<&str>) -> Cell = |text| text.map(str::to_owned);
                let fields = vec![$(Spec {
                    means: stringify!($means),
                    name: stringify!($field),
                    was: $was,
                    shape: <$type as Whole>::shape(),
                    is_required: <$type as Whole>::REQUIRED,
                    default: default($default),
                    policy: Policy::$policy,
                    own: [$($own as crate::evolutions::naive::OwnField)?].first().copied(),
                }),*];
                let indexes = vec![$((
                    concat!(stringify!($index), $(" ", $on),*),
                    Index::$index(&[$($on),*]),
                )),*];
                let version = Version { fields, removed: $removed, own: $own_of_type, indexes };
                Model {
                    version, create, get, load, change, store, load_base, store_base, query,
                    migrate, delete,
                }
            }
        }
    };
}
