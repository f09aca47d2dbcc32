//! Names of the prelude and of primitive types that have another meaning.
#![allow(non_camel_case_types)]

use permazen::{PermazenEnum, PermazenObject};

pub(crate) type Result = ();
pub(crate) type Option = ();
pub(crate) type Some = ();
pub(crate) type Ok = ();

/// A type with the name of a known one.
#[derive(Debug)]
pub(crate) struct String;

/// A type with the name of a known one.
#[derive(Debug)]
pub(crate) struct Box;

/// A trait with the name of a known one.
pub(crate) trait Default {}
/// A trait with the name of a known one.
pub(crate) trait Clone {}
/// A trait with the name of a known one.
pub(crate) trait Copy {}
/// A trait with the name of a known one.
pub(crate) trait Debug {}
/// A trait with the name of a known one.
pub(crate) trait Iterator {}
/// A trait with the name of a known one.
pub(crate) trait From {}
/// A trait with the name of a known one.
pub(crate) trait Into {}
/// A trait with the name of a known one.
pub(crate) trait IntoIterator {}
/// A trait with the name of a known one.
pub(crate) trait Sized {}

#[expect(non_upper_case_globals, reason = "hostile")]
const None: i32 = 0;

/// An enum whose name is that of a list.
#[derive(
    PermazenEnum, ::core::fmt::Debug, ::core::clone::Clone, PartialEq, Eq, PartialOrd, Ord,
)]
pub(crate) enum Vec {
    Some,
    None,
    Ok,
    Err,
}

/// Types that have the names of primitive types.
mod primitives {
    use permazen::{PermazenEnum, PermazenObject};

    pub(crate) type u32 = ();
    pub(crate) type usize = ();
    pub(crate) type str = ();
    pub(crate) type bool = ();

    /// An enum.
    #[derive(PermazenEnum, Debug, Clone)]
    pub(crate) enum Enum {
        A,
    }

    /// A struct.
    #[derive(PermazenObject, Debug)]
    #[permazen(singleton, storage_id = 5)]
    pub(crate) struct Object {
        pub(crate) a: ::core::option::Option<Enum>,
    }
}

/// Macros in scope with the names of derives.
mod derives {
    pub(crate) use permazen::{PermazenEnum as Debug, PermazenObject as Clone};

    /// A struct.
    #[derive(Clone)]
    pub(crate) struct Object {
        pub(crate) a: ::core::option::Option<Enum>,
    }

    /// An enum.
    #[derive(Debug, ::core::fmt::Debug, ::core::clone::Clone)]
    pub(crate) enum Enum {
        A,
    }
}

/// Fields by their full names.
#[derive(PermazenObject, ::core::fmt::Debug)]
#[permazen(composite(name = "twice", fields(text, kind)))]
pub(crate) struct Object {
    #[permazen(indexed)]
    pub(crate) text: ::std::string::String,
    pub(crate) kind: Vec,
    pub(crate) kinds: ::std::vec::Vec<Vec>,
    #[permazen(accessor = "the_set")]
    pub(crate) set: std::collections::BTreeSet<Vec>,
    pub(crate) map: std::collections::BTreeMap<Vec, ::core::option::Option<Vec>>,
    pub(crate) array: ::core::option::Option<::std::boxed::Box<[::core::option::Option<i32>]>>,
    pub(crate) other: ::core::option::Option<permazen::Ref<Self>>,
    pub(crate) hits: permazen::Counter,
    #[permazen(with = ::std::string::String)]
    pub(crate) path: Path,
    #[permazen(skip)]
    pub(crate) skipped: ::core::option::Option<i32>,
}

/// For objects of other schemas.
#[derive(PermazenObject, ::core::fmt::Debug)]
#[permazen(removed("former"), on_schema_change = convert)]
pub(crate) struct Evolved {
    #[permazen(default, was = "words")]
    pub(crate) text: ::std::string::String,
    #[permazen(default = Vec::None)]
    pub(crate) kind: Vec,
    #[permazen(default)]
    pub(crate) kinds: ::std::vec::Vec<Vec>,
    #[permazen(upgrade_with = make)]
    pub(crate) other: ::core::option::Option<permazen::Ref<Self>>,
}

fn make(
    old: &permazen::OldValues<'_>,
) -> permazen::Result<::core::option::Option<permazen::Ref<Evolved>>> {
    old.take("one")
}

fn convert(
    old: &permazen::OldValues<'_>,
    to: &mut permazen::NewValues<'_, '_, Evolved>,
) -> permazen::Result<()> {
    to.set(Evolved::KIND, old.take::<Vec>("former")?)
}

/// Held as a text.
#[derive(::core::fmt::Debug, ::core::clone::Clone)]
pub(crate) struct Path(::std::string::String);

impl ::core::convert::From<::std::string::String> for Path {
    fn from(text: ::std::string::String) -> Self {
        Path(text)
    }
}

impl ::core::convert::From<Path> for ::std::string::String {
    fn from(path: Path) -> Self {
        path.0
    }
}

/// All those traits.
#[expect(dead_code, reason = "it is for their names")]
trait All: Default + Clone + Copy + Debug + Iterator + From + Into + IntoIterator + Sized {}

#[test]
fn names_are_as_they_were() {
    let _: (Result, Option, Some, Ok, String, Box) = ((), (), (), (), String, Box);
    let _ = (Object::TWICE, Object::KINDS, None, Vec::Some, Vec::None, Vec::Ok, Vec::Err);
    let _: (primitives::u32, primitives::usize, primitives::bool) = ((), (), ());
    let _: primitives::str = ();
    let _ = (primitives::Object::A, primitives::Enum::A, derives::Object::A, derives::Enum::A);
    let _ = (Evolved::TEXT, Evolved::KINDS, Evolved::OTHER);
    let _ = |object: &Object| object.skipped;
}
