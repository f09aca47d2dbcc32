//! Values of all encodings, as plain fields, elements, keys and values, survive JSON.

use permazen::encoding::{EncodingRegistry, JavaString, Value};
use permazen::model::{Graph, GraphValue, Import};
use permazen::object::{ObjectBuilder, Transaction};
use permazen::schema::{Field, FieldKind, ObjectType, SchemaModel, Simple, SubField};
use permazen::{Permazen, Tx};

use super::{Node, open, samples};

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
fn fill(tx: &Transaction<'_>) -> usize {
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

fn with_schema(db: &Permazen, body: impl Fn(&Tx)) {
    db.write(|tx| {
        tx.core().add_schemas(&[schema()])?;
        body(tx);
        Ok(())
    })
    .unwrap();
}

/// All pairs of a transaction.
fn bytes(tx: &Tx) -> Vec<u8> {
    tx.snapshot().unwrap().to_bytes().unwrap()
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
