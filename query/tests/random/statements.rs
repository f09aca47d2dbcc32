//! Random statements about a world. Most of them mean something.

use permazen::ObjId;
use permazen::encoding::Value;
use permazen_query::syntax::*;
use rand::rngs::StdRng;

use crate::values::{Kind, below, chance, literal, one};
use crate::world::{FIELDS, FieldKind, World};

struct Maker<'m> {
    world: &'m World,
    random: &'m mut StdRng,
}

pub(crate) fn find(world: &World, random: &mut StdRng) -> Find {
    let mut maker = Maker { world, random };
    let (objects, types) = maker.objects(2);
    let mut order = Vec::new();
    while order.len() < 3 && chance(maker.random, 35) {
        let path = maker.single(&types);
        order.push(Order { path, descending: chance(maker.random, 50) });
    }
    // An order that an index may have.
    if order.is_empty() && chance(maker.random, 30) {
        let descending = chance(maker.random, 50);
        for _ in 0..1 + below(maker.random, 2) {
            let name = Name::of(*one(maker.random, &FIELDS));
            order.push(Order { path: path(vec![Part::Name(name)]), descending });
        }
    }
    if order.is_empty() && chance(maker.random, 5) {
        let path = path(vec![Part::Special(Special::Id)]);
        order.push(Order { path, descending: chance(maker.random, 70) });
    }
    let limit = chance(maker.random, 30).then(|| below(maker.random, 6) as u64).map(Limit::Count);
    let mut columns = vec![path(vec![Part::Special(Special::Id)])];
    while chance(maker.random, 40) {
        columns.push(maker.path(&types).0);
    }
    if chance(maker.random, 30) {
        columns.remove(0);
    }
    if columns.is_empty() {
        columns.push(path(vec![Part::Special(Special::Type)]));
    }
    Find { query: Query { objects, order, limit, using: None }, columns }
}

fn path(parts: Vec<Part>) -> Path {
    Path { span: Span::default(), parts }
}

fn condition(kind: ConditionKind) -> Condition {
    Condition { span: Span::default(), kind }
}

fn objects(kind: ObjectsKind) -> Objects {
    Objects { span: Span::default(), kind }
}

/// Numbers that not all types can have.
const NUMBERS: [&str; 7] = ["3000000000", "-3000000000", "1.5", "-0.5", "2.0", "1e0", "1E30"];

