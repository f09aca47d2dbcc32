//! The declarations of the derive macros for objects of other schemas.

use std::collections::{BTreeMap, BTreeSet};

use permazen::__private::{EnumType, ObjectWriter};
use permazen::{
    Any, Counter, Model, NewValues, ObjId, OldValues, PermazenEnum, PermazenObject, Ref, Result,
};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Level {
    Low,
    #[default]
    #[permazen(was = "MEDIUM")]
    Middle,
    #[permazen(rename = "TOP", was = ["HIGH", "HIGHEST"])]
    High,
}

/// `#[default]` without `Default`.
#[derive(PermazenEnum, Debug, Clone)]
enum State {
    #[default]
    New,
    Done,
}

#[derive(PermazenEnum, Debug, Clone)]
enum Plain {
    A,
}

#[derive(Debug, Clone, Default)]
struct Days(u32);

impl TryFrom<i64> for Days {
    type Error = std::num::TryFromIntError;

    fn try_from(days: i64) -> Result<Self, Self::Error> {
        days.try_into().map(Days)
    }
}

impl From<Days> for i64 {
    fn from(days: Days) -> i64 {
        days.0.into()
    }
}

/// Every kind of field has a default of its type.
#[derive(PermazenObject, Debug)]
#[permazen(removed("nickname", "shoeSize"), on_schema_change = Defaults::upgrade)]
struct Defaults {
    #[permazen(default)]
    text: String,
    #[permazen(default)]
    optional: Option<String>,
    #[permazen(default)]
    level: Level,
    #[permazen(with = i64, default)]
    days: Days,
    #[permazen(default)]
    friend: Option<Ref<Self>>,
    #[permazen(default)]
    #[permazen(accessor = "the_any")]
    any: Option<Ref<Any>>,
    #[permazen(default)]
    visits: Counter,
    #[permazen(default)]
    #[permazen(accessor = "the_set")]
    set: BTreeSet<String>,
    #[permazen(default)]
    list: Vec<i32>,
    #[permazen(set, default)]
    vec_set: Vec<Level>,
    #[permazen(default)]
    map: BTreeMap<Level, i64>,
    #[permazen(map, default)]
    pairs: Vec<(String, bool)>,
    #[permazen(array, default)]
    array: Vec<i64>,
    #[permazen(default)]
    boxed: Box<[i32]>,
}

impl Defaults {
    fn upgrade(_old: &OldValues<'_>, _to: &mut NewValues<'_, '_, Self>) -> Result<()> {
        Ok(())
    }
}

const FIVE: i32 = 5;

fn missing() -> Ref<Defaults> {
    match ObjId::from_bytes([10, 0, 0, 0, 0, 0, 0, 1]) {
        Ok(id) => Ref::new(id),
        Err(error) => unreachable!("{error}"),
    }
}

/// Every kind of field has a default that is written out.
#[derive(PermazenObject, Debug)]
struct Values {
    #[permazen(default = "text".to_owned())]
    text: String,
    #[permazen(default = FIVE << 2, was = "shifted", upgrade = "lossy")]
    number: i32,
    #[permazen(default = 1 < 2, indexed)]
    flag: bool,
    #[permazen(default = Self::level(), upgrade = "reset")]
    level: Level,
    #[permazen(with = i64, default = Days(3))]
    days: Days,
    #[permazen(default = missing())]
    required: Ref<Defaults>,
    #[permazen(default = None)]
    friend: Option<Ref<Self>>,
    #[permazen(default = Counter(5))]
    visits: Counter,
    #[permazen(default = ["a", "b"].map(str::to_owned).into())]
    #[permazen(accessor = "the_set")]
    set: BTreeSet<String>,
    #[permazen(default = vec![1, 2], was = ["numbers", "figures"])]
    list: Vec<i32>,
    #[permazen(default = BTreeMap::<Level, i64>::from([(Level::Low, 1)]))]
    map: BTreeMap<Level, i64>,
    #[permazen(map, default = { Vec::with_capacity(2) })]
    pairs: Vec<(String, bool)>,
    #[permazen(default = Box::new([1, 2]))]
    boxed: Box<[i32]>,
}

impl Values {
    fn level() -> Level {
        Level::High
    }
}

