//! The versions of a program. They differ in every kind of change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::{Any, Counter, ObjId, Permazen, PermazenObject, Ref, Result, Tx};

use crate::naive::{Cell, Content, Contents, Type, Version};
use crate::values::{Random, Simple, random_object};

/// What an operation does to a field.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Set(Content),
    Add(i64),
    Append(Cell),
    Insert(Cell, Cell),
    Clear,
}

/// A version of the program, as the test uses it.
#[allow(clippy::type_complexity, reason = "each is used once")]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) version: Version,
    pub(crate) open: fn(Arc<dyn KvDatabase>) -> Permazen,
    pub(crate) create: fn(&Tx, &mut Random) -> Result<(ObjId, Contents)>,
    pub(crate) get: fn(&Tx, ObjId, &str) -> Result<Content>,
    pub(crate) load: fn(&Tx, ObjId) -> Result<Contents>,
    /// Changes one field.
    pub(crate) change: fn(&Tx, ObjId, &str, &mut Random) -> (Effect, Result<()>),
    /// Stores a struct that has some random values, and the others from the database.
    pub(crate) store: fn(&Permazen, &Tx, ObjId, &mut Random) -> (Contents, Result<()>),
    /// The entries of the index of a field. The flag asks for those of objects of other schemas too.
    pub(crate) query: fn(&Tx, &str, bool) -> Result<Vec<(Cell, ObjId)>>,
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
    (one $item:ident $random:ident $field:ident $set:ident $type:ty) => {{
        let value = <$type as Whole>::random($random);
        (Effect::Set(value.content()), $item.$set(value))
    }};
    (counter $item:ident $random:ident $field:ident $set:ident $type:ty) => {{
        if $random.one_in(3) {
            let value = <$type as Whole>::random($random);
            (Effect::Set(value.content()), $item.$field().set(value.0))
        } else {
            let by = $random.pick(&[1, -2, 1000]);
            (Effect::Add(by), $item.$field().add(by))
        }
    }};
    (list $item:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop() {
            None => (Effect::Clear, $item.$field().and_then(|list| list.clear())),
            Some(element) => {
                (Effect::Append(element.cell()), $item.$field().and_then(|list| list.push(element)))
            }
        }
    }};
    (set $item:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop_last() {
            None => (Effect::Clear, $item.$field().and_then(|set| set.clear())),
            Some(element) => {
                let added = $item.$field().and_then(|set| set.add(element.clone()).map(drop));
                (Effect::Insert(element.cell(), None), added)
            }
        }
    }};
    (map $item:ident $random:ident $field:ident $set:ident $type:ty) => {{
        match <$type as Whole>::random($random).pop_last() {
            None => (Effect::Clear, $item.$field().and_then(|map| map.clear())),
            Some((key, value)) => {
                let effect = Effect::Insert(key.cell(), value.cell());
                (effect, $item.$field().and_then(|map| map.insert(key, value).map(drop)))
            }
        }
    }};
}

