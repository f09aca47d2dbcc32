//! Checks the schema table and the storage ID table together: do they describe one set of schemas?

use std::collections::{BTreeMap, BTreeSet, HashMap};

use permazen::__internal::layout::{
    OBJECT_SCHEMA_INDEX_SPAN, prefix_end, schema_table_key, split_object_schema,
    storage_id_table_key,
};
use permazen::__internal::schema::SchemaBundle;
use permazen::encoding::{Reader, uint};
use permazen::kv::{Direction, KeySpan, KvRead};
use permazen::schema::{SchemaId, SchemaIndex, UnknownEncodings};
use permazen::{ObjId, StorageId};

use crate::Options;
use crate::report::finding::{Class, Finding};
use crate::report::output::{Checked, Output};
use crate::tables::metadata::Tables;

/// The recorded schemas, if the tables do not contradict each other. Otherwise `None`; then the
/// findings say why, and objects and indexes cannot be checked.
pub(crate) fn check(
    kv: &dyn KvRead,
    options: &Options,
    mut tables: Tables,
    out: &mut Output<'_>,
) -> Checked<Option<SchemaBundle>> {
    let mut usable = tables.usable;
    usable &= no_schema_twice(&tables, out)?;
    usable &= no_schema_id_twice(&tables, out)?;
    usable &= every_item_has_its_storage_id(&tables, out)?;
    if tables.usable {
        usable &= every_storage_id_has_an_item(kv, &mut tables, out)?;
        usable &= no_object_lacks_its_schema(kv, options, &tables, out)?;
    }
    if !usable {
        return Ok(None);
    }
    match SchemaBundle::decode(tables.encoded, &options.encodings, UnknownEncodings::Carry) {
        Ok(bundle) => {
            report_unknown_encodings(&bundle, out)?;
            Ok(Some(bundle))
        }
        Err(e) => {
            let key = tables.models.keys().next().map(|&i| schema_table_key(i)).unwrap_or_default();
            out.report(Finding::new(Class::BadSchemaXml, &key, e.to_string()).unrepairable())?;
            Ok(None)
        }
    }
}

/// Reports each encoding that is not registered once, with the fields that have it.
fn report_unknown_encodings(bundle: &SchemaBundle, out: &mut Output<'_>) -> Checked {
    let mut unknown: BTreeMap<String, (SchemaIndex, BTreeSet<String>)> = BTreeMap::new();
    for schema in bundle.schemas() {
        for object_type in &schema.types {
            for field in object_type.all_fields() {
                let Some(simple) = field.simple().filter(|simple| simple.is_opaque()) else {
                    continue;
                };
                let id = simple.encoding.id().map(ToString::to_string).unwrap_or_default();
                let (_, fields) =
                    unknown.entry(id).or_insert_with(|| (schema.index, BTreeSet::new()));
                fields.insert(format!("{}.{}", object_type.name, field.full_name));
            }
        }
    }
    for (id, (index, fields)) in unknown {
        let fields: Vec<String> = fields.into_iter().collect();
        let detail = format!(
            "encoding {id} is not registered: whether values of {} are valid, and index entries of \
             its default value, is not judged",
            fields.join(", ")
        );
        let finding = Finding::new(Class::UnknownEncoding, &schema_table_key(index), detail);
        out.report(finding.unrepairable())?;
    }
    Ok(())
}

fn no_schema_twice(tables: &Tables, out: &mut Output<'_>) -> Checked<bool> {
    let mut seen: HashMap<SchemaId, SchemaIndex> = HashMap::new();
    let mut good = true;
    for (&index, model) in &tables.models {
        if let Some(first) = seen.insert(model.schema_id(), index) {
            let detail = format!("schemas {first} and {index} are the same");
            let finding = Finding::new(Class::DuplicateSchema, &schema_table_key(index), detail);
            out.report(finding.unrepairable())?;
            good = false;
        }
    }
    Ok(good)
}

fn no_schema_id_twice(tables: &Tables, out: &mut Output<'_>) -> Checked<bool> {
    let mut seen: HashMap<SchemaId, StorageId> = HashMap::new();
    let mut good = true;
    for (&id, &schema_id) in &tables.storage_ids {
        if let Some(first) = seen.insert(schema_id, id) {
            let detail = format!("storage IDs {first} and {id} both stand for {schema_id}");
            let key = storage_id_table_key(id);
            out.report(Finding::new(Class::DuplicateStorageId, &key, detail).unrepairable())?;
            good = false;
        }
    }
    Ok(good)
}

