//! Objects of another schema, read and changed where they are (docs/src/evolution.md).

use std::sync::Arc;

use super::plan::{FieldPlan, Plan};
use super::stored_pairs::pairs_of;
use crate::model::binding::Binding;
use crate::model::declare::FieldDecl;
use crate::model::error::Result;
use crate::model::handle::Handle;
use crate::model::load::ObjectWriter;
use crate::object::{
    self, FieldConversion, Migrate, Narrows, NewContent, ObjectBuilder, ObjectData,
};
use crate::schema::SchemaId;

/// The content of an object as the model sees it, in the type of the model.
pub(in crate::model) struct Seen {
    pub(in crate::model) data: ObjectData,
    /// The positions of the fields whose values cannot be known without moving the object: one has
    /// no counterpart, or an own conversion makes it. They have no value in `data`.
    pub(in crate::model) unread: Vec<usize>,
    /// The schema in which the object is.
    pub(in crate::model) schema: SchemaId,
    /// The stored content and the plan for it, if the object is in another schema.
    elsewhere: Option<(ObjectData, Arc<Plan>)>,
}

impl Binding {
    /// Content of an object of another schema, as the model sees it. Each field is converted by
    /// itself, so a value that has no counterpart leaves the others readable. Own conversions do
    /// not run.
    pub(in crate::model) fn see(&self, old: ObjectData, tx: &dyn Narrows) -> Result<Seen> {
        let plan = self.plan(old.object_type());
        let mut writer = ObjectWriter::new(&self.fields);
        let mut unread = Vec::new();
        for (position, field) in plan.fields() {
            let Some(decl) = self.info.fields.get(position) else { continue };
            match field {
                FieldPlan::Same => writer.copy(position, &old)?,
                FieldPlan::Missing if self.is_missing(&plan, position) => {
                    self.write_default(position, &mut writer)?;
                }
                // An own conversion may create objects or fail, so it does not run for a look.
                FieldPlan::Differs(from) if !self.has_own_code(decl) => {
                    let to = self.field(position)?;
                    let (renamed, policy) =
                        (decl.renamed(), decl.upgrade.unwrap_or_default().into());
                    let conversion = FieldConversion { renamed, policy, old: &old, from, to, tx };
                    match conversion.content() {
                        Ok(NewContent::Pairs(pairs)) => {
                            let pairs = pairs.iter().map(|(key, value)| (&**key, &**value));
                            writer.pairs(position, pairs)?;
                        }
                        Ok(NewContent::Default) => self.write_default(position, &mut writer)?,
                        // This value alone has no counterpart. The others stay readable.
                        Err(_) => unread.push(position),
                    }
                }
                _ => unread.push(position),
            }
        }
        let (data, schema) = (writer.finish().0, old.object_type().schema_of);
        Ok(Seen { data, unread, schema, elsewhere: Some((old, plan)) })
    }

    /// Whether an own conversion may make the value of a field.
    pub(in crate::model) fn has_own_code(&self, decl: &FieldDecl) -> bool {
        self.info.upgrade_with.is_some() || decl.upgrade_with.is_some()
    }

    /// The positions of the fields that `store` would change. It never changes counters.
    fn changed(&self, new: &ObjectData, seen: &Seen) -> Result<Vec<usize>> {
        let mut changed = Vec::new();
        for position in 0..self.info.fields.len() {
            let field = self.field(position)?;
            let is_same = || pairs_of(new, field) == pairs_of(&seen.data, field);
            // The stored value cannot be compared, so a new value counts as a change.
            if !field.is_counter() && (seen.unread.contains(&position) || !is_same()) {
                changed.push(position);
            }
        }
        Ok(changed)
    }

    /// `old`, an object of another schema, with the content that the changed fields have in `new`.
    fn placed(&self, new: &ObjectData, changed: &[usize], old: &ObjectData) -> Result<ObjectData> {
        let fields = changed.iter().map(|position| Ok(self.field(*position)?.storage_id));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut placed = ObjectBuilder::new(Arc::clone(old.object_type()));
        for field in &old.object_type().fields {
            let from = if fields.contains(&field.storage_id) { new } else { old };
            // Counters come from `old` too: storing an object never changes them.
            let pairs = from.pairs(field);
            pairs.for_each(|(key, value)| placed.push_pair(field.storage_id, key, value));
        }
        Ok(placed.finish())
    }
}

impl Seen {
    /// The content of an object that is in the schema of the models, or moves there.
    fn whole((data, schema): (ObjectData, SchemaId)) -> Self {
        Seen { data, unread: Vec::new(), schema, elsewhere: None }
    }

    /// Content that is in the type of the model already.
    pub(in crate::model) fn own(data: ObjectData) -> Self {
        let schema = data.object_type().schema_of;
        Seen::whole((data, schema))
    }

    /// Whether the object's own schema lacks the field at a position, which then reads as its
    /// default.
    pub(in crate::model) fn lacks(&self, binding: &Binding, position: usize) -> bool {
        let plan = self.elsewhere.as_ref().map(|(_, plan)| plan);
        plan.is_some_and(|plan| binding.is_missing(plan, position))
    }

    /// Whether the object takes new values of these fields where it is.
    pub(in crate::model) fn takes(&self, positions: impl IntoIterator<Item = usize>) -> bool {
        let plan = self.elsewhere.as_ref().map(|(_, plan)| plan);
        plan.is_none_or(|plan| {
            let is_same = |position| matches!(plan.field(position), FieldPlan::Same);
            positions.into_iter().all(is_same)
        })
    }
}

