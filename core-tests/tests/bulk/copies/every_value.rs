//! The extremes of every built-in encoding in every form that objects are written in: each reads
//! back as the same bytes, or is refused by name.

use std::collections::BTreeSet;

use permazen::encoding::Value;
use permazen::encoding::time::Date;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::object_xml::{ObjectXmlError, ObjectXmlReader, ObjectXmlWriter};
use permazen::{ObjId, Permazen, Tx};

use super::bytes;
use super::extremes::{DATE_FIRST, DATE_LAST, DATES, fill, schema};

fn open() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<super::Node>().build().unwrap()
}

/// The written document, or why there is none.
fn saved(tx: &Tx, writer: &ObjectXmlWriter, ids: &[ObjId]) -> Result<Vec<u8>, ObjectXmlError> {
    let mut out = Vec::new();
    writer.write_objects(tx.core(), ids.iter().copied().map(Ok), &mut out)?;
    Ok(out)
}

/// Whether Java's text says a date.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Date(date) => (DATE_FIRST..=DATE_LAST).contains(&date.millis),
        _ => true,
    }
}

/// Loads documents into a database of their own, in which all pairs are as in `tx`.
fn gives_the_same(tx: &Tx, documents: &[Vec<u8>]) {
    let other = open();
    other
        .write(|loaded| {
            loaded.core().add_schemas(&[schema()])?;
            for document in documents {
                ObjectXmlReader::new().read(loaded.core(), &document[..]).unwrap();
            }
            assert!(bytes(loaded) == bytes(tx), "other pairs");
            Ok(())
        })
        .unwrap();
}

#[test]
fn xml_says_every_value_or_names_the_one_that_it_cannot_say() {
    open()
        .write(|tx| {
            let all = fill(tx.core());
            let exact = ObjectXmlWriter::new().with_storage_ids().schemas([]);
            let encoded = exact.clone().with_encoded_values();
            let mut refused = BTreeSet::new();
            let mut documents = Vec::new();
            for (id, (encoding, value)) in &all {
                match saved(tx, &exact, &[*id]) {
                    Ok(document) => {
                        assert!(is_said(value), "{encoding} {value:?}");
                        // The option changes nothing where it is not needed.
                        assert_eq!(saved(tx, &encoded, &[*id]).unwrap(), document);
                        documents.push(document);
                    }
                    Err(ObjectXmlError::NoText { id: named, field, .. }) => {
                        assert!(!is_said(value), "{encoding} {value:?}");
                        assert_eq!(named, *id);
                        let fields = ["array", "set.element", "list.element", "map.key"];
                        assert!(fields.contains(&&*field), "{field}");
                        let document = saved(tx, &encoded, &[*id]).unwrap();
                        let text = String::from_utf8(document.clone()).unwrap();
                        let count = if field == "set.element" { 1 } else { 2 };
                        assert_eq!(text.matches("<encoded>").count(), count, "{text}");
                        documents.push(document);
                        refused.insert(format!("{encoding} {value:?}"));
                    }
                    Err(error) => panic!("{encoding} {value:?}: {error}"),
                }
            }
            let wanted = [i64::MIN, DATES[0], DATES[3], i64::MAX];
            let wanted = wanted.map(|it| format!("Date {:?}", Value::Date(Date::from_millis(it))));
            assert_eq!(refused, BTreeSet::from(wanted));
            gives_the_same(tx, &documents);
            Ok(())
        })
        .unwrap();
}

#[test]
fn graphs_say_every_value() {
    open()
        .write(|tx| {
            let all = fill(tx.core());
            let graph = tx.export_graph(all.keys().copied())?;
            let text = serde_json::to_string(&graph).unwrap();
            let again: Graph = serde_json::from_str(&text).unwrap();
            let other = open();
            other.write(|loaded| {
                loaded.core().add_schemas(&[schema()])?;
                loaded.import_graph(&again, Import::new())?;
                assert!(bytes(loaded) == bytes(tx), "other pairs");
                Ok(())
            })
        })
        .unwrap();
}

/// The guide's list of values without a text is what the writer refuses.
#[test]
fn the_guide_says_which_dates_have_no_text() {
    let page = include_str!("../../../../docs/src/export.md");
    for millis in [DATE_FIRST, DATE_LAST] {
        let shown = millis.to_string();
        assert!(page.contains(&shown), "{shown}");
    }
}

#[test]
fn an_encoded_value_is_one_that_the_encoding_writes() {
    let document = |content: &str| {
        format!(
            "<database><schemas/><objects><Node id=\"generated:Node:1\"><name>{content}</name></Node></objects></database>"
        )
    };
    open()
        .write(|tx| {
            let read = |content: &str| {
                let document = document(content);
                tx.core().atomic(|tx| ObjectXmlReader::new().read(tx, document.as_bytes()))
            };
            read("<encoded>6100</encoded>").unwrap();
            read("\n  <encoded>fcd70500</encoded>\n").unwrap();
            for (content, part) in [
                ("<encoded>61</encoded>", "invalid value \"61\" for field \"name\""),
                ("<encoded>fc000000</encoded>", "invalid value"),
                ("<encoded>610</encoded>", "invalid value"),
                ("<encoded>zz</encoded>", "invalid value"),
                ("<encoded>6100</encoded>x", "text after the encoded value"),
                ("x<encoded>6100</encoded>", "found <encoded> where text is expected"),
                ("<encoded>6100</encoded><encoded>6100</encoded>", "found <encoded>"),
                ("<encoded><a/></encoded>", "found <a>"),
            ] {
                let error = read(content).unwrap_err().to_string();
                assert!(error.contains(part), "{content}: {error}");
            }
            Ok(())
        })
        .unwrap();
}
