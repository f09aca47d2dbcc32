//! Keys in words: the table of the specification (section 3.6.4), row by row, damaged databases,
//! and hostile names and values.

use std::sync::Arc;

use permazen::__internal::describe_key::{Lines, line, pieces};
use permazen::__internal::schema::{
    DatabaseState, SchemaBundle, SchemaConfig, open_schema, read_usable_schemas,
};
use permazen::encoding::EncodingRegistry;
use permazen::kv::key::parse_hex;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Hex, KvDatabase, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen::schema::{ItemKind, SchemaId, SchemaModel, SchemaRemoval};

use crate::support::{reference, schemas_of};

/// Each piece as `hex words`.
fn described(schemas: &SchemaBundle, key: &str) -> Vec<String> {
    let key = parse_hex(key).unwrap();
    let pieces = pieces(&key, schemas, None);
    let whole: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.to_vec()).collect();
    assert_eq!(whole, key, "the pieces have all bytes");
    pieces.iter().map(|piece| format!("{} {}", Hex(piece.bytes), piece.words)).collect()
}

const PERSON: &str = "10 [#16] object type \"Person\" in Schema_a74fa4308ce05a1de31520b9858a4e91@1";
const UNIQUE: &str = "00000000000001 Random/unique part of ObjId";
const ANN: &str = "1000000000000001 Object ID 1000000000000001 of type \"Person\"";
const META: &str = "00 Meta-data key prefix";

macro_rules! rows {
    ($($row:ident $key:literal = [$($piece:expr),* $(,)?];)*) => {$(
        #[test]
        fn $row() {
            let store = reference();
            let schemas = schemas_of(&store.snapshot());
            assert_eq!(described(&schemas, $key), [$($piece),*] as [&str; _]);
        }
    )*};
}

rows! {
    row_01_format_version "00005065726d617a656e00" = [
        META, "00 Format version prefix", "5065726d617a656e00 Format version key",
    ];
    row_02_schema_table "000101" = [META, "01 Schema table prefix", "01 Schema index #1"];
    row_03_storage_id_table "000211" = [META, "02 Storage ID table prefix", "11 Storage ID #17"];
    row_04_object_schema_index "0080011000000000000001" = [
        META, "80 Object schema index", "01 Schema index #1", ANN,
    ];
    row_05_user_meta_data "00ff0102" = [META, "ff User meta-data range", "0102 User meta-data key"];
    row_06_unknown_meta_data "0055" = [META, "55 Unknown meta-data prefix"];
    row_07_object "1000000000000001" = [PERSON, UNIQUE];
    row_08_simple_field "100000000000000111" = [
        PERSON, UNIQUE, "11 [#17] indexed field \"name\" of type java.lang.String",
    ];
    row_09_set_element "1000000000000001157800" = [
        PERSON, UNIQUE, "15 [#21] set field \"tags\"", "7800 Set element x",
    ];
    row_10_list_element "10000000000000011702" = [
        PERSON, UNIQUE,
        "17 [#23] list field \"friends\" containing reference field \"friends.element\"",
        "02 List index 2",
    ];
    row_11_map_value "1000000000000001196100" = [
        PERSON, UNIQUE,
        "19 [#25] map field \"scores\" containing key encoding \"String\" <java.lang.String> and \
         value encoding \"int\" <int>",
        "6100 Map key  a",
    ];
    row_12_no_field "10000000000000017a" = [PERSON, UNIQUE, "7a Invalid storage ID 122"];
    row_13_simple_index "11416e6e001000000000000001" = [
        "11 [#17] Simple index on indexed field \"name\" of type java.lang.String",
        "416e6e00 Value Ann", ANN,
    ];
    row_14_reference_index "1310000000000000021000000000000001" = [
        "13 [#19] Simple index on reference field \"spouse\"",
        "1000000000000002 Value Object ID 1000000000000002 of type \"Person\"", ANN,
    ];
    row_15_index_of_list_elements "181000000000000002100000000000000102" = [
        "18 [#24] Simple index on reference field \"friends.element\"",
        "1000000000000002 Value Object ID 1000000000000002 of type \"Person\"", ANN,
        "02 List index 2",
    ];
    row_16_index_of_map_values "1b8010000000000000016100" = [
        "1b [#27] Simple index on indexed field \"scores.value\" of type int",
        "80 Value 1", ANN, "6100 Map key a",
    ];
    row_17_composite_index "1f416e6e00a71000000000000001" = [
        "1f [#31] Composite index \"nameAge\" on indexed field \"name\" of type java.lang.String, \
         field \"age\" of type int",
        "416e6e00 Value Ann", "a7 Value 40", ANN,
    ];
    row_18_unknown_storage_id "15aa" = ["15 Unknown storage ID 21", "aa Trailing garbage"];
    row_19_invalid_type "11416e6e003000000000000001" = [
        "11 [#17] Simple index on indexed field \"name\" of type java.lang.String",
        "416e6e00 Value Ann",
        "3000000000000001 Object ID 3000000000000001 (invalid type #48)",
    ];
    row_20_rest_of_an_entry "11416e6e0010000000" = [
        "11 [#17] Simple index on indexed field \"name\" of type java.lang.String",
        "416e6e00 Value Ann", "10000000 Trailing garbage",
    ];
    row_20_rest_of_an_object "100000" = [PERSON, "0000 Trailing garbage"];
    row_20_rest_after_a_field "100000000000000112a7" = [
        PERSON, UNIQUE, "12 [#18] field \"age\" of type int", "a7 Trailing garbage",
    ];
    row_20_rest_after_a_list_element "1000000000000001170255" = [
        PERSON, UNIQUE,
        "17 [#23] list field \"friends\" containing reference field \"friends.element\"",
        "02 List index 2", "55 Trailing garbage",
    ];
    row_20_rest_of_meta_data "005501" = [
        META, "55 Unknown meta-data prefix", "01 Trailing garbage",
    ];
    row_20_rest_of_the_format_version "00005065" = [
        META, "00 Format version prefix", "5065 Trailing garbage",
    ];
    row_20_rest_after_the_format_version "00005065726d617a656e0001" = [
        META, "00 Format version prefix", "5065726d617a656e00 Format version key",
        "01 Trailing garbage",
    ];
    row_20_rest_of_the_object_schema_index "00800110" = [
        META, "80 Object schema index", "01 Schema index #1", "10 Trailing garbage",
    ];
    row_20_no_storage_id "ff01" = ["ff01 Trailing garbage"];
    row_20_storage_id_0 "feffffff0510" = ["feffffff0510 Trailing garbage"];
    row_22_null_cd8 "13ff1000000000000001" = [
        "13 [#19] Simple index on reference field \"spouse\"", "ff Value null", ANN,
    ];
    prefixes_alone_00 "00" = [META];
    prefixes_alone_0080 "0080" = [META, "80 Object schema index"];
    prefixes_alone_00ff "00ff" = [META, "ff User meta-data range"];
    counter "10000000000000011c" = [PERSON, UNIQUE, "1c [#28] counter field \"visits\""];
    pet_shares_a_storage_id "200000000000000121" = [
        "20 [#32] object type \"Pet\" in Schema_a74fa4308ce05a1de31520b9858a4e91@1", UNIQUE,
        "21 [#33] field \"born\" of type java.util.Date",
    ];
}

