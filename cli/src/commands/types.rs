//! `types` and `type`: the recorded object types.

use std::sync::Arc;

use permazen::__internal::object::IndexKind;
use permazen::__internal::schema::{ReferenceInfo, ResolvedKind, SchemaBundle};
use permazen::StorageId;
use permazen::object::Transaction;
use permazen::schema::{DeleteAction, ResolvedField, SchemaIndex};
use permazen_query::Cell;
use permazen_query::catalog::{Catalog, TypeEntry};
use permazen_query::text::quoted_name;
use serde_json::{Value, json};

use super::list::{self, number, text};
use super::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::{Format, Output};
use crate::session::Session;

/// List the object types of all recorded schemas.
#[derive(Debug, clap::Args)]
pub(crate) struct Types {
    /// Do not count the objects, which takes a step for each
    #[arg(long)]
    no_counts: bool,
}

impl Command for Types {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let catalog = session.catalog(transaction);
            let mut rows = Vec::new();
            for entry in catalog.types() {
                let schemas = entry.versions.iter().map(|version| version.schema);
                let mut row = vec![
                    text(&entry.name),
                    number(u64::from(entry.storage_id.get())),
                    text(numbers(schemas.clone())),
                    number(entry.fields().len() as u64),
                    number(entry.indexes().len() as u64),
                ];
                if !self.no_counts {
                    let counts = counts(transaction, entry, session)?;
                    row.push(number(counts.iter().map(|(_, count)| count).sum::<u64>()));
                }
                rows.push(row);
            }
            let columns = ["type", "#storage_id", "schemas", "#fields", "#indexes", "#objects"];
            let shown = if self.no_counts { 5 } else { 6 };
            list::show(columns.get(..shown).unwrap_or(&columns), out, rows)?;
            Ok(session.perhaps_lacking(Answer::Yes))
        })
    }
}

/// Show an object type: its fields, indexes, what refers to it, and how many objects it has.
#[derive(Debug, clap::Args)]
pub(crate) struct Type {
    /// The name of the type
    name: String,
    /// Do not count the objects, which takes a step for each
    #[arg(long)]
    no_counts: bool,
}

impl Command for Type {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let format = context.out.format().unwrap_or(Format::Table);
        if matches!(format, Format::Csv | Format::Raw | Format::Xml) {
            let why = "it has several lists; use table, lines or json";
            return Err(list::not_as(format, "a type", why));
        }
        context.read(|transaction, out| {
            let catalog = session.catalog(transaction);
            let entry = self.find(&catalog)?;
            let counts = match self.no_counts {
                true => None,
                false => Some(counts(transaction, entry, session)?),
            };
            let parts = Parts::of(entry, &catalog, counts);
            match format {
                Format::Json => out.json(&parts.json())?,
                _ => out.paged(|out| parts.show(out))?,
            }
            Ok(session.perhaps_lacking(Answer::Yes))
        })
    }

    fn candidates(session: &Session) -> Vec<String> {
        // A Ctrl-C from before is not for this.
        let _working = session.interrupt.work();
        let Ok(transaction) = session.begin_reading() else { return Vec::new() };
        let catalog = session.catalog(&transaction);
        // A name with a blank would have to be in quotes.
        let names = catalog.types().iter().map(|entry| entry.name.to_string());
        let is_plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        names.filter(is_plain).collect()
    }
}

impl Type {
    /// The type of that name. If there is none, a statement would fail in the same way.
    fn find<'c>(&self, catalog: &'c Catalog) -> Result<&'c TypeEntry, Failure> {
        if let Some(entry) = catalog.type_named(&self.name) {
            return Ok(entry);
        }
        let statement = format!("count {}", quoted_name(&self.name));
        let checked = permazen_query::parse(&statement).and_then(|statement| {
            let parameters = permazen_query::Parameters::new();
            permazen_query::check(&statement, catalog, &parameters)
        });
        Err(match checked {
            Err(mistake) => {
                let nearest = mistake.nearest.clone();
                Failure { nearest, ..Failure::new(mistake.to_string()) }
            }
            Ok(_) => Failure::new(format!("no type {}", self.name)),
        })
    }
}

/// How many objects of the type each schema has.
fn counts(
    transaction: &Transaction,
    entry: &TypeEntry,
    session: &Session,
) -> Result<Vec<(SchemaIndex, u64)>, Failure> {
    let mut counts = Vec::new();
    for version in &entry.versions {
        let ids = transaction.objects_in_schema(version.schema)?.of_types([entry.storage_id]);
        let mut count = 0;
        for id in &ids {
            session.interrupt.check()?;
            id?;
            count += 1;
        }
        counts.push((version.schema, count));
    }
    Ok(counts)
}

