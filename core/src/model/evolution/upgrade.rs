//! Moving an object to the schema of the models: what it gets there, judged before anything is
//! written (docs/src/evolution.md).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::mode::{Evolution, is_exact};
use super::old_values::OldValues;
use super::plan::{FieldPlan, Plan};
use super::refused_move::{Loss, Refusal};
use super::stored_pairs::pairs_of;
use crate::id::ObjId;
use crate::model::binding::{Binding, Models};
use crate::model::declare::{FieldDecl, UpgradeWith};
use crate::model::error::{About, Error, Result, about};
use crate::model::load::ObjectWriter;
use crate::object::{
    Counters, FieldConversion, Given, Moving, Narrows, NewContent, ObjectBuilder, ObjectData,
    Transaction, stored_text, value_text,
};
use crate::schema::ResolvedField;

/// One object on its way to the schema of the models.
pub(super) struct Move<'a> {
    binding: &'a Binding,
    moving: &'a Moving<'a>,
    tx: &'a dyn Narrows,
    evolution: Evolution,
    plan: Arc<Plan>,
    /// The values that own conversions wrote, and the positions of the fields they wrote. Own
    /// conversions are functions of the program (`upgrade_with`).
    own: ObjectData,
    written: Vec<usize>,
    /// The old fields whose values own conversions carried over.
    taken: BTreeSet<String>,
    losses: Vec<Loss>,
}

impl<'a> Move<'a> {
    pub(super) fn new(
        models: &'a Models,
        binding: &'a Binding,
        tx: &'a Transaction,
        moving: &'a Moving<'a>,
        plan: Arc<Plan>,
    ) -> Result<Self> {
        let mut this = Move::begin(models, binding, tx, moving, plan);
        let mut writer = ObjectWriter::new(&binding.fields);
        this.conversions_of_given(models, tx, &mut writer)?;
        this.own_conversions(models, tx, writer)?;
        Ok(this)
    }

    /// Makes a `Move` that has converted nothing yet.
    fn begin(
        models: &Models,
        binding: &'a Binding,
        tx: &'a Transaction,
        moving: &'a Moving<'a>,
        plan: Arc<Plan>,
    ) -> Self {
        Move {
            binding,
            moving,
            tx,
            evolution: models.evolution(),
            plan,
            own: ObjectData::new(None, Arc::clone(&binding.fields.object_type)),
            written: Vec::new(),
            taken: BTreeSet::new(),
            losses: Vec::new(),
        }
    }

    /// The caller gives new values for some fields. Runs the conversions of those fields, and the
    /// conversion of the type if the caller gives all fields, with or without the counters. Undoes
    /// their changes; notes only which old values they carry over. If a conversion of a field
    /// fails, it carries nothing over. If the conversion of the type fails, the move fails too if a
    /// counter depends on it. The numbers that the conversion of the type writes to counters that
    /// are not given stay in `writer`.
    fn conversions_of_given(
        &mut self,
        models: &Models,
        tx: &Transaction,
        writer: &mut ObjectWriter<'a>,
    ) -> Result<()> {
        // The conversion of the type may also set counters, which the caller does not give.
        if let Some(convert) = self.of_type().filter(|_| self.gives_all()) {
            let plan = Arc::clone(&self.plan);
            let makes_others = plan.fields().any(|(position, plan)| {
                !self.is_given(position) && !matches!(plan, FieldPlan::Same)
            });
            if let Err(error) = self.undone(convert, models, tx, writer)? {
                // The conversion might have set a counter before it failed, and that number would
                // be lost.
                if makes_others {
                    return Err(self.failed(error, None));
                }
                *writer = ObjectWriter::new(&self.binding.fields);
            }
            // The caller gives these, so what the conversion wrote to them does not count.
            for (position, _) in plan.fields().filter(|(position, _)| self.is_given(*position)) {
                writer.forget(position)?;
            }
        }
        for (_, decl) in self.conversions_of_fields(|position| self.is_given(position)) {
            let convert = |old: &OldValues<'_>, to: &mut ObjectWriter<'_>| {
                decl.convert_with_own_code(old, to)
            };
            // If it fails, only the old values that it would have carried over are missing.
            let _ =
                self.undone(convert, models, tx, &mut ObjectWriter::new(&self.binding.fields))?;
        }
        Ok(())
    }

