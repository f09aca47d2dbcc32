//! Conditions whose names and values are resolved.

use std::ops::Bound;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::layout::prefix_end;
use permazen::encoding::{Value, string};
use permazen::{ObjId, StorageId};

use super::checker::{Checker, Result};
use super::decimal;
use super::names::{missing, ticked};
use super::path::{CheckedPath, Origin, Read, ValueKind};
use super::resolve_path::{PathFor, mismatch_at};
use super::value_position::{ValuePosition, value_position};
use crate::mistake::Mistake;
use crate::syntax::{
    Comparison, Condition, ConditionKind, Literal, LiteralKind, Name, Path, Range, Special,
};
use crate::text::{Mismatch, encoded};

/// A condition that an object meets or not.
#[derive(Debug, Clone)]
pub(crate) enum CheckedCondition {
    /// All of these.
    And(Vec<CheckedCondition>),
    /// Any of these.
    Or(Vec<CheckedCondition>),
    /// Not this one.
    Not(Box<CheckedCondition>),
    /// One of the values of a path matches.
    Test(Box<Test>),
}

/// A test of the values of a path, one of which must pass it.
#[derive(Debug, Clone)]
pub(crate) struct Test {
    /// As it is written.
    pub(crate) text: String,
    /// The path.
    pub(crate) path: CheckedPath,
    /// The matcher for values of each kind; `None` matches no value of the kind.
    pub(crate) matchers: Vec<Option<Matcher>>,
}

/// Bounds of encoded values.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A test of an encoded value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matcher {
    /// This one.
    Equal(Vec<u8>),
    /// Another one.
    NotEqual(Vec<u8>),
    /// One of these; they are in order.
    OneOf(Vec<Vec<u8>>),
    /// Within these bounds.
    Within(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// A decimal number whose shortest form is that, in all its scales.
    Decimal(Box<Matcher>),
}

impl Matcher {
    /// Whether an encoded value matches.
    pub(crate) fn accepts(&self, value: &[u8]) -> bool {
        match self {
            Matcher::Decimal(matcher) => matcher.accepts(&decimal::shortest(value)),
            Matcher::Equal(wanted) => value == wanted,
            Matcher::NotEqual(unwanted) => value != unwanted,
            Matcher::OneOf(wanted) => {
                wanted.binary_search_by(|wanted| (**wanted).cmp(value)).is_ok()
            }
            Matcher::Within(lower, upper) => {
                (match lower {
                    Bound::Unbounded => true,
                    Bound::Included(lower) => value >= &**lower,
                    Bound::Excluded(lower) => value > &**lower,
                }) && match upper {
                    Bound::Unbounded => true,
                    Bound::Included(upper) => value <= &**upper,
                    Bound::Excluded(upper) => value < &**upper,
                }
            }
        }
    }

    /// The same for decimal numbers in all their scales. `null` is how null is stored, which has
    /// none.
    fn in_all_scales(self, null: Option<&[u8]>) -> Matcher {
        let shortest = |bound: Bound<Vec<u8>>| bound.map(|number| decimal::shortest(&number));
        Matcher::Decimal(Box::new(match self {
            Matcher::Equal(ref value) | Matcher::NotEqual(ref value) if Some(&**value) == null => {
                return self;
            }
            Matcher::Equal(number) => Matcher::Equal(decimal::shortest(&number)),
            Matcher::NotEqual(number) => Matcher::NotEqual(decimal::shortest(&number)),
            Matcher::Within(Bound::Unbounded, Bound::Unbounded) => return self,
            Matcher::Within(lower, upper) => Matcher::Within(shortest(lower), shortest(upper)),
            Matcher::OneOf(numbers) => {
                let mut numbers: Vec<_> =
                    numbers.iter().map(|number| decimal::shortest(number)).collect();
                numbers.sort_unstable();
                numbers.dedup();
                Matcher::OneOf(numbers)
            }
            other @ Matcher::Decimal(_) => return other,
        }))
    }

