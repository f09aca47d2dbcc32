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
    )]
    pub(crate) enum Kind {
        Plain,
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

use bare::{Kind, Object, Path, Single};

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
