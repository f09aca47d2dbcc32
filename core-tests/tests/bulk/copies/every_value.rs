//! The extremes of every built-in encoding in every form that objects are written in: each reads
//! back as the same bytes, or is refused by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use permazen::__internal::encoding::EncodingKind;
use permazen::encoding::Value;
use permazen::encoding::time::Date;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::object::{Migrate, ObjectBuilder};
use permazen::object_xml::{ObjectXmlError, ObjectXmlReader, ObjectXmlWriter};
use permazen::{ObjId, Permazen, Tx};

use super::bytes;
use super::extremes::{DATE_FIRST, DATE_LAST, DATES, built_in, fill, schema};

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

/// The text of the field `value` of an object with that field, in a document of it alone.
fn text_of_value(document: &[u8]) -> Option<String> {
    let document = std::str::from_utf8(document).unwrap();
    let is_other = ["<set>", "<list>", "<map>"].iter().any(|it| document.contains(it));
    let (_, text) = document.split_once("<value>").filter(|_| !is_other)?;
    let (text, _) = text.split_once("</value>")?;
    Some(quick_xml::escape::unescape(text).unwrap().into_owned())
}

/// The extremes that are spelled differently than Java prints them. Texts and arrays are left out:
/// of texts only single characters differ, and arrays are long.
fn spelled(tx: &Tx) -> String {
    let writer = ObjectXmlWriter::new().with_storage_ids().schemas([]);
    let mut said = BTreeMap::new();
    for (id, (encoding, value)) in fill(tx.core()) {
        let text = saved(tx, &writer, &[id]).ok().and_then(|document| text_of_value(&document));
        said.extend(text.map(|text| ((encoding, format!("{value:?}")), text)));
    }
    let mut table = String::from("| of | Java prints | the document says |\n|---|---|---|\n");
    for (encoding, values) in built_in() {
        let name = encoding.name();
        let is_text = ["String", "char", "Character"].contains(&&*name);
        if is_text || matches!(encoding.kind(), EncodingKind::PrimitiveArray(_)) {
            continue;
        }
        for value in values {
            let Some(said) = said.get(&(name.to_string(), format!("{value:?}"))) else { continue };
            let printed = encoding.to_text(&value).unwrap();
            if *said != printed {
                writeln!(table, "| `{name}` | `{printed}` | `{said}` |").unwrap();
            }
        }
    }
    table
}

/// The ends of what Java's text says, found with the writer.
fn ends(tx: &Tx) -> String {
    let writer = ObjectXmlWriter::new().with_storage_ids().schemas([]);
    let bundle = tx.core().bundle();
    let of_date = bundle.schemas().iter().find_map(|schema| schema.object_type("TDate")).unwrap();
    let object = ObjectBuilder::new(of_date.clone()).finish();
    let id = tx.core().create_with(None, &object).unwrap().unwrap();
    let text = |millis: i64| {
        let date = Value::Date(Date::from_millis(millis));
        tx.core().set(id, "value", &date, Migrate::No).unwrap();
        saved(tx, &writer, &[id]).ok().map(|document| text_of_value(&document).unwrap())
    };
    // Between one with a text and one without, both in turn.
    let end = |without: i64| {
        let (mut with, mut without) = (0, without);
        loop {
            let middle = i128::midpoint(with.into(), without.into());
            let middle = i64::try_from(middle).unwrap();
            if middle == with || middle == without {
                return with;
            }
            if text(middle).is_some() { with = middle } else { without = middle }
        }
    };
    let mut table = String::from("| of | | says | milliseconds since 1970 |\n|---|---|---|---|\n");
    for (what, end) in [("first", end(i64::MIN)), ("last", end(i64::MAX))] {
        writeln!(table, "| `Date` | {what} | `{}` | {end} |", text(end).unwrap()).unwrap();
    }
    tx.core().delete(id).unwrap();
    table
}

/// The page with the text between the marks of a table replaced.
fn replaced(page: &str, name: &str, table: &str) -> String {
    let start = format!("<!-- table {name} -->\n");
    let (before, rest) = page.split_once(&start).expect("the mark of the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    format!("{before}{start}\n{table}\n<!-- end -->{after}")
}

/// `PERMAZEN_DOCS=write` writes them again.
#[test]
fn tables_of_the_guide_say_which_values_have_no_text_of_java() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/export.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let made = open()
        .write(|tx| {
            let made = replaced(&page, "spelled", &spelled(tx));
            let ends = ends(tx);
            for (end, at) in [DATE_FIRST, DATE_LAST].iter().zip(["first", "last"]) {
                assert!(ends.contains(&end.to_string()), "{at}: {ends}");
            }
            Ok(replaced(&made, "ends", &ends))
        })
        .unwrap();
    if std::env::var_os("PERMAZEN_DOCS").is_some_and(|value| value == "write") {
        std::fs::write(path, &made).expect("the page is written");
        return;
    }
    assert!(page == made, "docs/src/export.md is out of date: PERMAZEN_DOCS=write writes it");
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
