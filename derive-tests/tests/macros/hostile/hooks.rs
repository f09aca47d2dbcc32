//! Hooks of models, mix-ins, kinds and aliases among names that generated code could use.

use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, PermazenKind};

/// No trait and no type of the prelude is in scope.
pub(crate) mod bare {
    #![no_implicit_prelude]
    #![allow(dead_code)]

    use ::permazen::model::{Change, Changed, With};
    use ::permazen::{Obj, PermazenFields, PermazenKind, PermazenObject};

    type Result = ();
    type Option = ();
    type Vec = ();
    struct Ok;
    struct Err;
    struct Some;
    struct None;
    struct Tx;
    struct Box;

    /// A mix-in with hooks.
    #[derive(PermazenFields, ::core::fmt::Debug, ::core::default::Default)]
    #[permazen(hooks)]
    pub(crate) struct Self_ {
        /// A keyword.
        pub(crate) r#type: i32,
        pub(crate) hook: i64,
    }

    #[::permazen::hooks]
    impl Self_ {
        #[on_create]
        fn r#loop(this: With<'_, Self>) -> ::permazen::Result<()> {
            this.set_hook(1)
        }

        #[on_change(fields(r#type))]
        fn hook(this: With<'_, Self>, change: &Changed<'_, Self, i32>) -> ::permazen::Result<()> {
            this.set_hook(<i64 as ::core::convert::From<i32>>::from(change.new()?))
        }

        #[on_delete]
        fn tx(_: With<'_, Self>) -> ::permazen::Result<()> {
            ::core::result::Result::Ok(())
        }

        #[on_validate(fields(hook))]
        fn error(this: With<'_, Self>) -> ::permazen::Result<()> {
            this.hook().map(::core::mem::drop)
        }
    }

    /// A generic model with hooks for each alias.
    #[derive(PermazenObject, ::core::fmt::Debug)]
    #[permazen(hooks, aliases(r#Match = Obj_<::std::string::String>, Other = Obj_<i64> as "else"))]
    pub(crate) struct Obj_<Id: ::permazen::encoding::FieldType> {
        #[permazen(accessor = "the_tx")]
        pub(crate) tx: Id,
        #[permazen(flatten)]
        pub(crate) this: Self_,
    }

    #[::permazen::hooks]
    impl r#Match {
        #[on_change]
        fn change(_: Obj<'_, Self>, _: &Change<'_, Self>) -> ::permazen::Result<()> {
            ::core::result::Result::Ok(())
        }
    }

    #[::permazen::hooks]
    impl Other {
        #[on_delete]
        fn delete(_: Obj<'_, Self>) -> ::permazen::Result<()> {
            ::core::result::Result::Err(::permazen::Error::other("it stays"))
        }
    }

    /// A kind with hooks.
    #[derive(PermazenKind)]
    #[permazen(hooks, fields = Self_)]
    pub(crate) enum Source<'tx> {
        Match(Obj<'tx, r#Match>),
        Other(Obj<'tx, Other>),
    }

    #[::permazen::hooks]
    impl Source<'_> {
        #[on_create]
        fn created(this: Source<'_>) -> ::permazen::Result<()> {
            this.set_type(5)
        }

        #[on_change(fields(self_.r#type, self_.hook))]
        fn changed(_: Source<'_>) -> ::permazen::Result<()> {
            ::core::result::Result::Ok(())
        }
    }
}

macro_rules! with_hooks {
    ($name:ident { $($field:ident: $type:ty),* } $create:ident $watched:ident ($this:ident) $body:block) => {
        /// A model with hooks from a macro.
        #[derive(permazen::PermazenObject, Debug, Default)]
        #[permazen(hooks)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }

        #[permazen::hooks]
        impl $name {
            #[on_create]
            fn $create($this: permazen::Obj<'_, Self>) -> permazen::Result<()> $body

            #[on_change(fields($watched))]
            fn changed($this: permazen::Obj<'_, Self>) -> permazen::Result<()> $body
        }
    };
}

with_hooks! { FromMacro { count: i32, watched: bool } made watched (object) {
    object.set_count(object.count()? + 1)
} }

/// A kind whose members come from macros and from another module.
#[derive(PermazenKind)]
pub(crate) enum Any<'a> {
    FromMacro(permazen::Obj<'a, FromMacro>),
    Source(bare::Source<'a>),
}

#[test]
fn each_hook_is_called() {
    let db = Permazen::builder(MemoryStore::new()).kind::<AnyKind>().build().unwrap();
    db.write(|tx| {
        let one = tx.create_default::<bare::r#Match>()?;
        // The hook of the mix-in has set `hook` to 1. Then the hook of the kind has set `type` to
        // 5, and the hook of the mix-in was called for that.
        assert_eq!((one.r#type()?, one.hook()?), (5, 5));
        one.set_type(7)?;
        assert_eq!(one.hook()?, 7);
        one.set_the_tx("text")?;
        one.delete()?;
        let other = tx.create_default::<bare::Other>()?;
        let error = other.delete().unwrap_err().to_string();
        assert!(error.contains("it stays"), "{error}");
        let counted = tx.create_default::<FromMacro>()?;
        counted.set_watched(true)?;
        assert_eq!(counted.count()?, 2);
        assert_eq!(tx.all::<AnyKind>()?.count()?, 2);
        Ok(())
    })
    .unwrap();
}