/// The description of a type that is shown.
struct Parts<'e> {
    entry: &'e TypeEntry,
    counts: Option<Vec<(SchemaIndex, u64)>>,
    fields: Vec<FieldPart>,
    indexes: Vec<IndexPart>,
    referrers: Vec<Referrer>,
}

/// A field or sub-field, as one or several schemas define it.
struct FieldPart {
    name: Arc<str>,
    storage_id: StorageId,
    kind: String,
    encoding: Option<String>,
    is_indexed: bool,
    schemas: Vec<SchemaIndex>,
}

impl FieldPart {
    /// Whether they differ in their schemas at most.
    fn is_same(&self, other: &FieldPart) -> bool {
        self.name == other.name
            && self.storage_id == other.storage_id
            && self.kind == other.kind
            && self.encoding == other.encoding
            && self.is_indexed == other.is_indexed
    }
}

struct IndexPart {
    name: Arc<str>,
    storage_id: StorageId,
    kind: &'static str,
    fields: Vec<String>,
    schemas: Vec<SchemaIndex>,
}

/// A field that can refer to the type.
struct Referrer {
    type_name: Arc<str>,
    field: Arc<str>,
    on_delete: &'static str,
    schemas: Vec<SchemaIndex>,
}

impl<'e> Parts<'e> {
    fn of(
        entry: &'e TypeEntry,
        catalog: &Catalog,
        counts: Option<Vec<(SchemaIndex, u64)>>,
    ) -> Parts<'e> {
        let bundle = catalog.schemas();
        let mut fields: Vec<FieldPart> = Vec::new();
        for field in entry.fields() {
            for (schema, field) in &field.versions {
                for field in std::iter::once(field).chain(field.sub_fields()) {
                    let part = field_part(field, *schema, bundle);
                    match fields.iter_mut().find(|known| known.is_same(&part)) {
                        Some(known) => known.schemas.push(*schema),
                        None => fields.push(part),
                    }
                }
            }
        }
        let indexes = entry.indexes().into_iter().map(|index| IndexPart {
            name: index.name,
            storage_id: index.storage_id,
            kind: match index.kind {
                IndexKind::Composite => "composite",
                _ => "simple",
            },
            fields: index.fields.iter().map(|field| field.full_name.to_string()).collect(),
            schemas: index.schemas,
        });
        let indexes = indexes.collect();
        Parts { entry, counts, fields, indexes, referrers: referrers(entry, catalog) }
    }

    fn show(&self, out: &mut Output) -> Result<(), Failure> {
        let TypeEntry { name, storage_id, versions, .. } = self.entry;
        let schemas = numbers(versions.iter().map(|version| version.schema));
        out.say(format_args!("type {}, storage ID {storage_id}, in schemas {schemas}", name));
        if let Some(counts) = &self.counts {
            let all: u64 = counts.iter().map(|(_, count)| count).sum();
            let of_each: Vec<_> = counts
                .iter()
                .map(|(schema, count)| format!("{count} in schema {schema}"))
                .collect();
            out.say(format_args!("objects: {all} ({})", of_each.join(", ")));
        }
        let fields = self.fields.iter().map(|field| {
            vec![
                text(&field.name),
                number(u64::from(field.storage_id.get())),
                text(&field.kind),
                field.encoding.as_ref().map_or(Cell::Absent, text),
                text(if field.is_indexed { "yes" } else { "" }),
                text(numbers(field.schemas.iter().copied())),
            ]
        });
        let columns = ["field", "#storage_id", "kind", "encoding", "indexed", "schemas"];
        section(&columns, fields, out)?;
        let indexes = self.indexes.iter().map(|index| {
            vec![
                text(&index.name),
                number(u64::from(index.storage_id.get())),
                text(index.kind),
                text(index.fields.join(", ")),
                text(numbers(index.schemas.iter().copied())),
            ]
        });
        section(&["index", "#storage_id", "kind", "on", "schemas"], indexes, out)?;
        let referrers = self.referrers.iter().map(|referrer| {
            vec![
                text(&referrer.type_name),
                text(&referrer.field),
                text(referrer.on_delete),
                text(numbers(referrer.schemas.iter().copied())),
            ]
        });
        section(&["referred to by", "field", "on delete", "schemas"], referrers, out)
    }

    fn json(&self) -> Value {
        let schemas = |schemas: &[SchemaIndex]| -> Vec<_> {
            schemas.iter().map(|schema| schema.get()).collect()
        };
        let versions: Vec<_> = self.entry.versions.iter().map(|version| version.schema).collect();
        let mut line = json!({
            "type": "object_type",
            "name": &*self.entry.name,
            "storage_id": self.entry.storage_id.get(),
            "schemas": schemas(&versions),
            "fields": self.fields.iter().map(|field| json!({
                "name": &*field.name,
                "storage_id": field.storage_id.get(),
                "kind": field.kind,
                "encoding": field.encoding,
                "indexed": field.is_indexed,
                "schemas": schemas(&field.schemas),
            })).collect::<Vec<_>>(),
            "indexes": self.indexes.iter().map(|index| json!({
                "name": &*index.name,
                "storage_id": index.storage_id.get(),
                "kind": index.kind,
                "fields": index.fields,
                "schemas": schemas(&index.schemas),
            })).collect::<Vec<_>>(),
            "referrers": self.referrers.iter().map(|referrer| json!({
                "object_type": &*referrer.type_name,
                "field": &*referrer.field,
                "on_delete": referrer.on_delete,
                "schemas": schemas(&referrer.schemas),
            })).collect::<Vec<_>>(),
        });
        if let Some(counts) = &self.counts {
            let counts = counts
                .iter()
                .map(|(schema, count)| json!({ "schema": schema.get(), "objects": count }));
            line["objects"] = counts.collect();
        }
        line
    }
}