    /// Bounds that have all values that match, if they are next to each other. For values that need
    /// not be compared again, `None` comes first; otherwise the bounds as they are shown.
    pub(crate) fn bounds(&self) -> Option<(Option<Bounds>, Bounds)> {
        match self {
            Matcher::Within(lower, upper) => Some((None, (lower.clone(), upper.clone()))),
            Matcher::Decimal(matcher) => {
                let (lower, upper) = match &**matcher {
                    Matcher::Equal(number) => {
                        (Bound::Included(number.clone()), Bound::Included(number.clone()))
                    }
                    Matcher::Within(lower, upper) => (lower.clone(), upper.clone()),
                    _ => return None,
                };
                let around = decimal::around(&lower, &upper);
                Some((Some((lower, upper)), around))
            }
            Matcher::Equal(_) | Matcher::NotEqual(_) | Matcher::OneOf(_) => None,
        }
    }

    /// Whether every value that matches certainly is a value: it has the bytes of one.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Matcher::Equal(_) | Matcher::OneOf(_))
    }
}

/// Up to this many decimal numbers, each is sought in an index by itself.
const MOST_RANGES: usize = 64;
const NOT_ZERO: [char; 9] = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// The matcher for values of a kind, if numbers are compared by their value.
pub(super) fn in_scales(kind: &ValueKind, matcher: Matcher) -> Matcher {
    match kind.is_decimal() {
        true => matcher.in_all_scales(kind.null.as_deref()),
        false => matcher,
    }
}

