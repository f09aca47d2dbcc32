//! `bundles.json`: what opening transactions does to the recorded schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::layout;
use permazen::__internal::schema::{
    DatabaseState, OpenedSchema, ResolvedKind, SchemaConfig, add_schema, inflate, open_schema,
    remove_schema,
};
use permazen::encoding::EncodingRegistry;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen::schema::{ResolvedType, SchemaModel, SchemaRemoval};
use permazen::{ObjId, StorageId};
use permazen_tests::digest::state_digest;
use permazen_tests::hex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

use crate::report::{Outcome, Report, fail, same};

/// Java writes the tables of a schema that it then refuses; we write nothing.
const FAILED_ADD_IS_WRITTEN: &str = "failed add is written";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schemas: BTreeMap<String, String>,
    sequences: Vec<Sequence>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    name: String,
    defect: Option<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(tag = "do", deny_unknown_fields)]
enum Step {
    #[serde(rename = "new database object")]
    NewDatabaseObject,
    #[serde(rename = "put")]
    Put { key: String, value: String, state: Json },
    #[serde(rename = "move")]
    Move { from: String, to: String, state: Json },
    #[serde(rename = "open")]
    Open(Open),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    schema: Option<String>,
    removal: String,
    allow_new: bool,
    error: Option<String>,
    schema_index: Option<u32>,
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    actions: Vec<Action>,
    end: Option<String>,
    state: Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    path: String,
    storage_id: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    action: String,
    schema: Option<String>,
    id: Option<String>,
    /// The name of the type that the ID belongs to.
    #[serde(default, rename = "type")]
    _type: IgnoredAny,
    result: Option<bool>,
    schema_index: Option<u32>,
    error: Option<String>,
}

pub fn run(group: &str, text: &str, report: &mut Report) {
    let file: File = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return report.case(group, "file", || Err(error.into())),
    };
    for (i, sequence) in file.sequences.iter().enumerate() {
        let name = format!("{i} {}", sequence.name);
        report.case(group, &name, || play(sequence, &file.schemas));
    }
}

fn play(sequence: &Sequence, schemas: &BTreeMap<String, String>) -> Outcome {
    let store = MemoryStore::new();
    let mut state = new_state();
    let mut expected = Json::Null;
    for (i, step) in sequence.steps.iter().enumerate() {
        let in_step = |stop| match stop {
            crate::report::Stop::Fail(text) => fail(format!("step {i}: {text}")),
            skip => skip,
        };
        let recorded = match step {
            Step::NewDatabaseObject => {
                state = new_state();
                continue;
            }
            Step::Put { key, value, state } => {
                let mut tx = store.begin(&TxOptions::default())?;
                tx.put(&bytes(key)?, &bytes(value)?)?;
                tx.commit()?;
                state
            }
            Step::Move { from, to, state } => {
                let mut tx = store.begin(&TxOptions::default())?;
                let value = tx.get(&bytes(from)?)?.ok_or_else(|| fail("nothing to move"))?.to_vec();
                tx.remove(&bytes(from)?)?;
                tx.put(&bytes(to)?, &value)?;
                tx.commit()?;
                state
            }
            Step::Open(open) => {
                let defect = sequence.defect.as_deref() == Some(FAILED_ADD_IS_WRITTEN);
                // After Java has damaged its database, it cannot open it. Ours is undamaged.
                let damaged = defect && open.error.is_some();
                perform(open, damaged, schemas, &store, &state).map_err(in_step)?;
                if defect && open.actions.iter().any(|action| action.error.is_some()) {
                    continue;
                }
                &open.state
            }
        };
        if recorded != "unchanged" {
            expected = recorded.clone();
        }
        let tx = store.begin(&TxOptions::default())?;
        check_state(&*tx, &expected).map_err(in_step)?;
    }
    Ok(())
}

fn new_state() -> DatabaseState {
    DatabaseState::new(Arc::new(EncodingRegistry::new()))
}

