//! Moving an object to the schema of the models: what it gets there, judged before anything is
//! written (docs/src/evolution.md).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::binding::{Binding, Models};
use super::declare::{FieldDecl, Upgrade, ValueDecl};
use super::error::{Error, Result};
use super::load::ObjectWriter;
use super::old_values::OldValues;
use super::plan::{FieldPlan, Plan};
use super::refusal::{Loss, Refusal, shown};
use crate::encoding::{Conversion, Encoding, TypedEncoding, Value};
use crate::layout;
use crate::object::{
    self, Carrier, Given, Moving, Narrowing, ObjectBuilder, ObjectData, Transaction,
};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedSimple};

/// What may be lost when objects move to the schema of the models, and when they move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Evolution {
    /// An object moves only when it must, and only if nothing is lost but what the model says.
    #[default]
    Exact,
    /// As in Java: every access to a field moves the object. Values are converted as well as
    /// possible, collections whose definition has changed start empty, and fields that the model
    /// lacks are dropped.
    AsJava,
}

impl Carrier for Models {
    fn carry(
        &self,
        tx: &Transaction<'_>,
        moving: &Moving<'_>,
    ) -> object::Result<Option<ObjectData>> {
        let id = moving.id.storage_id();
        let Some(binding) = self.iter().find(|binding| binding.storage_id() == id) else {
            return Ok(None);
        };
        Move::new(self, binding, tx, moving).and_then(Move::content).map_err(|error| match error {
            Error::Object(error) => error,
            error => object::Error::listener(error),
        })
    }
}

/// One object on its way to the schema of the models.
struct Move<'a> {
    binding: &'a Binding,
    moving: &'a Moving<'a>,
    tx: &'a dyn Narrows,
    evolution: Evolution,
    plan: Arc<Plan>,
    /// What own conversions wrote, and the positions of the fields they wrote.
    own: ObjectData,
    written: Vec<usize>,
    /// The old fields whose values own conversions carried over.
    taken: BTreeSet<String>,
    losses: Vec<Loss>,
}

/// Tells which references a field loses, in a transaction of any lifetime.
trait Narrows {
    fn lost(&self, old: &ResolvedField, new: &ResolvedField, bytes: &[u8]) -> bool;
}

impl Narrows for Transaction<'_> {
    fn lost(&self, old: &ResolvedField, new: &ResolvedField, bytes: &[u8]) -> bool {
        Narrowing::new(&self.bundle(), old, new).refused(bytes).is_some()
    }
}

/// What a field gets.
enum Content<'d> {
    /// These pairs.
    Pairs(Vec<(Cow<'d, [u8]>, Cow<'d, [u8]>)>),
    /// Its default.
    Default,
}

/// Why a value is lost: the value as text, and the reason.
type Lost = (String, String);

impl<'a> Move<'a> {
    fn new(
        models: &'a Models,
        binding: &'a Binding,
        tx: &'a Transaction<'_>,
        moving: &'a Moving<'a>,
    ) -> Result<Self> {
        let plan = binding.plan(moving.old.object_type());
        let mut this = Move {
            binding,
            moving,
            tx,
            evolution: models.evolution(),
            plan,
            own: ObjectData::new(None, Arc::clone(&binding.object_type)),
            written: Vec::new(),
            taken: BTreeSet::new(),
            losses: Vec::new(),
        };
        let converted = this.own_conversions(models, tx);
        // An object that is replaced as a whole needs no conversion. If one fails, it carried
        // nothing over.
        if !matches!(moving.given, Given::All(_)) {
            converted?;
        }
        Ok(this)
    }

    /// Runs the own conversions, of the type first and then of the fields.
    fn own_conversions(&mut self, models: &Models, tx: &Transaction<'_>) -> Result<()> {
        let info = &self.binding.info;
        let of_fields = info.fields.iter().enumerate().filter_map(|(position, decl)| {
            let same = matches!(self.plan.field(position), FieldPlan::Same);
            decl.upgrade_with
                .filter(|_| !same && !self.is_given(position))
                .map(|with| (position, with))
        });
        let of_fields: Vec<_> = of_fields.collect();
        if info.upgrade_with.is_none() && of_fields.is_empty() {
            return Ok(());
        }
        let (old, id) = (self.moving.old, self.moving.id);
        let values = OldValues::new(old, id, old.object_type().schema_of, tx, models);
        let mut writer = ObjectWriter::new(self.binding);
        let failed = |source: Error, field: &str| Error::Upgrade {
            field: format!("{}{field}", info.name),
            id,
            source: Box::new(source),
        };
        if let Some(convert) = info.upgrade_with {
            convert(&values, &mut writer).map_err(|error| failed(error, ""))?;
        }
        for (position, convert) in of_fields {
            if !writer.has_written(position) {
                let name = info.fields.get(position).map_or("", |decl| decl.name);
                let error = |error| failed(error, &format!(".{name}"));
                convert(&values, &mut writer).map_err(error)?;
            }
        }
        self.taken = values.into_taken();
        (self.own, self.written) = writer.finish();
        Ok(())
    }