#[test]
fn row_21_no_bytes() {
    let schemas = schemas_of(&reference().snapshot());
    assert_eq!(Lines(&pieces(&[], &schemas, None)).to_string(), "Empty byte array");
}

#[test]
fn lines_are_aligned_at_the_longest_piece() {
    let schemas = schemas_of(&reference().snapshot());
    let key = parse_hex("11416e6e001000000000000001").unwrap();
    let expected = "              \
              11 : [#17] Simple index on indexed field \"name\" of type java.lang.String
        416e6e00 : Value Ann
1000000000000001 : Object ID 1000000000000001 of type \"Person\"
";
    assert_eq!(Lines(&pieces(&key, &schemas, None)).to_string(), expected);
    let long = [&[0x00, 0xff][..], &[0xab; 33]].concat();
    let shown = Lines(&pieces(&long, &schemas, None)).to_string();
    let last = format!("{}... : User meta-data key\n", "ab".repeat(32));
    assert!(shown.ends_with(&last) && shown.starts_with(&format!("{}00 : Meta", " ".repeat(65))));
}

#[test]
fn in_one_line() {
    let schemas = schemas_of(&reference().snapshot());
    for (key, expected) in [
        ("000211", Some("storage ID table, storage ID 17")),
        ("1000000000000001", Some("Person 1000000000000001")),
        ("100000000000000111", Some("Person 1000000000000001 name")),
        ("1000000000000001157800", Some("Person 1000000000000001 tags element \"x\"")),
        ("10000000000000011702", Some("Person 1000000000000001 friends[2]")),
        ("1000000000000001196100", Some("Person 1000000000000001 scores[\"a\"]")),
        ("11416e6e001000000000000001", Some("index Person.name: \"Ann\", object 1000000000000001")),
        ("13ff1000000000000001", Some("index Person.spouse: null, object 1000000000000001")),
        (
            "1b8010000000000000016100",
            Some("index Person.scores.value: 1, object 1000000000000001 under key \"a\""),
        ),
        (
            "1f416e6e00a71000000000000001",
            Some("index Person#nameAge: \"Ann\", 40, object 1000000000000001"),
        ),
        ("10000000000000017a", None),
        ("15aa", None),
        ("0055", None),
        ("", None),
    ] {
        let line = line(&parse_hex(key).unwrap(), &schemas, None);
        assert_eq!(line.as_deref(), expected, "{key}");
    }
}