impl Maker<'_> {
    fn field_kind(&mut self, types: &[usize], name: &str) -> Option<FieldKind> {
        let kinds: Vec<FieldKind> = self
            .world
            .versions
            .iter()
            .flat_map(|version| types.iter().filter_map(|of| version.get(of)))
            .filter_map(|model| model.fields.get(name).cloned())
            .collect();
        (!kinds.is_empty()).then(|| one(self.random, &kinds).clone())
    }

    fn targets(&self, kind: &Kind) -> Vec<usize> {
        match kind {
            Kind::Ref(types) if types.is_empty() => (0..self.world.names.len()).collect(),
            Kind::Ref(types) => types.clone(),
            _ => Vec::new(),
        }
    }

    /// A path that begins at objects of some types, and the type of its values in one version.
    fn path(&mut self, types: &[usize]) -> (Path, Option<Kind>) {
        let mut types = types.to_vec();
        let mut parts = Vec::new();
        loop {
            if chance(self.random, 8) {
                parts.push(Part::Special(*one(self.random, &Special::ALL)));
                return (path(parts), None);
            }
            let mut name = *one(self.random, &FIELDS);
            while self.field_kind(&types, name).is_none() && !chance(self.random, 10) {
                name = *one(self.random, &FIELDS);
            }
            parts.push(Part::Name(Name::of(name)));
            let Some(kind) = self.field_kind(&types, name) else { return (path(parts), None) };
            let kind = match kind {
                FieldKind::Simple(kind, _) => kind,
                FieldKind::Counter => return (path(parts), Some(Kind::Long)),
                FieldKind::Set(kind, _) => {
                    if chance(self.random, 30) {
                        parts.push(Part::Name(Name::of("element")));
                    }
                    kind
                }
                FieldKind::List(kind, _) => {
                    if chance(self.random, 30) {
                        let position = below(self.random, 3).to_string();
                        parts.push(Part::Key(Literal::of(LiteralKind::Number(position))));
                    }
                    kind
                }
                FieldKind::Map(key, _, value, _) => match below(self.random, 3) {
                    0 => {
                        parts.push(Part::Name(Name::of("key")));
                        key
                    }
                    1 => {
                        parts.push(Part::Name(Name::of("value")));
                        value
                    }
                    _ => {
                        let at = self.literal(&key);
                        parts.push(Part::Key(at));
                        value
                    }
                },
            };
            types = self.targets(&kind);
            if types.is_empty() || chance(self.random, 40) {
                return (path(parts), Some(kind));
            }
        }
    }

    /// A path that probably has one value.
    fn single(&mut self, types: &[usize]) -> Path {
        for _ in 0..5 {
            let (path, _) = self.path(types);
            let kinds: Vec<_> = match path.parts.as_slice() {
                [Part::Name(name)] => (0..6)
                    .filter_map(|_| self.field_kind(types, name.text.as_deref().unwrap()))
                    .collect(),
                _ => Vec::new(),
            };
            let many =
                |kind: &FieldKind| !matches!(kind, FieldKind::Simple(..) | FieldKind::Counter);
            let has_part = path.parts.iter().any(|part| match part {
                Part::Name(name) => {
                    ["element", "key", "value"].contains(&name.text.as_deref().unwrap())
                }
                _ => false,
            });
            if !kinds.iter().any(many) && !has_part {
                return path;
            }
        }
        path(vec![Part::Special(Special::Schema)])
    }

    fn id(&mut self, types: &[usize]) -> ObjId {
        let ids: Vec<ObjId> = self
            .world
            .objects
            .iter()
            .filter(|(_, object)| types.is_empty() || types.contains(&object.of))
            .map(|(id, _)| *id)
            .collect();
        if ids.is_empty() || chance(self.random, 10) {
            let of = if types.is_empty() { 0 } else { *one(self.random, types) };
            return ObjId::min(self.world.type_ids[of]);
        }
        *one(self.random, &ids)
    }

    fn literal(&mut self, kind: &Kind) -> Literal {
        let ids: Vec<ObjId> = (0..self.world.names.len()).map(|of| self.id(&[of])).collect();
        let value = kind.value(self.random, &move |random, allowed| match allowed {
            [] => *one(random, &ids),
            allowed => ids[*one(random, allowed)],
        });
        let is_number = matches!(value, Value::Int(_) | Value::Long(_) | Value::Double(_));
        if is_number && chance(self.random, 15) {
            return Literal::of(LiteralKind::Number((*one(self.random, &NUMBERS)).to_owned()));
        }
        literal(&value)
    }

    /// A literal, which is seldom null.
    fn bound(&mut self, kind: &Kind) -> Literal {
        let mut literal = self.literal(kind);
        while literal.kind == LiteralKind::Null && !chance(self.random, 10) {
            literal = self.literal(kind);
        }
        literal
    }

    fn range(&mut self, kind: &Kind) -> Range {
        let with_end = chance(self.random, 30);
        let from = chance(self.random, 70).then(|| self.bound(kind));
        let to = (with_end || chance(self.random, 70)).then(|| self.bound(kind));
        Range { span: Span::default(), from, to, with_end }
    }

    fn test(&mut self, types: &[usize]) -> Condition {
        let (path, kind) = self.path(types);
        let kind = match (path.parts.last(), kind) {
            (Some(Part::Special(Special::Id)), _) => Kind::Ref(Vec::new()),
            (Some(Part::Special(Special::Type)), _) => {
                let name = one(self.random, &self.world.names).clone();
                let literal = Literal::of(LiteralKind::Word(name));
                let comparison = *one(self.random, &Comparison::ALL);
                return condition(ConditionKind::Compare(path, comparison, literal));
            }
            (Some(Part::Special(Special::Schema)), _) => Kind::Int,
            (_, Some(kind)) => kind,
            (_, None) => Kind::Int,
        };
        let mut form = below(self.random, 10);
        // Only strings begin with something, and only collections have something.
        if form == 3 && kind != Kind::Text && !chance(self.random, 10) {
            form = 5;
        }
        if form == 2 && path.parts.len() == 1 && !chance(self.random, 30) {
            form = 5;
        }
        condition(match form {
            0 => ConditionKind::Within(path, self.range(&kind)),
            1 => {
                let count = below(self.random, 4);
                let values = (0..count).map(|_| self.literal(&kind)).collect();
                ConditionKind::OneOf(path, values)
            }
            2 => ConditionKind::Has(path, self.literal(&kind)),
            3 => {
                let text = *one(self.random, &["", "a", "ab", "ä", "\u{1f600}"]);
                ConditionKind::Starts(path, Literal::of(LiteralKind::Text(text.into())))
            }
            4..=6 => ConditionKind::Compare(path, Comparison::Equal, self.literal(&kind)),
            _ => {
                let comparison = *one(self.random, &Comparison::ALL);
                let literal = match comparison {
                    Comparison::Equal | Comparison::NotEqual => self.literal(&kind),
                    _ => self.bound(&kind),
                };
                ConditionKind::Compare(path, comparison, literal)
            }
        })
    }

    fn condition(&mut self, types: &[usize], depth: usize) -> Condition {
        if depth == 0 || chance(self.random, 40) {
            return self.test(types);
        }
        match below(self.random, 6) {
            5 => {
                // Two bounds of the same path.
                let (path, kind) = self.path(types);
                let kind = kind.unwrap_or(Kind::Int);
                let mut bound = |comparison| {
                    let literal = self.bound(&kind);
                    condition(ConditionKind::Compare(path.clone(), comparison, literal))
                };
                let parts = vec![bound(Comparison::Greater), bound(Comparison::LessOrEqual)];
                condition(ConditionKind::And(parts))
            }
            0 => condition(ConditionKind::Not(Box::new(self.condition(types, depth - 1)))),
            1 | 2 => {
                let count = 2 + below(self.random, 2);
                let parts = (0..count).map(|_| self.condition(types, depth - 1)).collect();
                flat(ConditionKind::Or(parts))
            }
            _ => {
                let count = 2 + below(self.random, 2);
                let parts = (0..count).map(|_| self.condition(types, depth - 1)).collect();
                flat(ConditionKind::And(parts))
            }
        }
    }

    fn objects(&mut self, depth: usize) -> (Objects, Vec<usize>) {
        let of = below(self.random, self.world.names.len());
        let name = Name::of(&self.world.names[of]);
        let (mut found, mut types) = (objects(ObjectsKind::Type(name)), vec![of]);
        if depth > 0 && chance(self.random, 25) {
            (found, types) = match below(self.random, 3) {
                0 => (objects(ObjectsKind::Id(self.id(&[of]))), vec![of]),
                1 => self.combined(depth),
                _ => self.path_from(depth),
            };
        }
        if chance(self.random, 75) {
            let condition = Box::new(self.condition(&types, 2));
            found = objects(ObjectsKind::Where(Box::new(found), condition));
        }
        (found, types)
    }

    fn combined(&mut self, depth: usize) -> (Objects, Vec<usize>) {
        let (first, mut types) = self.objects(depth - 1);
        let intersect = chance(self.random, 40);
        let mut rest = Vec::new();
        for _ in 0..1 + below(self.random, 2) {
            let operator = match (intersect, chance(self.random, 50)) {
                (true, _) => SetOperator::Intersect,
                (false, true) => SetOperator::Union,
                (false, false) => SetOperator::Minus,
            };
            let (operand, of) = self.objects(depth - 1);
            match operator {
                SetOperator::Union => types.extend(of),
                SetOperator::Intersect => types.retain(|one| of.contains(one)),
                SetOperator::Minus => {}
            }
            rest.push((operator, operand));
        }
        types.sort_unstable();
        types.dedup();
        (objects(ObjectsKind::Combined(Box::new(first), rest)), types)
    }

    fn path_from(&mut self, depth: usize) -> (Objects, Vec<usize>) {
        let (from, mut types) = self.objects(depth - 1);
        let mut steps = Vec::new();
        for _ in 0..1 + below(self.random, 2) {
            let back = chance(self.random, 50);
            let of = match back || types.is_empty() {
                true => below(self.random, self.world.names.len()),
                false => *one(self.random, &types),
            };
            let Some((field, part, kind)) = self.reference(of) else { break };
            let mut names = vec![Name::of(&self.world.names[of]), Name::of(field)];
            names.extend(part.map(Name::of));
            let direction = if back { Direction::Back } else { Direction::Forward };
            steps.push(Step { span: Span::default(), direction, names });
            types = if back { vec![of] } else { self.targets(&kind) };
        }
        if steps.is_empty() {
            return (from, types);
        }
        (objects(ObjectsKind::Path(Box::new(from), steps)), types)
    }

    /// A field of a type with references, with its part if it must be named.
    fn reference(&mut self, of: usize) -> Option<(&'static str, Option<&'static str>, Kind)> {
        let mut found = Vec::new();
        for name in FIELDS {
            let is_ref = |kind: &Kind| matches!(kind, Kind::Ref(_));
            match self.field_kind(&[of], name) {
                Some(FieldKind::Simple(kind, _)) if is_ref(&kind) => found.push((name, None, kind)),
                Some(FieldKind::Set(kind, _) | FieldKind::List(kind, _)) if is_ref(&kind) => {
                    found.push((name, None, kind));
                }
                Some(FieldKind::Map(key, _, value, _)) => {
                    if is_ref(&key) {
                        found.push((name, Some("key"), key));
                    }
                    if is_ref(&value) {
                        found.push((name, Some("value"), value));
                    }
                }
                _ => {}
            }
        }
        (!found.is_empty()).then(|| one(self.random, &found).clone())
    }
}

/// A chain of conditions without chains of the same kind directly in it, as it is parsed.
fn flat(kind: ConditionKind) -> Condition {
    let (parts, is_and) = match kind {
        ConditionKind::And(parts) => (parts, true),
        ConditionKind::Or(parts) => (parts, false),
        kind => return condition(kind),
    };
    let mut all = Vec::new();
    for part in parts {
        match (part.kind, is_and) {
            (ConditionKind::And(inner), true) | (ConditionKind::Or(inner), false) => {
                all.extend(inner);
            }
            (kind, _) => all.push(condition(kind)),
        }
    }
    condition(if is_and { ConditionKind::And(all) } else { ConditionKind::Or(all) })
}