    /// Whether the caller gives the field a value, so that the old one need not be carried over.
    fn is_given(&self, position: usize) -> bool {
        match self.moving.given {
            Given::Nothing => false,
            Given::All(_) => true,
            Given::Field(id, _) => {
                self.binding.field(position).is_ok_and(|field| field.storage_id == id)
            }
        }
    }

    /// The content of the object in the schema of the models; `None` if it is exactly what the
    /// object keeps.
    fn content(mut self) -> Result<Option<ObjectData>> {
        let plan = Arc::clone(&self.plan);
        let mut contents = Vec::new();
        for (position, plan) in plan.fields() {
            let Some(decl) = self.binding.info.fields.get(position) else { continue };
            if !self.is_given(position) {
                contents.push((position, self.field(position, decl, plan)?));
            }
        }
        self.judge_leftovers(&plan);
        if !self.losses.is_empty() {
            return Err(Error::Refused(Box::new(Refusal {
                id: self.moving.id,
                type_name: self.binding.info.name.to_owned(),
                from: self.moving.old.object_type().schema_of,
                to: self.binding.object_type.schema_of,
                losses: self.losses,
            })));
        }
        if contents.iter().all(|(_, content)| content.is_none()) {
            return Ok(None);
        }
        let mut new = ObjectBuilder::new(Arc::clone(&self.binding.object_type));
        let mut defaults = ObjectWriter::new(self.binding);
        for (position, content) in &contents {
            let to = self.binding.field(*position)?;
            match content {
                None => push(&mut new, to, self.moving.kept.pairs(to)),
                Some(Content::Pairs(pairs)) => {
                    push(&mut new, to, pairs.iter().map(|(key, value)| (&**key, &**value)));
                }
                Some(Content::Default) => self.binding.write_default(*position, &mut defaults)?,
            }
        }
        let (defaults, written) = defaults.finish();
        for position in written {
            let to = self.binding.field(position)?;
            push(&mut new, to, defaults.pairs(to));
        }
        Ok(Some(new.finish()))
    }

    /// What a field gets; `None` if it keeps what it has.
    fn field(
        &mut self,
        position: usize,
        decl: &FieldDecl,
        plan: &FieldPlan,
    ) -> Result<Option<Content<'a>>> {
        let (binding, moving) = (self.binding, self.moving);
        let to = binding.field(position)?;
        if self.written.contains(&position) {
            let owned = |(key, value): (&[u8], &[u8])| {
                (Cow::Owned(key.to_vec()), Cow::Owned(value.to_vec()))
            };
            return Ok(Some(Content::Pairs(self.own.pairs(to).map(owned).collect())));
        }
        let from = match plan {
            FieldPlan::Missing => return Ok(decl.has_default().then_some(Content::Default)),
            FieldPlan::Same => {
                self.judge_narrowing(decl, to);
                return Ok(None);
            }
            FieldPlan::Differs(from) => from,
        };
        let upgrade = self.rule(decl, to);
        if upgrade == Upgrade::Reset {
            return Ok(Some(Content::Default));
        }
        let conversion = FieldConversion { decl, upgrade, old: moving.old, from, to, tx: self.tx };
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

    /// What may happen to the values of a field.
    fn rule(&self, decl: &FieldDecl, to: &ResolvedField) -> Upgrade {
        match (self.evolution, decl.upgrade, &to.kind) {
            // Java resets collections.
            (
                Evolution::AsJava,
                Upgrade::Exact,
                ResolvedKind::Simple(_) | ResolvedKind::Counter,
            ) => Upgrade::Lossy,
            (Evolution::AsJava, Upgrade::Exact, _) => Upgrade::Reset,
            (_, upgrade, _) => upgrade,
        }
    }

