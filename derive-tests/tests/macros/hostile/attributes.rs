//! Attributes that do not belong to the derive macros, and lints of the program.

use permazen::{PermazenEnum, PermazenObject, Ref};

/// Fields that should not be used any more.
#[derive(PermazenObject, Debug, Default)]
#[permazen(composite(name = "both", fields(old, older)))]
pub(crate) struct Deprecated {
    /// Old.
    #[deprecated]
    #[permazen(indexed)]
    pub(crate) old: Option<String>,
    #[deprecated = "use `name`"]
    pub(crate) older: i32,
    #[deprecated(since = "1.0.0", note = "use `names`")]
    pub(crate) list: Vec<String>,
    #[deprecated]
    #[permazen(skip)]
    pub(crate) skipped: u8,
    #[deprecated]
    pub(crate) visits: permazen::Counter,
    #[deprecated]
    pub(crate) map: std::collections::BTreeMap<String, i32>,
}

/// Types that should not be used any more.
#[deprecated]
#[derive(PermazenObject, Debug)]
pub(crate) struct Former {
    #[allow(deprecated)]
    pub(crate) kind: Option<Kind>,
}

/// An enum with a variant of the past.
#[derive(PermazenEnum, Debug, Clone, PartialEq)]
pub(crate) enum Variants {
    Now,
    #[deprecated]
    Then,
}

/// An enum of the past.
#[deprecated]
#[derive(PermazenEnum, Debug, Clone)]
pub(crate) enum Kind {
    Old,
}

/// Refers to what should not be used.
#[derive(PermazenObject, Debug)]
pub(crate) struct Refers {
    #[expect(deprecated, reason = "hostile")]
    pub(crate) former: Option<Ref<Former>>,
    #[expect(deprecated, reason = "hostile")]
    pub(crate) kinds: Vec<Kind>,
    pub(crate) variant: Variants,
}

/// Fields and variants that are not there.
#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "present", fields(a, b)))]
pub(crate) struct Configured {
    #[cfg(not(test))]
    pub(crate) absent: NoSuchType,
    #[cfg(test)]
    pub(crate) a: i32,
    #[cfg_attr(test, permazen(rename = "renamed", indexed))]
    #[cfg_attr(not(test), permazen(no_such_attribute))]
    pub(crate) b: i32,
}

/// Fields and variants that are not there.
#[derive(PermazenEnum, Debug, Clone, PartialEq)]
pub(crate) enum ConfiguredEnum {
    A,
    #[cfg(not(test))]
    Absent(NoSuchType),
    #[cfg(test)]
    #[cfg_attr(test, permazen(rename = "BE"))]
    B,
}

/** A comment in another form.

```
assert!(true);
```
*/
#[derive(PermazenObject, Debug)]
#[doc(alias = "commented")]
#[must_use]
#[non_exhaustive]
#[repr(C)]
pub(crate) struct Documented {
    /** A field with `code`, "quotes", \ and
     * several lines. */
    pub(crate) a: i32,
    #[doc = include_str!("comment.txt")]
    pub(crate) b: i32,
    #[doc(hidden)]
    pub(crate) c: i32,
}

/// Lints the struct is excepted from, and so must what it stands for.
#[derive(PermazenObject, Debug)]
#[expect(non_camel_case_types, non_snake_case, reason = "hostile")]
#[expect(clippy::struct_excessive_bools, reason = "hostile")]
pub(crate) struct lower_case {
    pub(crate) FirstName: String,
    pub(crate) SHOUTED: i32,
    pub(crate) a: bool,
    pub(crate) b: bool,
    pub(crate) c: bool,
    pub(crate) d: bool,
}

/// Lints that may not be allowed again.
mod forbidden {
    #![forbid(
        missing_docs,
        unsafe_code,
        non_snake_case,
        unused_variables,
        clippy::unwrap_used,
        clippy::panic,
        clippy::unreachable
    )]

    /// A struct.
    #[expect(unreachable_pub, reason = "the accessors are as visible")]
    #[derive(permazen::PermazenObject, Debug)]
    pub struct Object {
        /// A field.
        pub a: i32,
    }

    /// An enum.
    #[expect(unreachable_pub, reason = "as the struct")]
    #[derive(permazen::PermazenEnum, Debug, Clone)]
    pub enum Enum {
        /// A variant.
        A,
    }
}

/// Types that are less visible than what refers to them.
mod visible {
    use permazen::{PermazenEnum, PermazenObject, Ref};

    /// Private.
    #[derive(PermazenEnum, Debug, Clone, PartialEq)]
    enum Private {
        A,
    }

    /// Private.
    #[derive(PermazenObject, Debug)]
    struct Hidden {
        kind: Private,
    }

    /// Public.
    #[expect(unreachable_pub, reason = "the index is more visible than the types in it")]
    #[derive(PermazenObject, Debug)]
    #[permazen(composite(name = "byKind", fields(kind, number)))]
    pub struct Public {
        kind: Private,
        number: i32,
        pub(super) seen: i32,
        pub(in crate::hostile::attributes) far: i32,
        /// Public.
        pub shown: i32,
        hidden: Option<Ref<Hidden>>,
    }

    #[test]
    fn private_types_are_used() {
        let _ = (
            Private::A,
            Hidden::KIND,
            Public::BY_KIND,
            Public::KIND,
            Public::NUMBER,
            Public::HIDDEN,
        );
        let _ = |public: &Public| (public.kind == Private::A, public.number, public.hidden);
        let _ = |hidden: &Hidden| hidden.kind == Private::A;
    }
}

#[test]
fn everything_is_there() {
    let _ = (Configured::PRESENT, Configured::B, ConfiguredEnum::A, ConfiguredEnum::B);
    let _ = (Documented::A, lower_case::FIRST_NAME, lower_case::SHOUTED, Refers::FORMER);
    let _ = (forbidden::Object::A, forbidden::Enum::A, visible::Public::SHOWN);
    let _ = (visible::Public::SEEN, visible::Public::FAR, Variants::Now, Deprecated::BOTH);
    #[expect(deprecated, reason = "it is deprecated to read it")]
    let _ = |object: &Deprecated| object.skipped;
    #[expect(deprecated, reason = "the constant is deprecated like the field")]
    let _ = (Deprecated::OLD, Deprecated::VISITS, Variants::Then, Kind::Old, Former::KIND);
}