impl Handle<'_> {
    /// The content of the object as the model sees it where it is. A required value that the object
    /// lacks cannot be read there either.
    pub(in crate::model) fn seen(&self) -> Result<Seen> {
        let (core, binding) = (&self.tx.core, self.binding);
        // By Java's rules the object moves first.
        if self.access() == Migrate::Yes {
            return self.seen_after_moving();
        }
        let data = core.load(self.id, Migrate::No)?;
        if data.object_type().schema == binding.fields.object_type.schema {
            return Ok(Seen::own(data));
        }
        let mut seen = binding.see(data, core)?;
        let Some((_, plan)) = &seen.elsewhere else { return Ok(seen) };
        for (position, decl) in binding.info.fields.iter().enumerate() {
            let lacks = binding.is_missing(plan, position) && !decl.has_default();
            // A default that the model does not state would be null, which the struct cannot have.
            if lacks && decl.requires_a_value(binding.field(position)?) {
                seen.unread.push(position);
            }
        }
        Ok(seen)
    }

    /// The whole content of the object. If it cannot be read where the object is, the object moves.
    fn seen_after_moving(&self) -> Result<Seen> {
        let mut seen = self.content().map(Seen::whole)?;
        let core = &self.tx.core;
        // An object that cannot move is still changed where it is.
        if self.access() == Migrate::No && !core.is_current(self.id)? {
            let old = core.load(self.id, Migrate::No)?;
            let plan = self.binding.plan(old.object_type());
            seen.elsewhere = Some((old, plan));
        }
        Ok(seen)
    }

    /// Does the same for an object that is to be changed: if it moves, its rules are checked.
    pub(in crate::model) fn seen_to_change(&self) -> Result<Seen> {
        let core = &self.tx.core;
        if self.access() == Migrate::Yes || self.content_in_place()?.is_none() {
            match core.migrate_to_change(self.id) {
                // An object that cannot move is still changed where it is.
                Err(object::Error::KeyTooLong { .. }) if !core.is_current(self.id)? => {}
                moved => moved?,
            }
        }
        self.seen_after_moving()
    }

    /// The content of the object as the model sees it, and the schema in which the object is.
    pub(in crate::model) fn content(&self) -> Result<(ObjectData, SchemaId)> {
        if self.access() == Migrate::No
            && let Some(content) = self.content_in_place()?
        {
            return Ok(content);
        }
        let moved = self.or_unmovable(self.tx.core.load(self.id, Migrate::Yes), Ok)?;
        Ok((moved, self.binding.fields.object_type.schema_of))
    }

    /// The content of the object as the model sees it where the object is, and its schema; `None`
    /// if the model cannot read it there.
    pub(in crate::model) fn content_in_place(&self) -> Result<Option<(ObjectData, SchemaId)>> {
        let (core, current) = (&self.tx.core, &self.binding.fields.object_type);
        let data = core.load(self.id, Migrate::No)?;
        if data.object_type().schema == current.schema {
            return Ok(Some((data, current.schema_of)));
        }
        let plan = self.binding.plan(data.object_type());
        if !self.binding.fits_in_place(&plan) {
            return Ok(None);
        }
        let seen = self.binding.see(data, core)?;
        Ok(Some((seen.data, seen.schema)))
    }

    /// Gives the object this content, except for its counters.
    pub(in crate::model) fn store_content(&self, data: &ObjectData) -> Result<()> {
        let core = &self.tx.core;
        // Most objects are in the schema of the models, so this is tried before anything is looked
        // up.
        match core.store_but_counters(self.id, data, Migrate::No) {
            // The object is in another schema. It may take the content there, or else it moves.
            Err(object::Error::SchemaMismatch { .. }) if !core.is_current(self.id)? => {}
            stored => return Ok(stored?),
        }
        // An object in another schema may take the changed fields where it is, and then need not
        // move.
        if self.access() == Migrate::No {
            let seen = self.seen()?;
            let changed = self.binding.changed(data, &seen)?;
            if self.store_in_place(data, &changed, &seen)? {
                return Ok(());
            }
        }
        self.store_moving(data)
    }

    /// Gives the object this content, except for its counters. The object moves if it must.
    pub(in crate::model) fn store_moving(&self, data: &ObjectData) -> Result<()> {
        Ok(self.tx.core.store_but_counters(self.id, data, Migrate::Yes)?)
    }

    /// Gives the fields at the changed positions the content that they have in `data`, in the
    /// schema where the object is. Returns false if it must move for that.
    pub(in crate::model) fn store_in_place(
        &self,
        data: &ObjectData,
        changed: &[usize],
        seen: &Seen,
    ) -> Result<bool> {
        let core = &self.tx.core;
        // A field of another definition cannot be written where the object is.
        if !seen.takes(changed.iter().copied()) {
            return Ok(false);
        }
        let placed = match &seen.elsewhere {
            Some((old, _)) => core.store_but_counters(
                self.id,
                &self.binding.placed(data, changed, old)?,
                Migrate::No,
            ),
            // It cannot move, and was only seen as it would be then.
            None if !core.is_current(self.id)? => return Ok(false),
            None => core.store_but_counters(self.id, data, Migrate::No),
        };
        match placed {
            // The schema of the models may allow it.
            Err(error) if self.may_depend_on_schema(&error)? => Ok(false),
            stored => Ok(stored.map(|()| true)?),
        }
    }
}
