//! The verdict on stored objects under the models, from the schemas alone.

use std::sync::Arc;

use super::counted::count;
use super::mode::{Evolution, is_exact};
use super::never_called::never_called;
use super::plan::{FieldPlan, Plan};
use super::report::{
    DeleteActionReport, EvolutionReport, FieldReport, FieldVerdict, IndexReport, TypeReport,
    VersionReport,
};
use super::upgrade::conversions_of_fields;
use crate::encoding::{Conversion, Encoding, EncodingKind, Exactness, TypedEncoding};
use crate::model::binding::{Binding, Bindings};
use crate::model::declare::{FieldDecl, Upgrade, ValueDecl};
use crate::model::error::{Error, Result};
use crate::model::index::Wanted;
use crate::object::{IndexKind, IndexShape, Transaction, kind};
use crate::schema::{
    ReferenceInfo, ResolvedField, ResolvedKind, ResolvedType, Schema, SchemaBundle,
};

/// The report on the objects of all other recorded schemas. Cost: for each type of each of them a
/// seek, and a step per object up to [`ObjectCount::LIMIT`](super::ObjectCount::LIMIT).
pub(crate) fn evolution_report(tx: &Transaction, bindings: &Bindings) -> Result<EvolutionReport> {
    let bundle = tx.bundle();
    let others = bundle.schemas().iter().filter(|other| other.index != bindings.schema.index);
    let version = |schema: &Arc<Schema>| {
        let types = schema.types.iter().map(|old| {
            let objects = count(tx, old)?;
            let name = old.name.to_string();
            let binding = bindings.models().iter().find(|binding| binding.info.name == name);
            let Some(binding) = binding else {
                let (fields, indexes) = (Vec::new(), Vec::new());
                return Ok(TypeReport { name, objects, in_models: false, fields, indexes });
            };
            let evolution = bindings.models().evolution();
            let plan = binding.plan(old);
            let judge = Judge { bundle: &bundle, binding, old, plan, evolution };
            let (fields, indexes) = (judge.fields()?, judge.indexes(tx, bindings)?);
            Ok(TypeReport { name, objects, in_models: true, fields, indexes })
        });
        let types = types.collect::<Result<_>>()?;
        Ok(VersionReport { schema: schema.id, number: schema.index.get(), types })
    };
    let versions = others.map(version).collect::<Result<_>>()?;
    let never_called = never_called(tx, bindings)?;
    Ok(EvolutionReport { schema: bindings.schema.id, versions, never_called })
}

/// Refuses models under which stored objects would lose values, or lack required ones.
pub(crate) fn refuse_losses(tx: &Transaction, bindings: &Bindings) -> Result<()> {
    // Objects that other transactions store meanwhile are judged when they are used.
    let report = tx.untracked(|tx| evolution_report(tx, bindings))?;
    if report.warnings().next().is_some() {
        return Err(Error::WouldLose(Box::new(report)));
    }
    Ok(())
}

/// Judges one type of another recorded schema.
struct Judge<'a> {
    bundle: &'a SchemaBundle,
    binding: &'a Binding,
    old: &'a ResolvedType,
    plan: Arc<Plan>,
    evolution: Evolution,
}

/// How surely the values of a field are converted exactly, or why they never are.
type Judged = std::result::Result<Exactness, String>;

