//! Values of all encodings, as plain fields, elements, keys and values, survive JSON.

use permazen::__internal::model::GraphValue;
use permazen::encoding::{EncodingRegistry, JavaString, Value};
use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::object::{ObjectBuilder, Transaction};
use permazen::schema::{Field, FieldKind, ObjectType, SchemaModel, Simple, SubField};
use permazen::{Permazen, PermazenObject, Tx};

use super::{Node, bytes, open, samples};

/// A schema with a type for each encoding, whose fields are of each kind.
fn schema() -> SchemaModel {
    let registry = EncodingRegistry::new();
    let mut simple: Vec<Simple> = registry.ids().iter().cloned().map(Simple::of).collect();
    for alias in ["String[]", "LocalDate[]", "BigInteger[]", "int[][]", "Date[]"] {
        let encoding = samples::find(alias);
        simple.push(Simple::of(encoding.id().unwrap().clone()));
    }
    let colors = || ["RED", "GREEN", "Blue"];
    simple.push(Simple::enumeration(colors()));
    simple.push(Simple::enum_array(2, colors()));
    simple.push(Simple::reference().allow_deleted(true));
    let types = (0..).zip(simple).map(|(at, simple): (u32, Simple)| {
        let part = || SubField::new(simple.clone());
        ObjectType::new(format!("T{at}"))
            .field(Field::new("simple", FieldKind::Simple(simple.clone())))
            .field(Field::set("set", part()))
            .field(Field::list("list", part()))
            .field(Field::map("map", part(), part()))
            .field(Field::counter("counter"))
    });
    types.fold(SchemaModel::new(), SchemaModel::object_type)
}

/// An object for each value of each type: the value itself, and collections of those up to it.
fn fill(tx: &Transaction) -> usize {
    let bundle = tx.bundle();
    let schema = bundle.schemas().iter().find(|it| it.object_type("T0").is_some()).unwrap();
    let mut count = 0;
    for declared in schema.model.object_types() {
        let object_type = schema.object_type(declared.name()).unwrap();
        let field = |name: &str| object_type.field(name).unwrap();
        let encoding = &field("simple").simple().unwrap().encoding;
        let mut values = samples::values_of(&**encoding);
        values.extend(encoding.encode_all(&Value::Null).ok());
        let values: Vec<Vec<u8>> = values.into_iter().collect();
        assert!(!values.is_empty(), "{}", encoding.name());
        let given = |bytes: &Vec<u8>| {
            let bytes = bytes.clone();
            move |out: &mut Vec<u8>| {
                out.extend(bytes);
                Ok(())
            }
        };
        for (at, value) in values.iter().enumerate() {
            let mut object = ObjectBuilder::new(object_type.clone());
            object.write_simple(field("simple"), given(value)).unwrap();
            object.write_counter(field("counter"), i64::MIN + (at as i64));
            let from = at.saturating_sub(3);
            for (position, element) in (0..).zip(&values[from..=at]) {
                object.write_set_element(field("set"), given(element)).unwrap();
                object.write_list_element(field("list"), position, given(element)).unwrap();
                object.write_map_entry(field("map"), given(element), given(value)).unwrap();
            }
            tx.create_with(None, &object.finish()).unwrap().unwrap();
            count += 1;
        }
    }
    count
}

fn with_schema(db: &Permazen, mut body: impl FnMut(&Tx)) {
    db.write(|tx| {
        tx.core().add_schemas(&[schema()])?;
        body(tx);
        Ok(())
    })
    .unwrap();
}

#[test]
fn every_value_of_every_encoding_reads_back_exactly() {
    with_schema(&open(), |tx| {
        let count = fill(tx.core());
        let graph = tx.export_graph(tx.everything().unwrap().to_vec().unwrap()).unwrap();
        assert_eq!(graph.objects.len(), count);
        let text = serde_json::to_string(&graph).unwrap();
        let again: Graph = serde_json::from_str(&text).unwrap();
        assert_eq!(again, graph);
        with_schema(&open(), |other| {
            other.import_graph(&again, Import::new()).unwrap();
            assert_eq!(bytes(other), bytes(tx));
            // Again, over itself: nothing changes.
            other.import_graph(&again, Import::new().replacing()).unwrap();
            assert_eq!(bytes(other), bytes(tx));
        });
        // Values have their natural form where that is exact; only few need the encoded one.
        fn is_encoded(value: &GraphValue) -> bool {
            match value {
                GraphValue::Encoded(_) => true,
                GraphValue::List(values) => values.iter().any(is_encoded),
                _ => false,
            }
        }
        let odd = graph.objects.iter().filter(|object| is_encoded(&object.fields["simple"]));
        let odd: Vec<_> = odd.map(|object| object.fields["simple"].to_string()).collect();
        assert!((1..20).contains(&odd.len()), "{odd:?}");
    });
}