/// Every key of the reference database, cut off after each byte and with a byte more.
#[test]
fn all_bytes_are_in_the_pieces() {
    let store = reference();
    let snapshot = store.snapshot();
    let schemas = schemas_of(&snapshot);
    for pair in
        snapshot.scan(permazen::kv::KeySpan::FULL, permazen::kv::Direction::Forward).unwrap()
    {
        let key = pair.unwrap().0.into_owned();
        let is_whole = |key: &[u8]| {
            pieces(key, &schemas, None).iter().all(|piece| {
                !piece.words.contains("garbage") && !piece.words.contains("storage ID ")
            })
        };
        assert!(is_whole(&key), "{}", Hex(&key));
        let longer = [&key[..], &[0x7f]].concat();
        for key in (0..key.len()).map(|len| &key[..len]).chain([&longer[..]]) {
            described(&schemas, &Hex(key).to_string());
        }
    }
}

/// Records a schema beside those there are.
fn record(tx: &mut dyn KvWrite, model: SchemaModel) {
    let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
    let config = SchemaConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never);
    open_schema(tx, &state, &config).unwrap();
}

fn begin(store: &MemoryStore) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::writing()).unwrap()
}

#[test]
fn without_schemas_meta_data_is_still_known() {
    let schemas = schemas_of(&MemoryStore::new().snapshot());
    assert_eq!(described(&schemas, "000101")[2], "01 Schema index #1");
    assert_eq!(
        described(&schemas, "1000000000000001"),
        ["10 Unknown storage ID 16", "00000000000001 Trailing garbage"]
    );
    assert_eq!(
        described(&schemas, "0080011000000000000001")[3],
        "1000000000000001 Object ID 1000000000000001 (invalid type #16)"
    );
}

