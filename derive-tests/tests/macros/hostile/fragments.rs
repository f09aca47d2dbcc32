//! Structs and enums that a `macro_rules!` writes, from fragments of every kind.

use std::collections::BTreeMap;

use permazen::{Any, Counter, PermazenEnum, PermazenObject, Ref};

macro_rules! object {
    (
        $(#[$meta:meta])* $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty,)*
        }
    ) => {
        #[derive(PermazenObject, Debug)]
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }
    };
}

object! {
    /// Types as `ty`.
    #[permazen(name = "ByTypes", composite(name = "byNameAge", fields(name, age)))]
    pub(crate) struct Types {
        /// The name.
        #[permazen(indexed, unique, exclude(nulls))]
        pub(crate) name: Option<String>,
        pub(crate) age: i32,
        boss: Option<Ref<Types>>,
        owner: Ref<Any>,
        mine: Option<Ref<Self>>,
        tags: Vec<String>,
        #[permazen(map)]
        pairs: Vec<(String, i32)>,
        scores: BTreeMap<String, Option<Ref<Self>>>,
        bytes: Box<[i8]>,
        hits: Counter,
        #[permazen(skip)]
        scratch: Option<u8>,
        #[permazen(with = i64)]
        number: i32,
    }
}

macro_rules! parts {
    (
        $name:ident, $element:ty, $boxed:ty, $pair:ty, $path:path, $target:ty, $argument:tt,
        $text:literal, $identifier:literal, $excluded:expr, $negative:literal, $lifetime:lifetime
    ) => {
        /// Parts of types and attributes.
        #[derive(PermazenObject, Debug)]
        #[permazen(name = $text, storage_id = $identifier)]
        struct $name {
            boxed: Box<$boxed>,
            array: Box<[$element]>,
            optional: Option<$element>,
            whole: Option<Box<[$element]>>,
            #[permazen(map)]
            pairs: Vec<$pair>,
            list: Vec<$element>,
            map: BTreeMap<$element, $element>,
            path: $path,
            target: Option<Ref<$target>>,
            required: Ref<$target>,
            argument: Option<$argument>,
            #[permazen(indexed, unique, exclude($excluded, $negative))]
            number: i32,
            #[permazen(with = $element)]
            converted: String,
            #[permazen(cascade(forward = $text, inverse = [$text]))]
            cascading: Option<Ref<$target>>,
        }

        impl $name {
            fn first<$lifetime>(&$lifetime self) -> Option<&$lifetime String> {
                self.list.first()
            }
        }
    };
}

parts!(
    Parts, String, [i32], (String, i64), Counter, Types, i32, "ByParts", 77, 5, -1, 'a
);

macro_rules! items {
    ($struct:item $enum:item) => {
        #[derive(PermazenObject, Debug)]
        $struct
        #[derive(PermazenEnum, Debug, Clone)]
        $enum
    };
}

items! {
    struct Item {
        kind: Option<Kind>,
        item: Option<Ref<Self>>,
    }
    enum Kind {
        First,
        Second,
    }
}

macro_rules! variants {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident),* }) => {
        #[derive(PermazenEnum, Debug, Clone, PartialEq)]
        $(#[$meta])*
        enum $name { $($(#[$variant_meta])* $variant),* }
    };
}

variants! {
    /// Made of identifiers.
    #[permazen(rename_all = "none")]
    Variants {
        /// One.
        #[permazen(rename = "FIRST")]
        One,
        Two
    }
}

/// Macros within macros.
macro_rules! nested {
    ($name:ident, $type:ty) => {
        object! {
            struct $name {
                value: $type,
                values: Vec<$type>,
                optional: Option<$type>,
                boxed: Option<Box<[$type]>>,
            }
        }
    };
}

nested!(Nested, Variants);

macro_rules! evolved {
    (
        $name:ident, $type:ty, $value:expr, $small:literal, $former:literal, $function:path,
        $conversion:expr, $variant:ident
    ) => {
        #[derive(PermazenObject, Debug)]
        #[permazen(removed($former), on_schema_change = $conversion)]
        struct $name {
            #[permazen(default = $value, was = [$former, "b"])]
            value: $type,
            #[permazen(default = $small)]
            small: i32,
            #[permazen(upgrade_with = $function)]
            made: Option<$type>,
            #[permazen(default)]
            list: Vec<$type>,
            #[permazen(default = Initial::$variant)]
            initial: Initial,
        }

        #[derive(PermazenEnum, Debug, Clone)]
        enum Initial {
            #[default]
            #[permazen(was = $former)]
            $variant,
        }
    };
}

evolved!(Evolved, String, "a".to_owned(), 5, "former", made, convert, Only);

#[expect(clippy::unnecessary_wraps, reason = "own conversions return results")]
fn made<T>(_: &permazen::OldValues<'_>) -> permazen::Result<Option<T>> {
    Ok(None)
}

#[expect(clippy::unnecessary_wraps, reason = "own conversions return results")]
fn convert<M>(
    _: &permazen::OldValues<'_>,
    _: &mut permazen::NewValues<'_, '_, M>,
) -> permazen::Result<()> {
    Ok(())
}

#[test]
fn parts_are_what_they_stand_for() {
    use permazen::Model;
    assert_eq!((Parts::TYPE_NAME, Parts::STORAGE_ID), ("ByParts", 77));
    let _ = (Types::BY_NAME_AGE, Types::MINE, Types::PAIRS.key(), Parts::PAIRS.key());
    let _ = |parts: &Parts| parts.first().is_some();
    let _ =
        |types: &Types| (types.scratch, Kind::First, Kind::Second, Variants::One, Variants::Two);
    let _ = (Item::KIND, Nested::VALUE, Initial::Only);
    assert_eq!(Evolved::REMOVED, ["former"]);
}
