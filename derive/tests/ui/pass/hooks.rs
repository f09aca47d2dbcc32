#![deny(missing_docs, missing_debug_implementations, warnings)]
//! Hooks with the strictest lints, in a macro, under conditions, and where names mean other things.

use permazen as database;

/// Models whose names in scope are not those of the prelude.
pub mod shadowed {
    use super::database::model::{Change, Changed, ListChanged, MapChanged, SetChanged};
    use super::database::{NewValues, Obj, OldValues, PermazenObject};
    use std::collections::{BTreeMap, BTreeSet};
    use std::string::String as Text;
    use std::vec::Vec as List;

    type Done = std::result::Result<(), database::Error>;
    use super::database;

    /// Not the usual one.
    #[derive(Debug)]
    pub struct Result;
    /// Not the usual one.
    #[derive(Debug)]
    pub struct Option;
    /// Not the usual one.
    #[derive(Debug)]
    pub struct Box;
    /// Not the usual one.
    #[derive(Debug)]
    pub struct Ok;

    /// All kinds of fields.
    #[derive(PermazenObject, Debug)]
    #[permazen(hooks, crate = "super::database")]
    pub struct Everything {
        /// A keyword.
        pub r#type: i32,
        /// A list.
        pub list: List<i32>,
        /// A set.
        pub set: BTreeSet<i64>,
        /// A map.
        pub map: BTreeMap<i32, Text>,
    }

    #[database::hooks(crate = "super::database")]
    impl Everything {
        /// Documented.
        #[on_create]
        #[on_delete]
        #[on_change(fields(r#type, list))]
        #[on_change(except(r#type, list))]
        pub fn r#loop(this: Obj<'_, Self>) -> Done {
            this.exists().map(drop)
        }

        #[on_change(fields(r#type))]
        fn simple<'t>(this: Obj<'t, Self>, change: &Changed<'t, Everything, i32>) -> Done {
            assert_eq!(change.object()?, this);
            change.new().map(drop)
        }

        #[on_change(fields(list))]
        fn list(_: Obj<'_, Self>, change: ListChanged<'_, Self, i32>) -> Done {
            change.what().map(drop)
        }

        #[on_change(fields(set))]
        fn set(_: Obj<'_, Self>, change: &SetChanged<'_, Self, i64>) -> Done {
            change.what().map(drop)
        }

        #[on_change(fields(map))]
        fn map(_: Obj<'_, Self>, change: &MapChanged<'_, Self, i32, Text>) -> Done {
            change.what().map(drop)
        }

        #[cfg(any())]
        #[on_change(fields(not_there))]
        fn never(_: Obj<'_, Self>, _: &Nothing) -> Done {}

        #[cfg(any())]
        #[on_schema_change]
        fn never_moved(_: Nothing, _: Nothing) -> Done {}

        #[on_schema_change]
        fn moved(_old: &OldValues<'_>, _new: &mut NewValues<'_, '_, Self>) -> Done {
            Done::Ok(())
        }

        /// No hook.
        pub fn number(&self) -> i32 {
            self.r#type
        }

        #[on_change(fields(r#type, list, set, map))]
        fn some(_: Obj<'_, Self>, _: &Change<'_, Self>) -> std::result::Result<(), std::fmt::Error> {
            std::result::Result::Ok(())
        }
    }
}

macro_rules! model {
    ($name:ident, $field:ident: $ty:ty, $hook:ident) => {
        /// Made by a macro.
        #[derive(permazen::PermazenObject, Debug)]
        #[permazen(hooks)]
        pub struct $name {
            /// A field.
            pub $field: $ty,
        }

        #[permazen::hooks]
        impl $name {
            #[on_change(fields($field))]
            fn $hook(
                this: permazen::Obj<'_, $name>,
                change: &permazen::model::Changed<'_, $name, $ty>,
            ) -> permazen::Result<()> {
                this.exists()?;
                change.new().map(drop)
            }
        }
    };
}

model!(Person, age: i32, aged);

/// A struct with an empty block.
#[derive(permazen::PermazenObject, Debug)]
#[permazen(hooks)]
pub struct Empty {}

#[permazen::hooks]
impl Empty {}

fn main() {}