/// Schemas that are damaged are left out, and the others are used.
#[test]
fn damaged_schemas_are_left_out() {
    let store = reference();
    let mut tx = begin(&store);
    let model = r#"<Schema><ObjectType name="Car" storageId="64">
        <SimpleField name="plate" storageId="65" encoding="urn:fdc:permazen.io:2020:String"/>
        </ObjectType></Schema>"#;
    let model = SchemaModel::from_xml(model.as_bytes()).unwrap();
    record(&mut *tx, model);
    assert_eq!(described(&schemas_of(&*tx), "400000000000000141").len(), 3);
    let problems = |kv: &dyn KvRead| {
        let usable = read_usable_schemas(kv, &EncodingRegistry::new()).unwrap();
        usable.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(problems(&*tx), "");
    // The first document is cut off.
    let document = tx.get(&[0, 1, 1]).unwrap().unwrap().into_owned();
    tx.put(&[0, 1, 1], &document[..100]).unwrap();
    assert!(problems(&*tx).contains("recorded schema 1: "), "{}", problems(&*tx));
    assert_eq!(described(&schemas_of(&*tx), "400000000000000141").len(), 3);
    assert_eq!(described(&schemas_of(&*tx), "1000000000000001")[0], "10 Unknown storage ID 16");
    tx.put(&[0, 1, 1], &document).unwrap();
    // Keys and values that make no sense, and entries that are there twice.
    tx.put(&[0, 1, 0xff], &document).unwrap();
    tx.put(&[0, 1, 9], &document).unwrap();
    tx.put(&[0, 2, 200], b"nonsense\0").unwrap();
    let twice = tx.get(&[0, 2, 0x11]).unwrap().unwrap().into_owned();
    tx.put(&[0, 2, 201], &twice).unwrap();
    let found = problems(&*tx);
    for expected in ["schemas 1 and 9 are the same", "storage ID 200", "storage IDs 17 and 201"] {
        assert!(found.contains(expected), "{found}");
    }
    assert_eq!(described(&schemas_of(&*tx), "100000000000000111").len(), 3);
    // Storage IDs that are lost are those that the schema asks for.
    tx.remove_span(permazen::__internal::layout::STORAGE_ID_TABLE_SPAN).unwrap();
    assert_eq!(described(&schemas_of(&*tx), "100000000000000111").len(), 3);
}

#[test]
fn the_schema_of_the_object_counts() {
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let field = |name: &str, indexed: bool| {
        let model = format!(
            r#"<Schema><ObjectType name="T" storageId="16"><SimpleField name="{name}" storageId="{}"
            indexed="{indexed}" encoding="urn:fdc:permazen.io:2020:int"/></ObjectType></Schema>"#,
            if name == "a" { 17 } else { 18 }
        );
        SchemaModel::from_xml(model.as_bytes()).unwrap()
    };
    for model in [field("a", true), field("b", false), field("a", false)] {
        record(&mut *tx, model);
    }
    let schemas = schemas_of(&*tx);
    assert_eq!(schemas.schemas().len(), 3);
    let key = parse_hex("100000000000000111").unwrap();
    let words = |at: usize| {
        let object_type = schemas.schemas()[at].object_type("T").unwrap();
        pieces(&key, &schemas, Some(object_type)).pop().unwrap().words
    };
    assert_eq!(words(0), "[#17] indexed field \"a\" of type int");
    assert_eq!(words(1), "Invalid storage ID 17");
    assert_eq!(words(2), "[#17] field \"a\" of type int");
    // Of an object whose schema is not known, any version of the type will do.
    assert_eq!(described(&schemas, "100000000000000112")[2], "12 [#18] field \"b\" of type int");
}

#[test]
fn names_and_values_are_escaped() {
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let model = "<Schema><ObjectType name=\"P\u{9b}31m\" storageId=\"16\"><SimpleField name=\"a\u{202e}b\"
        storageId=\"17\" indexed=\"true\" encoding=\"urn:fdc:permazen.io:2020:String\"/></ObjectType></Schema>";
    let model = SchemaModel::from_xml(model.as_bytes()).unwrap();
    record(&mut *tx, model);
    let schemas = schemas_of(&*tx);
    let mut key = vec![0x11];
    permazen::encoding::string::write("x\u{1b}[2J\n\u{1f600}", &mut key);
    key.extend_from_slice(&parse_hex("1000000000000001").unwrap());
    let shown = Lines(&pieces(&key, &schemas, None)).to_string();
    assert!(shown.contains("\\u{1b}[2J\\u{a}\u{1f600}"), "{shown}");
    assert!(shown.contains("P\\u{9b}31m") && shown.contains("a\\u{202e}b"), "{shown}");
    let line = line(&key, &schemas, None).unwrap();
    for text in [&shown, &line] {
        assert!(
            !text.contains(|c| c != '\n' && permazen::__internal::escape::needs_escape(c)),
            "{text}"
        );
    }
    let mut key = vec![0x11];
    permazen::encoding::string::write_units([0x61, 0xd800, 0x62], &mut key);
    assert_eq!(pieces(&key, &schemas, None)[1].words, "Value a\\ud800b");
    let mut key = vec![0x11];
    permazen::encoding::string::write(&"é".repeat(2000), &mut key);
    assert_eq!(pieces(&key, &schemas, None)[1].words, format!("Value {}…", "é".repeat(1000)));
}

#[test]
fn encodings_that_are_not_registered() {
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let model = r#"<Schema><ObjectType name="T" storageId="16">
        <SimpleField name="a" storageId="17" indexed="true" encoding="urn:example:own"/>
        <ListField name="l" storageId="18"><SimpleField storageId="19" indexed="true" encoding="urn:example:own"/></ListField>
        </ObjectType></Schema>"#;
    let model = SchemaModel::from_xml(model.as_bytes()).unwrap();
    assert_eq!(model.schema_id().kind(), ItemKind::Schema);
    tx.put(
        &[0, 1, 1],
        &permazen::__internal::schema::deflate(
            model.to_xml(permazen::schema::XmlForm::STORED).as_bytes(),
        ),
    )
    .unwrap();
    let schemas = schemas_of(&*tx);
    assert_eq!(schemas.storage_id(SchemaId::of_type_name("T")).unwrap().get(), 16);
    assert_eq!(
        described(&schemas, "110102031000000000000001"),
        [
            "11 [#17] Simple index on indexed field \"a\" of type urn:example:own",
            "010203 Value 010203",
            "1000000000000001 Object ID 1000000000000001 of type \"T\""
        ]
    );
    let key = parse_hex("110102031000000000000001").unwrap();
    assert_eq!(line(&key, &schemas, None).unwrap(), "index T.a: object 1000000000000001");
    // Here the end of the value is not known.
    assert_eq!(described(&schemas, "13010203100000000000000100").len(), 2);
}