fn bytes(text: &str) -> Outcome<Vec<u8>> {
    hex::decode(text).ok_or_else(|| fail("bad hex"))
}

fn model(name: &str, schemas: &BTreeMap<String, String>) -> Outcome<SchemaModel> {
    let xml = schemas.get(name).ok_or_else(|| fail(format!("no schema {name}")))?;
    Ok(SchemaModel::from_xml(xml.as_bytes())?)
}

fn perform(
    open: &Open,
    damaged: bool,
    schemas: &BTreeMap<String, String>,
    store: &MemoryStore,
    state: &DatabaseState,
) -> Outcome {
    let mut tx = store.begin(&TxOptions::default())?;
    let removal = match open.removal.as_str() {
        "NEVER" => SchemaRemoval::Never,
        "ONCE" => SchemaRemoval::Once,
        "CONFIG_CHANGE" => SchemaRemoval::ConfigChange,
        "ALWAYS" => SchemaRemoval::Always,
        other => return Err(fail(format!("unknown schema removal {other}"))),
    };
    let config = match &open.schema {
        None => Ok(SchemaConfig::empty()),
        Some(name) => SchemaConfig::new(model(name, schemas)?),
    };
    let opened = config.and_then(|config| {
        let config = config.schema_removal(removal).allow_new_schema(open.allow_new);
        open_schema(&mut *tx, state, &config)
    });
    if damaged {
        opened?;
        return Ok(());
    }
    let mut opened = match (opened, &open.error) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(_), Some(error)) => return Err(fail(format!("opened, expected {error}"))),
        (opened, None) => opened?,
    };
    same("schema index", Some(opened.schema.index.get()), open.schema_index)?;
    let ids: Vec<_> = opened
        .schema
        .model
        .items()
        .map(|item| {
            let id = opened.bundle.storage_id(item.schema_id());
            (item.to_string(), id.map_or(0, StorageId::get))
        })
        .collect();
    let expected: Vec<_> =
        open.items.iter().map(|item| (item.path.clone(), item.storage_id)).collect();
    same("items", ids, expected)?;
    for action in &open.actions {
        act(action, &mut *tx, &mut opened, schemas, state)?;
    }
    if open.end.as_deref() == Some("commit") {
        tx.commit()?;
    }
    Ok(())
}

fn act(
    action: &Action,
    tx: &mut dyn KvTransaction,
    opened: &mut OpenedSchema,
    schemas: &BTreeMap<String, String>,
    state: &DatabaseState,
) -> Outcome {
    let what = &action.action;
    let changed = match (what.as_str(), &action.schema, &action.id) {
        ("add", Some(schema), _) => add_schema(tx, state, &opened.bundle, &model(schema, schemas)?),
        ("remove", Some(schema), _) => {
            let id = model(schema, schemas)?.schema_id();
            remove_schema(tx, state, &opened.bundle, id)
        }
        (_, _, Some(id)) => {
            let id: ObjId = id.parse()?;
            let result = match what.as_str() {
                "create" => create(tx, opened, id)?,
                "delete" => delete(tx, opened, id)?,
                "migrate" => migrate(tx, opened, id)?,
                other => return Err(fail(format!("unknown action {other}"))),
            };
            return same(what, Some(result), action.result);
        }
        _ => return Err(fail(format!("unknown action {what}"))),
    };
    let bundle = match (changed, &action.error) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(_), Some(error)) => return Err(fail(format!("{what} succeeded, expected {error}"))),
        (changed, None) => changed?,
    };
    same(what, Some(bundle.is_some()), action.result)?;
    if let Some(bundle) = bundle {
        let schema = bundle.schema_by_id(opened.schema.id).unwrap_or(bundle.empty_schema());
        opened.schema = Arc::clone(schema);
        opened.bundle = bundle;
    }
    same("schema index", Some(opened.schema.index.get()), action.schema_index)
}

