//! The fate of objects that programs of several versions use: the rules written down once more, as
//! simply as possible, over values that are texts.

use std::collections::{BTreeMap, BTreeSet};

/// A simple value as text; `None` is null.
pub(crate) type Cell = Option<String>;
/// The content of a field: one cell, the elements of a collection, or the entries of a map.
pub(crate) type Content = Vec<(Cell, Cell)>;
/// The contents of all fields of an object, by what they mean.
pub(crate) type Contents = BTreeMap<&'static str, Content>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    One,
    Counter,
    Set,
    List,
    Map,
}

/// The constants of an enum, each with its former names.
pub(crate) type Constants = &'static [(&'static str, &'static [&'static str])];

#[derive(Debug, Clone, Copy)]
pub(crate) enum Type {
    Int,
    IntOrNull,
    Long,
    Double,
    Text,
    Enum(Constants),
    /// References to objects of these types, or of any.
    Ref(Option<&'static [&'static str]>),
}

impl Type {
    fn has_null(self) -> bool {
        !matches!(self, Type::Int | Type::Long | Type::Double)
    }

    /// Whether the schemas define both alike.
    pub(crate) fn is_same(self, other: Type) -> bool {
        match (self, other) {
            (Type::Enum(one), Type::Enum(other)) => {
                one.iter().map(|(name, _)| name).eq(other.iter().map(|(name, _)| name))
            }
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// Whether stored values mean the same in both, as far as the second one has them.
    pub(crate) fn is_alike(self, other: Type) -> bool {
        let (Type::Enum(before), Type::Enum(after)) = (self, other) else {
            return self.is_same(other);
        };
        before.iter().enumerate().all(|(ordinal, (name, _))| {
            let cell = Some((*name).to_owned());
            match (convert(&cell, self, other, &|_| ""), after.get(ordinal)) {
                (Some(Some(new)), Some((name, _))) => new == **name,
                (None, None) => true,
                _ => false,
            }
        })
    }

    /// Compares by the order of stored values.
    fn compare(self, a: &Cell, b: &Cell) -> std::cmp::Ordering {
        let number = |cell: &Cell| cell.as_ref().and_then(|text| text.parse::<i64>().ok());
        match self {
            Type::Int | Type::Long | Type::IntOrNull => {
                (a.is_none(), number(a)).cmp(&(b.is_none(), number(b)))
            }
            _ => (a.is_none(), a).cmp(&(b.is_none(), b)),
        }
    }
}

/// The definition of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// Of the value, the elements or the keys.
    pub(crate) of: Type,
    /// Of the values of a map.
    pub(crate) values: Type,
}

impl Shape {
    pub(crate) fn is_same(&self, other: &Shape) -> bool {
        self.kind == other.kind
            && self.of.is_same(other.of)
            && (self.kind != Kind::Map || self.values.is_same(other.values))
    }

    pub(crate) fn default(&self) -> Content {
        match self.kind {
            Kind::One if self.of.has_null() => vec![(None, None)],
            Kind::One | Kind::Counter => match self.of {
                Type::Double => vec![(Some("0.0".into()), None)],
                _ => vec![(Some("0".into()), None)],
            },
            _ => Content::new(),
        }
    }

    /// Puts the elements of a set or the entries of a map in order.
    pub(crate) fn sort(&self, content: &mut Content) {
        if matches!(self.kind, Kind::Set | Kind::Map) {
            content.sort_by(|(a, _), (b, _)| self.of.compare(a, b));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Exact,
    Lossy,
    Reset,
}

/// A field of a version.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) means: &'static str,
    pub(crate) name: &'static str,
    pub(crate) was: &'static [&'static str],
    pub(crate) shape: Shape,
    /// Whether null is no value of the type in the struct.
    pub(crate) is_required: bool,
    /// The value that the model states for objects that lack the field.
    pub(crate) default: Cell,
    pub(crate) policy: Policy,
    /// Its own conversion of an object of another schema.
    pub(crate) own: Option<OwnField>,
}

/// An own conversion; `None` if it fails.
pub(crate) type OwnField = fn(&mut Old<'_>) -> Option<Content>;
/// The own conversion of a type: the fields that it sets.
pub(crate) type OwnType = fn(&mut Old<'_>) -> Option<Contents>;

impl Spec {
    pub(crate) fn initial(&self) -> Content {
        match &self.default {
            Some(text) => vec![(Some(text.clone()), None)],
            None => self.shape.default(),
        }
    }
}

/// The values of an index: a field or the elements of one, the keys of a map, its values, its
/// values with their keys, or two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    Field(&'static [&'static str]),
    Keys(&'static [&'static str]),
    Values(&'static [&'static str]),
    Entries(&'static [&'static str]),
    Composite(&'static [&'static str]),
}

