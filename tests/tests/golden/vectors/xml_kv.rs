//! `xml-kv.json`: pairs as XML, and objects as XML.

use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions, xml};
use permazen_tests::hex;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::object_xml;
use crate::report::{Outcome, Report, fail, same, same_text};

/// Keys and values in hex.
pub type Pairs = Vec<(String, String)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    raw: Vec<Document>,
    raw_written: Vec<Written>,
    #[serde(default)]
    schemas: object_xml::Schemas,
    #[serde(default)]
    objects: Vec<object_xml::Document>,
    #[serde(default)]
    objects_written: Vec<object_xml::Written>,
}

/// A document to read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    xml: Option<String>,
    xml_bytes: Option<String>,
    ok: bool,
    #[serde(default)]
    pairs: Pairs,
    /// Java does not count entries without a value; we count all.
    #[serde(default, rename = "count")]
    _count: IgnoredAny,
    #[serde(default, rename = "error")]
    _error: IgnoredAny,
    optional: Option<String>,
}

/// Pairs to write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    pairs: Pairs,
    count: u64,
    plain: String,
    indented: String,
    plain_characters: String,
}

/// Checks every row.
pub fn run(group: &str, content: &str, report: &mut Report) {
    let file: File = match serde_json::from_str(content) {
        Ok(file) => file,
        Err(error) => return report.case(group, "file", || Err(error.into())),
    };
    for document in &file.raw {
        report.case(group, &format!("raw: {}", document.name), || read(document));
    }
    for (index, row) in file.raw_written.iter().enumerate() {
        report.case(group, &format!("raw_written {index}"), || written(row));
    }
    object_xml::run(group, &file.schemas, &file.objects, &file.objects_written, report);
}

/// The bytes that a text gives in hex.
pub fn bytes(text: &str) -> Outcome<Vec<u8>> {
    hex::decode(text).ok_or_else(|| fail(format!("{text} is no hex")))
}

fn read(document: &Document) -> Outcome {
    let content = match (&document.xml_bytes, &document.xml) {
        (Some(text), _) => bytes(text)?,
        (None, Some(text)) => text.clone().into_bytes(),
        (None, None) => return Err(fail("the row has no document")),
    };
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing())?;
    match (xml::load(&mut *tx, &content[..]), document.ok) {
        (Ok(_), true) => same("pairs", stored(&*tx)?, document.pairs.clone()),
        (Err(_), false) => Ok(()),
        (Err(_), true) if document.optional.is_some() => Ok(()),
        (Err(error), true) => Err(error.into()),
        (Ok(_), false) => Err(fail("the document should be refused")),
    }
}

fn written(row: &Written) -> Outcome {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing())?;
    for (key, value) in &row.pairs {
        tx.put(&bytes(key)?, &bytes(value)?)?;
    }
    for (style, expected) in [
        (xml::Style::Plain, &row.plain),
        (xml::Style::Indented, &row.indented),
        (xml::Style::PlainCharacters, &row.plain_characters),
    ] {
        let mut out = Vec::new();
        let count = xml::dump(&*tx, KeySpan::FULL, style, &mut out)?;
        same("count", count, row.count)?;
        same_text(&format!("{style:?}"), &String::from_utf8(out)?, expected)?;
    }
    Ok(())
}

/// All pairs of a store.
pub fn stored(store: &dyn KvRead) -> Outcome<Pairs> {
    let mut pairs = Vec::new();
    for pair in store.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        pairs.push((hex::encode(&key), hex::encode(&value)));
    }
    Ok(pairs)
}
