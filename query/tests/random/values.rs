//! Random values, and literals for them.

use permazen::ObjId;
use permazen::encoding::{EncodingId, EnumValue, Value};
use permazen::schema::Simple;
use permazen_query::syntax::{Literal, LiteralKind};
use rand::RngExt;
use rand::rngs::StdRng;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Integer,
    Long,
    Double,
    Text,
    Enum(Vec<&'static str>),
    /// References to these types, by number; to all if there is none.
    Ref(Vec<usize>),
}

pub(crate) fn below(random: &mut StdRng, end: usize) -> usize {
    random.random_range(0..end)
}

pub(crate) fn one<'s, T>(random: &mut StdRng, of: &'s [T]) -> &'s T {
    &of[below(random, of.len())]
}

pub(crate) fn chance(random: &mut StdRng, percent: usize) -> bool {
    below(random, 100) < percent
}

impl Kind {
    pub(crate) fn random(random: &mut StdRng, types: usize) -> Kind {
        match below(random, 11) {
            0 => Kind::Bool,
            1 | 2 => Kind::Int,
            3 => Kind::Integer,
            4 => Kind::Long,
            5 => Kind::Double,
            6 | 7 => Kind::Text,
            8 => Kind::Enum(if chance(random, 50) { vec!["A", "B"] } else { vec!["A", "B", "C"] }),
            9 => Kind::Ref(Vec::new()),
            _ => Kind::Ref(vec![below(random, types)]),
        }
    }

    pub(crate) fn simple(&self, names: &[String]) -> Simple {
        let of = |name: &str| {
            let id: EncodingId = format!("urn:fdc:permazen.io:2020:{name}").parse().unwrap();
            Simple::of(id)
        };
        match self {
            Kind::Bool => of("boolean"),
            Kind::Int => of("int"),
            Kind::Integer => of("Integer"),
            Kind::Long => of("long"),
            Kind::Double => of("double"),
            Kind::Text => of("String"),
            Kind::Enum(constants) => Simple::enumeration(constants.iter().copied()),
            Kind::Ref(types) => {
                let reference = Simple::reference().allow_deleted(true);
                match types.is_empty() {
                    true => reference,
                    false => reference.to(types.iter().map(|at| names[*at].as_str())),
                }
            }
        }
    }

    pub(crate) fn has_null(&self) -> bool {
        matches!(self, Kind::Integer | Kind::Text | Kind::Enum(_) | Kind::Ref(_))
    }

    pub(crate) fn default(&self) -> Value {
        match self {
            Kind::Bool => Value::Bool(false),
            Kind::Int => Value::Int(0),
            Kind::Long => Value::Long(0),
            Kind::Double => Value::Double(0.0),
            _ => Value::Null,
        }
    }

    /// A value; `target` gives an ID for a reference to one of some types.
    pub(crate) fn value(
        &self,
        random: &mut StdRng,
        target: &dyn Fn(&mut StdRng, &[usize]) -> ObjId,
    ) -> Value {
        if self.has_null() && chance(random, 15) {
            return Value::Null;
        }
        let number = [-200, -1, 0, 1, 2, 3, 200][below(random, 7)];
        match self {
            Kind::Bool => Value::Bool(chance(random, 50)),
            Kind::Int | Kind::Integer => Value::Int(number),
            Kind::Long => Value::Long(i64::from(number)),
            Kind::Double => Value::Double([-1.5, -0.0, 0.0, 1.0, 2.0, f64::NAN][below(random, 6)]),
            Kind::Text => {
                let texts =
                    ["", "a", "ab", "abc", "b", "B", "ä", "a\u{0}", "\u{1f600}", "\u{ffee}"];
                Value::String((*one(random, &texts)).to_owned())
            }
            Kind::Enum(constants) => {
                let at = below(random, constants.len());
                Value::Enum(EnumValue::new(constants[at], at as u32))
            }
            Kind::Ref(types) => Value::Ref(target(random, types)),
        }
    }

    /// The value of this type that a literal stands for.
    pub(crate) fn of_literal(&self, literal: &Literal) -> Option<Value> {
        match (self, &literal.kind) {
            (kind, LiteralKind::Null) => kind.has_null().then_some(Value::Null),
            (Kind::Bool, LiteralKind::Bool(value)) => Some(Value::Bool(*value)),
            (Kind::Int | Kind::Integer, LiteralKind::Number(number)) => {
                Some(Value::Int(whole(number)?.try_into().ok()?))
            }
            (Kind::Long, LiteralKind::Number(number)) => whole(number).map(Value::Long),
            (Kind::Double, LiteralKind::Number(number)) => number.parse().ok().map(Value::Double),
            (Kind::Double, LiteralKind::Text(text)) if text.as_str() == Some("NaN") => {
                Some(Value::Double(f64::NAN))
            }
            (Kind::Text, LiteralKind::Text(text)) => {
                text.as_str().map(|text| Value::String(text.to_owned()))
            }
            (Kind::Enum(constants), LiteralKind::Word(word)) => constant(constants, word),
            (Kind::Enum(constants), LiteralKind::Text(text)) => constant(constants, text.as_str()?),
            (Kind::Ref(_), LiteralKind::Id(id)) => Some(Value::Ref(*id)),
            _ => None,
        }
    }
}

/// A whole number, which can be written as 2.0 too.
pub(crate) fn whole(number: &str) -> Option<i64> {
    number.parse().ok().or_else(|| number.strip_suffix(".0")?.parse().ok())
}

fn constant(constants: &[&'static str], word: &str) -> Option<Value> {
    let at = constants.iter().position(|constant| *constant == word)?;
    Some(Value::Enum(EnumValue::new(word, at as u32)))
}

/// A literal for a value.
pub(crate) fn literal(value: &Value) -> Literal {
    Literal::of(match value {
        Value::Null => LiteralKind::Null,
        Value::Bool(value) => LiteralKind::Bool(*value),
        Value::Int(value) => LiteralKind::Number(value.to_string()),
        Value::Long(value) => LiteralKind::Number(value.to_string()),
        Value::Double(value) if value.is_nan() => LiteralKind::Text("NaN".into()),
        Value::Double(value) => LiteralKind::Number(format!("{value:?}")),
        Value::String(text) => LiteralKind::Text(text.as_str().into()),
        Value::Enum(constant) => LiteralKind::Word(constant.name().to_owned()),
        Value::Ref(id) => LiteralKind::Id(*id),
        other => panic!("{other:?} is not made here"),
    })
}