/// A version of a type of the program.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) fields: Vec<Spec>,
    pub(crate) removed: &'static [&'static str],
    pub(crate) own: Option<OwnType>,
    pub(crate) indexes: Vec<(&'static str, Index)>,
}

impl Version {
    pub(crate) fn field(&self, means: &str) -> Option<&Spec> {
        self.fields.iter().find(|field| field.means == means)
    }

    /// Whether an own conversion may make the values of a field that an object lacks.
    pub(crate) fn makes(&self, field: &Spec) -> bool {
        self.own.is_some() || field.own.is_some()
    }
}

/// An object of another schema, as own conversions see it.
pub(crate) struct Old<'a> {
    from: &'a Version,
    contents: &'a Contents,
    types: Types<'a>,
    taken: BTreeSet<&'static str>,
}

impl<'a> Old<'a> {
    fn field(&self, name: &str) -> Option<&'a Spec> {
        self.from.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// The value of a simple field, if it has an exact counterpart.
    pub(crate) fn take(&mut self, name: &str, to: Type) -> Option<Cell> {
        let field = self.field(name).filter(|field| field.shape.kind == Kind::One)?;
        let value = convert(&self.contents[field.means][0].0, field.shape.of, to, self.types)?;
        self.taken.insert(field.name);
        Some(value)
    }

    pub(crate) fn take_elements(&mut self, name: &str, to: Type) -> Option<Vec<Cell>> {
        let field = self.field(name)?;
        if !matches!(field.shape.kind, Kind::Set | Kind::List) {
            return None;
        }
        let elements = self.contents[field.means].iter();
        let elements = elements.map(|(cell, _)| convert(cell, field.shape.of, to, self.types));
        let elements = elements.collect::<Option<Vec<Cell>>>()?;
        self.taken.insert(field.name);
        Some(elements)
    }
}

/// Where the value of a field comes from.
pub(crate) enum Source<'v> {
    Same(&'v Spec),
    Differs(&'v Spec),
    Missing,
}

/// The source of the value of a field for this version, in objects of another version.
pub(crate) fn source<'v>(to: &Version, field: &Spec, from: &'v Version) -> Source<'v> {
    let named = |name: &str| from.fields.iter().find(|old| old.name == name);
    match named(field.name) {
        Some(old) if old.shape.is_same(&field.shape) => return Source::Same(old),
        Some(old) => return Source::Differs(old),
        None => {}
    }
    let is_own = |name: &str| to.fields.iter().any(|own| own.name == name);
    let former = field.was.iter().filter(|name| !is_own(name)).find_map(|name| named(name));
    former.map_or(Source::Missing, Source::Differs)
}

/// The old fields that no field of this version takes over.
fn leftovers<'v>(to: &Version, from: &'v Version) -> Vec<&'v Spec> {
    let taken: BTreeSet<&str> = to
        .fields
        .iter()
        .filter_map(|field| match source(to, field, from) {
            Source::Same(old) | Source::Differs(old) => Some(old.name),
            Source::Missing => None,
        })
        .collect();
    from.fields.iter().filter(|old| !taken.contains(old.name)).collect()
}

/// Whether the old version has fields that the new one neither takes over nor names as removed.
pub(crate) fn has_unknown_fields(to: &Version, from: &Version) -> bool {
    leftovers(to, from).iter().any(|field| !to.removed.contains(&field.name))
}

/// Tells the type of the object with this ID.
pub(crate) type Types<'a> = &'a dyn Fn(&str) -> &'static str;

pub(crate) fn allows(of: Type, cell: &Cell, types: Types<'_>) -> bool {
    match (of, cell) {
        (Type::Ref(Some(allowed)), Some(id)) => allowed.contains(&types(id)),
        _ => true,
    }
}

/// The value that an operation gives an object that moves.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    Nothing,
    Field(&'a str),
    AllButCounters,
}

/// The content of a lossy conversion, which only the library knows.
pub(crate) fn unknown() -> Content {
    vec![(Some("?".into()), Some("?".into()))]
}

/// Why an object does not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stays {
    /// These fields would be lost.
    Refused(BTreeSet<String>),
    /// An own conversion fails.
    Upgrade,
    /// The program stores a reference to an object of a type that its model does not allow.
    NotAllowed,
    /// A value is too long for an index.
    TooLong,
}