    /// Runs an own conversion, undoes its changes, and notes which old values it carries over. The
    /// inner error is that of the conversion. The outer one is that of the store or of the
    /// transaction, which the conversion may have got.
    fn undone(
        &mut self,
        convert: impl FnOnce(&OldValues<'_>, &mut ObjectWriter<'_>) -> Result<()>,
        models: &Models,
        tx: &Transaction,
        writer: &mut ObjectWriter<'a>,
    ) -> Result<Result<()>> {
        let values = self.old_values(models, tx);
        // The changes are undone, because the caller gives the values. Only the taken fields count.
        let converted = tx.undone(|| Ok(convert(&values, writer)))?;
        match &converted {
            Ok(()) => {
                // Values that a failed conversion has looked at were not carried over.
                let taken = values.into_taken();
                self.taken.extend(taken);
            }
            // A failure of the store is no failure of the conversion. After a conflict, the
            // transaction must run again.
            Err(error) if about(error) == About::Transaction => return converted.map(Ok),
            Err(_) => {}
        }
        Ok(converted)
    }

    /// The own conversion of the type.
    fn of_type(&self) -> Option<UpgradeWith> {
        self.binding.info.upgrade_with
    }

    fn gives_all(&self) -> bool {
        matches!(self.moving.given, Given::All(..))
    }

    /// The error of an own conversion: that of the field at a position, or that of the type.
    fn failed(&self, source: Error, position: Option<usize>) -> Error {
        let info = &self.binding.info;
        let field = position.and_then(|position| info.fields.get(position));
        let field = field.map_or(String::new(), |decl| format!(".{}", decl.name));
        let old = self.moving.old;
        let value = position.and_then(|position| match self.plan.field(position) {
            FieldPlan::Differs(from) => stored_text(old, from),
            FieldPlan::Same | FieldPlan::Missing => None,
        });
        Error::Upgrade {
            field: format!("{}{field}", info.name),
            id: self.moving.id,
            schema: old.object_type().schema_of,
            value,
            source: Box::new(source),
        }
    }

    fn old_values<'v>(&self, models: &'v Models, tx: &'v Transaction) -> OldValues<'v>
    where
        'a: 'v,
    {
        let old = self.moving.old;
        OldValues::new(old, self.moving.id, old.object_type().schema_of, tx, models.fields())
    }

