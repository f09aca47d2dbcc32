//! Schemas that can be said in Rust: recorded ones, one with hostile names, and random ones.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use permazen::__internal::schema::read_schemas;
use permazen::StorageId;
use permazen::encoding::{EncodingId, EncodingRegistry, ids};
use permazen::schema::{DeleteAction, Field, ObjectType, SchemaModel, Simple, SubField};

/// Names that mean something to Rust or to the derive macros, and names that mean nothing.
const NAMES: &[&str] = &[
    "Any",
    "Box",
    "Counter",
    "FIRST",
    "HTTPServer2",
    "Obj",
    "Option",
    "PermazenObject",
    "Ref",
    "Self",
    "String",
    "Vec",
    "_",
    "__",
    "_x",
    "a$b",
    "a_b",
    "clone",
    "crate",
    "firstName",
    "first_name",
    "id",
    "load",
    "name",
    "self",
    "setName",
    "set_name",
    "super",
    "try",
    "type",
    "x1",
    "x_1",
    "größe",
    "名",
    "élan",
    "Ⅷ",
    "\u{115f}",
];

pub(crate) fn all() -> Vec<(String, SchemaModel)> {
    let mut all = vec![("reference".to_owned(), reference())];
    all[0].1 = all[0].1.with_storage_ids(|_| None);
    for (name, file) in [
        ("music", "music/schema-1.xml"),
        ("evolution1", "evolution/schema-1.xml"),
        ("evolution2", "evolution/schema-2.xml"),
        ("evolution3", "evolution/schema-3.xml"),
        ("encodings", "encodings/schema-1.xml"),
        ("storage_ids", "storage-ids/schema-1.xml"),
    ] {
        let xml = recorded(&format!("databases/{file}"));
        all.push((name.to_owned(), SchemaModel::from_xml(&xml).expect("a schema")));
    }
    all.push(("every_encoding".to_owned(), every_encoding()));
    all.push(("hostile".to_owned(), hostile()));
    all.extend((0..6).map(|seed| (format!("random{seed}"), random(seed))));
    all
}

fn recorded(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(file);
    let compressed = std::fs::File::open(path.with_added_extension("gz")).expect("recorded data");
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(compressed).read_to_end(&mut bytes).expect("gzip");
    bytes
}

/// The schema of the small reference database, with its storage IDs.
pub(crate) fn reference() -> SchemaModel {
    use permazen::kv::{KvDatabase, TxOptions};
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/reference/R.kv.xml");
    let store = permazen::open(file).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    read_schemas(&*kv).expect("schemas").schemas()[0].model_with_storage_ids()
}

/// Every built-in encoding, alone, in arrays, in a list, in a set, and as keys and values.
pub(crate) fn every_encoding() -> SchemaModel {
    let all = [
        ids::BOOLEAN,
        ids::BYTE,
        ids::CHAR,
        ids::SHORT,
        ids::INT,
        ids::LONG,
        ids::FLOAT,
        ids::DOUBLE,
        ids::BOOLEAN_OR_NULL,
        ids::BYTE_OR_NULL,
        ids::CHAR_OR_NULL,
        ids::SHORT_OR_NULL,
        ids::INT_OR_NULL,
        ids::LONG_OR_NULL,
        ids::FLOAT_OR_NULL,
        ids::DOUBLE_OR_NULL,
        ids::VOID,
        ids::BOOLEAN_ARRAY,
        ids::BYTE_ARRAY,
        ids::CHAR_ARRAY,
        ids::SHORT_ARRAY,
        ids::INT_ARRAY,
        ids::LONG_ARRAY,
        ids::FLOAT_ARRAY,
        ids::DOUBLE_ARRAY,
        ids::STRING,
        ids::BIG_DECIMAL,
        ids::BIG_INTEGER,
        ids::BIT_SET,
        ids::DATE,
        ids::UUID,
        ids::INT_SUMMARY_STATISTICS,
        ids::LONG_SUMMARY_STATISTICS,
        ids::DOUBLE_SUMMARY_STATISTICS,
        ids::FILE,
        ids::URI,
        ids::PATTERN,
        ids::INTERNET_ADDRESS,
        ids::INET4_ADDRESS,
        ids::INET6_ADDRESS,
        ids::INET_ADDRESS,
        ids::DURATION,
        ids::INSTANT,
        ids::LOCAL_DATE,
        ids::LOCAL_DATE_TIME,
        ids::LOCAL_TIME,
        ids::MONTH_DAY,
        ids::OFFSET_DATE_TIME,
        ids::OFFSET_TIME,
        ids::PERIOD,
        ids::YEAR,
        ids::YEAR_MONTH,
        ids::ZONE_OFFSET,
        ids::ZONE_ID,
        ids::ZONED_DATE_TIME,
    ];
    let registry = EncodingRegistry::new();
    let registered: BTreeSet<String> = registry.ids().iter().map(ToString::to_string).collect();
    let named: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(named, registered, "add a new encoding at the end of `all`");
    let mut everything = ObjectType::new("Everything");
    for (n, id) in all.iter().enumerate() {
        let simple = || Simple::of(id.clone());
        let fields = [
            Field::new(format!("simple{n}"), simple()),
            Field::set(format!("set{n}"), simple()),
            Field::list(format!("list{n}"), simple().indexed()),
            Field::map(format!("map{n}"), simple().indexed(), simple()),
        ];
        for field in fields {
            everything = everything.field(field);
        }
        // There are no arrays of primitive types that may be null.
        let primitive = |id: &EncodingId| (8..16).any(|n| all[n] == *id);
        if !primitive(id) {
            let array = Simple::of(id.array().expect("an array"));
            everything = everything.field(Field::new(format!("array{n}"), array.clone()));
            everything = everything.field(Field::set(format!("arraySet{n}"), array));
        }
    }
    let deep = format!("int{}", "[]".repeat(40));
    let deep = Simple::of(EncodingId::from_alias(&deep).expect("an array"));
    let deep_enum = Simple::enum_array(40, ["A", "B"]);
    let everything =
        everything.field(Field::new("deep", deep)).field(Field::new("deepEnum", deep_enum));
    SchemaModel::new().object_type(everything)
}

