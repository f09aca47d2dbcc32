//! `kv pairs`: the pairs of an object.

use permazen::__internal::layout::{self, FieldKey};
use permazen::__internal::schema::{ResolvedIndex, ResolvedKind};
use permazen::ObjId;
use permazen::encoding::Reader;
use permazen::kv::{Direction, Hex, KeySpan, KvRead, key};
use permazen::schema::{ResolvedField, ResolvedType};
use permazen_query::Cell;

use super::decode::Known;
use super::read_pairs;
use crate::commands::list::{self, text};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// List the pairs of an object: its own, and its entries in indexes.
///
/// What is missing although the object's values require it is listed too, without a value; the exit
/// code is 1 then, and if there is no such object.
#[derive(Debug, clap::Args)]
pub(crate) struct Pairs {
    /// The ID of the object: 16 hex digits, perhaps after an @
    #[arg(value_parser = object_id)]
    object: ObjId,
}

fn object_id(text: &str) -> Result<ObjId, String> {
    let id = text.strip_prefix('@').unwrap_or(text).parse();
    id.map_err(|_| "the ID of an object has 16 hex digits".to_owned())
}

/// A key and its value.
type OwnPair = (Vec<u8>, Vec<u8>);

/// A pair of the object.
struct Pair {
    key: Vec<u8>,
    /// `None` if it is missing.
    value: Option<Vec<u8>>,
    words: Option<String>,
}

impl Command for Pairs {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let Context { session, out, .. } = context;
        let pairs = read_pairs(session, |kv| {
            let known = Known::of(kv, session)?;
            let mut found = Vec::new();
            let own = self.own(kv)?;
            let object_type = known.type_of(self.object.as_bytes(), kv)?;
            let mut keys: Vec<Vec<u8>> = own.iter().map(|(key, _)| key.clone()).collect();
            if let Some(object_type) = &object_type {
                keys.push(layout::object_schema_key(object_type.schema, self.object));
                entries(self.object, object_type, &own, &mut keys);
            }
            for key in keys {
                let value = kv.get(&key)?.map(|value| value.into_owned());
                let words = known.line(&key, kv)?;
                found.push(Pair { key, value, words });
            }
            Ok(found)
        })?;
        let is_json = out.is_json();
        let exists = pairs.iter().any(|pair| pair.key == self.object.as_bytes());
        let whole = pairs.iter().all(|pair| pair.value.is_some());
        let missing = || if is_json { Cell::Absent } else { text("missing") };
        let rows = pairs.into_iter().map(|pair| {
            vec![
                text(Hex(&pair.key).to_string()),
                pair.value.map_or_else(missing, |value| text(Hex(&value).to_string())),
                pair.words.map_or(Cell::Absent, text),
            ]
        });
        list::show(&["key", "value", "words"], out, rows)?;
        Ok(Answer::yes_if(exists && whole))
    }
}

impl Pairs {
    /// The pairs whose keys begin with the ID.
    fn own(&self, kv: &dyn KvRead) -> Result<Vec<OwnPair>, Failure> {
        let end = key::after_prefix(self.object.as_bytes());
        let span = KeySpan::new(self.object.as_bytes(), end.as_deref());
        let pairs = kv.scan(span, Direction::Forward)?;
        pairs.map(|pair| Ok(pair.map(|(k, v)| (k.into_owned(), v.into_owned()))?)).collect()
    }
}

/// The keys of the index entries that the object's values require. Values that cannot be decoded
/// require none.
fn entries(id: ObjId, object_type: &ResolvedType, own: &[OwnPair], keys: &mut Vec<Vec<u8>>) {
    for field in object_type.fields_by_storage_id() {
        let prefix = FieldKey::new(id, &field.key);
        let pairs = own.iter().filter_map(|(key, value)| {
            key.strip_prefix(&prefix[..]).map(|rest| (rest, &value[..]))
        });
        let mut add = |indexed: &ResolvedField, value: &[u8], suffix: &[u8]| {
            if indexed.is_indexed() && is_value(indexed, value) {
                keys.push(layout::index_key(&indexed.key, value, id, suffix));
            }
        };
        match &field.kind {
            ResolvedKind::Counter => {}
            ResolvedKind::Simple(_) => {
                if let Some(value) = simple(field, id, own) {
                    add(field, value, &[]);
                }
            }
            ResolvedKind::Set { element } => pairs.for_each(|(rest, _)| add(element, rest, &[])),
            ResolvedKind::List { element } => {
                pairs.for_each(|(rest, value)| add(element, value, rest));
            }
            ResolvedKind::Map { key, value: mapped } => pairs.for_each(|(rest, value)| {
                add(key, rest, &[]);
                add(mapped, value, rest);
            }),
        }
    }
    for index in &object_type.indexes {
        keys.extend(composite(index, id, own));
    }
}

/// The key of the entry in a composite index.
fn composite(index: &ResolvedIndex, id: ObjId, own: &[OwnPair]) -> Option<Vec<u8>> {
    let mut values = Vec::new();
    for field in &index.fields {
        let value = simple(field, id, own).filter(|value| is_value(field, value))?;
        values.extend_from_slice(value);
    }
    Some(layout::index_key(&index.key, &values, id, &[]))
}

/// The value of a simple field: the stored one, or the default.
fn simple<'v>(field: &'v ResolvedField, id: ObjId, own: &'v [OwnPair]) -> Option<&'v [u8]> {
    let key = FieldKey::new(id, &field.key);
    match own.iter().find(|(found, _)| found[..] == key[..]) {
        Some((_, value)) => Some(value),
        None => field.simple()?.default.as_deref(),
    }
}

/// Whether these bytes are one value of the field.
fn is_value(field: &ResolvedField, bytes: &[u8]) -> bool {
    let Some(simple) = field.simple() else { return false };
    let mut reader = Reader::new(bytes);
    simple.encoding.skip(&mut reader).is_ok() && reader.is_empty()
}