/// Every kind of field is made by a function.
#[derive(PermazenObject, Debug)]
#[permazen(default_upgrade = "lossy")]
struct Made {
    #[permazen(upgrade_with = Made::text, default)]
    text: String,
    #[permazen(upgrade_with = made)]
    level: Level,
    #[permazen(with = i64, upgrade_with = made)]
    days: Days,
    #[permazen(upgrade_with = required)]
    required: Ref<Defaults>,
    #[permazen(upgrade_with = made)]
    friend: Option<Ref<Self>>,
    #[permazen(upgrade_with = made::<Counter>)]
    visits: Counter,
    #[permazen(upgrade_with = made)]
    #[permazen(accessor = "the_set")]
    set: BTreeSet<String>,
    #[permazen(upgrade_with = self::made)]
    list: Vec<i32>,
    #[permazen(upgrade_with = <Made as Maker>::map)]
    map: BTreeMap<Level, i64>,
    plain: i32,
    #[permazen(upgrade = "exact")]
    exact: i32,
}

impl Made {
    fn text(old: &OldValues<'_>) -> Result<String> {
        old.take("name")
    }
}

trait Maker {
    fn map(old: &OldValues<'_>) -> Result<BTreeMap<Level, i64>>;
}

impl Maker for Made {
    fn map(_old: &OldValues<'_>) -> Result<BTreeMap<Level, i64>> {
        Ok(BTreeMap::new())
    }
}

fn made<T: Default>(_old: &OldValues<'_>) -> Result<T> {
    Ok(T::default())
}

fn required(old: &OldValues<'_>) -> Result<Ref<Defaults>> {
    old.get("owner")
}

/// The declaration of a field, as text.
fn declaration<M: Model>(field: &str) -> String {
    format!("{:?}", M::FIELDS.iter().find(|declared| declared.name() == field))
}

#[test]
fn names_of_removed_fields() {
    assert_eq!(Defaults::REMOVED, ["nickname", "shoeSize"]);
    assert!(Values::REMOVED.is_empty());
}

#[test]
fn own_conversion_of_the_type() {
    let upgrade: Option<fn(&OldValues<'_>, &mut ObjectWriter<'_>) -> Result<()>> =
        Defaults::UPGRADE_WITH;
    assert!(upgrade.is_some());
    assert!(Values::UPGRADE_WITH.is_none());
}

#[test]
fn former_names_of_fields() {
    let cases =
        [("number", r#"["shifted"]"#), ("list", r#"["numbers", "figures"]"#), ("flag", "[]")];
    for (field, names) in cases {
        let declaration = declaration::<Values>(field);
        assert!(declaration.contains(&format!("was: {names}")), "{declaration}");
    }
}

#[test]
fn each_kind_of_field_has_its_default() {
    for declared in Defaults::FIELDS.iter().chain(Values::FIELDS) {
        let declaration = format!("{declared:?}");
        assert!(declaration.contains("default: Some("), "{declaration}");
        assert!(declaration.contains("upgrade_with: None"), "{declaration}");
    }
    for (field, has) in [("text", "default: Some("), ("level", "default: None")] {
        let declaration = declaration::<Made>(field);
        assert!(declaration.contains(has), "{declaration}");
    }
}

#[test]
fn each_kind_of_field_has_its_own_conversion() {
    for declared in Made::FIELDS {
        let own = !["plain", "exact"].contains(&declared.name());
        let expected = if own { "upgrade_with: Some(" } else { "upgrade_with: None" };
        let declaration = format!("{declared:?}");
        assert!(declaration.contains(expected), "{declaration}");
    }
}

#[test]
fn what_may_become_of_values() {
    let cases = [
        (declaration::<Values>("number"), "Some(Lossy)"),
        (declaration::<Values>("level"), "Some(Reset)"),
        (declaration::<Values>("flag"), "None"),
        (declaration::<Made>("plain"), "Some(Lossy)"),
        (declaration::<Made>("exact"), "Some(Exact)"),
    ];
    for (declaration, upgrade) in cases {
        assert!(declaration.contains(&format!("upgrade: {upgrade}")), "{declaration}");
    }
}

#[test]
fn enums_name_what_their_identifiers_were() {
    assert_eq!(Level::IDENTIFIERS, ["LOW", "MIDDLE", "TOP"]);
    assert_eq!(Level::RENAMED, [("MIDDLE", "MEDIUM"), ("TOP", "HIGH"), ("TOP", "HIGHEST")]);
    assert!(Plain::RENAMED.is_empty());
}

#[test]
fn the_initial_variant_is_the_default() {
    assert_eq!((Level::INITIAL, Level::default()), (Some(1), Level::Middle));
    assert_eq!((State::INITIAL, Plain::INITIAL), (Some(0), None));
    assert_eq!((State::New.ordinal(), State::Done.ordinal()), (0, 1));
    assert_eq!(Plain::A.identifier(), "A");
}
