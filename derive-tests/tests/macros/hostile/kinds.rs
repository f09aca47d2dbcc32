//! Mix-ins and kinds under strict lints, with names that generated code uses itself.

use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, PermazenFields, PermazenKind, PermazenObject};

/// A mix-in.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
#[permazen(composite(name = "type", fields(r#match, handle)))]
pub(crate) struct Result {
    /// A keyword.
    #[permazen(indexed)]
    pub(crate) r#match: String,
    pub(crate) handle: i32,
    place: i64,
    #[cfg(any())]
    left_out: NoType,
    #[deprecated]
    old: bool,
}

/// Another one, without fields of its own.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
pub(crate) struct Option {
    #[permazen(flatten)]
    pub(crate) r#loop: Result,
    #[permazen(skip)]
    pub(crate) skipped: u8,
}

/// A model without fields of its own.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct Vec {
    #[permazen(flatten)]
    pub(crate) some: Option,
}

/// A model.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub(crate) struct String2 {
    pub(crate) text: i32,
    /// Passed on.
    #[permazen(flatten)]
    pub(crate) result: Result,
}

/// A kind whose lifetime has another name.
#[derive(PermazenKind)]
#[permazen(fields = Result, kind = "Members")]
pub(crate) enum Member<'live> {
    /// Documented.
    Vec(permazen::Obj<'live, Vec>),
    #[allow(missing_docs)]
    Obj(permazen::Obj<'live, String2>),
}

macro_rules! kind {
    ($name:ident<$lifetime:lifetime> { $($variant:ident($ty:ty)),* }) => {
        /// A kind from a macro.
        #[derive(PermazenKind)]
        pub(crate) enum $name<$lifetime> {
            $($variant($ty)),*
        }
    };
}

kind! { FromMacro<'a> { One(permazen::Obj<'a, Vec>), Other(permazen::Obj<'a, String2>) } }

type String = std::string::String;

#[test]
fn fields_and_members() {
    let db = Permazen::builder(MemoryStore::new()).kind::<Members>().build().unwrap();
    db.write(|tx| {
        let some =
            Option { r#loop: Result { r#match: "a".into(), ..Result::default() }, skipped: 3 };
        let object = tx.create(Vec { some })?;
        object.set_match("b")?;
        let member = Member::from(object);
        assert_eq!((member.r#match()?, member.handle()?), ("b".into(), 0));
        assert_eq!(tx.index(Members::RESULT.r#match)?.get("b")?.count()?, 1);
        assert_eq!(tx.index(Vec::SOME.r#loop.r#type)?.count()?, 1);
        assert_eq!(tx.all::<FromMacroKind>()?.count()?, 1);
        assert!(
            matches!(tx.get::<FromMacroKind>(object)?, FromMacro::One(found) if found == object)
        );
        Ok(())
    })
    .unwrap();
}