fn every_item_has_its_storage_id(tables: &Tables, out: &mut Output<'_>) -> Checked<bool> {
    let assigned: HashMap<SchemaId, StorageId> =
        tables.storage_ids.iter().map(|(&id, &schema_id)| (schema_id, id)).collect();
    let mut reported = BTreeSet::new();
    let mut good = true;
    for (&index, model) in &tables.models {
        for item in model.items() {
            let (class, detail) = match (assigned.get(&item.schema_id()), item.storage_id()) {
                (Some(&found), Some(wanted)) if found != wanted => (
                    Class::ConflictingStorageId,
                    format!(
                        "schema {index} demands storage ID {wanted} for {item}, the table has {found}"
                    ),
                ),
                (Some(_), _) => continue,
                (None, _) => {
                    (Class::MissingStorageId, format!("{item} of schema {index} has no storage ID"))
                }
            };
            good = false;
            // Types and schemas can share an item: report it once.
            if reported.insert(item.schema_id().to_string()) {
                let key = item.storage_id().map(storage_id_table_key);
                let key = key.unwrap_or_else(|| schema_table_key(index));
                let finding = Finding::new(class, &key, detail).item(item.to_string());
                out.report(finding.unrepairable())?;
            }
        }
    }
    Ok(good)
}

/// A storage ID that belongs to no item is removed. But if there is data under it, a schema is
/// missing.
fn every_storage_id_has_an_item(
    kv: &dyn KvRead,
    tables: &mut Tables,
    out: &mut Output<'_>,
) -> Checked<bool> {
    let items: BTreeSet<String> = tables
        .models
        .values()
        .flat_map(|model| {
            model.items().map(|item| item.schema_id().to_string()).collect::<Vec<_>>()
        })
        .collect();
    let surplus: Vec<(StorageId, SchemaId)> = tables
        .storage_ids
        .iter()
        .map(|(&id, &schema_id)| (id, schema_id))
        .filter(|(_, schema_id)| !items.contains(&schema_id.to_string()))
        .collect();
    let mut in_use = None;
    for (id, _) in &surplus {
        let (min, max) = id.key_range();
        if kv.at_least(&min, Some(&max))?.is_some() {
            in_use = Some(*id);
        }
    }
    if let Some(id) = in_use {
        let detail =
            format!("data is stored under storage ID {id}, but no recorded schema says what it is");
        let finding = Finding::new(Class::MissingSchema, &storage_id_table_key(id), detail);
        out.report(finding.unrepairable())?;
        return Ok(false);
    }
    for (id, schema_id) in surplus {
        let detail = format!("storage ID {id} stands for {schema_id}, which is in no schema");
        out.report(Finding::new(Class::UnknownStorageId, &storage_id_table_key(id), detail))?;
        tables.storage_ids.remove(&id);
        tables.encoded.storage_ids.remove(&id);
    }
    Ok(true)
}

/// If an object and the object schema index agree on a schema that is not recorded, the schema is
/// lost; the object is not damaged. This is so even if all storage IDs belong to recorded schemas,
/// because each of two schemas may have only items that the other has too. Only the user can know
/// that there never was such a schema, and says so by dropping it. A recorded schema cannot be
/// dropped this way while there are objects of it.
fn no_object_lacks_its_schema(
    kv: &dyn KvRead,
    options: &Options,
    tables: &Tables,
    out: &mut Output<'_>,
) -> Checked<bool> {
    let mut from = OBJECT_SCHEMA_INDEX_SPAN.min.to_vec();
    loop {
        let span = KeySpan::new(&from, OBJECT_SCHEMA_INDEX_SPAN.max);
        let Some((key, _)) = kv.at_least(span.min, span.max)? else { return Ok(true) };
        let Some((index, rest)) = split_object_schema(&key) else {
            from = [&key[..], &[0]].concat();
            continue;
        };
        let prefix = key.get(..key.len() - rest.len()).unwrap_or_default().to_vec();
        let Some(end) = prefix_end(&prefix) else { return Ok(true) };
        let dropped = options.schemas.get(&index).is_some_and(Option::is_none)
            && kv.get(&schema_table_key(index))?.is_none();
        if !tables.models.contains_key(&index)
            && !dropped
            && let Some(id) = first_agreeing_object(kv, &prefix, &end, index)?
        {
            let detail = format!(
                "object {id} is of schema {index}, which is not recorded; if there is no such schema, \
                 drop it (--schema {index}=), and its objects go"
            );
            let finding = Finding::new(Class::MissingSchema, &schema_table_key(index), detail);
            out.report(finding.object(id).unrepairable())?;
            return Ok(false);
        }
        from = end;
    }
}

fn first_agreeing_object(
    kv: &dyn KvRead,
    prefix: &[u8],
    end: &[u8],
    index: SchemaIndex,
) -> Checked<Option<ObjId>> {
    // Bounds the work if none of many entries agrees.
    const LOOKED_AT: usize = 1000;
    for pair in kv.scan(KeySpan::new(prefix, Some(end)), Direction::Forward)?.take(LOOKED_AT) {
        let (key, _) = pair?;
        let Ok(id) = ObjId::from_slice(key.get(prefix.len()..).unwrap_or_default()) else {
            continue;
        };
        let agrees = kv.get(id.as_bytes())?.is_some_and(|value| {
            uint::read(&mut Reader::new(&value)).is_ok_and(|n| n == index.get())
        });
        if agrees {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