impl Checker<'_> {
    /// A condition on objects of these types.
    pub(super) fn condition(
        &self,
        types: &[StorageId],
        condition: &Condition,
    ) -> Result<CheckedCondition> {
        let all = |conditions: &[Condition]| -> Result<Vec<_>> {
            conditions.iter().map(|condition| self.condition(types, condition)).collect()
        };
        let test = |path: &Path| self.path(types, path, PathFor::Values);
        let made = |path, matchers: Result<_>| {
            let text = condition.to_string();
            let test = Test { text, path, matchers: matchers? };
            Ok(CheckedCondition::Test(Box::new(test)))
        };
        match &condition.kind {
            ConditionKind::And(parts) => Ok(CheckedCondition::And(all(parts)?)),
            ConditionKind::Or(parts) => Ok(CheckedCondition::Or(all(parts)?)),
            ConditionKind::Not(inner) => {
                Ok(CheckedCondition::Not(Box::new(self.condition(types, inner)?)))
            }
            ConditionKind::Compare(path, comparison, value) => {
                let path = test(path)?;
                let matchers = self.compared(&path, *comparison, value);
                made(path, matchers)
            }
            ConditionKind::Within(path, range) => {
                let path = test(path)?;
                let otherwise = |kind: &ValueKind| self.within_otherwise(kind, range);
                let matchers = self.each_kind(&path, |kind| self.within(kind, range), otherwise);
                made(path, matchers)
            }
            ConditionKind::OneOfParameter(path, parameter) => {
                let values = match &self.given(parameter)?.kind {
                    LiteralKind::Set(values) | LiteralKind::List(values) => values.clone(),
                    _ => {
                        let what =
                            "`in` needs a set, a list or a range; one value is compared with `=`";
                        return Err(Mistake::new(parameter.span, what));
                    }
                };
                let kind = ConditionKind::OneOf(path.clone(), values);
                self.condition(types, &Condition { span: condition.span, kind })
            }
            ConditionKind::OneOf(written, values) => {
                let path = test(written)?;
                // Each decimal number has a range of its own in an index.
                let few = 1..=MOST_RANGES;
                if few.contains(&values.len()) && path.kinds.iter().any(ValueKind::is_decimal) {
                    let equal = |value: &Literal| {
                        let (path, value) = (written.clone(), value.clone());
                        let kind = ConditionKind::Compare(path, Comparison::Equal, value);
                        Condition { span: condition.span, kind }
                    };
                    let mut parts = all(&values.iter().map(equal).collect::<Vec<_>>())?;
                    return Ok(match parts.pop() {
                        Some(only) if parts.is_empty() => only,
                        last => CheckedCondition::Or(parts.into_iter().chain(last).collect()),
                    });
                }
                let matchers = self.one_of(&path, values);
                made(path, matchers)
            }
            ConditionKind::Has(path, value) => {
                let written = path;
                let path = test(path)?;
                let has_elements = |read: &Read| read.is_many();
                if !path.hops.iter().any(|hop| hop.iter().any(|(_, at)| has_elements(&at.read))) {
                    let what = format!("`{}` has no elements; compare it with `=`", path.text);
                    return Err(Mistake::new(written.span, what));
                }
                let matchers = self.compared(&path, Comparison::Equal, value);
                made(path, matchers)
            }
            ConditionKind::Starts(path, value) => {
                let path = test(path)?;
                let matchers = self.each_kind(&path, |kind| self.starting(kind, value), |_| None);
                made(path, matchers)
            }
        }
    }

    /// The matcher for each kind of values. At least one kind must have one. The others have what
    /// `otherwise` says.
    fn each_kind(
        &self,
        path: &CheckedPath,
        matcher: impl Fn(&ValueKind) -> Result<Matcher>,
        otherwise: impl Fn(&ValueKind) -> Option<Matcher>,
    ) -> Result<Vec<Option<Matcher>>> {
        let mut refused = None;
        let mut any = false;
        let mut matchers = Vec::new();
        for kind in &path.kinds {
            let matcher = match matcher(kind) {
                Ok(matcher) => {
                    any = true;
                    Some(matcher)
                }
                Err(mistake) => {
                    refused.get_or_insert(mistake);
                    otherwise(kind)
                }
            };
            matchers.push(matcher.map(|matcher| in_scales(kind, matcher)));
        }
        match refused {
            Some(mistake) if !any => Err(mistake),
            _ => Ok(matchers),
        }
    }

    fn compared(
        &self,
        path: &CheckedPath,
        comparison: Comparison,
        literal: &Literal,
    ) -> Result<Vec<Option<Matcher>>> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let exactly = |kind: &ValueKind| {
            if matches!(comparison, Equal | NotEqual) {
                let value = self.compared_value(kind, literal)?;
                self.check_target(path, kind, literal)?;
                return Ok(match comparison {
                    Equal => Matcher::Equal(value),
                    _ => Matcher::NotEqual(value),
                });
            }
            let value = self.bound(kind, literal)?;
            Ok(match comparison {
                Less => Matcher::Within(Bound::Unbounded, Bound::Excluded(value)),
                LessOrEqual => Matcher::Within(Bound::Unbounded, Bound::Included(value)),
                GreaterOrEqual => Matcher::Within(Bound::Included(value), before_null(kind)),
                Greater | Equal | NotEqual => {
                    Matcher::Within(Bound::Excluded(value), before_null(kind))
                }
            })
        };
        // No value of the kind is the same.
        let otherwise = |kind: &ValueKind| {
            let position = self.position(kind, literal);
            let end = before_null(kind);
            Some(match (comparison, position) {
                (NotEqual, Some(ValuePosition::At(value))) => Matcher::NotEqual(value),
                (NotEqual, _) => Matcher::Within(Bound::Unbounded, Bound::Unbounded),
                (Equal, Some(ValuePosition::At(value))) => Matcher::Equal(value),
                (Less | LessOrEqual, Some(position)) => {
                    let upper = position.upper(comparison == LessOrEqual, end)?;
                    Matcher::Within(Bound::Unbounded, upper)
                }
                (Greater | GreaterOrEqual, Some(position)) => {
                    Matcher::Within(position.lower(comparison == GreaterOrEqual)?, end)
                }
                (Equal | Less | LessOrEqual | Greater | GreaterOrEqual, _) => return None,
            })
        };
        self.each_kind(path, exactly, otherwise)
    }

    /// The position of a number among values that cannot be this number.
    fn position(&self, kind: &ValueKind, literal: &Literal) -> Option<ValuePosition> {
        if matches!(kind.origin, Origin::Special(_)) {
            return None;
        }
        match &self.given(literal).ok()?.kind {
            LiteralKind::Number(number) => value_position(number, &*kind.encoding),
            LiteralKind::Text(_) => self.bound(kind, literal).ok().map(ValuePosition::At),
            _ => None,
        }
    }

    fn one_of(&self, path: &CheckedPath, literals: &[Literal]) -> Result<Vec<Option<Matcher>>> {
        let mut values: Vec<Vec<Vec<u8>>> = vec![Vec::new(); path.kinds.len()];
        for literal in literals {
            let matchers = self.compared(path, Comparison::Equal, literal)?;
            for (values, matcher) in values.iter_mut().zip(matchers) {
                let matcher = match matcher {
                    // The whole list is put into all scales below.
                    Some(Matcher::Decimal(matcher)) => Some(*matcher),
                    matcher => matcher,
                };
                if let Some(Matcher::Equal(value)) = matcher {
                    values.push(value);
                }
            }
        }
        let one_of = |(mut values, kind): (Vec<Vec<u8>>, &ValueKind)| {
            values.sort_unstable();
            values.dedup();
            (!values.is_empty()).then(|| in_scales(kind, Matcher::OneOf(values)))
        };
        Ok(values.into_iter().zip(&path.kinds).map(one_of).collect())
    }

    pub(super) fn within(&self, kind: &ValueKind, range: &Range) -> Result<Matcher> {
        let lower = match &range.from {
            None => Bound::Unbounded,
            Some(literal) => Bound::Included(self.bound(kind, literal)?),
        };
        let upper = match &range.to {
            None => before_null(kind),
            Some(literal) => {
                let value = self.bound(kind, literal)?;
                if range.with_end { Bound::Included(value) } else { Bound::Excluded(value) }
            }
        };
        Ok(Matcher::Within(lower, upper))
    }

    /// A range one of whose ends these values cannot be.
    fn within_otherwise(&self, kind: &ValueKind, range: &Range) -> Option<Matcher> {
        let lower = match &range.from {
            None => Bound::Unbounded,
            Some(literal) => self.position(kind, literal)?.lower(true)?,
        };
        let end = before_null(kind);
        let upper = match &range.to {
            None => end,
            Some(literal) => self.position(kind, literal)?.upper(range.with_end, end)?,
        };
        Some(Matcher::Within(lower, upper))
    }

    fn starting(&self, kind: &ValueKind, literal: &Literal) -> Result<Matcher> {
        let given = self.given(literal)?;
        let is_string = match kind.encoding.kind() {
            EncodingKind::NullSafe(inner) => matches!(inner.kind(), EncodingKind::String),
            kind => matches!(kind, EncodingKind::String),
        };
        if !is_string {
            let what =
                format!("`starts` is for strings, not for values of type {}", kind.encoding.name());
            return Err(Mistake::new(literal.span, what));
        }
        let LiteralKind::Text(text) = &given.kind else {
            let what = "`starts` needs a text in double quotes";
            return Err(Mistake::new(literal.span, what));
        };
        // The code of a unit is not the beginning of the code of another one. So a string begins
        // with the text if its bytes begin with the bytes of the text without its end.
        let mut lower = Vec::new();
        match text.as_str() {
            Some(text) => string::write(text, &mut lower),
            None => string::write_units(text.units(), &mut lower),
        }
        lower.pop();
        let upper = prefix_end(&lower).filter(|_| !lower.is_empty());
        let upper = upper.map_or_else(|| before_null(kind), Bound::Excluded);
        Ok(Matcher::Within(Bound::Included(lower), upper))
    }

    /// The encoded form of a literal as the end of a range. Null is no end of a range.
    fn bound(&self, kind: &ValueKind, literal: &Literal) -> Result<Vec<u8>> {
        if self.given(literal)?.kind == LiteralKind::Null {
            let what = "nothing is less or greater than null, and no range has it; null is found by \
                        `is null`";
            return Err(Mistake::new(literal.span, what));
        }
        self.compared_value(kind, literal)
    }

    /// The encoded form of a literal with which values are compared.
    fn compared_value(&self, kind: &ValueKind, literal: &Literal) -> Result<Vec<u8>> {
        // There are forms of zero that cannot be stored.
        if let LiteralKind::Number(number) = &self.given(literal)?.kind
            && kind.is_decimal()
            && number.split(['e', 'E']).next().is_some_and(|digits| !digits.contains(NOT_ZERO))
        {
            return Ok(decimal::NOTHING.to_vec());
        }
        self.value(kind, literal)
    }

    /// The encoded form of a literal for a kind of values.
    pub(super) fn value(&self, kind: &ValueKind, literal: &Literal) -> Result<Vec<u8>> {
        let given = self.given(literal)?;
        let value = match (kind.origin, &given.kind) {
            (Origin::Special(Special::Id), LiteralKind::Id(id)) => Value::Ref(*id),
            (Origin::Special(Special::Id), LiteralKind::Text(text)) => {
                let id = text.to_string_lossy().parse::<ObjId>();
                Value::Ref(id.map_err(|error| Mistake::new(literal.span, error.to_string()))?)
            }
            (Origin::Special(Special::Id), _) => {
                let what = "an ID is written like @1000000000000001";
                return Err(Mistake::new(literal.span, what));
            }
            (Origin::Special(Special::Type), LiteralKind::Word(name)) => {
                self.type_value(literal, name)?
            }
            (Origin::Special(Special::Type), LiteralKind::Text(name)) => {
                self.type_value(literal, &name.to_string_lossy())?
            }
            (Origin::Special(Special::Type), _) => {
                return Err(Mistake::new(literal.span, "a type is given by its name"));
            }
            (Origin::Special(Special::Schema), LiteralKind::Number(number)) => {
                let number = number.parse().ok().filter(|number: &i32| *number >= 0);
                Value::Int(number.ok_or_else(|| {
                    Mistake::new(literal.span, "the number of a schema is 1 or greater")
                })?)
            }
            (Origin::Special(Special::Schema), _) => {
                return Err(Mistake::new(literal.span, "a schema is given by its number"));
            }
            _ => {
                return encoded(&given, &*kind.encoding).map_err(|mismatch| match mismatch {
                    Mismatch::WrongType { .. } if matches!(kind.origin, Origin::Counter) => {
                        Mistake::new(literal.span, "a counter is compared with a whole number")
                    }
                    mismatch => mismatch_at(literal, &mismatch),
                });
            }
        };
        kind.encoding
            .encode_all(&value)
            .map_err(|error| Mistake::new(literal.span, error.to_string()))
    }

    fn type_value(&self, literal: &Literal, name: &str) -> Result<Value> {
        if self.catalog.type_named(name).is_none() {
            let name = Name { span: literal.span, text: Some(name.to_owned()), storage_id: None };
            let types = self.catalog.types().iter().map(|entry| &*entry.name);
            return Err(missing(&name, "object type", types));
        }
        Ok(Value::String(name.to_owned()))
    }

    /// Refuses an ID of a type to which the references cannot refer.
    fn check_target(&self, path: &CheckedPath, kind: &ValueKind, literal: &Literal) -> Result<()> {
        let (LiteralKind::Id(id), Origin::Stored, EncodingKind::Reference(_)) =
            (&self.given(literal)?.kind, kind.origin, kind.encoding.kind())
        else {
            return Ok(());
        };
        let found = self.type_of_id(*id, literal.span)?;
        match &kind.allowed {
            Some(allowed) if !allowed.contains(&found.storage_id) => {
                let types: Vec<_> = allowed.iter().copied().collect();
                let what = format!(
                    "@{id} is of type {}, but {} refers to {}",
                    ticked(&found.name),
                    path.text,
                    self.type_names(&types)
                );
                Err(Mistake::new(literal.span, what))
            }
            _ => Ok(()),
        }
    }
}

/// The upper bound of values that are not null.
pub(super) fn before_null(kind: &ValueKind) -> Bound<Vec<u8>> {
    kind.null.clone().map_or(Bound::Unbounded, Bound::Excluded)
}
