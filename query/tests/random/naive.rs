//! The objects that a query must find, evaluated object by object on plain data.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen_query::Cell;
use permazen_query::syntax::{
    Comparison, Condition, ConditionKind, Direction, Find, Limit, Literal, LiteralKind, Name,
    Objects, ObjectsKind, Part, Path, Range, SetOperator, Special, Step,
};

use crate::values::{Kind, whole};
use crate::world::{Data, FieldKind, World};

/// A statement that means nothing.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

type Result<T> = std::result::Result<T, Refused>;

/// A value that a path reads.
#[derive(Debug, Clone)]
enum Seen {
    Value(Value, Kind),
    Count(i64),
    Id(ObjId),
    Type(String),
    Schema(u32),
    Whole(Data),
}

/// A cell, comparable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NaiveCell {
    Value(Value),
    Count(i64),
    Id(ObjId),
    Type(String),
    Number(u64),
    Set(Vec<NaiveCell>),
    List(Vec<NaiveCell>),
    Map(Vec<(NaiveCell, NaiveCell)>),
    Absent,
}

impl NaiveCell {
    pub(crate) fn of(cell: &Cell) -> NaiveCell {
        let all = |cells: &[Cell]| cells.iter().map(NaiveCell::of).collect();
        match cell {
            Cell::Value(value, _) => NaiveCell::Value(value.clone()),
            Cell::Counter(count) => NaiveCell::Count(*count),
            Cell::Id(id) => NaiveCell::Id(*id),
            Cell::Text(text) => NaiveCell::Type(text.to_string()),
            Cell::Number(number) => NaiveCell::Number(*number),
            Cell::Set(cells) => NaiveCell::Set(all(cells)),
            Cell::List(cells) => NaiveCell::List(all(cells)),
            Cell::Map(pairs) => NaiveCell::Map(
                pairs
                    .iter()
                    .map(|(key, value)| (NaiveCell::of(key), NaiveCell::of(value)))
                    .collect(),
            ),
            Cell::Absent => NaiveCell::Absent,
            other => panic!("{other:?} in a healthy database"),
        }
    }

    fn seen(seen: Seen) -> NaiveCell {
        let all = |values: Vec<Value>| values.into_iter().map(NaiveCell::Value).collect();
        match seen {
            Seen::Value(value, _) | Seen::Whole(Data::Simple(value)) => NaiveCell::Value(value),
            Seen::Count(count) | Seen::Whole(Data::Counter(count)) => NaiveCell::Count(count),
            Seen::Id(id) => NaiveCell::Id(id),
            Seen::Type(name) => NaiveCell::Type(name),
            Seen::Schema(number) => NaiveCell::Number(number.into()),
            Seen::Whole(Data::Set(values)) => NaiveCell::Set(all(values)),
            Seen::Whole(Data::List(values)) => NaiveCell::List(all(values)),
            Seen::Whole(Data::Map(pairs)) => NaiveCell::Map(
                pairs
                    .into_iter()
                    .map(|(key, value)| (NaiveCell::Value(key), NaiveCell::Value(value)))
                    .collect(),
            ),
        }
    }
}

/// Types by number.
type Types = BTreeSet<usize>;

/// The type of the values at the end of a path, for one version of a type.
#[derive(Debug, Clone, PartialEq)]
enum EndKind {
    Of(Kind),
    Count,
    Special,
}