    /// Notes references that a field of the same definition loses, because it no longer allows
    /// their type.
    fn judge_narrowing(&mut self, decl: &FieldDecl, to: &ResolvedField) {
        if self.evolution == Evolution::AsJava || decl.upgrade != Upgrade::Exact {
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
            let name = &*field.name;
            let may_go = self.binding.info.removed.contains(&name) || self.taken.contains(name);
            if !may_go && let Some(value) = stored_text(self.moving.old, field) {
                let reason = format!("{} has no such field", self.binding.info.name);
                let loss = Loss { field: name.to_owned(), value, reason, removed: true };
                self.losses.push(loss);
            }
        }
    }
}

/// The conversion of the values of one field.
struct FieldConversion<'a, 'd> {
    decl: &'a FieldDecl,
    upgrade: Upgrade,
    old: &'d ObjectData,
    from: &'a ResolvedField,
    to: &'a ResolvedField,
    tx: &'a dyn Narrows,
}

impl<'d> FieldConversion<'_, 'd> {
    fn content(&self) -> std::result::Result<Content<'d>, Lost> {
        use ResolvedKind::{Counter, List, Map, Set, Simple};
        let [value, second] = self.decl.values();
        let old = self.old;
        match (&self.from.kind, &self.to.kind) {
            (Counter, Counter) => {
                self.pair(|| self.count(), |count| Ok(count.to_be_bytes().to_vec()))
            }
            (Simple(_), Counter) => self.pair(|| self.old_value(), |bytes| self.counted(&bytes)),
            (Counter, Simple(_)) => self.pair(
                || Ok(Value::Long(self.count()?)),
                |count| self.part(None, self.to, value, &encoded_count(&count)),
            ),
            (Simple(_), Simple(_)) => self.pair(
                || self.old_value(),
                |bytes| self.part(Some(self.from), self.to, value, &bytes),
            ),
            (Simple(simple), Set { element } | List { element }) => {
                let bytes = self.old_value()?;
                // Null is no element: converted back, an empty collection is null again.
                if simple.encoding.supports_null() && is_null(&*simple.encoding, &bytes) {
                    return Ok(Content::Pairs(Vec::new()));
                }
                let elements = std::iter::once(Ok(bytes));
                self.elements(elements, self.from, element, value)
            }
            (Set { element: from } | List { element: from }, Simple(_)) => self.single(from, value),
            (
                Set { element: from } | List { element: from },
                Set { element: to } | List { element: to },
            ) => {
                let elements = old.values_of(self.from, from).map(|bytes| Ok(Cow::Borrowed(bytes)));
                self.elements(elements, from, to, value)
            }
            (Map { key: from_key, value: from_value }, Map { key, value: to_value }) => {
                self.entries((from_key, key, value), (from_value, to_value, second))
            }
            // Nothing is lost where nothing was.
            _ if stored_text(old, self.from).is_none() => Ok(Content::Default),
            _ if self.upgrade == Upgrade::Lossy => Ok(Content::Default),
            _ => {
                let text = stored_text(old, self.from).unwrap_or_default();
                Err((
                    text,
                    format!("a {} is not converted to a {}", kind(self.from), kind(self.to)),
                ))
            }
        }
    }

    /// The content of a field with one value; the default if the value may be lost and cannot be
    /// converted.
    fn pair<V>(
        &self,
        value: impl FnOnce() -> std::result::Result<V, Lost>,
        convert: impl FnOnce(V) -> std::result::Result<Vec<u8>, Lost>,
    ) -> std::result::Result<Content<'d>, Lost> {
        match value().and_then(convert) {
            Ok(bytes) => Ok(Content::Pairs(vec![(Cow::Borrowed(&[]), Cow::Owned(bytes))])),
            Err(_) if self.upgrade == Upgrade::Lossy => Ok(Content::Default),
            Err(lost) => Err(lost),
        }
    }

    /// The elements of a set or list.
    fn elements(
        &self,
        elements: impl Iterator<Item = std::result::Result<Cow<'d, [u8]>, Lost>>,
        from: &ResolvedField,
        to: &ResolvedField,
        decl: Option<&ValueDecl>,
    ) -> std::result::Result<Content<'d>, Lost> {
        let into_set = matches!(self.to.kind, ResolvedKind::Set { .. });
        let from_list = matches!(self.from.kind, ResolvedKind::List { .. });
        let mut converted: Vec<Vec<u8>> = Vec::new();
        for element in elements {
            let element = element?;
            match self.part(Some(from), to, decl, &element) {
                Ok(bytes) => {
                    // In a set, elements are in order and differ. A list may have another order,
                    // which would be lost.
                    let out_of_order = converted.last().is_some_and(|last| *last >= bytes);
                    if into_set && from_list && out_of_order && self.upgrade != Upgrade::Lossy {
                        let text = value_text(from.simple(), &element);
                        let reason = "a set keeps neither the order nor the number of equal elements of the list";
                        return Err((text, reason.to_owned()));
                    }
                    converted.push(bytes);
                }
                // An element that cannot be converted is left out.
                Err(_) if self.upgrade == Upgrade::Lossy => {}
                Err(lost) => return Err(lost),
            }
        }
        if into_set {
            converted.sort();
            converted.dedup();
            let pair = |bytes| (Cow::Owned(bytes), Cow::Borrowed(&[][..]));
            return Ok(Content::Pairs(converted.into_iter().map(pair).collect()));
        }
        let pair = |(at, bytes): (u32, Vec<u8>)| {
            (Cow::Owned(layout::list_position(at).to_vec()), Cow::Owned(bytes))
        };
        Ok(Content::Pairs((0..).zip(converted).map(pair).collect()))
    }

    /// The value of a simple field that was a collection: its only element, or null if it is empty.
    fn single(
        &self,
        from: &ResolvedField,
        decl: Option<&ValueDecl>,
    ) -> std::result::Result<Content<'d>, Lost> {
        let elements: Vec<&[u8]> = self.old.values_of(self.from, from).collect();
        let null = || self.to.simple().filter(|to| to.encoding.supports_null());
        let lossy = self.upgrade == Upgrade::Lossy;
        match elements[..] {
            [] if null().is_some() || lossy => Ok(Content::Default),
            [] => Err(("of no elements".to_owned(), "the field has no null".to_owned())),
            // Converted back, null is no element at all.
            [only]
                if !lossy && from.simple().is_some_and(|part| is_null(&*part.encoding, only)) =>
            {
                Err((
                    "null as the only element".to_owned(),
                    "without the collection it means no element".to_owned(),
                ))
            }
            [only] => self.pair(|| Ok(only), |only| self.part(Some(from), self.to, decl, only)),
            [first, ..] if lossy => {
                self.pair(|| Ok(first), |first| self.part(Some(from), self.to, decl, first))
            }
            [_, second, ..] => {
                Err((value_text(from.simple(), second), "the field has only one value".to_owned()))
            }
        }
    }

    /// The entries of a map.
    fn entries(
        &self,
        keys: (&ResolvedField, &ResolvedField, Option<&ValueDecl>),
        values: (&ResolvedField, &ResolvedField, Option<&ValueDecl>),
    ) -> std::result::Result<Content<'d>, Lost> {
        let mut converted: Vec<(Cow<'d, [u8]>, Cow<'d, [u8]>)> = Vec::new();
        for (key, value) in self.old.pairs(self.from) {
            let entry = self
                .part(Some(keys.0), keys.1, keys.2, key)
                .and_then(|key| Ok((key, self.part(Some(values.0), values.1, values.2, value)?)));
            match entry {
                Ok((key, value)) => converted.push((Cow::Owned(key), Cow::Owned(value))),
                Err(_) if self.upgrade == Upgrade::Lossy => {}
                Err(lost) => return Err(lost),
            }
        }
        Ok(Content::Pairs(converted))
    }

    /// A value of `from`, which is that of a counter if it is `None`, converted to one of `to`.
    fn part(
        &self,
        from: Option<&ResolvedField>,
        to: &ResolvedField,
        decl: Option<&ValueDecl>,
        bytes: &[u8],
    ) -> std::result::Result<Vec<u8>, Lost> {
        let long = TypedEncoding::<i64>::not_null();
        let from_simple = from.and_then(ResolvedField::simple);
        let (from_encoding, Some(to_simple)) =
            (from_simple.map_or(&long as &dyn Encoding, |from| &*from.encoding), to.simple())
        else {
            return Err((String::new(), "the field holds no values".to_owned()));
        };
        let lost = |reason: String| (value_text(from_simple, bytes), reason);
        if let (Some(from), true) = (from, to_simple.reference.is_some())
            && self.tx.lost(from, to, bytes)
        {
            return Err(lost(
                "the field does not allow references to objects of this type".to_owned(),
            ));
        }
        let conversion = Conversion::new(from_encoding, &*to_simple.encoding);
        let conversion = conversion.renaming(decl.map_or(&[], |decl| decl.renamed));
        match conversion.exact(bytes) {
            Ok(converted) => Ok(converted),
            Err(_) if self.upgrade == Upgrade::Lossy => {
                conversion.lossy(bytes).map_err(|error| lost(error.to_string()))
            }
            Err(inexact) => Err(lost(inexact.to_string())),
        }
    }

    fn old_value(&self) -> std::result::Result<Cow<'d, [u8]>, Lost> {
        match self.old.simple_or_default(self.from) {
            Some(bytes) => Ok(Cow::Owned(bytes.to_vec())),
            None => Err((
                "that is not stored".to_owned(),
                "the default of its encoding is not known".to_owned(),
            )),
        }
    }

    fn count(&self) -> std::result::Result<i64, Lost> {
        let damaged = |error: object::Error| ("of a counter".to_owned(), error.to_string());
        self.old.counter(self.from).map_err(damaged)
    }

    /// The stored form of a counter, from the value of a simple field.
    fn counted(&self, bytes: &[u8]) -> std::result::Result<Vec<u8>, Lost> {
        let Some(from) = self.from.simple() else {
            return Err((String::new(), "the field holds no value".to_owned()));
        };
        let lost = |reason: String| (value_text(Some(from), bytes), reason);
        let long = TypedEncoding::<i64>::not_null();
        let counted = Conversion::new(&*from.encoding, &long).exact(bytes);
        let count = match counted {
            Ok(counted) => (&long as &dyn Encoding)
                .decode_all(&counted)
                .ok()
                .and_then(|value| value.to_counter()),
            Err(_) if self.upgrade == Upgrade::Lossy => {
                from.encoding.decode_all(bytes).ok().and_then(|value| value.to_counter())
            }
            Err(inexact) => return Err(lost(inexact.to_string())),
        };
        let count =
            count.ok_or_else(|| lost("it is no number that a counter can have".to_owned()))?;
        Ok(count.to_be_bytes().to_vec())
    }
}