    /// The own conversions of the wanted fields, with the positions of these.
    fn conversions_of_fields(
        &self,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<(usize, &'static FieldDecl)> {
        let all = conversions_of_fields(self.binding, &self.plan);
        all.filter(|(position, _)| wanted(*position)).collect()
    }

    /// Runs the own conversions for the fields that the caller does not give: first that of the
    /// type, then those of the fields. The conversion of the type also runs if the caller gives
    /// only one of the fields that it sets: the others need it.
    fn own_conversions(
        &mut self,
        models: &Models,
        tx: &Transaction,
        writer: ObjectWriter<'a>,
    ) -> Result<()> {
        let of_type = self.of_type().filter(|_| !self.gives_all());
        let of_fields = self.conversions_of_fields(|position| !self.is_given(position));
        self.convert(of_type, of_fields, models, tx, writer)
    }

    /// Runs these own conversions. A field that is written already is not converted.
    fn convert(
        &mut self,
        of_type: Option<UpgradeWith>,
        of_fields: Vec<(usize, &'static FieldDecl)>,
        models: &Models,
        tx: &Transaction,
        mut writer: ObjectWriter<'a>,
    ) -> Result<()> {
        if of_type.is_none() && of_fields.is_empty() && writer.is_empty() {
            return Ok(());
        }
        let values = self.old_values(models, tx);
        // The conversion of the type comes first. A field that it has set is not converted again.
        if let Some(convert) = of_type {
            convert(&values, &mut writer).map_err(|error| self.failed(error, None))?;
        }
        for (position, decl) in of_fields {
            if !writer.has_written(position) {
                let error = |error| self.failed(error, Some(position));
                decl.convert_with_own_code(&values, &mut writer).map_err(error)?;
            }
        }
        let taken = values.into_taken();
        self.taken.extend(taken);
        (self.own, self.written) = writer.finish();
        self.refuse_other_values()?;
        // Values that own conversions set are checked as in any other change.
        Ok(tx.check_references(self.moving.id, &self.own)?)
    }

    /// A field that has the same definition in the schema of the object is read there, and found in
    /// its index, without a move. So an own conversion may not give it another value: reading the
    /// field, loading the object and the index would tell different values. By Java's rules,
    /// reading a field moves the object first.
    fn refuse_other_values(&self) -> Result<()> {
        if self.evolution == Evolution::AsJava {
            return Ok(());
        }
        for &position in &self.written {
            let to = self.binding.field(position)?;
            let is_same = matches!(self.plan.field(position), FieldPlan::Same);
            if is_same
                && !self.is_given(position)
                && pairs_of(&self.own, to) != pairs_of(self.moving.old, to)
            {
                let error = SameDefinition { field: to.name.to_string() };
                return Err(self.failed(Error::other(error), Some(position)));
            }
        }
        Ok(())
    }

    /// Whether the caller gives the field a value, so that the old one need not be carried over.
    fn is_given(&self, position: usize) -> bool {
        is_given(self.binding, self.moving, position)
    }

    /// The content of the object in the schema of the models; `None` if it is exactly what the
    /// object keeps.
    pub(super) fn content(mut self) -> Result<Option<ObjectData>> {
        let plan = Arc::clone(&self.plan);
        // Most fields keep their content.
        let mut changed = Vec::new();
        for (position, plan) in plan.fields() {
            let Some(decl) = self.binding.info.fields.get(position) else { continue };
            // The caller gives this field, so its old value is not needed.
            if !self.is_given(position)
                && let Some(content) = self.field(position, decl, plan)?
            {
                changed.push((position, content));
            }
        }
        // The leftovers come last: only now is it known which values were taken.
        self.judge_leftovers(&plan);
        refuse(self.binding, self.moving, self.losses)?;
        if changed.is_empty() {
            return Ok(None);
        }
        with(self.binding, self.moving.kept, &changed).map(Some)
    }

    /// The new content of a field; `None` if it keeps its content.
    fn field(
        &mut self,
        position: usize,
        decl: &FieldDecl,
        plan: &FieldPlan,
    ) -> Result<Option<NewContent<'a>>> {
        let (binding, moving) = (self.binding, self.moving);
        let to = binding.field(position)?;
        if self.written.contains(&position) {
            let owned = |(key, value): (&[u8], &[u8])| {
                (Cow::Owned(key.to_vec()), Cow::Owned(value.to_vec()))
            };
            return Ok(Some(NewContent::Pairs(self.own.pairs(to).map(owned).collect())));
        }
        let from = match plan {
            FieldPlan::Missing => return Ok(decl.has_default().then_some(NewContent::Default)),
            FieldPlan::Same => {
                self.judge_narrowing(decl, to);
                return Ok(None);
            }
            FieldPlan::Differs(from) => from,
        };
        let (renamed, policy) = (decl.renamed(), decl.rule(self.evolution, from, to).into());
        let conversion =
            FieldConversion { renamed, policy, old: moving.old, from, to, tx: self.tx };
        match conversion.content() {
            Ok(content) => Ok(Some(content)),
            Err((value, reason)) => {
                self.losses.push(Loss {
                    field: from.name.to_string(),
                    value,
                    reason,
                    removed: false,
                });
                Ok(None)
            }
        }
    }

    /// Checks a field that keeps its values (`FieldPlan::Same`). The model may allow fewer types of
    /// target than before. For a simple field, or for each part of a collection, notes the first
    /// reference whose target is no longer allowed.
    fn judge_narrowing(&mut self, decl: &FieldDecl, to: &ResolvedField) {
        // Where losses are accepted, such a reference goes without a refusal.
        if !is_exact(self.evolution, decl) {
            return;
        }
        // Most fields have no references, so they lose none.
        if !to.is_reference() && !to.sub_fields().any(|part| part.is_reference()) {
            return;
        }
        let old = self.moving.old;
        let Some(from) = old.object_type().field_by_storage_id(to.storage_id) else { return };
        let mut parts: Vec<(&ResolvedField, &ResolvedField)> =
            from.sub_fields().zip(to.sub_fields()).map(|(from, to)| (&**from, &**to)).collect();
        parts.push((from, to));
        for (before, after) in parts.into_iter().filter(|(part, _)| part.is_reference()) {
            let lost = old.values_of(from, before).find(|bytes| self.tx.lost(before, after, bytes));
            if let Some(bytes) = lost {
                let reason = "the field no longer allows references to objects of this type";
                self.losses.push(Loss {
                    field: before.full_name.to_string(),
                    value: value_text(before.simple(), bytes),
                    reason: reason.to_owned(),
                    removed: false,
                });
            }
        }
    }

    /// Notes the values of fields that the model lacks and that may not go.
    fn judge_leftovers(&mut self, plan: &Plan) {
        if self.evolution == Evolution::AsJava {
            return;
        }
        for field in &plan.leftovers {
            // An own conversion has carried the value over.
            if !self.taken.contains(&*field.name) {
                self.losses.extend(dropped(self.binding, self.moving.old, field));
            }
        }
    }
}

/// Why an own conversion may not set a field.
#[derive(Debug, thiserror::Error)]
#[error(
    "`on_schema_change` gives {field:?} another value although it has the same definition in that schema, \
     where it is read and found in indexes without a move; set a field with a new name instead"
)]
struct SameDefinition {
    field: String,
}

