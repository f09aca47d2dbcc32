//! Sets of objects, read in the order of their IDs.

use permazen::__internal::layout::object_schema_prefix;
use permazen::__internal::object::IndexKind;
use permazen::kv::{Direction, KeySpan, Scan};
use permazen::schema::SchemaIndex;
use permazen::{ObjId, StorageId};

use super::combined::{Combined, Ids};
use super::fail::Result;
use super::id_sorter::{IdSorter, SortedIds};
use super::reader::{Lookup, Reader};
use super::subject::{Flow, Subject, visit};
use super::values::{Got, field_values};
use crate::check::{CheckedStep, Way};
use crate::limits::Limits;
use crate::plan::{QueryPlan, SetPlan, TypeScan, whole_span};

/// The objects of one schema, and the next of them.
struct InSchema<'s> {
    schema: SchemaIndex,
    prefix: usize,
    keys: Scan<'s>,
    next: Option<ObjId>,
}

impl InSchema<'_> {
    fn advance(&mut self, reader: &Reader<'_>) -> Result<()> {
        // An error or the end must leave no old ID, which would be given twice.
        self.next = None;
        for pair in self.keys.by_ref() {
            reader.look()?;
            let (key, _) = pair?;
            // A key that is no object ID belongs to no object.
            if let Ok(id) = ObjId::from_slice(key.get(self.prefix..).unwrap_or_default()) {
                self.next = Some(id);
                break;
            }
        }
        Ok(())
    }
}

/// The objects of a type with their schemas, in the order of their IDs. Cost: one seek for each
/// schema that has the type, and a step for each object.
pub(crate) struct ObjectsOfType<'s> {
    reader: &'s Reader<'s>,
    direction: Direction,
    schemas: Vec<InSchema<'s>>,
    failed: bool,
}

impl<'s> ObjectsOfType<'s> {
    pub(crate) fn new(reader: &'s Reader<'s>, scan: &TypeScan) -> Result<Self> {
        ObjectsOfType::towards(reader, scan, Direction::Forward)
    }

    /// The greatest ID first.
    pub(crate) fn from_end(reader: &'s Reader<'s>, scan: &TypeScan) -> Result<Self> {
        ObjectsOfType::towards(reader, scan, Direction::Reverse)
    }

    fn towards(reader: &'s Reader<'s>, scan: &TypeScan, direction: Direction) -> Result<Self> {
        let mut schemas = Vec::new();
        for schema in &scan.schemas {
            let prefix = object_schema_prefix(*schema);
            let min = [&prefix[..], &scan.ids.0].concat();
            // Without an upper bound the range would reach into the next schema.
            let max = scan.ids.1.as_ref().map(|max| [&prefix[..], max].concat());
            let keys = reader.kv.scan(KeySpan::new(&min, max.as_deref()), direction)?;
            // The first ID of each schema is needed before the least of them is known.
            let mut of = InSchema { schema: *schema, prefix: prefix.len(), keys, next: None };
            of.advance(reader)?;
            schemas.push(of);
        }
        Ok(ObjectsOfType { reader, direction, schemas, failed: false })
    }
}

impl Iterator for ObjectsOfType<'_> {
    type Item = Result<(ObjId, SchemaIndex)>;

    fn next(&mut self) -> Option<Self::Item> {
        // After an error the next object is not known, so that an iteration that went on would
        // leave objects out.
        if self.failed {
            return None;
        }
        // The schemas keep their objects apart, so the least of their next IDs is the next one.
        let with_next = self.schemas.iter_mut().filter(|schema| schema.next.is_some());
        let first = match self.direction {
            Direction::Forward => with_next.min_by_key(|schema| schema.next)?,
            Direction::Reverse => with_next.max_by_key(|schema| schema.next)?,
        };
        let id = first.next?;
        // The schema is noted before the iteration goes on to the next object.
        let schema = first.schema;
        if let Err(fail) = first.advance(self.reader) {
            self.failed = true;
            return Some(Err(fail));
        }
        Some(Ok((id, schema)))
    }
}

/// Reads sets.
pub(crate) struct Sets<'r> {
    pub(crate) reader: &'r Reader<'r>,
    pub(crate) limits: &'r Limits,
    /// The objects of a query without an order.
    pub(crate) of_query: &'r dyn Fn(&QueryPlan) -> Result<SortedIds>,
}