fn hostile() -> SchemaModel {
    let int = || Simple::of(ids::INT);
    let id = |n| StorageId::new(n);
    let mut names = ObjectType::new("Names").with_storage_id(id(1000));
    for name in NAMES {
        names = names.field(Field::new(*name, int()));
    }
    names = names
        .index("byName", ["name", "id"])
        .index("byname", ["id", "name"])
        .index("größer", ["a$b", "größe"]);
    let mut schema = SchemaModel::new().object_type(names);
    for name in NAMES {
        schema = schema.object_type(ObjectType::new(*name).field(Field::counter("counter")));
        schema = schema.object_type(ObjectType::new(format!("{name}Fields")));
    }
    let some = || Simple::reference().to(["String", "Vec", "名"]);
    let references = ObjectType::new("References")
        .field(Field::new("any", Simple::reference()))
        .field(Field::new("own", Simple::reference().to(["References"]).forward_delete()))
        .field(Field::new("some", some().on_delete(DeleteAction::Nullify)))
        .field(Field::new("other", some().allow_deleted(true)))
        .field(Field::new("two", Simple::reference().to(["Vec", "Ref"])))
        .field(Field::new("old", Simple::reference().on_delete(DeleteAction::Ignore)))
        .field(Field::list(
            "list",
            SubField::new(some().on_delete(DeleteAction::Remove)).with_storage_id(id(1001)),
        ))
        .field(Field::map(
            "map",
            SubField::new(Simple::reference().on_delete(DeleteAction::Delete)),
            SubField::new(Simple::reference().on_delete(DeleteAction::Nullify).forward_delete()),
        ))
        .field(Field::set("set", int().indexed()).with_storage_id(id(1002)));
    let constants = ["A", "a", "HIP_HOP", "hipHop", "Self", "self", "_", "größe", "名", "Option"];
    let enums = ObjectType::new("Enums")
        .field(Field::new("state", Simple::enumeration(constants).indexed()))
        .field(Field::new("same", Simple::enumeration(constants)))
        .field(Field::new("string", Simple::enumeration(["ONE"])))
        .field(Field::new("array", Simple::enum_array(2, constants)))
        .field(Field::set("set", Simple::enum_array(1, ["ONE"]).indexed()));
    schema.object_type(references).object_type(enums).object_type(ObjectType::new("Empty"))
}

/// Numbers that are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A schema of random types and fields.
fn random(seed: u64) -> SchemaModel {
    let mut numbers = Numbers(seed);
    let mut types: Vec<&str> = (0..4).map(|_| numbers.one(NAMES)).collect();
    types.sort_unstable();
    types.dedup();
    let mut schema = SchemaModel::new();
    for name in &types {
        let mut fields: Vec<&str> = (0..8).map(|_| numbers.one(NAMES)).collect();
        fields.sort_unstable();
        fields.dedup();
        let mut object_type = ObjectType::new(*name);
        if numbers.below(4) == 0 {
            let known = types.iter().position(|other| other == name).expect("the type") as u32;
            object_type = object_type.with_storage_id(StorageId::new(2000 + known));
        }
        let mut plain = Vec::new();
        for field in fields {
            object_type = object_type.field(match numbers.below(8) {
                0 => Field::counter(field),
                1 => Field::set(field, value(&mut numbers, &types, true)),
                2 => Field::list(field, value(&mut numbers, &types, true)),
                3 => {
                    let key = value(&mut numbers, &types, true);
                    Field::map(field, key, value(&mut numbers, &types, true))
                }
                _ => {
                    plain.push(field);
                    Field::new(field, value(&mut numbers, &types, false))
                }
            });
        }
        if let [first, second, ..] = plain[..] {
            object_type = object_type.index("composite", [second, first]);
        }
        schema = schema.object_type(object_type);
    }
    schema
}

fn value(numbers: &mut Numbers, types: &[&str], in_collection: bool) -> Simple {
    let aliases = [
        "int", "String", "double", "Float", "Instant", "UUID", "int[]", "String[]", "byte[]", "URI",
    ];
    let value = match numbers.below(4) {
        0 => {
            let mut reference = Simple::reference();
            if numbers.chance() {
                let count = 1 + numbers.below(types.len());
                let allowed: Vec<&str> = (0..count).map(|_| numbers.one(types)).collect();
                reference = reference.to(allowed);
            }
            let actions = [
                DeleteAction::Exception,
                DeleteAction::Ignore,
                DeleteAction::Nullify,
                DeleteAction::Delete,
                DeleteAction::Remove,
            ];
            let actions = if in_collection { &actions[..] } else { &actions[..4] };
            reference = reference.on_delete(numbers.one(actions));
            if numbers.chance() {
                reference = reference.forward_delete();
            }
            return if numbers.chance() { reference.allow_deleted(true) } else { reference };
        }
        1 => Simple::enumeration([numbers.one(&["ONE", "one"]), numbers.one(&["TWO", "two"])]),
        _ => Simple::of(EncodingId::from_alias(numbers.one(&aliases)).expect("an encoding")),
    };
    if numbers.chance() { value.indexed() } else { value }
}
