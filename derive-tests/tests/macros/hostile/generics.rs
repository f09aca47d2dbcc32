//! Generic structs under strict lints, with parameters in unusual places.
#![expect(non_camel_case_types, reason = "hostile")]

use permazen::kv::memory::MemoryStore;
use permazen::{Model, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref};

/// A trait with an item that has the name of a parameter.
pub(crate) trait Holder {
    /// A type.
    type T;
}

impl Holder for String {
    type T = i64;
}

/// The same.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Held;

impl Held {
    const T: i32 = 6;
}

/// A reference.
type To<'t, T> = <&'t T as Referring>::To;

/// The target of a reference.
pub(crate) trait Referring {
    /// A reference.
    type To;
}

impl<T> Referring for &T {
    type To = Ref<T>;
}

/// A mix-in.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
#[permazen(aliases(r#loop = Mixed<String>))]
pub(crate) struct Mixed<T> {
    #[permazen(indexed)]
    mixed: T,
    more: Vec<Option<T>>,
}

/// A model.
#[derive(PermazenObject, Debug, Clone, PartialEq)]
#[permazen(aliases(
    r#match = Generic<String, Self_, 4>,
    Bytes = Generic<Box<[i8]>, Self_, { 2 + 3 },>,
))]
#[permazen(composite(name = "both", fields(t, number), unique, exclude(number(5))))]
pub(crate) struct Generic<T: Default, M: Model, const N: i32 = 4>
where
    M: 'static,
{
    #[permazen(default = T::default())]
    t: T,
    #[permazen(default = Held::T + N)]
    number: i32,
    #[permazen(skip)]
    of_holder: <String as Holder>::T,
    #[permazen(reference)]
    to: Option<To<'static, M>>,
    /// Refers to one of the same type.
    next: Option<Ref<Self>>,
    others: Vec<Ref<Generic<T, M, N>>>,
    #[permazen(flatten)]
    r#loop: Mixed<String>,
    #[cfg(any())]
    left_out: NoType<T>,
    #[deprecated]
    old: Option<T>,
}

/// A model whose name begins as a keyword does.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct Self_ {
    r#type: i32,
}

/// A kind.
#[derive(PermazenKind)]
#[permazen(fields = r#loop)]
pub(crate) enum Either<'t> {
    /// By its alias.
    Match(permazen::Obj<'t, r#match>),
    /// By its type.
    Bytes(permazen::Obj<'t, Generic<Box<[i8]>, Self_, 5>>),
}

macro_rules! generic {
    ($(#[$attribute:meta])* $name:ident<$parameter:ident>, $($alias:ident = $type:ty),*) => {
        $(#[$attribute])*
        #[derive(PermazenObject, Debug)]
        #[permazen(aliases($($alias = $name<$type>),*))]
        pub(crate) struct $name<$parameter> {
            T: $parameter,
            list: Vec<$parameter>,
            #[permazen(with = $parameter)]
            converted: $parameter,
        }
    };
}

generic! {
    /// Documented.
    #[expect(non_snake_case, reason = "hostile")]
    ByMacro<U>, Texts = String, Numbers = i64
}

#[test]
#[expect(deprecated, reason = "the field is")]
fn generic_structs_among_unusual_names() {
    let builder = Permazen::builder(MemoryStore::new()).model::<Self_>().model::<Texts>();
    let db = builder.model::<Numbers>().kind::<EitherKind>().build().unwrap();
    db.write(|tx| {
        let to = tx.create(Self_::default())?.to_ref();
        let r#loop = Mixed { mixed: "a".to_owned(), more: Vec::new() };
        let plain = r#match {
            t: "t".to_owned(),
            number: 1,
            of_holder: 0,
            to: Some(to),
            next: None,
            others: Vec::new(),
            r#loop,
            old: None,
        };
        let object = tx.create(&plain)?;
        assert_eq!(object.load()?, plain);
        assert_eq!(r#match::TYPE_NAME, "match");
        assert_eq!(tx.index(EitherKind::LOOP.mixed)?.get("a")?.first()?, Some(object.into()));
        assert_eq!(tx.index(Bytes::BOTH)?.count()?, 0);
        let numbers = ByMacro { T: 1, list: vec![2, 3], converted: 4 };
        assert_eq!(tx.create(numbers)?.T()?, 1);
        Ok(())
    })
    .unwrap();
}