/// The result of own conversions: the fields they write, and the old ones that they take.
type Own = (Contents, BTreeSet<&'static str>);

fn own(
    to: &Version,
    from: &Version,
    old: &Contents,
    given: Given<'_>,
    types: Types<'_>,
) -> Result<Own, Stays> {
    let (mut written, mut taken) = Own::default();
    let mut values = Old { from, contents: old, types, taken: BTreeSet::new() };
    let differs = |field: &&Spec| !matches!(source(to, field, from), Source::Same(_));
    if let Some(convert) = to.own {
        // A conversion that only serves values that are given may fail.
        let serves = |field: &Spec| !given.has(field) && differs(&field);
        let is_needed = !matches!(given, Given::AllButCounters) || to.fields.iter().any(serves);
        match convert(&mut values) {
            Some(new) => written = new,
            None if is_needed => return Err(Stays::Upgrade),
            None => values.taken.clear(),
        }
    }
    taken.append(&mut values.taken);
    for field in to.fields.iter().filter(differs) {
        let Some(convert) = field.own.filter(|_| !written.contains_key(field.means)) else {
            continue;
        };
        match convert(&mut values) {
            Some(content) => drop(written.insert(field.means, content)),
            None if given.has(field) => values.taken.clear(),
            None => return Err(Stays::Upgrade),
        }
        taken.append(&mut values.taken);
    }
    Ok((written, taken))
}

impl Given<'_> {
    fn has(self, field: &Spec) -> bool {
        match self {
            Given::Nothing => false,
            Given::Field(means) => means == field.means,
            Given::AllButCounters => field.shape.kind != Kind::Counter,
        }
    }
}

/// The content of an object after it has moved.
pub(crate) fn moved(
    to: &Version,
    from: &Version,
    old: &Contents,
    given: Given<'_>,
    types: Types<'_>,
) -> Result<Contents, Stays> {
    let (mut written, taken) = own(to, from, old, given, types)?;
    let mut new = Contents::new();
    let mut lost = BTreeSet::new();
    for field in &to.fields {
        let content = match (source(to, field, from), written.remove(field.means)) {
            _ if given.has(field) => field.shape.default(),
            (_, Some(content)) => content,
            (Source::Missing, _) => field.initial(),
            (Source::Same(before), _) => {
                let content = &old[before.means];
                if !content.iter().all(|(cell, _)| allows(field.shape.of, cell, types)) {
                    let name = match field.shape.kind {
                        Kind::One => before.name.to_owned(),
                        _ => format!("{}.element", before.name),
                    };
                    lost.insert(name);
                }
                content.clone()
            }
            (Source::Differs(before), _) => match carried(field, before, old, types) {
                Some(content) => content,
                None => {
                    lost.insert(before.name.to_owned());
                    continue;
                }
            },
        };
        new.insert(field.means, content);
    }
    for field in leftovers(to, from) {
        let may_go = to.removed.contains(&field.name) || taken.contains(field.name);
        if !may_go && old[field.means] != field.shape.default() {
            lost.insert(field.name.to_owned());
        }
    }
    if lost.is_empty() { Ok(new) } else { Err(Stays::Refused(lost)) }
}

/// The values of the fields of an index as the program sees them, whatever becomes of the others:
/// where the object is if their definition is the same, else after a move.
pub(crate) fn columns(
    to: &Version,
    from: &Version,
    old: &Contents,
    means: &[&str],
    types: Types<'_>,
) -> Result<Contents, Stays> {
    let fields: Vec<&Spec> =
        to.fields.iter().filter(|field| means.contains(&field.means)).collect();
    let differs = |field: &&&Spec| !matches!(source(to, field, from), Source::Same(_));
    let mut values = Old { from, contents: old, types, taken: BTreeSet::new() };
    let mut written = Contents::new();
    if let Some(convert) = to.own.filter(|_| fields.iter().any(|field| differs(&field))) {
        written = convert(&mut values).ok_or(Stays::Upgrade)?;
    }
    for field in fields.iter().filter(differs) {
        let convert = field.own.filter(|_| !written.contains_key(field.means));
        if let Some(convert) = convert {
            written.insert(field.means, convert(&mut values).ok_or(Stays::Upgrade)?);
        }
    }
    let (mut seen, mut lost) = (Contents::new(), BTreeSet::new());
    for field in fields {
        let content = match (source(to, field, from), written.remove(field.means)) {
            (Source::Same(before), _) => old[before.means].clone(),
            (_, Some(content)) => content,
            (Source::Missing, _) => field.initial(),
            (Source::Differs(before), _) => match carried(field, before, old, types) {
                Some(content) => content,
                None => {
                    lost.insert(before.name.to_owned());
                    continue;
                }
            },
        };
        seen.insert(field.means, content);
    }
    if lost.is_empty() { Ok(seen) } else { Err(Stays::Refused(lost)) }
}