impl<'r> Sets<'r> {
    /// The objects of a set.
    pub(crate) fn ids<'s>(&'s self, set: &'s SetPlan) -> Result<Ids<'s>> {
        Ok(match set {
            SetPlan::Type(scan) => {
                let objects = ObjectsOfType::new(self.reader, scan)?;
                Box::new(objects.map(|object| object.map(|(id, _)| id)))
            }
            SetPlan::Id(id) => {
                // Objects that do not exist are in no set.
                // A reference in the statement can name an object that was deleted.
                let there = self.reader.find(*id)? != Lookup::Missing;
                Box::new(there.then_some(Ok(*id)).into_iter())
            }
            SetPlan::Query(plan) => Box::new((self.of_query)(plan)?),
            SetPlan::Steps(from, steps) => {
                let mut ids = self.ids(from)?;
                // Each step is finished before the next begins, since its targets come in no order.
                for step in steps {
                    ids = self.step(ids, step)?;
                }
                ids
            }
            SetPlan::Combined(first, rest) => {
                let mut combined = Combined::new(self.ids(first)?)?;
                for (operator, operand) in rest {
                    combined.push(*operator, self.ids(operand)?)?;
                }
                Box::new(combined)
            }
        })
    }

    /// The objects that a step reaches from objects.
    fn step<'s>(&'s self, from: Ids<'s>, step: &'s CheckedStep) -> Result<Ids<'s>> {
        let reader = self.reader;
        // A field can refer to several types, and the statement can name some of them.
        let is_wanted = |id: ObjId| step.types.binary_search(&id.storage_id()).is_ok();
        let mut sorter = IdSorter::new(self.limits);
        for id in from {
            let id = id?;
            match &step.way {
                Way::Forward(hop) => {
                    let subject = Subject::of(id);
                    // An object of an unknown schema has no fields to follow.
                    let Lookup::Of(version) = subject.version(reader)? else { continue };
                    let Some(access) = hop.get(version) else { continue };
                    field_values(reader, &subject, access, &mut |got| {
                        // A null or damaged reference leads nowhere.
                        if let Got::Value(bytes) = got
                            && let Ok(target) = ObjId::from_slice(bytes)
                            && is_wanted(target)
                        {
                            sorter.push(target)?;
                        }
                        Ok(Flow::More)
                    })?;
                }
                Way::Back(indexes) => {
                    for (storage_id, kind) in indexes {
                        // The same object can refer to the target by several fields, and the sorter
                        // gives it once.
                        self.referrers(*storage_id, *kind, id, &mut |referrer| {
                            if is_wanted(referrer) {
                                sorter.push(referrer)?;
                            }
                            Ok(())
                        })?;
                    }
                }
            }
        }
        let ids = sorter.finish()?;
        // An index entry exists only for an object that exists.
        if matches!(step.way, Way::Back(_)) {
            return Ok(Box::new(ids));
        }
        // References can lead to objects that do not exist.
        Ok(Box::new(ids.filter_map(move |id| match id {
            Ok(id) => match reader.find(id) {
                Ok(Lookup::Missing) => None,
                Ok(_) => Some(Ok(id)),
                Err(fail) => Some(Err(fail)),
            },
            fail => Some(fail),
        })))
    }

    /// The objects that refer to another one by a field. Cost: one seek, and a step for each
    /// reference.
    fn referrers(
        &self,
        field: StorageId,
        kind: IndexKind,
        target: ObjId,
        found: &mut dyn FnMut(ObjId) -> Result<()>,
    ) -> Result<()> {
        let prefix = [&field.prefix()[..], target.as_bytes()].concat();
        let span = whole_span(&prefix);
        // A position or a key follows the ID of the referrer in these indexes.
        let has_suffix = matches!(kind, IndexKind::ListElement | IndexKind::MapValue);
        let keys = KeySpan::new(&span.min, span.max.as_deref());
        visit(self.reader, keys, Direction::Forward, &mut |key, _| {
            let after = key.get(prefix.len()..).unwrap_or_default();
            let id = match has_suffix {
                true => after.get(..ObjId::LEN).and_then(|id| ObjId::from_slice(id).ok()),
                false => ObjId::from_slice(after).ok(),
            };
            match id {
                Some(id) => found(id)?,
                // A damaged entry is counted and passed over, as in an index scan.
                None => self.reader.note_damage(),
            }
            Ok(Flow::More)
        })?;
        Ok(())
    }
}
