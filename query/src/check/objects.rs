//! Sets of objects whose names are resolved.

use std::collections::BTreeSet;

use permazen::__internal::object::IndexKind;
use permazen::__internal::schema::ResolvedKind;
use permazen::{ObjId, StorageId};

use super::checker::{Checker, Result};
use super::condition::CheckedCondition;
use super::names::{FieldAt, fields_in, missing, ticked};
use super::path::{Access, Read};
use super::versions::Versions;
use crate::catalog::{TypeEntry, kind_of};
use crate::mistake::Mistake;
use crate::syntax::{Direction, LiteralKind, Name, Objects, ObjectsKind, SetOperator, Step};

/// A set of objects.
#[derive(Debug, Clone)]
pub(crate) struct CheckedObjects {
    /// As it is written.
    pub(crate) text: String,
    /// The types that they can have, ascending.
    pub(crate) types: Vec<StorageId>,
    /// Which set.
    pub(crate) kind: CheckedObjectsKind,
}

/// Which set of objects.
#[derive(Debug, Clone)]
pub(crate) enum CheckedObjectsKind {
    /// All objects of a type.
    Type(StorageId),
    /// One object, if it exists.
    Id(ObjId),
    /// The objects that are reached by steps.
    Path(Box<CheckedObjects>, Vec<CheckedStep>),
    /// Those that meet a condition.
    Where(Box<CheckedObjects>, CheckedCondition),
    /// Sets combined from the left to the right.
    Combined(Box<CheckedObjects>, Vec<(SetOperator, CheckedObjects)>),
}

/// A step to other objects.
#[derive(Debug, Clone)]
pub(crate) struct CheckedStep {
    /// As it is written.
    pub(crate) text: String,
    /// The types that the objects can have that it leads to, ascending. Others are left out.
    pub(crate) types: Vec<StorageId>,
    /// Which way it goes.
    pub(crate) way: Way,
}

/// Which way a step goes.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// To the objects to which these references lead. Objects of other types lead nowhere.
    Forward(Versions<Access>),
    /// To the objects that refer by fields of these storage IDs.
    Back(Vec<(StorageId, IndexKind)>),
}

/// A field in the versions of one type, with the part of it that holds the references.
type ReferenceField = (StorageId, Versions<Access>);

