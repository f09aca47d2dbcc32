//! Constants, statics, unit structs and fields whose names generated code may use itself.
#![allow(non_upper_case_globals, non_camel_case_types)]

use std::collections::BTreeMap;

use permazen::{PermazenEnum, PermazenObject, Ref};

macro_rules! globals {
    (const $($constant:ident)*; static $($static:ident)*; struct $($struct:ident)*;) => {
        $(pub(crate) const $constant: i32 = 1;)*
        $(pub(crate) static $static: i32 = 1;)*
        $(#[derive(Debug)] pub(crate) struct $struct;)*
    };
}

globals! {
    const handle id from key field reader obj bind live fields read self_ at element entry;
    static value tx to ordinal model writer object position disk result index other data error;
    struct name text e v k m t old made make upgrade;
}

/// An enum.
#[derive(PermazenEnum, Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Enum {
    A,
    #[default]
    B,
}

/// Among constants.
#[expect(clippy::struct_excessive_bools, reason = "names for each kind of type")]
#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "composite", fields(value, id)))]
pub(crate) struct Object {
    #[permazen(accessor = "the_tx")]
    pub(crate) tx: i32,
    #[permazen(accessor = "the_id")]
    pub(crate) id: i32,
    pub(crate) value: String,
    pub(crate) handle: Option<i32>,
    pub(crate) self_: bool,
    pub(crate) field: f64,
    pub(crate) reader: Option<String>,
    pub(crate) writer: Vec<String>,
    pub(crate) obj: Option<Ref<Self>>,
    pub(crate) model: BTreeMap<String, Option<Enum>>,
    pub(crate) from: permazen::Counter,
    pub(crate) to: Box<[i32]>,
    #[permazen(accessor = "the_any")]
    pub(crate) any: Ref<permazen::Any>,
    pub(crate) bind: i32,
    #[permazen(accessor = "the_fields")]
    pub(crate) fields: i32,
    pub(crate) live: i32,
    pub(crate) read: i32,
    pub(crate) write: i32,
    #[permazen(accessor = "the_load")]
    pub(crate) load: i32,
    #[permazen(accessor = "the_store")]
    pub(crate) store: i32,
    #[permazen(accessor = "deleted")]
    pub(crate) delete: i32,
    #[permazen(accessor = "the_exists")]
    pub(crate) exists: i32,
    #[permazen(accessor = "the_get")]
    pub(crate) get: i32,
    #[permazen(accessor = "the_set")]
    pub(crate) set: i32,
    #[permazen(accessor = "the_counter")]
    pub(crate) counter: i32,
    #[permazen(accessor = "the_clone")]
    pub(crate) clone: i32,
    pub(crate) fmt: i32,
    pub(crate) default: i32,
    pub(crate) drop: i32,
    #[permazen(accessor = "the_eq")]
    pub(crate) eq: i32,
    pub(crate) hash: i32,
    pub(crate) next: i32,
    pub(crate) not: bool,
    pub(crate) neg: i32,
    pub(crate) add: i32,
    pub(crate) len: i32,
    pub(crate) is_empty: bool,
    pub(crate) into_iter: i32,
    pub(crate) as_ref: i32,
    pub(crate) to_string: Option<String>,
    pub(crate) new: Option<String>,
    pub(crate) type_name: Option<String>,
    pub(crate) storage_id: i32,
    pub(crate) singleton: bool,
    pub(crate) composites: i32,
    pub(crate) types: i32,
    pub(crate) reference: i32,
    pub(crate) result: i32,
    #[permazen(with = i64)]
    pub(crate) disk: i32,
}

/// Among constants, for objects of other schemas.
#[derive(PermazenObject, Debug)]
#[permazen(removed("from"), on_schema_change = conversions::convert)]
pub(crate) struct Values {
    #[permazen(default = value + to)]
    pub(crate) to: i32,
    #[permazen(default)]
    pub(crate) value: Enum,
    #[permazen(upgrade_with = conversions::old)]
    pub(crate) old: String,
    #[permazen(default = conversions::make())]
    pub(crate) make: Vec<i32>,
}

/// Functions with the names of constants.
mod conversions {
    use permazen::{NewValues, OldValues, Result};

    pub(super) fn old(old: &OldValues<'_>) -> Result<String> {
        old.take("text")
    }

    pub(super) fn make() -> Vec<i32> {
        Vec::new()
    }

    pub(super) fn convert(
        old: &OldValues<'_>,
        _: &mut NewValues<'_, '_, super::Values>,
    ) -> Result<()> {
        old.get::<i32>("from").map(drop)
    }
}

#[test]
fn constants_are_as_they_were() {
    let _ = (handle, id, from, key, field, reader, obj, bind, live, fields, read, self_, at);
    let _ = (value, tx, to, ordinal, model, writer, object, position, disk, result, index);
    let _ = (old, made, make, upgrade);
    let _ = (Values::TO, Values::OLD, Values::MAKE);
    let _ = (other, data, error, element, entry, name, text, e, v, k, m, t);
    let _ = (Object::VALUE, Object::COMPOSITE, Object::TYPE_NAME, Enum::A, Enum::B);
}