/// The own conversions of fields, with the positions of these. A field of the same definition keeps
/// its content.
pub(super) fn conversions_of_fields(
    binding: &Binding,
    plan: &Plan,
) -> impl Iterator<Item = (usize, &'static FieldDecl)> {
    let fields = binding.info.fields.iter().enumerate();
    let of = fields.filter(|(_, decl)| decl.upgrade_with.is_some());
    of.filter(|(position, _)| !matches!(plan.field(*position), FieldPlan::Same))
}

/// The content that the fields of an object at these positions get if it moves to the schema of the
/// models, whatever becomes of its other fields. Changes nothing.
pub(in crate::model) fn after_move(
    models: &Models,
    binding: &Binding,
    tx: &Transaction,
    (id, old): (ObjId, &ObjectData),
    positions: &[usize],
) -> Result<ObjectData> {
    let plan = binding.plan(old.object_type());
    let is_same = |position| matches!(plan.field(position), FieldPlan::Same);
    let mut kept = ObjectWriter::new(&binding.fields);
    for &position in positions.iter().filter(|position| is_same(**position)) {
        kept.copy(position, old)?;
    }
    let (kept, _) = kept.finish();
    let moving = Moving { id, old, kept: &kept, given: Given::Nothing };
    let mut this = Move::begin(models, binding, tx, &moving, Arc::clone(&plan));
    // A field of the same definition is read in the schema that the object has now. By Java's
    // rules, the object moves first.
    let moves = |position: usize| this.evolution == Evolution::AsJava || !is_same(position);
    let moved: Vec<usize> = positions.iter().copied().filter(|at| moves(*at)).collect();
    let of_type = this.of_type().filter(|_| !moved.is_empty());
    let of_fields = this.conversions_of_fields(|position| moved.contains(&position));
    if of_type.is_some() || !of_fields.is_empty() {
        let writer = ObjectWriter::new(&binding.fields);
        // Own conversions may create objects. These must not stay.
        tx.undone(|| Ok(this.convert(of_type, of_fields, models, tx, writer)))??;
    }
    let mut changed = Vec::new();
    for position in moved {
        let Some(decl) = binding.info.fields.get(position) else { continue };
        if let Some(content) = this.field(position, decl, plan.field(position))? {
            changed.push((position, content));
        }
    }
    refuse(binding, &moving, std::mem::take(&mut this.losses))?;
    let new = with(binding, &kept, &changed)?;
    for &position in positions.iter().filter(|position| !is_same(**position)) {
        let to = binding.field(position)?;
        let required = binding.info.fields.get(position).filter(|decl| decl.requires_a_value(to));
        // The value would be null, and reading the field would be refused too.
        if required.is_some() && new.stored(to).is_none() {
            let schema = old.object_type().schema_of;
            let (field, is_null, is_new) = (binding.path(to), false, false);
            return Err(Error::Missing { field, id, schema, is_null, is_new });
        }
    }
    Ok(new)
}