/// How a field is read.
#[derive(Debug, Clone)]
enum How<'p> {
    Bare { whole: bool },
    Part(&'p str),
    Key(&'p Literal),
}

fn text(name: &Name) -> &str {
    name.text.as_deref().unwrap()
}

impl World {
    fn type_numbered(&self, name: &Name) -> Result<usize> {
        let at = self.names.iter().position(|known| known == text(name));
        at.ok_or_else(|| Refused(format!("no type {name}")))
    }

    /// The kind of a field in a version of a type, and whether that version has it. A version
    /// without it has that of the newest version that has it.
    fn field_of(&self, of: usize, version: usize, name: &str) -> Option<(&FieldKind, bool)> {
        let own = self.versions[version].get(&of)?.fields.get(name);
        if let Some(kind) = own {
            return Some((kind, true));
        }
        let newest = self.versions.iter().rev().find_map(|v| v.get(&of)?.fields.get(name))?;
        Some((newest, false))
    }

    /// The versions of these types, newest first, and those of one schema by storage ID.
    fn versions_of(&self, types: &Types) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for version in (0..self.versions.len()).rev() {
            let mut of: Vec<usize> = types.iter().copied().collect();
            of.sort_by_key(|of| self.type_ids[*of]);
            found.extend(
                of.into_iter()
                    .filter(|of| self.versions[version].contains_key(of))
                    .map(|of| (of, version)),
            );
        }
        found
    }

    fn of_id(&self, id: ObjId) -> usize {
        self.type_ids.iter().position(|known| *known == id.storage_id()).unwrap()
    }

    // ------------------------------------------------------------------ paths

    /// The values of one field of one object, read in this way.
    fn read(&self, id: ObjId, name: &str, how: &How<'_>) -> Vec<Seen> {
        let Some(object) = self.objects.get(&id) else { return Vec::new() };
        let Some((kind, stored)) = self.field_of(object.of, object.version, name) else {
            return Vec::new();
        };
        let data = match (stored, kind) {
            (true, _) => object.fields[name].clone(),
            (false, FieldKind::Simple(kind, _)) => Data::Simple(kind.default()),
            (false, FieldKind::Counter) => Data::Counter(0),
            (false, FieldKind::Set(..)) => Data::Set(Vec::new()),
            (false, FieldKind::List(..)) => Data::List(Vec::new()),
            (false, FieldKind::Map(..)) => Data::Map(Vec::new()),
        };
        let values = |values: Vec<Value>, kind: &Kind| {
            values.into_iter().map(|value| Seen::Value(value, kind.clone())).collect()
        };
        match (kind, data, how) {
            (FieldKind::Simple(kind, _), Data::Simple(value), How::Bare { .. }) => {
                values(vec![value], kind)
            }
            (_, Data::Counter(count), How::Bare { .. }) => vec![Seen::Count(count)],
            (_, data, How::Bare { whole: true }) => vec![Seen::Whole(data)],
            (
                FieldKind::Set(kind, _) | FieldKind::List(kind, _),
                Data::Set(elements) | Data::List(elements),
                How::Bare { .. } | How::Part("element"),
            ) => values(elements, kind),
            (FieldKind::Map(kind, ..), Data::Map(pairs), How::Part("key")) => {
                values(pairs.into_iter().map(|(key, _)| key).collect(), kind)
            }
            (FieldKind::Map(_, _, kind, _), Data::Map(pairs), How::Part("value")) => {
                values(pairs.into_iter().map(|(_, value)| value).collect(), kind)
            }
            (FieldKind::Map(key_kind, _, kind, _), Data::Map(pairs), How::Key(key)) => {
                let key = key_kind.of_literal(key);
                let found = pairs.into_iter().find(|(other, _)| Some(other) == key.as_ref());
                values(found.map(|(_, value)| value).into_iter().collect(), kind)
            }
            (FieldKind::List(kind, _), Data::List(elements), How::Key(at)) => {
                let at = match &at.kind {
                    LiteralKind::Number(number) => {
                        whole(number).and_then(|at| usize::try_from(at).ok())
                    }
                    _ => None,
                };
                let found = at.and_then(|at| elements.get(at).cloned());
                values(found.into_iter().collect(), kind)
            }
            _ => Vec::new(),
        }
    }

    /// The kinds of values that a field has when it is read in this way, in these types.
    fn kinds(&self, types: &Types, name: &str, how: &How<'_>) -> Vec<EndKind> {
        let kind = |(of, version): (usize, usize)| {
            let (kind, _) = self.field_of(of, version, name)?;
            Some(match (kind, how) {
                (FieldKind::Simple(kind, _), How::Bare { .. }) => EndKind::Of(kind.clone()),
                (FieldKind::Counter, How::Bare { .. }) => EndKind::Count,
                (
                    FieldKind::Set(kind, _) | FieldKind::List(kind, _),
                    How::Bare { whole: false } | How::Part("element"),
                )
                | (FieldKind::List(kind, _), How::Key(_))
                | (FieldKind::Map(kind, ..), How::Part("key"))
                | (FieldKind::Map(_, _, kind, _), How::Part("value")) => EndKind::Of(kind.clone()),
                (FieldKind::Map(key, _, kind, _), How::Key(literal)) => {
                    key.of_literal(literal)?;
                    EndKind::Of(kind.clone())
                }
                _ => return None,
            })
        };
        self.versions_of(types).into_iter().filter_map(kind).collect()
    }

    fn has_part(&self, types: &Types, name: &str, part: &str) -> bool {
        self.versions_of(types).into_iter().any(|(of, version)| {
            let kind = self.field_of(of, version, name).map(|(kind, _)| kind);
            match kind {
                Some(FieldKind::Set(..) | FieldKind::List(..)) => part == "element",
                Some(FieldKind::Map(..)) => part == "key" || part == "value",
                _ => false,
            }
        })
    }

    /// The values that a path reads of an object, and the kinds that its values can have.
    fn path(
        &self,
        types: &Types,
        path: &Path,
        id: ObjId,
        for_column: bool,
    ) -> (Vec<Seen>, Vec<EndKind>) {
        let (mut types, mut at) = (types.clone(), vec![id]);
        let mut parts = path.parts.as_slice();
        loop {
            let [first, rest @ ..] = parts else { panic!("a path ends with a value") };
            if let Part::Special(special) = first {
                let there = at.into_iter().filter_map(|id| Some((id, self.objects.get(&id)?)));
                let seen = there.map(|(id, object)| match special {
                    Special::Id => Seen::Id(id),
                    Special::Type => Seen::Type(self.names[object.of].clone()),
                    Special::Schema => Seen::Schema(self.schemas[object.version]),
                });
                return (seen.collect(), vec![EndKind::Special]);
            }
            let Part::Name(name) = first else { panic!("an object has no elements") };
            let name = text(name);
            let (how, rest) = match rest {
                [Part::Key(key), rest @ ..] => (How::Key(key), rest),
                [Part::Name(part), rest @ ..] if self.has_part(&types, name, text(part)) => {
                    (How::Part(text(part)), rest)
                }
                rest => (How::Bare { whole: for_column && rest.is_empty() }, rest),
            };
            let kinds = self.kinds(&types, name, &how);
            let seen: Vec<Seen> = at.iter().flat_map(|id| self.read(*id, name, &how)).collect();
            if rest.is_empty() {
                return (seen, kinds);
            }
            at = seen
                .into_iter()
                .filter_map(|seen| match seen {
                    Seen::Value(Value::Ref(id), _) => Some(id),
                    _ => None,
                })
                .collect();
            // Objects that are followed on are followed once.
            let is_end =
                matches!(rest, [Part::Special(_)]) || self.is_last(&self.targets(&kinds), rest);
            let mut met = BTreeSet::new();
            at.retain(|id| is_end || met.insert(*id));
            types = self.targets(&kinds);
            parts = rest;
        }
    }

    /// Whether these parts are one field, or a part of one.
    fn is_last(&self, types: &Types, parts: &[Part]) -> bool {
        match parts {
            [Part::Name(_)] | [Part::Name(_), Part::Key(_)] => true,
            [Part::Name(name), Part::Name(part)] => self.has_part(types, text(name), text(part)),
            _ => false,
        }
    }

    fn targets(&self, kinds: &[EndKind]) -> Types {
        let mut types = Types::new();
        for kind in kinds {
            match kind {
                EndKind::Of(Kind::Ref(allowed)) if allowed.is_empty() => {
                    types.extend(0..self.names.len());
                }
                EndKind::Of(Kind::Ref(allowed)) => types.extend(allowed),
                _ => {}
            }
        }
        types
    }

    // ------------------------------------------------------------------ conditions

    fn meets(&self, types: &Types, condition: &Condition, id: ObjId) -> bool {
        let any = |path: &Path, test: &dyn Fn(&Seen) -> bool| {
            self.path(types, path, id, false).0.iter().any(test)
        };
        match &condition.kind {
            ConditionKind::And(parts) => parts.iter().all(|part| self.meets(types, part, id)),
            ConditionKind::Or(parts) => parts.iter().any(|part| self.meets(types, part, id)),
            ConditionKind::Not(inner) => !self.meets(types, inner, id),
            ConditionKind::Compare(path, comparison, literal) => {
                any(path, &|seen| self.compares(seen, *comparison, literal))
            }
            ConditionKind::Within(path, range) => any(path, &|seen| self.is_within(seen, range)),
            ConditionKind::OneOfParameter(..) => panic!("statements have no parameters here"),
            ConditionKind::OneOf(path, literals) => any(path, &|seen| {
                literals.iter().any(|literal| self.compares(seen, Comparison::Equal, literal))
            }),
            ConditionKind::Has(path, literal) => {
                any(path, &|seen| self.compares(seen, Comparison::Equal, literal))
            }
            ConditionKind::Starts(path, literal) => {
                any(path, &|seen| match (seen, &literal.kind) {
                    (Seen::Value(Value::String(text), _), LiteralKind::Text(beginning)) => {
                        text.starts_with(beginning.as_str().unwrap())
                    }
                    _ => false,
                })
            }
        }
    }

    /// The value and that of the literal, if the literal has one of that type.
    fn pair(&self, seen: &Seen, literal: &Literal) -> Option<(Value, Value)> {
        let number = |literal: &Literal| match &literal.kind {
            LiteralKind::Number(number) => whole(number).map(Value::Long),
            _ => None,
        };
        Some(match seen {
            Seen::Value(value, kind) => (value.clone(), kind.of_literal(literal)?),
            Seen::Count(count) => (Value::Long(*count), number(literal)?),
            Seen::Schema(schema) => (Value::Long(i64::from(*schema)), number(literal)?),
            Seen::Id(id) => match literal.kind {
                LiteralKind::Id(other) => (Value::Ref(*id), Value::Ref(other)),
                _ => return None,
            },
            Seen::Type(name) => match &literal.kind {
                LiteralKind::Word(word) => {
                    (Value::String(name.clone()), Value::String(word.clone()))
                }
                _ => return None,
            },
            Seen::Whole(_) => return None,
        })
    }

    fn compares(&self, seen: &Seen, comparison: Comparison, literal: &Literal) -> bool {
        let (is_equal, ordering) = match self.pair(seen, literal) {
            Some((value, other)) => {
                let is_null = value == Value::Null || other == Value::Null;
                (value == other, (!is_null).then(|| value.cmp(&other)))
            }
            // A value of another type, which is another value. Numbers are compared all the same.
            None => {
                let ordering = numbers(seen, literal).and_then(|(one, two)| one.partial_cmp(&two));
                (ordering == Some(Ordering::Equal), ordering)
            }
        };
        match comparison {
            Comparison::Equal => is_equal,
            Comparison::NotEqual => !is_equal,
            Comparison::Less => ordering == Some(Ordering::Less),
            Comparison::LessOrEqual => ordering.is_some_and(Ordering::is_le),
            Comparison::Greater => ordering == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => ordering.is_some_and(Ordering::is_ge),
        }
    }

    fn is_within(&self, seen: &Seen, range: &Range) -> bool {
        if matches!(seen, Seen::Value(Value::Null, _)) {
            return false;
        }
        let upper = if range.with_end { Comparison::LessOrEqual } else { Comparison::Less };
        let from = range.from.as_ref();
        let to = range.to.as_ref();
        from.is_none_or(|from| self.compares(seen, Comparison::GreaterOrEqual, from))
            && to.is_none_or(|to| self.compares(seen, upper, to))
    }

    // ------------------------------------------------------------------ sets

    fn objects(&self, objects: &Objects) -> Result<(BTreeSet<ObjId>, Types)> {
        Ok(match &objects.kind {
            ObjectsKind::Type(name) => {
                let of = self.type_numbered(name)?;
                let ids = self.objects.iter().filter(|(_, object)| object.of == of);
                (ids.map(|(id, _)| *id).collect(), [of].into())
            }
            ObjectsKind::Id(id) => {
                let there = self.objects.contains_key(id).then_some(*id);
                (there.into_iter().collect(), [self.of_id(*id)].into())
            }
            ObjectsKind::Parameter(_) => return Err(Refused("no parameters here".into())),
            ObjectsKind::Where(from, condition) => {
                let (mut ids, types) = self.objects(from)?;
                ids.retain(|id| self.meets(&types, condition, *id));
                (ids, types)
            }
            ObjectsKind::Path(from, steps) => {
                let (mut ids, mut types) = self.objects(from)?;
                for step in steps {
                    (ids, types) = self.step(&ids, &types, step)?;
                }
                (ids, types)
            }
            ObjectsKind::Combined(first, rest) => {
                let (mut ids, mut types) = self.objects(first)?;
                for (operator, operand) in rest {
                    let (other, of) = self.objects(operand)?;
                    match operator {
                        SetOperator::Union => {
                            ids.extend(other);
                            types.extend(of);
                        }
                        SetOperator::Intersect => {
                            ids.retain(|id| other.contains(id));
                            types.retain(|one| of.contains(one));
                        }
                        SetOperator::Minus => ids.retain(|id| !other.contains(id)),
                    }
                }
                (ids, types)
            }
        })
    }

    fn step(
        &self,
        ids: &BTreeSet<ObjId>,
        types: &Types,
        step: &Step,
    ) -> Result<(BTreeSet<ObjId>, Types)> {
        // The generated steps have a type, a field, and a part if it is a map.
        let [of, field, part @ ..] = step.names.as_slice() else {
            return Err(Refused("a step without a type".into()));
        };
        let of = self.type_numbered(of)?;
        let how = match part.first() {
            Some(part) => How::Part(text(part)),
            None => How::Bare { whole: false },
        };
        let only: Types = [of].into();
        let kinds = self.kinds(&only, text(field), &how);
        let refers = |id: ObjId| -> Vec<ObjId> {
            let seen = self.read(id, text(field), &how).into_iter();
            seen.filter_map(|seen| match seen {
                Seen::Value(Value::Ref(id), _) => Some(id),
                _ => None,
            })
            .collect()
        };
        Ok(match step.direction {
            Direction::Forward => {
                let from =
                    ids.iter().filter(|id| self.objects[*id].of == of && types.contains(&of));
                let to = from.flat_map(|id| refers(*id));
                (to.filter(|id| self.objects.contains_key(id)).collect(), self.targets(&kinds))
            }
            Direction::Back => {
                let all = self.objects.iter().filter(|(_, object)| object.of == of);
                let found = all.filter(|(id, _)| refers(**id).iter().any(|to| ids.contains(to)));
                (found.map(|(id, _)| *id).collect(), only)
            }
        })
    }

    // ------------------------------------------------------------------ order and columns

    /// The rows of a statement.
    pub(crate) fn find(&self, find: &Find) -> Result<Vec<Vec<NaiveCell>>> {
        let (ids, types) = self.objects(&find.query.objects)?;
        let mut keyed: Vec<(Vec<SortKey>, ObjId)> = Vec::new();
        for id in ids {
            let keys = find.query.order.iter().map(|by| {
                let (seen, kinds) = self.path(&types, &by.path, id, false);
                SortKey { value: sort_value(seen, &kinds), descending: by.descending }
            });
            keyed.push((keys.collect(), id));
        }
        keyed.sort_by(|(one, a), (other, b)| {
            one.iter()
                .zip(other)
                .map(|(one, other)| one.compare(other))
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
                .then(a.cmp(b))
        });
        let most = most(find);
        let row = |id: ObjId| {
            let cell = |path: &Path| {
                let many = self.is_many(&types, path);
                let mut seen = self.path(&types, path, id, true).0.into_iter();
                match many {
                    true => NaiveCell::List(seen.map(NaiveCell::seen).collect()),
                    false => seen.next().map_or(NaiveCell::Absent, NaiveCell::seen),
                }
            };
            find.columns.iter().map(cell).collect()
        };
        Ok(keyed.into_iter().take(most).map(|(_, id)| row(id)).collect())
    }

    /// Whether a column can have several values: a collection is followed or one of its parts is
    /// named.
    fn is_many(&self, types: &Types, path: &Path) -> bool {
        let mut types = types.clone();
        let mut parts = path.parts.as_slice();
        while let [Part::Name(name), rest @ ..] = parts {
            let name = text(name);
            let (how, rest) = match rest {
                [Part::Key(key), rest @ ..] => (How::Key(key), rest),
                [Part::Name(part), rest @ ..] if self.has_part(&types, name, text(part)) => {
                    return true;
                }
                rest => (How::Bare { whole: false }, rest),
            };
            if !rest.is_empty() && matches!(how, How::Bare { .. }) {
                let followed = self.versions_of(&types).into_iter().any(|(of, version)| {
                    matches!(
                        self.field_of(of, version, name),
                        Some((
                            FieldKind::Set(Kind::Ref(_), _) | FieldKind::List(Kind::Ref(_), _),
                            _
                        ))
                    )
                });
                if followed {
                    return true;
                }
            }
            types = self.targets(&self.kinds(&types, name, &how));
            parts = rest;
        }
        false
    }
}

