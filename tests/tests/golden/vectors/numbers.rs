//! `uint.json`, `long.json`, `fixed.json`: number codes, object IDs, keys.

use permazen::__internal::layout;
use permazen::encoding::{EncodingError, Reader, long, uint};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions, key};
use permazen::schema::SchemaIndex;
use permazen::{ObjId, StorageId};
use permazen_tests::hex;
use serde_json::Value as Json;

use crate::report::{Outcome, Report, fail, same};

/// The member of a row that is hex.
pub fn bytes(row: &Json, name: &str) -> Outcome<Vec<u8>> {
    row[name].as_str().and_then(hex::decode).ok_or_else(|| fail(format!("no hex in {name}: {row}")))
}

/// The member of a row that is a number, as a number or as text.
fn number(row: &Json, name: &str) -> Outcome<i64> {
    let value = &row[name];
    let parsed = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    parsed.ok_or_else(|| fail(format!("no number in {name}: {row}")))
}

fn text<'r>(row: &'r Json, name: &str) -> Outcome<&'r str> {
    row[name].as_str().ok_or_else(|| fail(format!("no text in {name}: {row}")))
}

type Check = fn(&Json) -> Outcome;

/// The members of a file of keys and numbers of fixed length.
pub const FIXED: &[&str] = &[
    "int4",
    "long8",
    "counters",
    "bad_counters",
    "adjust_counter",
    "object_ids",
    "object_id_ranges",
    "bad_storage_ids",
    "table_keys",
    "hex_texts",
    "next_keys",
    "consecutive",
    "object_ids_in_order",
    "byte_order",
    "format_version_key",
];

/// The members of [`FIXED`] that are no lists of rows.
const PLAIN: &[&str] = &["object_ids_in_order", "byte_order", "format_version_key"];

/// Checks the rows of each list.
fn run_lists(group: &str, content: &str, report: &mut Report, lists: &[(&str, Check)]) {
    let file: Json = match serde_json::from_str(content) {
        Ok(file) => file,
        Err(error) => return report.case(group, "the file", || Err(error.into())),
    };
    for (list, check) in lists {
        for (index, row) in file[*list].as_array().into_iter().flatten().enumerate() {
            report.case(group, &format!("{list} {index}"), || check(row));
        }
    }
    for list in file.as_object().into_iter().flat_map(|file| file.keys()) {
        if !PLAIN.contains(&&**list) && !lists.iter().any(|(known, _)| known == list) {
            report.case(group, list, || Err(fail("nothing checks this list")));
        }
    }
}

/// One of the two codes of variable length.
struct Code {
    encode: fn(i64) -> Result<Vec<u8>, EncodingError>,
    decode: fn(&[u8]) -> Result<i64, EncodingError>,
    skip: fn(&mut Reader<'_>) -> Result<(), EncodingError>,
    len: fn(i64) -> usize,
    len_from_first: fn(u8) -> Result<usize, EncodingError>,
}

const UINT: Code = Code {
    encode: |value| {
        let mut out = Vec::new();
        uint::write(uint::check(value)?, &mut out);
        Ok(out)
    },
    decode: |bytes| uint::decode(bytes).map(i64::from),
    skip: uint::skip,
    len: |value| uint::len(value as u32),
    len_from_first: uint::len_from_first,
};

const LONG: Code = Code {
    encode: |value| {
        let mut out = Vec::new();
        long::write(value, &mut out);
        Ok(out)
    },
    decode: long::decode,
    skip: long::skip,
    len: long::len,
    len_from_first: long::len_from_first,
};

impl Code {
    fn value(&self, row: &Json) -> Outcome {
        let (value, bytes) = (number(row, "value")?, bytes(row, "hex")?);
        same("bytes", hex::encode(&(self.encode)(value)?), hex::encode(&bytes))?;
        same("length", (self.len)(value) as i64, number(row, "len")?)?;
        same("value", (self.decode)(&bytes)?, value)
    }

    fn bad_value(&self, row: &Json) -> Outcome {
        same("refused", (self.encode)(number(row, "value")?).is_err(), true)
    }

