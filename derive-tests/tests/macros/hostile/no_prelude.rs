//! Modules without prelude: no trait is in scope, so methods of traits are not either.

/// Every kind of field, by full names.
pub(crate) mod bare {
    #![no_implicit_prelude]

    use ::permazen::{PermazenEnum, PermazenObject};

    /// An enum.
    #[derive(
        PermazenEnum,
        ::core::fmt::Debug,
        ::core::clone::Clone,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
        ::core::cmp::PartialOrd,
        ::core::cmp::Ord,
        ::core::default::Default,
    )]
    pub(crate) enum Kind {
        Plain,
        #[default]
        #[permazen(was = "EXTRA")]
        Fancy,
    }

    /// A struct with every kind of field.
    #[derive(PermazenObject, ::core::fmt::Debug)]
    #[permazen(composite(name = "both", fields(text, number), unique, exclude(text("")),))]
    pub(crate) struct Object {
        #[permazen(indexed, unique, exclude("", range(gt = "x", le = "y")))]
        pub(crate) text: ::std::string::String,
        #[permazen(indexed)]
        pub(crate) number: i32,
        pub(crate) kind: Kind,
        pub(crate) array: ::core::option::Option<::std::boxed::Box<[i64]>>,
        #[permazen(inverse_delete = "nullify", cascade(forward = ["all"]))]
        pub(crate) other: ::core::option::Option<::permazen::Ref<Self>>,
        pub(crate) required: ::permazen::Ref<Single>,
        pub(crate) hits: ::permazen::Counter,
        #[permazen(accessor = "the_set")]
        pub(crate) set: ::std::collections::BTreeSet<Kind>,
        #[permazen(element(indexed))]
        pub(crate) list: ::std::vec::Vec<::std::string::String>,
        pub(crate) others: ::std::vec::Vec<::core::option::Option<::permazen::Ref<Self>>>,
        #[permazen(key(indexed), value(indexed))]
        pub(crate) map: ::std::collections::BTreeMap<i32, i64>,
        #[permazen(map, value(indexed))]
        pub(crate) pairs: ::std::vec::Vec<(::std::string::String, ::core::option::Option<Kind>)>,
        #[permazen(with = ::std::string::String)]
        pub(crate) path: Path,
        #[permazen(skip)]
        pub(crate) skipped: ::core::option::Option<i32>,
    }

    /// Every kind of field, for objects of other schemas.
    #[derive(PermazenObject, ::core::fmt::Debug)]
    #[permazen(removed("old", "older"), on_schema_change = Evolved::convert)]
    pub(crate) struct Evolved {
        #[permazen(default, was = "words")]
        pub(crate) text: ::std::string::String,
        #[permazen(default = Kind::Plain)]
        pub(crate) kind: Kind,
        #[permazen(default)]
        pub(crate) other: ::core::option::Option<::permazen::Ref<Self>>,
        #[permazen(upgrade_with = single)]
        pub(crate) required: ::permazen::Ref<Single>,
        #[permazen(default = ::permazen::Counter(5))]
        pub(crate) hits: ::permazen::Counter,
        #[permazen(default, upgrade_with = made)]
        #[permazen(accessor = "the_set")]
        pub(crate) set: ::std::collections::BTreeSet<Kind>,
        #[permazen(default, was = ["a", "b"])]
        pub(crate) list: ::std::vec::Vec<::std::string::String>,
        #[permazen(upgrade_with = made)]
        pub(crate) map: ::std::collections::BTreeMap<i32, i64>,
        #[permazen(with = ::std::string::String, default = Path(::std::string::String::new()))]
        pub(crate) path: Path,
    }

    impl Evolved {
        fn convert(
            old: &::permazen::OldValues<'_>,
            to: &mut ::permazen::NewValues<'_, '_, Self>,
        ) -> ::permazen::Result<()> {
            to.set(Self::TEXT, old.take::<::std::string::String>("older")?)
        }
    }

    fn single(old: &::permazen::OldValues<'_>) -> ::permazen::Result<::permazen::Ref<Single>> {
        old.get("single")
    }

    #[expect(clippy::unnecessary_wraps, reason = "own conversions return results")]
    fn made<T: ::core::default::Default>(
        _old: &::permazen::OldValues<'_>,
    ) -> ::permazen::Result<T> {
        ::core::result::Result::Ok(T::default())
    }

    /// An object of which there is one.
    #[derive(PermazenObject, ::core::fmt::Debug)]
    #[permazen(singleton)]
    pub(crate) struct Single {
        pub(crate) map: ::std::collections::BTreeMap<i32, i64>,
    }

    /// Held as a text.
    #[derive(::core::fmt::Debug, ::core::clone::Clone)]
    pub(crate) struct Path(pub(crate) ::std::string::String);

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
}

use permazen::kv::memory::MemoryStore;
use permazen::{Counter, Permazen, Result};

use bare::{Evolved, Kind, Object, Path, Single};

#[test]
fn objects_of_a_module_without_prelude_keep_their_values() -> Result<()> {
    let db = Permazen::builder(MemoryStore::new()).model::<Object>().model::<Single>().build()?;
    db.write(|tx| {
        let single = tx.create(Single { map: [(1, -1), (2, -2)].into() })?;
        let object = tx.create(Object {
            text: "text".to_owned(),
            number: 5,
            kind: Kind::Fancy,
            array: Some([6, 7].into()),
            other: None,
            required: single.to_ref(),
            hits: Counter(8),
            set: [Kind::Plain, Kind::Fancy].into(),
            list: vec!["nine".to_owned()],
            others: vec![None],
            map: [(10, 11)].into(),
            pairs: vec![("twelve".to_owned(), Some(Kind::Plain))],
            path: Path("thirteen".to_owned()),
            skipped: Some(14),
        })?;
        assert_eq!(single.load()?.map, [(1, -1), (2, -2)].into());
        let loaded = object.load()?;
        assert_eq!((loaded.text.as_str(), loaded.number, loaded.kind), ("text", 5, Kind::Fancy));
        assert_eq!((loaded.array.as_deref(), loaded.other), (Some(&[6, 7][..]), None));
        assert_eq!((loaded.required, loaded.hits), (single.to_ref(), Counter(8)));
        assert_eq!(loaded.set, [Kind::Plain, Kind::Fancy].into());
        assert_eq!((loaded.list, loaded.others), (vec!["nine".to_owned()], vec![None]));
        assert_eq!(loaded.map, [(10, 11)].into());
        assert_eq!(loaded.pairs, [("twelve".to_owned(), Some(Kind::Plain))]);
        assert_eq!((loaded.path.0.as_str(), loaded.skipped), ("thirteen", None));
        Ok(())
    })
}

#[test]
fn what_becomes_of_objects_of_other_schemas() {
    use permazen::Model;
    assert_eq!(Evolved::REMOVED, ["old", "older"]);
    assert_eq!(<Kind as permazen::__private::EnumType>::RENAMED, [("FANCY", "EXTRA")]);
    assert_eq!(<Kind as permazen::__private::EnumType>::INITIAL, Some(1));
    let _ = |evolved: &Evolved| (evolved.other, evolved.required, evolved.map.len());
}