/// How many are wanted at most.
pub(crate) fn most(find: &Find) -> usize {
    match find.query.limit {
        Some(Limit::Count(limit)) => limit as usize,
        _ => usize::MAX,
    }
}

/// A whole number and the number of a literal. Here both are small, or far from each other.
fn numbers(seen: &Seen, literal: &Literal) -> Option<(f64, f64)> {
    let LiteralKind::Number(number) = &literal.kind else { return None };
    let value = match seen {
        Seen::Value(Value::Int(value), _) => f64::from(*value),
        Seen::Value(Value::Long(value), _) | Seen::Count(value) => *value as f64,
        _ => return None,
    };
    Some((value, number.parse().unwrap()))
}

struct SortKey {
    value: SortValue,
    descending: bool,
}

#[derive(Debug)]
enum SortValue {
    Value(usize, Value),
    Null,
    Absent,
}

impl SortKey {
    fn compare(&self, other: &SortKey) -> Ordering {
        let rank = |value: &SortValue| match value {
            SortValue::Value(..) => 0,
            SortValue::Null => 1,
            SortValue::Absent => 2,
        };
        let ordering = match (&self.value, &other.value) {
            (SortValue::Value(family, one), SortValue::Value(other_family, other)) => {
                family.cmp(other_family).then_with(|| one.cmp(other))
            }
            (one, other) => rank(one).cmp(&rank(other)),
        };
        if self.descending { ordering.reverse() } else { ordering }
    }
}