/// Whether the caller gives a field a value.
pub(super) fn is_given(binding: &Binding, moving: &Moving<'_>, position: usize) -> bool {
    let field = binding.field(position);
    match moving.given {
        Given::Nothing | Given::Later => false,
        Given::All(_, Counters::Given) => true,
        Given::All(_, Counters::Kept) => field.is_ok_and(|field| !field.is_counter()),
        Given::Field(id, _) => field.is_ok_and(|field| field.storage_id == id),
    }
}

/// A copy of `kept` in which some fields have other content.
fn with(
    binding: &Binding,
    kept: &ObjectData,
    changed: &[(usize, NewContent<'_>)],
) -> Result<ObjectData> {
    let mut new = ObjectBuilder::of(kept);
    let mut defaults = ObjectWriter::new(&binding.fields);
    for (position, content) in changed {
        let to = binding.field(*position)?;
        // The kept value goes first, or the field would have two.
        new.forget(to);
        match content {
            NewContent::Pairs(pairs) => {
                push(&mut new, to, pairs.iter().map(|(key, value)| (&**key, &**value)));
            }
            // Defaults are written together at the end, by the same writer for all fields.
            NewContent::Default => binding.write_default(*position, &mut defaults)?,
        }
    }
    let (defaults, written) = defaults.finish();
    for position in written {
        let to = binding.field(position)?;
        push(&mut new, to, defaults.pairs(to));
    }
    Ok(new.finish())
}

pub(super) fn push<'p>(
    to: &mut ObjectBuilder,
    field: &ResolvedField,
    pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
) {
    pairs.for_each(|(key, value)| to.push_pair(field.storage_id, key, value));
}

/// The loss of the value of a field that the model lacks; `None` if the model allows this loss, or
/// there is no value.
fn dropped(binding: &Binding, old: &ObjectData, field: &ResolvedField) -> Option<Loss> {
    let name = &*field.name;
    if binding.may_go(name) {
        return None;
    }
    let value = stored_text(old, field)?;
    let reason = format!("{} has no such field", binding.info.name);
    Some(Loss { field: name.to_owned(), value, reason, removed: true })
}

/// For an object that a copy moves to a schema other than that of the models. Refuses the move if
/// that other schema lacks a field whose value may not be lost.
pub(super) fn judge_dropped(
    evolution: Evolution,
    binding: &Binding,
    moving: &Moving<'_>,
) -> Result<()> {
    if evolution == Evolution::AsJava {
        return Ok(());
    }
    let (old, new_type) = (moving.old, moving.kept.object_type());
    let gone =
        // Fields are matched by name: the schema of the copy has other storage IDs if definitions
        // differ.
        old.object_type().fields.iter().filter(|field| new_type.field(&field.name).is_none());
    refuse(binding, moving, gone.filter_map(|field| dropped(binding, old, field)).collect())
}

/// Refuses a move that loses something.
fn refuse(binding: &Binding, moving: &Moving<'_>, losses: Vec<Loss>) -> Result<()> {
    if losses.is_empty() {
        return Ok(());
    }
    Err(Error::Refused(Box::new(Refusal {
        id: moving.id,
        type_name: binding.info.name.to_owned(),
        from: moving.old.object_type().schema_of,
        to: moving.kept.object_type().schema_of,
        losses,
    })))
}