#[test]
fn objects_of_other_schemas_name_them_and_need_them() {
    with_schema(&open(), |tx| {
        fill(tx.core());
        let node = tx.create(Node::default()).unwrap();
        let mut graph = tx.export_graph([node]).unwrap();
        assert_eq!(graph.objects[0].schema, None);
        let own = tx.schema().id;
        let old = tx.core().object_type(tx.untyped().unwrap().first().unwrap().unwrap().id());
        let old = old.unwrap().schema_of;
        assert_ne!(own, old);
        let all = tx.export_graph(tx.untyped().unwrap().to_vec().unwrap()).unwrap();
        assert!(all.objects.iter().all(|object| object.schema == Some(old)));
        graph.objects[0].schema = Some(old);
        let error = tx.import_graph(&graph, Import::new().new_ids()).unwrap_err().to_string();
        assert!(error.contains("there is no such object type"), "{error}");
        // Elsewhere the schema is not recorded.
        let other = open();
        let refused = other.write(|tx| tx.import_graph(&all, Import::new())).unwrap_err();
        assert!(refused.to_string().contains("is not recorded here"), "{refused}");
    });
}

#[test]
fn unpaired_surrogates_are_encoded_and_read_back() {
    let lone = Value::from(JavaString::from_units(&[0xd800, 0x61]));
    open()
        .write(|tx| {
            let node = tx.create(Node::default())?;
            node.any().set("name", &lone)?;
            let graph = tx.export_graph([node.id()])?;
            let name = &graph.objects[0].fields["name"];
            assert!(matches!(name, GraphValue::Encoded(_)), "{name}");
            let ids = tx.import_graph(&graph, Import::new().new_ids())?;
            assert_eq!(tx.any(ids[&node.id()]).get("name")?, lone);
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_export_with_its_schemas_is_a_backup() {
    let exported = with_all(|tx| {
        let all = tx.everything().unwrap().to_vec().unwrap();
        tx.export_graph_with_schemas(all).unwrap()
    });
    assert_eq!(exported.schemas.len(), 2);
    assert!(exported.objects.iter().all(|object| object.schema.is_some()));
    let text = serde_json::to_string(&exported).unwrap();
    let read: Graph = serde_json::from_str(&text).unwrap();
    assert_eq!(read, exported);

    // A program without the types, on an empty store: the objects are the same, in their schema.
    for how in [Import::new(), Import::new().new_ids()] {
        let other = Permazen::builder(MemoryStore::new()).model::<Aside>().build().unwrap();
        other
            .write(|tx| {
                let ids = tx.import_graph(&read, how)?;
                let again = tx.export_graph_with_schemas(ids.values().copied())?;
                let content = |graph: &Graph| -> Vec<_> {
                    let all = graph.objects.iter();
                    let mut all: Vec<_> = all
                        .map(|object| {
                            let fields = format!("{:?}", object.fields);
                            (object.schema, object.type_name.clone(), fields)
                        })
                        .collect();
                    all.sort();
                    all
                };
                assert!(content(&again) == content(&read), "other content");
                assert_eq!(tx.core().bundle().schemas().len(), 3);
                Ok(())
            })
            .unwrap();
    }
}

/// The result of an export of a database with all types and a node.
fn with_all<R>(body: impl Fn(&Tx) -> R) -> R {
    let db = open();
    let mut result = None;
    with_schema(&db, |tx| {
        fill(tx.core());
        tx.create(Node::default()).unwrap();
        result = Some(body(tx));
    });
    result.unwrap()
}

#[derive(PermazenObject, Default)]
struct Other {
    name: String,
}

/// With storage IDs that no other schema has.
#[derive(PermazenObject, Default)]
#[permazen(storage_id = 7000)]
struct Aside {
    #[permazen(storage_id = 7001)]
    number: u32,
}

#[test]
fn a_graph_with_schemas_is_imported_as_a_whole_or_not_at_all() {
    let node = with_all(|tx| {
        let all = tx.all::<Node>().unwrap().to_vec().unwrap();
        tx.export_graph_with_schemas(all).unwrap()
    });
    assert_eq!((node.objects.len(), node.schemas.len()), (1, 1));
    let refused = |graph: &Graph, how: Import, reason: &str| {
        let other = Permazen::builder(MemoryStore::new()).model::<Other>().build().unwrap();
        other
            .write(|tx| {
                let before = bytes(tx);
                let error = tx.import_graph(graph, how).unwrap_err().to_string();
                assert!(error.contains(reason), "{error}");
                assert!(bytes(tx) == before, "something has changed");
                assert_eq!(tx.core().bundle().schemas().len(), 1);
                Ok(())
            })
            .unwrap();
    };
    // The schemas are recorded before the objects are refused.
    let mut graph = node.clone();
    graph.objects[0].fields.insert("name".into(), GraphValue::Number(1));
    refused(&graph, Import::new().new_ids(), "name");
    // The storage IDs of the types are taken.
    refused(&node, Import::new(), "storage ID 1");
    let mut graph = node.clone();
    graph.schemas[0] = "<Schema>".into();
    refused(&graph, Import::new(), "");
    graph.schemas.clear();
    refused(&graph, Import::new(), "is not recorded here, nor in the graph");
    // A schema that no object names is not recorded.
    let other = Permazen::builder(MemoryStore::new()).model::<Other>().build().unwrap();
    let unused = Graph { objects: Vec::new(), ..node };
    other
        .write(|tx| {
            tx.import_graph(&unused, Import::new())?;
            assert_eq!(tx.core().bundle().schemas().len(), 1);
            Ok(())
        })
        .unwrap();
}