/// The value of a counter in the encoding of `long`.
fn encoded_count(count: &Value) -> Vec<u8> {
    let long = TypedEncoding::<i64>::not_null();
    (&long as &dyn Encoding).encode_all(count).unwrap_or_default()
}

fn push<'p>(
    to: &mut ObjectBuilder,
    field: &ResolvedField,
    pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
) {
    pairs.for_each(|(key, value)| to.push_pair(field.storage_id, key, value));
}

fn is_null(encoding: &dyn Encoding, bytes: &[u8]) -> bool {
    encoding.decode_all(bytes).is_ok_and(|value| value.is_null())
}

fn kind(field: &ResolvedField) -> &'static str {
    match &field.kind {
        ResolvedKind::Simple(_) => "single value",
        ResolvedKind::Counter => "counter",
        ResolvedKind::Set { .. } => "set",
        ResolvedKind::List { .. } => "list",
        ResolvedKind::Map { .. } => "map",
    }
}

/// An encoded value as text for messages.
pub(super) fn value_text(simple: Option<&ResolvedSimple>, bytes: &[u8]) -> String {
    let long = TypedEncoding::<i64>::not_null();
    let encoding = simple.map_or(&long as &dyn Encoding, |simple| &*simple.encoding);
    let value = encoding.decode_all(bytes);
    let text = value.and_then(|value| match value.is_null() {
        true => Ok("null".to_owned()),
        false => encoding.to_text(&value).map(|text| shown(&text)),
    });
    text.unwrap_or_else(|_| format!("{} (damaged)", permazen_kv::Hex(bytes)))
}

/// What a field holds, for messages; `None` if that is its default.
pub(super) fn stored_text(data: &ObjectData, field: &ResolvedField) -> Option<String> {
    match &field.kind {
        ResolvedKind::Simple(simple) => {
            let stored = data.stored(field).filter(|bytes| !simple.is_default(bytes))?;
            Some(value_text(Some(simple), stored))
        }
        ResolvedKind::Counter => match data.counter(field) {
            Ok(0) => None,
            Ok(count) => Some(count.to_string()),
            Err(_) => Some("(damaged)".to_owned()),
        },
        kind => {
            let entries =
                if matches!(kind, ResolvedKind::Map { .. }) { "entries" } else { "elements" };
            let count = data.pairs(field).len();
            (count > 0).then(|| format!("of {count} {entries}"))
        }
    }
}
