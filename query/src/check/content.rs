//! Whole values of fields, and changes of them, as a version of a type takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::__internal::schema::ResolvedKind;
use permazen::encoding::ids;
use permazen::schema::ResolvedField;

use super::changes::{ChangeTo, Content};
use super::checker::{Checker, Result};
use super::names::ticked;
use super::path::ValueKind;
use super::resolve_path::{encoded_for, mismatch_at, position};
use crate::mistake::Mistake;
use crate::syntax::{Change, Literal, LiteralKind, Span};
use crate::text::{value_of, whole_number};

impl Checker<'_> {
    /// The whole value of a field.
    pub(super) fn content(&self, field: &ResolvedField, literal: &Literal) -> Result<Content> {
        let given = &*self.given(literal)?;
        let wrong = |expected: &str| {
            let what = format!("{} is {expected}", ticked(&field.full_name));
            Err(Mistake::new(literal.span, what))
        };
        Ok(match (&field.kind, &given.kind) {
            (ResolvedKind::Simple(_), _) => Content::Simple(self.element(field, given)?),
            (ResolvedKind::Counter, _) => Content::Counter(self.count(given)?),
            (ResolvedKind::Set { element }, LiteralKind::Set(values)) => {
                let values = values.iter().map(|value| self.element(element, value));
                let values: BTreeSet<_> = values.collect::<Result<_>>()?;
                Content::Set(values.into_iter().collect())
            }
            (ResolvedKind::Set { .. }, _) => return wrong("a set, such as {\"a\", \"b\"}"),
            (ResolvedKind::List { element }, LiteralKind::List(values)) => {
                let values = values.iter().map(|value| self.element(element, value));
                Content::List(values.collect::<Result<_>>()?)
            }
            (ResolvedKind::List { .. }, _) => return wrong("a list, such as [1, 2]"),
            // `{}` is parsed as an empty set.
            (ResolvedKind::Map { .. }, LiteralKind::Set(values)) if values.is_empty() => {
                Content::Map(Vec::new())
            }
            (ResolvedKind::Map { key, value }, LiteralKind::Map(pairs)) => {
                let mut map = BTreeMap::new();
                for (key_literal, literal) in pairs {
                    let encoded = self.element(key, key_literal)?;
                    // The keys are compared in their encoded form: `1` and `1.0` can be the same
                    // key.
                    if map.insert(encoded, self.element(value, literal)?).is_some() {
                        return Err(Mistake::new(key_literal.span, "the map has this key twice"));
                    }
                }
                Content::Map(map.into_iter().collect())
            }
            (ResolvedKind::Map { .. }, _) => return wrong("a map, such as {\"a\": 1}"),
        })
    }

    /// A value of a field or sub-field of a simple kind. A reference must be to a type that is
    /// allowed.
    fn element(&self, field: &ResolvedField, literal: &Literal) -> Result<Vec<u8>> {
        let given = &*self.given(literal)?;
        let bytes =
            encoded_for(given, field).map_err(|mismatch| mismatch_at(literal, &mismatch))?;
        let reference = field.simple().and_then(|simple| simple.reference.as_ref());
        if let (Some(reference), LiteralKind::Id(id)) = (reference, &given.kind) {
            let found = self.type_of_id(*id, literal.span)?;
            if !reference.allows(found.storage_id) {
                let allowed: Vec<_> =
                    reference.allowed.iter().flat_map(|ids| ids.iter().copied()).collect();
                let what = format!(
                    "@{id} is of type {}, but {} refers to {}",
                    ticked(&found.name),
                    ticked(&field.full_name),
                    self.type_names(&allowed)
                );
                return Err(Mistake::new(literal.span, what));
            }
        }
        Ok(bytes)
    }

    fn count(&self, literal: &Literal) -> Result<i64> {
        match &self.given(literal)?.kind {
            LiteralKind::Number(number) => whole_number(number),
            _ => None,
        }
        .ok_or_else(|| Mistake::new(literal.span, "a counter is a whole number of at most 64 bits"))
    }

    /// A change of a field.
    pub(super) fn change(
        &self,
        field: &Arc<ResolvedField>,
        change: &Change,
        span: Span,
    ) -> Result<ChangeTo> {
        use ResolvedKind::{Counter, List, Map, Set, Simple};
        let position = |literal: &Literal| match position(&*self.given(literal)?)? {
            Some(position) => Ok(position),
            None => Err(Mistake::new(literal.span, "a list has no such position")),
        };
        Ok(match (change, &field.kind) {
            (Change::Assign(value), _) => ChangeTo::Assign(self.content(field, value)?),
            (Change::AssignAt(key, value) | Change::Put(key, value), Map { key: k, value: v }) => {
                ChangeTo::PutKey { key: self.element(k, key)?, value: self.element(v, value)? }
            }
            (Change::AssignAt(at, value), List { element }) => ChangeTo::ReplaceAt {
                position: position(at)?,
                element: self.element(element, value)?,
            },
            (Change::Increase(by), Counter) => ChangeTo::Count(self.count(by)?),
            (Change::Decrease(by), Counter) => {
                // Counters wrap around, so to subtract the smallest number is to add it.
                ChangeTo::Count(self.count(by)?.wrapping_neg())
            }
            (Change::Increase(by), Simple(_)) => ChangeTo::Increase(self.number(field, by)?),
            (Change::Decrease(by), Simple(_)) => ChangeTo::Decrease(self.number(field, by)?),
            (Change::Add(value), Set { element } | List { element }) => {
                ChangeTo::Add(self.element(element, value)?)
            }
            (Change::Remove(value), Set { element } | List { element }) => {
                ChangeTo::Remove(self.element(element, value)?)
            }
            (Change::Remove(key), Map { key: field, .. }) => {
                ChangeTo::Remove(self.element(field, key)?)
            }
            (Change::Insert(value, at), List { element }) => ChangeTo::InsertAt {
                position: position(at)?,
                element: self.element(element, value)?,
            },
            // `+=` is a usual guess for collections, so the mistake says how they are changed.
            (Change::Increase(_) | Change::Decrease(_), kind) => {
                let name = ticked(&field.name);
                let (what, how) = match kind {
                    Map { .. } => ("map", format!("{name} put KEY: VALUE, {name} remove KEY")),
                    Set { .. } => ("set", format!("{name} add VALUE, {name} remove VALUE")),
                    _ => ("list", format!("{name} add VALUE, {name} remove VALUE")),
                };
                let how = how.replace('`', "");
                let what = format!("`+=` and `-=` are for numbers, and {name} is a {what}: {how}");
                return Err(Mistake::new(span, what));
            }
            (change, _) => {
                let (word, of) = match change {
                    Change::AssignAt(..) => ("[ ] =", "maps and lists"),
                    Change::Increase(_) | Change::Decrease(_) => ("+=", "numbers"),
                    Change::Add(_) => ("add", "sets and lists"),
                    Change::Remove(_) => ("remove", "sets, lists and maps"),
                    Change::Insert(..) => ("insert", "lists"),
                    Change::Put(..) => ("put", "maps"),
                    Change::Assign(_) => ("=", "all fields"),
                };
                let what = format!("`{word}` is for {of}, and {} is none", ticked(&field.name));
                return Err(Mistake::new(span, what));
            }
        })
    }

    /// A number by which a field of numbers changes.
    fn number(
        &self,
        field: &ResolvedField,
        literal: &Literal,
    ) -> Result<permazen::encoding::Value> {
        let given = &*self.given(literal)?;
        let is_number = match field.simple().map(|simple| simple.encoding.kind()) {
            Some(EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive)) => {
                // A `char` holds a number in Java. Here it is a character, to which nothing is
                // added.
                !matches!(primitive, Primitive::Boolean | Primitive::Char)
            }
            _ => {
                let id = field.simple().and_then(|simple| simple.encoding.id());
                id.is_some_and(|id| *id == ids::BIG_INTEGER || *id == ids::BIG_DECIMAL)
            }
        };
        let (true, Some(simple)) = (is_number, field.simple()) else {
            let kind = ValueKind::of(Some(field)).encoding;
            let what = format!(
                "`+=` and `-=` are for numbers, and {} is of type {}",
                ticked(&field.name),
                kind.name()
            );
            return Err(Mistake::new(literal.span, what));
        };
        // The field may take null, but nothing can be added to it.
        if given.kind == LiteralKind::Null {
            return Err(Mistake::new(literal.span, "null is no number"));
        }
        value_of(given, &*simple.encoding).map_err(|mismatch| mismatch_at(literal, &mismatch))
    }
}