    fn decode(&self, row: &Json) -> Outcome {
        let found = (self.decode)(&bytes(row, "hex")?);
        if row.get("error").is_some() {
            return same("refused", found.is_err(), true);
        }
        let value = found?;
        same("value", value, number(row, "value")?)?;
        same("canonical", hex::encode(&(self.encode)(value)?).as_str(), text(row, "canonical")?)
    }

    fn skip(&self, row: &Json) -> Outcome {
        let bytes = bytes(row, "hex")?;
        let mut reader = Reader::new(&bytes);
        (self.skip)(&mut reader)?;
        let len = bytes.len() - reader.rest().len();
        same("length", len as i64, number(row, "len")?)?;
        same("value", (self.decode)(&bytes[..len])?, number(row, "value")?)
    }

    fn first_byte(&self, row: &Json) -> Outcome {
        let found = (self.len_from_first)(bytes(row, "first")?[0]);
        if row.get("error").is_some() {
            return same("refused", found.is_err(), true);
        }
        same("length", found? as i64, number(row, "len")?)
    }
}

/// Numbers are listed in ascending order, so their bytes must ascend too.
fn ascending(group: &str, content: &str, report: &mut Report) {
    report.case(group, "values ascend", || {
        let file: Json = serde_json::from_str(content)?;
        let rows = file["values"].as_array().ok_or_else(|| fail("no values"))?;
        let all: Vec<Vec<u8>> = rows.iter().map(|row| bytes(row, "hex")).collect::<Outcome<_>>()?;
        same("ascending", all.is_sorted_by(|a, b| a < b), true)
    });
}

pub fn run_uint(group: &str, content: &str, report: &mut Report) {
    run_lists(
        group,
        content,
        report,
        &[
            ("values", |row| UINT.value(row)),
            ("bad_values", |row| UINT.bad_value(row)),
            ("decode", |row| UINT.decode(row)),
            ("skip", |row| UINT.skip(row)),
            ("length_by_first_byte", |row| UINT.first_byte(row)),
        ],
    );
    ascending(group, content, report);
}

pub fn run_long(group: &str, content: &str, report: &mut Report) {
    run_lists(
        group,
        content,
        report,
        &[
            ("values", |row| LONG.value(row)),
            ("decode", |row| LONG.decode(row)),
            ("skip", |row| LONG.skip(row)),
            ("length_by_first_byte", |row| LONG.first_byte(row)),
        ],
    );
    ascending(group, content, report);
}

pub fn run_fixed(group: &str, content: &str, report: &mut Report) {
    run_lists(
        group,
        content,
        report,
        &[
            ("int4", |row| {
                let value = number(row, "value")? as i32;
                same("bytes", hex::encode(&value.to_be_bytes()).as_str(), text(row, "hex")?)
            }),
            ("long8", |row| {
                let value = number(row, "value")?;
                same("bytes", hex::encode(&value.to_be_bytes()).as_str(), text(row, "hex")?)
            }),
            ("counters", counter),
            ("bad_counters", |row| {
                let store = MemoryStore::new();
                let tx = store.begin(&TxOptions::default())?;
                same("refused", tx.decode_counter(&bytes(row, "hex")?).is_err(), true)
            }),
            ("adjust_counter", adjust_counter),
            ("object_ids", object_id),
            ("object_id_ranges", object_id_range),
            ("bad_storage_ids", |row| {
                let number = u32::try_from(number(row, "storage_id")?).unwrap_or(0);
                same("refused", StorageId::new(number).is_none(), true)
            }),
            ("table_keys", table_keys),
            ("hex_texts", |row| {
                let found = key::parse_hex(text(row, "text")?);
                if row.get("error").is_some() {
                    return same("refused", found.is_err(), true);
                }
                same("bytes", hex::encode(&found?).as_str(), text(row, "hex")?)
            }),
            ("next_keys", |row| {
                let prefix = bytes(row, "hex")?;
                let next = hex::encode(&key::next_key(&prefix));
                same("next key", next.as_str(), text(row, "next_key")?)?;
                let after = key::after_prefix(&prefix).map(|key| hex::encode(&key));
                same("after prefix", after.as_deref(), row["after_prefix"].as_str())
            }),
            ("consecutive", |row| {
                let found = key::is_next_key(&bytes(row, "a")?, &bytes(row, "b")?);
                same("consecutive", Some(found), row["consecutive"].as_bool())
            }),
        ],
    );
    let Ok(file) = serde_json::from_str::<Json>(content) else { return };
    let mut plain = |member: &str, check: &dyn Fn() -> Outcome| {
        if file.get(member).is_some() {
            report.case(group, member, check);
        }
    };
    plain("object_ids_in_order", &|| {
        let texts: Vec<String> = serde_json::from_value(file["object_ids_in_order"].clone())?;
        let ids: Vec<ObjId> = texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        same("some", ids.is_empty(), false)?;
        same("ascending", ids.is_sorted_by(|a, b| a < b), true)
    });
    plain("byte_order", &|| {
        let texts: Vec<String> = serde_json::from_value(file["byte_order"].clone())?;
        let all: Option<Vec<Vec<u8>>> = texts.iter().map(|text| hex::decode(text)).collect();
        same("ascending", all.is_some_and(|all| all.is_sorted_by(|a, b| a < b)), true)
    });
    plain("format_version_key", &|| {
        let key = hex::encode(layout::FORMAT_VERSION_KEY);
        same("key", key.as_str(), text(&file, "format_version_key")?)
    });
}

fn counter(row: &Json) -> Outcome {
    let (value, bytes) = (number(row, "value")?, bytes(row, "hex")?);
    let store = MemoryStore::new();
    let tx = store.begin(&TxOptions::default())?;
    same("bytes", hex::encode(&tx.encode_counter(value)), hex::encode(&bytes))?;
    same("value", tx.decode_counter(&bytes)?, value)
}

fn adjust_counter(row: &Json) -> Outcome {
    const KEY: &[u8] = b"counter";
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::default())?;
    if let Some(before) = row["before"].as_str().and_then(hex::decode) {
        tx.put(KEY, &before)?;
    }
    tx.adjust_counter(KEY, number(row, "add")?)?;
    let after = tx.get(KEY)?.map(|value| hex::encode(&value));
    same("after", after.as_deref(), row["after"].as_str())
}