/// Shows a list after an empty line, unless it is empty.
fn section(
    columns: &[&str],
    rows: impl Iterator<Item = Vec<Cell>>,
    out: &mut Output,
) -> Result<(), Failure> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    out.say("");
    list::show(columns, out, rows)
}

fn field_part(field: &Arc<ResolvedField>, schema: SchemaIndex, bundle: &SchemaBundle) -> FieldPart {
    FieldPart {
        name: Arc::clone(&field.full_name),
        storage_id: field.storage_id,
        kind: kind(field, bundle),
        encoding: encoding(field),
        is_indexed: field.is_indexed(),
        schemas: vec![schema],
    }
}

/// The content of a field, in a few words.
fn kind(field: &ResolvedField, bundle: &SchemaBundle) -> String {
    match &field.kind {
        ResolvedKind::Counter => "counter".to_owned(),
        ResolvedKind::Set { .. } => "set".to_owned(),
        ResolvedKind::List { .. } => "list".to_owned(),
        ResolvedKind::Map { .. } => "map".to_owned(),
        ResolvedKind::Simple(simple) => match (&simple.reference, &simple.identifiers) {
            (Some(reference), _) => reference_text(reference, bundle),
            (None, Some(identifiers)) => format!("one of {}", identifiers.join(", ")),
            (None, None) => "value".to_owned(),
        },
    }
}

fn reference_text(reference: &ReferenceInfo, bundle: &SchemaBundle) -> String {
    let mut text = match &reference.allowed {
        None => "reference".to_owned(),
        Some(allowed) => {
            let names: Vec<_> = allowed
                .iter()
                .map(|id| match bundle.type_name(*id) {
                    Some(name) => name.to_string(),
                    None => format!("#{id}"),
                })
                .collect();
            format!("reference to {}", names.join(", "))
        }
    };
    text.push_str(&format!("; on delete {}", on_delete(reference.inverse_delete)));
    if reference.forward_delete {
        text.push_str("; deletes what it refers to");
    }
    if reference.allow_deleted {
        text.push_str("; may refer to nothing");
    }
    text
}

/// The delete action of a reference: the change when its target is deleted.
fn on_delete(action: DeleteAction) -> &'static str {
    match action {
        DeleteAction::Ignore => "ignore",
        DeleteAction::Exception => "refuse",
        DeleteAction::Nullify => "nullify",
        DeleteAction::Remove => "remove",
        DeleteAction::Delete => "delete",
    }
}

/// The encoding of values that are no references and no enum constants.
fn encoding(field: &ResolvedField) -> Option<String> {
    let simple = field.simple()?;
    let id = simple.encoding.id()?;
    let unknown = if simple.is_opaque() { " (unknown here)" } else { "" };
    Some(format!("{}{unknown}", id.alias()))
}

/// The fields that can refer to the type.
fn referrers(to: &TypeEntry, catalog: &Catalog) -> Vec<Referrer> {
    let mut found: Vec<Referrer> = Vec::new();
    for entry in catalog.types() {
        for version in &entry.versions {
            for field in version.all_fields() {
                let reference = field.simple().and_then(|simple| simple.reference.as_ref());
                let Some(reference) = reference.filter(|r| r.allows(to.storage_id)) else {
                    continue;
                };
                let on_delete = on_delete(reference.inverse_delete);
                let same = |known: &&mut Referrer| {
                    known.type_name == entry.name
                        && known.field == field.full_name
                        && known.on_delete == on_delete
                };
                match found.iter_mut().find(same) {
                    Some(known) => known.schemas.push(version.schema),
                    None => found.push(Referrer {
                        type_name: Arc::clone(&entry.name),
                        field: Arc::clone(&field.full_name),
                        on_delete,
                        schemas: vec![version.schema],
                    }),
                }
            }
        }
    }
    found
}

/// `1, 2, 3`.
fn numbers(schemas: impl Iterator<Item = SchemaIndex>) -> String {
    schemas.map(|schema| schema.get().to_string()).collect::<Vec<_>>().join(", ")
}
