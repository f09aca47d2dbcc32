//! Unusual names.

use permazen::{Model, PermazenEnum, PermazenObject, Ref};

/// Keywords.
#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byType", fields(r#type, r#fn)))]
pub(crate) struct Raw {
    pub(crate) r#type: String,
    pub(crate) r#fn: i32,
    pub(crate) r#match: Option<Ref<Self>>,
    pub(crate) r#where: Vec<String>,
    pub(crate) r#as: permazen::Counter,
    pub(crate) r#static: Option<r#enum>,
    #[permazen(skip)]
    pub(crate) r#struct: i32,
    pub(crate) r#async: bool,
}

/// Keywords.
#[derive(PermazenEnum, Debug, Clone, PartialEq)]
#[expect(non_camel_case_types, reason = "hostile")]
pub(crate) enum r#enum {
    r#loop,
    r#while,
    Other,
}

/// A keyword.
#[derive(PermazenObject, Debug)]
#[expect(non_camel_case_types, reason = "hostile")]
pub(crate) struct r#trait {
    pub(crate) r#trait: Option<Ref<r#trait>>,
}

/// Letters of other scripts.
#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "größe名", fields(größe, 名前)))]
pub(crate) struct Straße {
    pub(crate) größe: i32,
    pub(crate) 名前: String,
    pub(crate) ñandú_él: Option<Ref<Straße>>,
    pub(crate) имя_файла: String,
    pub(crate) ß: i32,
    pub(crate) ŉ: i32,
    pub(crate) µ: i32,
}

/// Letters of other scripts.
#[derive(PermazenEnum, Debug, Clone, PartialEq)]
pub(crate) enum Größe {
    Groß,
    Klein,
}

/// Indexes with names that Rust has no constants for.
#[expect(non_snake_case, reason = "two underscores")]
#[expect(clippy::duplicated_attributes, reason = "a field may be in several indexes")]
#[derive(PermazenObject, Debug)]
#[permazen(
    name = "$_$",
    composite(name = "$", fields(a, b)),
    composite(name = "$$$", fields(b, a)),
    composite(name = "_1", fields(c, a)),
    composite(name = "a$b", fields(c, b)),
    composite(name = "self", fields(b, c))
)]
pub(crate) struct Dollars {
    #[permazen(rename = "$a")]
    pub(crate) a: i32,
    #[permazen(rename = "_")]
    pub(crate) b: i32,
    #[permazen(rename = "c$")]
    pub(crate) c: i32,
    pub(crate) _hidden: i32,
    pub(crate) trailing_: i32,
    pub(crate) double__under: i32,
    pub(crate) x1_y2: i32,
}

/// A field whose name cannot be the name of a constant.
#[derive(PermazenObject, Debug)]
pub(crate) struct Underscores {
    #[permazen(rename = "nothing")]
    pub(crate) __: i32,
}

#[test]
fn names_on_disk() {
    let names = |fields: &[permazen::__private::FieldDecl]| -> Vec<&str> {
        fields.iter().map(permazen::__private::FieldDecl::name).collect()
    };
    assert_eq!(names(Raw::FIELDS)[..3], ["type", "fn", "match"]);
    assert_eq!(names(Straße::FIELDS)[..4], ["größe", "名前", "ñandúÉl", "имяФайла"]);
    assert_eq!((r#trait::TYPE_NAME, Straße::TYPE_NAME), ("trait", "Straße"));
    let _ = (Raw::TYPE, Raw::BY_TYPE, Raw::MATCH, r#enum::r#loop, r#enum::r#while, r#enum::Other);
    let _ = (Straße::GRÖSSE, Straße::名前, Straße::GRÖSSE名, Größe::Groß, Größe::Klein);
    let _ = (Underscores::__, Dollars::__, Dollars::___, Dollars::_1, Dollars::A_B, Dollars::SELF);
    let _ = |raw: &Raw| raw.r#struct;
}