/// Declares a version: each field with its meaning, its kind, its setter, and what the attributes
/// say about former names, the default and losses.
macro_rules! version {
    ($name:ident, $(#[$of_type:meta])* removed $removed:expr,
     indexed { $($indexed:ident $constant:ident),* }, {
        $($means:ident: $kind:ident $(#[$attribute:meta])* $field:ident $set:ident $type:ty, $was:expr, $default:expr, $policy:ident;)*
    }) => {
        pub mod $name {
            use super::*;
            use crate::naive::{Policy, Spec};
            use crate::values::*;

            #[derive(PermazenObject, Debug, Clone)]
            $(#[$of_type])*
            pub struct Item {
                $($(#[$attribute])* $field: $type,)*
            }

            impl Simple for Ref<Item> {
                fn of() -> Type {
                    Type::Ref(Some(&["Item"]))
                }
                fn random(random: &mut Random) -> Self {
                    Ref::new(random_object(random, "Item"))
                }
                fn cell(&self) -> Cell {
                    Some(self.id().to_string())
                }
            }

            fn contents(item: &Item) -> Contents {
                [$((stringify!($means), item.$field.content())),*].into()
            }

            fn random_item(random: &mut Random) -> Item {
                Item { $($field: <$type as Whole>::random(random)),* }
            }

            fn open(store: Arc<dyn KvDatabase>) -> Permazen {
                Permazen::builder_shared(store).model::<Item>().model::<Place>().build().unwrap()
            }

            fn create(tx: &Tx, random: &mut Random) -> Result<(ObjId, Contents)> {
                let item = random_item(random);
                let contents = contents(&item);
                Ok((tx.create(item)?.id(), contents))
            }

            fn get(tx: &Tx, id: ObjId, means: &str) -> Result<Content> {
                let item = tx.get::<Item>(id)?;
                match means {
                    $(stringify!($means) => item.$field().read(),)*
                    _ => unreachable!(),
                }
            }

            fn load(tx: &Tx, id: ObjId) -> Result<Contents> {
                Ok(contents(&tx.get::<Item>(id)?.load()?))
            }

            fn change(tx: &Tx, id: ObjId, means: &str, random: &mut Random) -> (Effect, Result<()>) {
                let item = tx.get::<Item>(id).unwrap();
                match means {
                    $(stringify!($means) => changed!($kind item random $field $set $type),)*
                    _ => unreachable!(),
                }
            }

            fn store(db: &Permazen, tx: &Tx, id: ObjId, random: &mut Random) -> (Contents, Result<()>) {
                let mut item = random_item(random);
                if let Ok(loaded) = db.read(|tx| tx.get::<Item>(id)?.load()) {
                    $(if stringify!($means) != "friend" && !random.one_in(4) {
                        item.$field = loaded.$field.clone();
                    })*
                }
                (contents(&item), tx.get::<Item>(id).and_then(|object| object.store(&item)))
            }

            #[allow(unused_variables)]
            fn query(tx: &Tx, means: &str, scan: bool) -> Result<Vec<(Cell, ObjId)>> {
                match means {
                    $(stringify!($indexed) => {
                        let index = match scan {
                            true => tx.index(Item::$constant.complete_by_scan())?,
                            false => tx.index(Item::$constant)?,
                        };
                        let mut found = Vec::new();
                        for entry in index.iter() {
                            let (value, object) = entry?;
                            found.push((Simple::cell(&value), object.id()));
                        }
                        Ok(found)
                    })*
                    _ => unreachable!(),
                }
            }

            fn migrate(tx: &Tx, id: ObjId) -> Result<bool> {
                tx.get::<Item>(id)?.migrate()
            }

            fn delete(tx: &Tx, id: ObjId) -> Result<bool> {
                tx.get::<Item>(id)?.delete()
            }

            pub(crate) fn program() -> Program {
                let default: fn(Option<&str>) -> Cell = |text| text.map(str::to_owned);
                let fields = vec![$(Spec {
                    means: stringify!($means),
                    name: stringify!($field),
                    was: $was,
                    shape: <$type as Whole>::shape(),
                    is_required: <$type as Whole>::REQUIRED,
                    default: default($default),
                    policy: Policy::$policy,
                }),*];
                let indexed = &[$(stringify!($indexed)),*];
                let version = Version { fields, removed: $removed, indexed };
                let name = stringify!($name);
                Program {
 name, version, open, create, get, load, change, store, query, migrate, delete }
            }
        }
    };
}

version!(v0, removed &[], indexed {  }, {
    name: one name set_name String, &[], None, Exact;
    size: one size set_size i32, &[], None, Exact;
    color: one color set_color Colors, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: list tags tags Vec<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, i32>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Item>>, &[], None, Exact;
});

version!(v1, removed &[], indexed { name NAME, color COLOR }, {
    name: one #[permazen(indexed)] name set_name String, &[], None, Exact;
    size: one size set_size i64, &[], None, Exact;
    color: one #[permazen(indexed)] color set_color More, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: set #[permazen(element(indexed))] tags tags BTreeSet<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, i64>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
});

version!(v2, #[permazen(composite(name = "byTitleSize", fields(title, size)))] removed &[], indexed { size SIZE }, {
    name: one #[permazen(was = "name")] title set_title String, &["name"], None, Exact;
    size: one #[permazen(indexed)] size set_size i32, &[], None, Exact;
    color: one color set_color Fewer, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: list #[permazen(element(indexed))] tags tags Vec<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, String>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Place>>, &[], None, Exact;
    stars: one #[permazen(default = 4)] stars set_stars i32, &[], Some("4"), Exact;
});

version!(v3, removed &[], indexed { color COLOR }, {
    name: one title set_title String, &[], None, Exact;
    size: one size set_size f64, &[], None, Exact;
    color: one #[permazen(indexed)] color set_color Renamed, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: one tags set_tags Option<String>, &[], None, Exact;
    friend: set friend friend BTreeSet<Ref<Any>>, &[], None, Exact;
    stars: one #[permazen(default = 5)] stars set_stars i32, &[], Some("5"), Exact;
});

version!(v4, removed &[], indexed { size SIZE }, {
    name: one #[permazen(was = ["title", "name"])] heading set_heading Option<String>, &["title", "name"], None, Exact;
    size: one #[permazen(indexed)] size set_size Option<i32>, &[], None, Exact;
    color: one color set_color Option<Colors>, &[], None, Exact;
    tags: list tags tags Vec<i32>, &[], None, Exact;
    scores: map scores scores BTreeMap<i32, i32>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Item>>, &[], None, Exact;
});

version!(v5, #[permazen(removed("tags", "stars"))] removed &["tags", "stars"], indexed {  }, {
    name: one name set_name String, &[], None, Exact;
    size: one size set_size String, &[], None, Exact;
    color: one color set_color String, &[], None, Exact;
    hits: one hits set_hits i64, &[], None, Exact;
    scores: map #[permazen(key(indexed))] scores scores BTreeMap<String, i32>, &[], None, Exact;
});

version!(v6, removed &[], indexed { name NAME }, {
    name: one #[permazen(indexed, was = ["title", "heading"], default = "new".to_owned())] name set_name String, &["title", "heading"], Some("new"), Exact;
    size: one #[permazen(upgrade = "lossy")] size set_size i64, &[], None, Lossy;
    color: one color set_color Both, &[], None, Exact;
    hits: counter #[permazen(was = "views")] hits hits Counter, &["views"], None, Exact;
    tags: set tags tags BTreeSet<i64>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
    stars: one stars set_stars Option<i32>, &[], None, Exact;
});

version!(v7, #[permazen(removed("color", "name"))] removed &["color", "name"], indexed {  }, {
    size: counter size size Counter, &[], None, Exact;
    hits: one #[permazen(was = "hits")] views set_views i32, &["hits"], None, Exact;
    tags: list #[permazen(upgrade = "reset")] tags tags Vec<i64>, &[], None, Reset;
    scores: map scores scores BTreeMap<String, i32>, &[], None, Exact;
    friend: set friend friend BTreeSet<Ref<Place>>, &[], None, Exact;
    stars: one #[permazen(default = 4)] stars set_stars i32, &[], Some("4"), Exact;
});

pub(crate) fn programs() -> Vec<Program> {
    vec![
        v0::program(),
        v1::program(),
        v2::program(),
        v3::program(),
        v4::program(),
        v5::program(),
        v6::program(),
        v7::program(),
    ]
}
