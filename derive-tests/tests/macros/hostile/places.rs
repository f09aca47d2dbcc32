//! Structs and enums in functions, in blocks, in modules without imports, and beside each other.

mod without_imports {
    #[derive(::permazen::PermazenObject, ::std::fmt::Debug)]
    pub(crate) struct Object {
        pub(crate) text: ::std::option::Option<::std::string::String>,
        pub(crate) other: ::std::option::Option<::permazen::Ref<Object>>,
        pub(crate) list: ::std::vec::Vec<::permazen::Ref<Self>>,
        pub(crate) kind: Enum,
        pub(crate) deep: deeper::Enum,
        pub(crate) count: ::permazen::model::Counter,
    }

    #[derive(::permazen::PermazenEnum, ::std::fmt::Debug, ::std::clone::Clone)]
    pub(crate) enum Enum {
        A,
    }

    pub(crate) mod deeper {
        #[derive(permazen::PermazenEnum, Debug, Clone)]
        pub(in crate::hostile::places) enum Enum {
            A,
        }
    }
}

/// The crate has another name here.
mod renamed {
    use permazen as database;

    #[derive(database::PermazenObject, Debug)]
    #[permazen(crate = "database")]
    pub(crate) struct Object {
        pub(crate) a: Option<Enum>,
    }

    #[derive(database::PermazenEnum, Debug, Clone)]
    #[permazen(crate = "database")]
    pub(crate) enum Enum {
        A,
    }
}

/// A module with names that hide the crates of the language.
mod shadowed_crates {
    mod core {}
    mod std {}

    #[derive(permazen::PermazenObject, Debug)]
    pub(crate) struct Object {
        pub(crate) a: Option<Enum>,
    }

    #[derive(permazen::PermazenEnum, Debug, Clone)]
    pub(crate) enum Enum {
        A,
    }
}

trait Named {
    const NAME: &'static str;
    fn name(&self) -> &'static str;
    fn bind(&self) {}
}

/// A trait of the program has the names of the constants and accessors.
#[derive(permazen::PermazenObject, Debug)]
struct Both {
    name: String,
}

impl Named for Both {
    const NAME: &'static str = "both";
    fn name(&self) -> &'static str {
        "both"
    }
}

#[test]
fn in_functions() {
    use permazen::{PermazenEnum, PermazenObject, Ref};

    #[derive(PermazenObject, Debug, Default)]
    #[permazen(composite(name = "two", fields(number, kind)))]
    struct Local {
        number: i32,
        kind: Option<Kind>,
        other: Option<Ref<Self>>,
        same: Vec<Ref<Local>>,
    }

    #[derive(PermazenEnum, Debug, Clone, PartialEq)]
    enum Kind {
        A,
    }

    let _ = (Local::NUMBER, Local::TWO, Local::OTHER, Local::SAME, Kind::A);
    let closure = || {
        #[derive(PermazenObject, Debug)]
        struct Local {
            text: String,
        }
        Local::TEXT
    };
    let _ = closure();
    let _ = {
        #[derive(PermazenObject, Debug)]
        struct Local {
            flag: bool,
        }
        Local::FLAG
    };
}

#[test]
fn everything_is_there() {
    use without_imports::{Enum, Object, deeper};
    let _ = (Object::TEXT, Enum::A, deeper::Enum::A, renamed::Object::A, renamed::Enum::A);
    let _ =
        (shadowed_crates::Object::A, shadowed_crates::Enum::A, Both::NAME, <Both as Named>::NAME);
    let _ = |both: &Both| (both.bind(), both.name(), both.name.len());
}
