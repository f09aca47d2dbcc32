//! Random statements.

use permazen::encoding::JavaString;
use permazen::{ObjId, StorageId};
use permazen_query::syntax::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub(crate) struct Random(StdRng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(StdRng::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0.random_range(0..end)
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn many<T>(&mut self, least: u32, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let count = least + self.below(3);
        (0..count).map(|_| make(self)).collect()
    }

    /// Any character; odd ones are more frequent than in texts of people.
    fn char(&mut self) -> char {
        match self.below(6) {
            0 => char::from_u32(self.below(0x100)).unwrap(),
            1 => {
                ['"', '\\', '`', '\'', '\n', '\t', '\u{202e}', '\u{e0041}'][self.below(8) as usize]
            }
            2 => loop {
                if let Some(c) = char::from_u32(self.below(0x110000)) {
                    break c;
                }
            },
            _ => char::from_u32('a' as u32 + self.below(26)).unwrap(),
        }
    }

    pub(crate) fn units(&mut self) -> Vec<u16> {
        let mut units = Vec::new();
        for _ in 0..self.below(6) {
            match self.below(5) {
                0 => units.push(self.below(0x10000) as u16),
                1 => units.push(0xd800 + self.below(0x800) as u16),
                _ => units.extend_from_slice(self.char().encode_utf16(&mut [0; 2])),
            }
        }
        units
    }

    fn text(&mut self) -> String {
        let words: Vec<_> = permazen_query::parse::keywords().collect();
        match self.below(3) {
            0 => words[self.below(words.len() as u32) as usize].to_owned(),
            1 => ["Person", "name", "größe", "a$1", "_", "名前", "null"][self.below(7) as usize]
                .into(),
            _ => self.many(1, Self::char).into_iter().collect(),
        }
    }

    fn storage_id(&mut self) -> StorageId {
        let number = 1 + self.below(100_000);
        StorageId::new(number).unwrap()
    }

    pub(crate) fn name(&mut self) -> Name {
        let text = (self.below(5) > 0).then(|| self.text());
        let storage_id = if text.is_none() { Some(self.storage_id()) } else { None };
        let storage_id = if self.below(5) == 0 { Some(self.storage_id()) } else { storage_id };
        Name { span: Span::default(), text, storage_id }
    }

    fn id(&mut self) -> ObjId {
        let mut bytes: [u8; 8] = self.0.random();
        bytes[0] = 1 + bytes[0] % 0xfa;
        ObjId::from_bytes(bytes).unwrap()
    }

    pub(crate) fn literal(&mut self, depth: u32) -> Literal {
        let kinds = if depth == 0 { 8 } else { 11 };
        Literal::of(match self.below(kinds) {
            0 => LiteralKind::Null,
            1 => LiteralKind::Bool(self.below(2) == 0),
            2 => {
                let numbers = ["0", "-1", "12", "0.5", "-12.25", "1E-7", "3e+10", "4.5E3", "-0.0"];
                LiteralKind::Number(numbers[self.below(9) as usize].into())
            }
            3 => LiteralKind::Text(JavaString::from_units(&self.units())),
            4 => LiteralKind::Bytes(self.many(0, |random| random.below(256) as u8)),
            5 => LiteralKind::Word(self.text()),
            6 => LiteralKind::Id(self.id()),
            7 => LiteralKind::Parameter("x1".into()),
            8 => LiteralKind::List(self.many(0, |random| random.literal(depth - 1))),
            9 => LiteralKind::Set(self.many(0, |random| random.literal(depth - 1))),
            _ => LiteralKind::Map(
                self.many(1, |random| (random.literal(depth - 1), random.literal(depth - 1))),
            ),
        })
    }

    fn path(&mut self) -> Path {
        let mut parts = vec![self.named_part()];
        for _ in 0..self.below(3) {
            let part =
                if self.below(3) == 0 { Part::Key(self.literal(1)) } else { self.named_part() };
            parts.push(part);
        }
        Path { span: Span::default(), parts }
    }

    fn named_part(&mut self) -> Part {
        match self.below(5) {
            0 => Part::Special(Special::ALL[self.below(3) as usize]),
            _ => Part::Name(self.name()),
        }
    }

    fn range(&mut self) -> Range {
        let to = self.maybe(|random| random.literal(0));
        let with_end = to.is_some() && self.below(2) == 0;
        Range { span: Span::default(), from: self.maybe(|random| random.literal(0)), to, with_end }
    }

    fn condition(&mut self, depth: u32) -> Condition {
        let kinds = if depth == 0 { 5 } else { 8 };
        let kind = match self.below(kinds) {
            0 => {
                let comparison = Comparison::ALL[self.below(6) as usize];
                ConditionKind::Compare(self.path(), comparison, self.literal(2))
            }
            1 => ConditionKind::Within(self.path(), self.range()),
            2 if self.below(4) == 0 => ConditionKind::OneOfParameter(
                self.path(),
                Literal::of(LiteralKind::Parameter("all".into())),
            ),
            2 => ConditionKind::OneOf(self.path(), self.many(0, |random| random.literal(1))),
            3 => ConditionKind::Has(self.path(), self.literal(1)),
            4 => ConditionKind::Starts(self.path(), self.literal(1)),
            5 => ConditionKind::And(self.many(2, |random| random.condition(depth - 1))),
            6 => ConditionKind::Or(self.many(2, |random| random.condition(depth - 1))),
            _ => ConditionKind::Not(Box::new(self.condition(depth - 1))),
        };
        Condition { span: Span::default(), kind }
    }

    fn step(&mut self) -> Step {
        let direction = [Direction::Forward, Direction::Back][self.below(2) as usize];
        Step { span: Span::default(), direction, names: self.many(1, Self::name) }
    }

    fn limit(&mut self) -> Limit {
        match self.below(4) {
            0 => Limit::Parameter(Literal::of(LiteralKind::Parameter("most".into()))),
            _ => Limit::Count(self.below(1000).into()),
        }
    }

    fn objects(&mut self, depth: u32) -> Objects {
        let kinds = if depth == 0 { 3 } else { 6 };
        let kind = match self.below(kinds) {
            0 => ObjectsKind::Type(self.name()),
            1 => ObjectsKind::Id(self.id()),
            2 => ObjectsKind::Parameter("who".into()),
            3 => {
                let from = self.objects(depth - 1);
                ObjectsKind::Path(Box::new(from), self.many(1, Self::step))
            }
            4 => {
                let from = self.objects(depth - 1);
                ObjectsKind::Where(Box::new(from), Box::new(self.condition(3)))
            }
            _ => {
                let first = self.objects(depth - 1);
                let intersect = self.below(2) == 0;
                let rest = self.many(1, |random| {
                    let operator = match random.below(2) {
                        _ if intersect => SetOperator::Intersect,
                        0 => SetOperator::Union,
                        _ => SetOperator::Minus,
                    };
                    (operator, random.objects(depth - 1))
                });
                ObjectsKind::Combined(Box::new(first), rest)
            }
        };
        Objects { span: Span::default(), kind }
    }

    fn query(&mut self) -> Query {
        let order =
            |random: &mut Self| Order { path: random.path(), descending: random.below(2) == 0 };
        Query {
            objects: self.objects(3),
            order: self.many(0, order),
            limit: self.maybe(Self::limit),
            using: self.maybe(|random| match random.below(2) {
                0 => Using::None(Span::default()),
                _ => Using::Index(random.many(1, Self::name)),
            }),
        }
    }

    fn assignment(&mut self) -> Assignment {
        let change = match self.below(8) {
            0 => Change::Assign(self.literal(3)),
            1 => Change::AssignAt(self.literal(1), self.literal(1)),
            2 => Change::Increase(self.literal(1)),
            3 => Change::Decrease(self.literal(1)),
            4 => Change::Add(self.literal(1)),
            5 => Change::Remove(self.literal(1)),
            6 => Change::Insert(self.literal(1), self.literal(1)),
            _ => Change::Put(self.literal(1), self.literal(1)),
        };
        Assignment { span: Span::default(), field: self.name(), change }
    }

    pub(crate) fn statement(&mut self, explain: bool) -> Statement {
        let kind = match self.below(if explain { 10 } else { 9 }) {
            0 => {
                StatementKind::Find(Find { query: self.query(), columns: self.many(0, Self::path) })
            }
            1 => StatementKind::Show(self.query()),
            2 => StatementKind::Count(self.query()),
            3 => StatementKind::Index(IndexEntries {
                index: self.many(1, Self::name),
                bounds: self.many(0, |random| match random.below(2) {
                    0 => Bounds::Value(random.literal(2)),
                    _ => Bounds::Range(random.range()),
                }),
                reverse: self.below(2) == 0,
                limit: self.maybe(Self::limit),
            }),
            4 => StatementKind::Create(Create {
                type_name: self.name(),
                fields: self.many(0, |random| (random.name(), random.literal(3))),
            }),
            5 => StatementKind::Set(Set {
                all: self.below(2) == 0,
                query: self.query(),
                assignments: self.many(1, Self::assignment),
            }),
            6 => StatementKind::Delete(Delete { all: self.below(2) == 0, query: self.query() }),
            7 => StatementKind::Migrate(Migrate {
                query: self.query(),
                schema: self.literal(0),
                lossy: self.below(2) == 0,
            }),
            8 => StatementKind::Export(self.query()),
            _ => StatementKind::Explain(Explain {
                run: self.below(2) == 0,
                statement: Box::new(self.statement(false)),
            }),
        };
        Statement { span: Span::default(), kind }
    }
}