/// The value that a field gets from one of another definition; `None` if that would lose something.
pub(crate) fn carried(
    field: &Spec,
    before: &Spec,
    old: &Contents,
    types: Types<'_>,
) -> Option<Content> {
    if field.policy == Policy::Reset {
        return Some(field.initial());
    }
    let new = converted(&old[before.means], &before.shape, &field.shape, types);
    new.or_else(|| (field.policy == Policy::Lossy).then(unknown))
}

/// The content of a field in another definition; `None` if it has no exact counterpart.
pub(crate) fn converted(
    old: &Content,
    from: &Shape,
    to: &Shape,
    types: Types<'_>,
) -> Option<Content> {
    use Kind::{Counter, List, Map, One, Set};
    let cell = |cell: &Cell| convert(cell, from.of, to.of, types);
    let cells = || old.iter().map(|(of, _)| Some((cell(of)?, None))).collect::<Option<Content>>();
    match (from.kind, to.kind) {
        (One | Counter, One | Counter) => cells(),
        (One, Set | List) if old[0].0.is_none() => Some(Content::new()),
        (One, Set | List) => cells(),
        (Set | List, One) => match &old[..] {
            [] => to.of.has_null().then(|| vec![(None, None)]),
            [(Some(_), _)] => cells(),
            _ => None,
        },
        (Set | List, Set | List) => {
            let mut new = cells()?;
            if (from.kind, to.kind) == (List, Set) {
                let ascends = |pair: &[(Cell, Cell)]| to.of.compare(&pair[0].0, &pair[1].0).is_lt();
                return new.windows(2).all(ascends).then_some(new);
            }
            to.sort(&mut new);
            Some(new)
        }
        (Map, Map) => {
            let value = |value: &Cell| convert(value, from.values, to.values, types);
            let entries = old.iter().map(|(key, of)| Some((cell(key)?, value(of)?)));
            let mut new = entries.collect::<Option<Content>>()?;
            to.sort(&mut new);
            Some(new)
        }
        _ => (*old == from.default()).then(|| to.default()),
    }
}

/// The first floating-point number after all numbers of an `i64`.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// A value in another type; `None` if it has no exact counterpart.
pub(crate) fn convert(cell: &Cell, from: Type, to: Type, types: Types<'_>) -> Option<Cell> {
    let Some(text) = cell else { return to.has_null().then_some(None) };
    // Whole numbers are written with a fraction as floating-point numbers.
    let whole = match from {
        Type::Double => {
            let number: f64 = text.parse().ok()?;
            let whole =
                number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) && text != "-0.0";
            whole.then(|| format!("{number:.0}"))
        }
        _ => Some(text.clone()),
    };
    let new = match (from, to) {
        (Type::Enum(before), Type::Enum(after)) => {
            let new = renamed(text, after)?;
            // Converted back, it must be the same constant: the one of the same name, or else the
            // first of the former names.
            let has = |name: &&str| before.iter().any(|(before, _)| before == name);
            let former = after.iter().filter(|(now, _)| *now == new).flat_map(|(_, was)| *was);
            let mut back = std::iter::once(&*new).chain(former.copied());
            if back.find(has) != Some(&**text) {
                return None;
            }
            new
        }
        (_, Type::Enum(after)) => {
            after.iter().find(|(name, _)| name == text).map(|(name, _)| (*name).to_owned())?
        }
        (Type::Enum(_), Type::Int | Type::Long | Type::IntOrNull | Type::Double) => return None,
        (_, Type::Int | Type::IntOrNull) => {
            let whole = whole?;
            whole
                .parse::<i32>()
                .ok()
                .map(|number| number.to_string())
                .filter(|new| *new == whole)?
        }
        (_, Type::Long) => {
            let whole = whole?;
            whole
                .parse::<i64>()
                .ok()
                .map(|number| number.to_string())
                .filter(|new| *new == whole)?
        }
        (Type::Int | Type::IntOrNull | Type::Long, Type::Double) => {
            let number: i64 = text.parse().ok()?;
            let double = number as f64;
            (double as i128 == i128::from(number)).then(|| java_text(double))?
        }
        (_, Type::Double) => text.parse().ok().map(java_text).filter(|new| new == text)?,
        (_, Type::Text) => text.clone(),
        (_, Type::Ref(_)) => return allows(to, cell, types).then(|| cell.clone()),
    };
    Some(Some(new))
}

fn renamed(name: &str, constants: Constants) -> Option<String> {
    let now = constants.iter().find(|(now, _)| *now == name);
    let now = now.or_else(|| constants.iter().find(|(_, was)| was.contains(&name)));
    now.map(|(now, _)| (*now).to_owned())
}

/// A floating-point number as Java writes it.
pub(crate) fn java_text(number: f64) -> String {
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}