/// The value by which an object is sorted. Values of the kinds of newer schemas come first; all
/// whole numbers are of one kind here.
fn sort_value(seen: Vec<Seen>, kinds: &[EndKind]) -> SortValue {
    let family = |kind: &EndKind| {
        let whole = |kind: &EndKind| {
            matches!(kind, EndKind::Count | EndKind::Of(Kind::Int | Kind::Integer | Kind::Long))
        };
        let is_ref = |kind: &EndKind| matches!(kind, EndKind::Of(Kind::Ref(_)));
        let same = |other: &EndKind| {
            whole(kind) && whole(other) || is_ref(kind) && is_ref(other) || kind == other
        };
        kinds.iter().position(same).unwrap()
    };
    match seen.into_iter().next() {
        None | Some(Seen::Whole(_)) => SortValue::Absent,
        Some(Seen::Value(Value::Null, _)) => SortValue::Null,
        Some(Seen::Value(Value::Int(number), kind)) => {
            SortValue::Value(family(&EndKind::Of(kind)), Value::Long(number.into()))
        }
        Some(Seen::Value(value, kind)) => SortValue::Value(family(&EndKind::Of(kind)), value),
        Some(Seen::Count(count)) => SortValue::Value(family(&EndKind::Count), Value::Long(count)),
        Some(Seen::Id(id)) => SortValue::Value(0, Value::Ref(id)),
        Some(Seen::Type(name)) => SortValue::Value(0, Value::String(name)),
        Some(Seen::Schema(schema)) => SortValue::Value(0, Value::Long(schema.into())),
    }
}
