//! Each attribute with a wrong value, in a wrong place or twice.
use permazen::{Obj, PermazenEnum, PermazenFields, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject)]
#[permazen(
    accessors = "two words",
    crate = 5,
    default_allow_deleted = true,
    singleton(yes),
    name = "A",
    name = "B",
    composite,
    removed("old"),
    removed("older")
)]
struct OnStruct {
    name: String,
}

#[derive(PermazenObject)]
struct OnField {
    #[permazen(storage_id = "5")]
    a: i32,
    #[permazen(storage_id)]
    b: i32,
    #[permazen(encoding = "urn:x")]
    c: Option<Ref<OnField>>,
    #[permazen(forward_delete = true)]
    d: Option<Ref<OnField>>,
    #[permazen(allow_deleted)]
    e: i32,
    #[permazen(cascade = "x")]
    f: Option<Ref<OnField>>,
    #[permazen(element(indexed))]
    g: i32,
    #[permazen(indexed, unique, exclude())]
    h: i32,
    #[permazen(indexed, unique, exclude(nulls, non_nulls))]
    i: Option<i32>,
    #[permazen(indexed, unique, exclude(range(gt = 3, ge = 4)))]
    j: i32,
    #[permazen(indexed, unique, exclude(range(above = 3)))]
    k: i32,
    #[permazen(indexed, unique = "yes", exclude(1 + 2))]
    l: i32,
    #[permazen(with)]
    m: i32,
    #[permazen(with = String, with = String)]
    n: String,
    #[permazen(default = 1, default = 2)]
    o: i32,
    #[permazen(skip = true)]
    p: i32,
    #[permazen(simple = "x")]
    q: i32,
    #[permazen(name = "r")]
    r: i32,
    #[permazen(rename = "one", rename = "two")]
    s: i32,
    #[permazen(value(indexed), element)]
    t: Vec<String>,
    #[permazen(key(inverse_delete = "nullify"), value(cascade(forward = ["x"])))]
    u: std::collections::BTreeMap<String, String>,
    #[permazen(singleton)]
    v: i32,
}

#[derive(PermazenFields)]
#[permazen(validate = check, hooks, accessors = 5, rename_all = "none", rename_all = "none")]
struct OnMixin {
    #[permazen(validate = check)]
    name: String,
}

#[derive(PermazenKind)]
#[permazen(kind = 5, fields, name = "x", crate = "a b")]
enum OnKind<'t> {
    OnField(Obj<'t, OnField>),
}

#[derive(PermazenKind)]
#[permazen(kind = "two words", kind = "Other")]
enum OnOtherKind<'t> {
    OnField(Obj<'t, OnField>),
}

#[derive(PermazenEnum, Debug, Clone)]
#[permazen(rename_all = 5, crate, was = "x")]
enum OnEnum {
    #[permazen(rename = "A", rename = "B")]
    A,
    #[permazen(rename)]
    B,
    #[permazen(was = 5, rename_all = "none")]
    C,
}

fn main() {}