impl Checker<'_> {
    /// A set of objects.
    pub(super) fn objects(&self, objects: &Objects) -> Result<CheckedObjects> {
        let text = objects.to_string();
        let (types, kind) = match &objects.kind {
            ObjectsKind::Type(name) => {
                let id = self.object_type(name)?.storage_id;
                (vec![id], CheckedObjectsKind::Type(id))
            }
            ObjectsKind::Id(id) => {
                let types = vec![self.type_of_id(*id, objects.span)?.storage_id];
                (types, CheckedObjectsKind::Id(*id))
            }
            ObjectsKind::Parameter(name) => {
                let kind = LiteralKind::Parameter(name.clone());
                let literal = crate::syntax::Literal { span: objects.span, kind };
                let LiteralKind::Id(id) = self.given(&literal)?.kind else {
                    let what =
                        format!("the value of `${name}` is no ID, such as @1000000000000001");
                    return Err(Mistake::new(objects.span, what));
                };
                let types = vec![self.type_of_id(id, objects.span)?.storage_id];
                (types, CheckedObjectsKind::Id(id))
            }
            ObjectsKind::Where(from, condition) => {
                let from = self.objects(from)?;
                let condition = self.condition(&from.types, condition)?;
                (from.types.clone(), CheckedObjectsKind::Where(Box::new(from), condition))
            }
            ObjectsKind::Path(from, steps) => {
                let from = self.objects(from)?;
                let mut types = from.types.clone();
                let mut checked = Vec::new();
                for step in steps {
                    let step = self.step(&types, step)?;
                    types.clone_from(&step.types);
                    checked.push(step);
                }
                (types, CheckedObjectsKind::Path(Box::new(from), checked))
            }
            ObjectsKind::Combined(first, rest) => {
                let first = self.objects(first)?;
                let mut types: BTreeSet<_> = first.types.iter().copied().collect();
                let mut checked = Vec::new();
                for (operator, operand) in rest {
                    let operand = self.objects(operand)?;
                    match operator {
                        SetOperator::Union => types.extend(&operand.types),
                        SetOperator::Intersect => types.retain(|id| operand.types.contains(id)),
                        // Taking objects away adds no type, and need not remove all of one.
                        SetOperator::Minus => {}
                    }
                    checked.push((*operator, operand));
                }
                let types = types.into_iter().collect();
                (types, CheckedObjectsKind::Combined(Box::new(first), checked))
            }
        };
        Ok(CheckedObjects { text, types, kind })
    }

    /// A step from objects of these types.
    fn step(&self, types: &[StorageId], step: &Step) -> Result<CheckedStep> {
        let text = step.to_string();
        match step.direction {
            Direction::Forward => {
                let found = self.forward(types, step)?;
                let hop: Versions<Access> = found
                    .iter()
                    .flat_map(|(_, versions)| versions.iter())
                    .map(|(version, access)| (version, access.clone()))
                    .collect();
                Ok(CheckedStep { text, types: self.targets(&hop), way: Way::Forward(hop) })
            }
            Direction::Back => self.back(types, step, text),
        }
    }

    /// `field`, `field.part`, `Type.field` or `Type.field.part`, from objects of these types.
    fn forward(&self, types: &[StorageId], step: &Step) -> Result<Vec<ReferenceField>> {
        let entries: Vec<_> = self.entries(types).collect();
        let of_all = |field: &Name, part: Option<&Name>| {
            self.references(&entries, &self.type_names(types), field, part)
        };
        let of_one = |of: &Name, field: &Name, part: Option<&Name>| {
            let entry = self.object_type(of)?;
            // The step would lead nowhere, which is surely not meant.
            if !types.contains(&entry.storage_id) {
                let what = format!("this is no step from {}", self.type_names(types));
                return Err(Mistake::new(of.span, what));
            }
            self.references(&[entry], &self.type_names(&[entry.storage_id]), field, part)
        };
        match step.names.as_slice() {
            [field] => of_all(field, None),
            [first, second] => {
                let as_part = of_all(first, Some(second));
                let as_type = of_one(first, second, None);
                match (as_part, as_type) {
                    // A rule that chooses one would change what a statement means once a name is
                    // added.
                    (Ok(one), Ok(other)) if !is_same(&one, &other) => {
                        let what = "this can be a field of a type and a part of a field; write the \
                                    type before the field and its part";
                        Err(Mistake::new(step.span, what))
                    }
                    (Ok(found), _) | (Err(_), Ok(found)) => Ok(found),
                    // The mistake is in the name that is found in neither way.
                    (Err(part), Err(of_type)) => {
                        let is_type =
                            self.catalog.types().iter().any(|e| first.is(&e.name, e.storage_id));
                        Err(if is_type { of_type } else { part })
                    }
                }
            }
            [of, field, part] => of_one(of, field, Some(part)),
            _ => Err(Mistake::new(step.span, "a step has at most a type, a field and its part")),
        }
    }

    /// `Type.field` or `Type.field.part`, to objects that refer to objects of these types.
    fn back(&self, types: &[StorageId], step: &Step, text: String) -> Result<CheckedStep> {
        let (of, field, part) = match step.names.as_slice() {
            [of, field] => (of, field, None),
            [of, field, part] => (of, field, Some(part)),
            [_] => {
                let what = "a step back needs the type whose objects refer, as in <-Person.boss";
                return Err(Mistake::new(step.span, what));
            }
            _ => {
                let what = "a step has at most a type, a field and its part";
                return Err(Mistake::new(step.span, what));
            }
        };
        let entry = self.object_type(of)?;
        let found = self.references(&[entry], &ticked(&entry.name), field, part)?;
        let mut indexes: Vec<(StorageId, IndexKind)> = Vec::new();
        for (_, access) in found.iter().flat_map(|(_, versions)| versions.iter()) {
            // Where the field is only assumed with its default, no entries are stored.
            if let Some(field) = access.of().filter(|field| access.stored && field.is_indexed()) {
                indexes.push((field.storage_id, kind_of(field)));
            }
        }
        indexes.sort_by_key(|(id, _)| *id);
        // Several versions of the type can share an index, which is read once.
        indexes.dedup();
        let all = found.iter().flat_map(|(_, versions)| versions.iter());
        let reached = self.targets(&all.map(|(version, a)| (version, a.clone())).collect());
        // The result would always be empty, which is surely not meant.
        if !types.iter().any(|id| reached.contains(id)) {
            let what = format!(
                "{} refers to {}, not to {}",
                text.trim_start_matches("<-"),
                self.type_names(&reached),
                self.type_names(types)
            );
            return Err(Mistake::new(step.span, what));
        }
        Ok(CheckedStep { text, types: vec![entry.storage_id], way: Way::Back(indexes) })
    }

    /// A reference field of each of these types that has it. `part` is the part of a collection;
    /// for a set or list, it can be left out.
    fn references(
        &self,
        entries: &[&TypeEntry],
        of: &str,
        field: &Name,
        part: Option<&Name>,
    ) -> Result<Vec<ReferenceField>> {
        let mut found = Vec::new();
        let mut known = false;
        let mut is_map = false;
        for entry in entries {
            let versions = fields_in(entry, |other| field.is(&other.name, other.storage_id));
            // A field that is no reference is told apart from a name that does not exist.
            known |= !versions.is_empty();
            is_map |=
                versions.iter().any(|(_, at)| matches!(at.field.kind, ResolvedKind::Map { .. }));
            let versions: Versions<Access> = versions
                .into_iter()
                .filter_map(|(version, at)| Some((version, reference(&at, part)?)))
                .collect();
            if !versions.is_empty() {
                found.push((entry.storage_id, versions));
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let shown = ticked(field.text.as_deref().unwrap_or_default());
        if !known {
            let names: Vec<_> =
                entries.iter().flat_map(|entry| entry.fields()).map(|field| field.name).collect();
            let mut mistake = missing(field, "field", names.iter().map(|name| &**name));
            let what = format!("{of} has no field");
            mistake.what = mistake.what.replacen("there is no field", &what, 1);
            return Err(mistake);
        }
        Err(match part {
            None if is_map => {
                let text = field.text.as_deref().unwrap_or_default();
                let what =
                    format!("{shown} is a map: say which part, `{text}.key` or `{text}.value`");
                Mistake::new(field.span, what)
            }
            None => Mistake::new(field.span, format!("{shown} is no reference")),
            Some(part) => {
                Mistake::new(part.span, format!("{shown} has no such part with references"))
            }
        })
    }
}

/// How the references of a field are read; `None` if it has none.
fn reference(at: &FieldAt, part: Option<&Name>) -> Option<Access> {
    let read = match (&at.field.kind, part) {
        (ResolvedKind::Simple(_), None) => Read::Simple,
        // They have only one part. Of a map, one of two must be named.
        (ResolvedKind::Set { .. } | ResolvedKind::List { .. }, None) => Read::Elements,
        (ResolvedKind::Set { element } | ResolvedKind::List { element }, Some(part))
            if part.is(&element.name, element.storage_id) =>
        {
            Read::Elements
        }
        (ResolvedKind::Map { key, .. }, Some(part)) if part.is(&key.name, key.storage_id) => {
            Read::Keys
        }
        (ResolvedKind::Map { value, .. }, Some(part)) if part.is(&value.name, value.storage_id) => {
            Read::Values
        }
        _ => return None,
    };
    let access = Access { field: at.field.clone(), stored: at.stored, read, kind: 0 };
    access.of().is_some_and(|field| field.is_reference()).then_some(access)
}

/// Whether two readings of a step are the same.
fn is_same(one: &[ReferenceField], other: &[ReferenceField]) -> bool {
    let read = |found: &[ReferenceField]| -> Vec<_> {
        let all = found.iter().flat_map(|(_, versions)| versions.iter());
        all.map(|(version, access)| (version, access.field.storage_id, access.read.clone()))
            .collect()
    };
    read(one) == read(other)
}