impl Judge<'_> {
    fn fields(&self) -> Result<Vec<FieldReport>> {
        let mut reports = Vec::new();
        for (position, plan) in self.plan.fields() {
            let Some(decl) = self.binding.info.fields.get(position) else { continue };
            let to = self.binding.field(position)?;
            let was = match plan {
                FieldPlan::Differs(from) if *from.name != *decl.name => Some(from.name.to_string()),
                _ => None,
            };
            let mut verdict = self.field(decl, plan, to);
            // A value that is reset becomes the default, which may be null.
            if verdict == FieldVerdict::Reset && !decl.has_default() && decl.requires_a_value(to) {
                verdict = FieldVerdict::Required;
            }
            // Own code for the whole type may set any field, so nothing is certain before it runs.
            if verdict.is_warning() && self.binding.info.upgrade_with.is_some() {
                verdict = FieldVerdict::OwnCodeMaySet;
            }
            let delete_actions = self.delete_actions(plan, to);
            reports.push(FieldReport { name: decl.name.to_owned(), was, verdict, delete_actions });
        }
        reports.extend(self.plan.leftovers.iter().map(|field| {
            let verdict = self.leftover(&field.name);
            let (name, delete_actions) = (field.name.to_string(), Vec::new());
            FieldReport { name, was: None, verdict, delete_actions }
        }));
        Ok(reports)
    }

    /// The delete actions that differ between the recorded schema and the model.
    fn delete_actions(&self, plan: &FieldPlan, to: &ResolvedField) -> Vec<DeleteActionReport> {
        let from = match plan {
            FieldPlan::Missing => None,
            FieldPlan::Same => self.old.field_by_storage_id(to.storage_id),
            FieldPlan::Differs(from) => Some(from),
        };
        let Some(from) = from else { return Vec::new() };
        let itself = (from.reference(), to.reference(), to);
        let parts = from.sub_fields().zip(to.sub_fields());
        let parts = parts.map(|(from, to)| (from.reference(), to.reference(), &**to));
        let references = parts.chain([itself]).filter_map(|(from, to, field)| {
            let (from, to) = (delete_action(from?), delete_action(to?));
            let name = field.full_name.to_string();
            (from != to).then_some(DeleteActionReport { name, from, to })
        });
        references.collect()
    }

    fn field(&self, decl: &FieldDecl, plan: &FieldPlan, to: &ResolvedField) -> FieldVerdict {
        match plan {
            // Own code comes first: it decides whatever the definitions say.
            FieldPlan::Missing if decl.upgrade_with.is_some() => FieldVerdict::OwnCodeMakes,
            FieldPlan::Differs(_) if decl.upgrade_with.is_some() => FieldVerdict::OwnCode,
            FieldPlan::Missing if !decl.has_default() && decl.requires_a_value(to) => {
                FieldVerdict::Required
            }
            FieldPlan::Missing => FieldVerdict::Added,
            FieldPlan::Same => match self.old.field_by_storage_id(to.storage_id) {
                Some(from) => self.kept(decl, from, to),
                None => FieldVerdict::Same,
            },
            FieldPlan::Differs(from) => self.converted(decl, from, to),
        }
    }

    /// A field of the same definition. It may still refer to fewer types than before.
    fn kept(&self, decl: &FieldDecl, from: &ResolvedField, to: &ResolvedField) -> FieldVerdict {
        let parts = from.sub_fields().zip(to.sub_fields()).map(|(from, to)| (&**from, &**to));
        let parts: Vec<_> = parts.chain([(from, to)]).collect();
        // The worst part decides for the whole field.
        let exactness = parts.iter().map(|(from, to)| self.references(from, to)).max();
        let allows_more =
            parts.iter().any(|(from, to)| self.references(to, from) != Exactness::Always);
        match exactness {
            None | Some(Exactness::Always) if allows_more => {
                let (from, to) = self.described(from, to);
                FieldVerdict::SameAndMore { from, to }
            }
            None | Some(Exactness::Always) => FieldVerdict::Same,
            Some(_) if !self.is_exact(decl) => self.lossy(from, to),
            Some(Exactness::Sometimes) => self.look(from, to),
            Some(Exactness::Never) => {
                lost("it no longer allows references to any of these objects")
            }
        }
    }

    /// A field of another definition.
    fn converted(
        &self,
        decl: &FieldDecl,
        from: &ResolvedField,
        to: &ResolvedField,
    ) -> FieldVerdict {
        if decl.rule(self.evolution, from, to) == Upgrade::Reset {
            return FieldVerdict::Reset;
        }
        match self.judge(decl, from, to) {
            Ok(Exactness::Always) => {
                let may_lack = decl.requires_a_value(to) && has_null_by_choice(from);
                let (from, to) = self.described(from, to);
                match may_lack {
                    true => FieldVerdict::ExactOrNull { from, to },
                    false => FieldVerdict::Exact { from, to },
                }
            }
            Ok(_) if !self.is_exact(decl) && decl.requires_a_value(to) && !decl.has_default() => {
                let (from, to) = self.described(from, to);
                FieldVerdict::LossyOrNull { from, to }
            }
            Ok(_) if !self.is_exact(decl) => self.lossy(from, to),
            // Where losses are accepted, a kind that cannot be converted starts at its default.
            Err(_) if !self.is_exact(decl) => FieldVerdict::Reset,
            Ok(Exactness::Sometimes) => self.look(from, to),
            Ok(Exactness::Never) => {
                let (from, to) = self.described(from, to);
                lost(format!("no value of {from} is converted exactly to {to}"))
            }
            Err(reason) => lost(reason),
        }
    }

    fn judge(&self, decl: &FieldDecl, from: &ResolvedField, to: &ResolvedField) -> Judged {
        use ResolvedKind::{Counter, List, Map, Set, Simple};
        let long = &TypedEncoding::<i64>::not_null() as &dyn Encoding;
        let [value, second] = decl.values();
        Ok(match (&from.kind, &to.kind) {
            (Counter, Counter) => Exactness::Always,
            (Simple(from), Counter) => Conversion::new(&*from.encoding, long).exactness(),
            (Counter, Simple(to)) => Conversion::new(long, &*to.encoding).exactness(),
            (Simple(_), Simple(_)) => self.values(from, to, value),
            // Null becomes an empty collection, so it need not be converted.
            (Simple(_), Set { element } | List { element }) => {
                self.conversion(from, element, value, |conversion| {
                    conversion.exactness_without_null()
                })
            }
            // There may be more than one element.
            (Set { element } | List { element }, Simple(_)) => {
                self.values(element, to, value).max(Exactness::Sometimes)
            }
            // A set does not keep the order of a list.
            (List { element: from }, Set { element: to }) => {
                self.values(from, to, value).max(Exactness::Sometimes)
            }
            (
                Set { element: from } | List { element: from },
                Set { element: to } | List { element: to },
            ) => self.values(from, to, value),
            (Map { key: from_key, value: from_value }, Map { key: to_key, value: to_value }) => {
                let keys = self.values(from_key, to_key, value);
                keys.max(self.values(from_value, to_value, second))
            }
            _ => return Err(format!("a {} is not converted to a {}", kind(from), kind(to))),
        })
    }

    fn values(
        &self,
        from: &ResolvedField,
        to: &ResolvedField,
        decl: Option<&ValueDecl>,
    ) -> Exactness {
        self.conversion(from, to, decl, |conversion| conversion.exactness())
    }

    fn conversion(
        &self,
        from: &ResolvedField,
        to: &ResolvedField,
        decl: Option<&ValueDecl>,
        exactness: impl Fn(&Conversion<'_>) -> Exactness,
    ) -> Exactness {
        let (Some(from_simple), Some(to_simple)) = (from.simple(), to.simple()) else {
            return Exactness::Never;
        };
        let conversion = Conversion::new(&*from_simple.encoding, &*to_simple.encoding);
        let conversion = conversion.renaming(decl.map_or(&[], |decl| decl.renamed));
        exactness(&conversion).max(self.references(from, to))
    }

    /// How surely the types that a field may refer to are still allowed.
    fn references(&self, from: &ResolvedField, to: &ResolvedField) -> Exactness {
        let (Some(from), Some(to)) = (from.reference(), to.reference()) else {
            return Exactness::Always;
        };
        // A field that allowed every type may refer to objects of any recorded one.
        let before = match &from.allowed {
            Some(allowed) => allowed.to_vec(),
            None => self.bundle.type_ids().collect(),
        };
        match before.iter().filter(|id| to.allows(**id)).count() {
            // This comes before 0, because a field that allowed no type has nothing to lose.
            still if still == before.len() => Exactness::Always,
            0 => Exactness::Never,
            _ => Exactness::Sometimes,
        }
    }

    /// A field that the model lacks.
    fn leftover(&self, name: &str) -> FieldVerdict {
        let info = &self.binding.info;
        if self.evolution == Evolution::AsJava || self.binding.may_go(name) {
            return FieldVerdict::Dropped;
        }
        // Which values own code carries over is known only when it runs.
        let has_own_code = info.upgrade_with.is_some()
            || conversions_of_fields(self.binding, &self.plan).next().is_some();
        if has_own_code {
            return FieldVerdict::OwnCodeMayTake;
        }
        FieldVerdict::WouldLose {
            reason: format!("{} has no such field", info.name),
            removed: true,
        }
    }

    /// Whether values of a field are converted exactly or not at all.
    fn is_exact(&self, decl: &FieldDecl) -> bool {
        is_exact(self.evolution, decl)
    }

    fn lossy(&self, from: &ResolvedField, to: &ResolvedField) -> FieldVerdict {
        let (from, to) = self.described(from, to);
        FieldVerdict::Lossy { from, to }
    }

    fn look(&self, from: &ResolvedField, to: &ResolvedField) -> FieldVerdict {
        let (from, to) = self.described(from, to);
        FieldVerdict::Look { from, to }
    }

    /// The contents of a field of the recorded schema and of one of the model.
    fn described(&self, from: &ResolvedField, to: &ResolvedField) -> (String, String) {
        let describe = |object_type: &ResolvedType, field: &ResolvedField| {
            let model = &self.bundle.schema(object_type.schema)?.model;
            let mut types = model.object_types().iter();
            let found = types.find(|found| found.name() == &*object_type.name)?;
            let mut fields = found.fields().iter();
            fields.find(|found| found.name() == &*field.name).map(|field| field.kind().describe())
        };
        let text = |object_type, field| describe(object_type, field).unwrap_or_default();
        (text(self.old, from), text(&self.binding.fields.object_type, to))
    }

    // ------------------------------------------------------------------ indexes

    fn indexes(&self, tx: &Transaction, bindings: &Bindings) -> Result<Vec<IndexReport>> {
        let own = &self.binding.fields.object_type;
        let fields = own.all_fields().filter_map(|field| {
            let shape = IndexShape::of_field(self.bundle, own, field)?;
            Some((field.full_name.to_string(), shape))
        });
        let composites = own.indexes.iter().map(|index| {
            let shape = IndexShape::of_index(own, index);
            (index.name.to_string(), shape)
        });
        let in_use = |schema| Ok(tx.has_objects_in(schema, own.storage_id)?);
        let is_complete = |shape: &IndexShape, with_keys| -> Result<bool> {
            let others = bindings.others(self.binding, Wanted { shape, with_keys }, tx);
            let here = others.iter().find(|other| other.schema == self.old.schema);
            Ok(!here.map_or(Ok(false), |other| other.lacks_entries(in_use))?)
        };
        let report = |(name, shape): (String, IndexShape)| {
            let is_complete_alone = is_complete(&shape, false)?;
            let is_complete_with_keys = match shape.kind() {
                IndexKind::MapValue => is_complete(&shape, true)?,
                _ => is_complete_alone,
            };
            Ok(IndexReport { name, is_complete: is_complete_alone, is_complete_with_keys })
        };
        fields.chain(composites).map(report).collect()
    }
}

/// The delete action of a reference, as the attributes of a field name it.
fn delete_action(reference: &ReferenceInfo) -> String {
    let forward = if reference.forward_delete { ", forward_delete" } else { "" };
    let inverse = reference.inverse_delete.as_str().to_ascii_lowercase();
    format!("inverse_delete = {inverse:?}{forward}")
}

fn lost(reason: impl Into<String>) -> FieldVerdict {
    FieldVerdict::WouldLose { reason: reason.into(), removed: false }
}

/// Whether a field can have null because its model says so. Many types, such as text, always have
/// null in the database, so their encoding does not tell.
fn has_null_by_choice(field: &ResolvedField) -> bool {
    use EncodingKind::{NullSafe, Wrapper};
    let simple = field.simple();
    simple.is_some_and(|simple| matches!(simple.encoding.kind(), Wrapper(_) | NullSafe(_)))
}