// The objects of these rows have default values only, so that their pairs follow from the schema.

fn create(tx: &mut dyn KvTransaction, opened: &OpenedSchema, id: ObjId) -> Outcome<bool> {
    if tx.get(id.as_bytes())?.is_some() {
        return Ok(false);
    }
    let object_type = opened
        .schema
        .type_by_storage_id(id.storage_id())
        .ok_or_else(|| fail("no such object type"))?;
    for (key, value) in pairs_of(object_type, id) {
        tx.put(&key, &value)?;
    }
    Ok(true)
}

fn delete(tx: &mut dyn KvTransaction, opened: &OpenedSchema, id: ObjId) -> Outcome<bool> {
    let Some(info) = tx.get(id.as_bytes())?.map(|info| info.to_vec()) else { return Ok(false) };
    let index = layout::parse_object_info(&info).map_err(fail)?;
    let object_type = opened
        .bundle
        .schema(index)
        .and_then(|schema| schema.type_by_storage_id(id.storage_id()))
        .ok_or_else(|| fail("no such object type"))?;
    for (key, _) in pairs_of(object_type, id) {
        tx.remove(&key)?;
    }
    Ok(true)
}

fn migrate(tx: &mut dyn KvTransaction, opened: &OpenedSchema, id: ObjId) -> Outcome<bool> {
    let info = tx.get(id.as_bytes())?.map(|info| info.to_vec()).unwrap_or_default();
    if layout::parse_object_info(&info).map_err(fail)? == opened.schema.index {
        return Ok(false);
    }
    delete(tx, opened, id)?;
    create(tx, opened, id)
}

fn pairs_of(object_type: &ResolvedType, id: ObjId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = vec![
        (id.as_bytes().to_vec(), layout::object_info(object_type.schema)),
        (layout::object_schema_key(object_type.schema, id), Vec::new()),
    ];
    for field in &object_type.fields {
        match &field.kind {
            ResolvedKind::Counter => pairs.push((layout::field_key(id, &field.key), vec![0; 8])),
            ResolvedKind::Simple(simple) if simple.indexed => {
                let default = simple.default.as_deref().unwrap_or_default();
                pairs.push(([&*field.key, default, id.as_bytes()].concat(), Vec::new()));
            }
            _ => {}
        }
    }
    for index in &object_type.indexes {
        let mut key = index.key.to_vec();
        for field in &index.fields {
            let default = field.simple().and_then(|simple| simple.default.as_deref());
            key.extend_from_slice(default.unwrap_or_default());
        }
        key.extend_from_slice(id.as_bytes());
        pairs.push((key, Vec::new()));
    }
    pairs
}

fn check_state(store: &dyn KvRead, expected: &Json) -> Outcome {
    let mut found: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for pair in store.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        let (table, shown) = match &*key {
            [0, 1, ..] => {
                let xml = inflate(&value).ok().and_then(|xml| String::from_utf8(xml).ok());
                ("schema_table", xml.unwrap_or_else(|| hex::encode(&value)))
            }
            [0, 2, ..] => {
                let text = value.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok());
                let text = text.filter(|text| text.chars().all(|c| c > '\x01'));
                ("storage_id_table", text.map_or_else(|| hex::encode(&value), str::to_owned))
            }
            _ => ("other", hex::encode(&value)),
        };
        found.entry(table).or_default().push((hex::encode(&key), shown));
    }
    for table in ["schema_table", "storage_id_table", "other"] {
        let rows = expected[table].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                let shown = ["xml", "schema_id", "value"].iter().find_map(|key| row[key].as_str());
                (row["key"].as_str().unwrap_or_default(), shown.unwrap_or_default())
            })
            .collect();
        let found = found.get(table).map(Vec::as_slice).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        same(table, found, rows)?;
    }
    same("digest", Some(state_digest(store)?.sha256.as_str()), expected["digest"].as_str())
}