fn object_id(row: &Json) -> Outcome {
    let found = text(row, "text")?.parse::<ObjId>();
    if row.get("hex").is_none() {
        return same("refused", found.is_err(), true);
    }
    let id = found?;
    same("bytes", hex::encode(id.as_bytes()).as_str(), text(row, "hex")?)?;
    same("text", id.to_string().as_str(), text(row, "canonical")?)?;
    same("storage id", i64::from(id.storage_id().get()), number(row, "storage_id")?)?;
    same("number", i64::from_be_bytes(id.to_bytes()), number(row, "long")?)
}

fn object_id_range(row: &Json) -> Outcome {
    let id = StorageId::try_from(number(row, "storage_id")? as u32)?;
    same("min", ObjId::min(id).to_string().as_str(), text(row, "min")?)?;
    same("max", ObjId::max(id).to_string().as_str(), text(row, "max")?)?;
    let (min, max) = id.key_range();
    same("range min", hex::encode(&min).as_str(), text(row, "range_min")?)?;
    same("range max", Some(hex::encode(&max).as_str()), row["range_max"].as_str())
}

fn table_keys(row: &Json) -> Outcome {
    let number = number(row, "number")? as u32;
    let id = StorageId::try_from(number)?;
    let index = SchemaIndex::new(number).ok_or_else(|| fail("no schema index"))?;
    let keys = [
        ("schema_table", layout::schema_table_key(index)),
        ("storage_id_table", layout::storage_id_table_key(id)),
        ("schema_index_of_min_object", layout::object_schema_key(index, ObjId::min(id))),
    ];
    keys.iter().try_for_each(|(name, key)| same(name, hex::encode(key).as_str(), text(row, name)?))
}
