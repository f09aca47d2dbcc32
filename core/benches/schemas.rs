//! Schemas: IDs, documents, and the cost of opening a transaction.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use permazen::__internal::layout::TABLES_SPAN;
use permazen::__internal::schema::{
    DatabaseState, SchemaBundle, SchemaConfig, SchemaTables, deflate, inflate, open_schema,
};
use permazen::encoding::{EncodingId, EncodingRegistry};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KvDatabase, KvRead, TxOptions};
use permazen::schema::{Field, ObjectType, SchemaModel, Simple, UnknownEncodings, XmlForm};

/// Object types with ten fields and one index each.
fn schema(types: usize) -> SchemaModel {
    let int = || Simple::of(EncodingId::builtin("int").unwrap());
    let string = || Simple::of(EncodingId::builtin("String").unwrap());
    (0..types).fold(SchemaModel::new(), |model, i| {
        let mut object_type = ObjectType::new(format!("Type{i}"));
        for j in 0..3 {
            object_type = object_type
                .field(Field::new(format!("number{i}_{j}"), int()))
                .field(Field::new(format!("text{i}_{j}"), string().indexed()));
        }
        model.object_type(
            object_type
                .field(Field::new("state", Simple::enumeration(["NEW", "OPEN", "DONE"])))
                .field(Field::new("parent", Simple::reference().to([format!("Type{i}")])))
                .field(Field::set("tags", string().indexed()))
                .field(Field::counter("visits"))
                .index("byStateAndParent", ["state", "parent"]),
        )
    })
}

fn schemas(c: &mut Criterion) {
    let model = schema(100);
    let xml = model.to_xml(XmlForm::STORED);
    let compressed = deflate(xml.as_bytes());
    let mut group = c.benchmark_group("schema of 100 types");
    group.bench_function("id", |b| b.iter(|| black_box(&model).schema_id()));
    group.bench_function("ids of all items", |b| {
        b.iter(|| black_box(&model).items().map(|item| item.schema_id().hash()[0]).max());
    });
    group.bench_function("validate", |b| b.iter(|| black_box(&model).validate().is_ok()));
    group.bench_function("write XML", |b| b.iter(|| black_box(&model).to_xml(XmlForm::STORED)));
    group.bench_function("read XML", |b| b.iter(|| SchemaModel::from_xml(xml.as_bytes()).is_ok()));
    group.bench_function("deflate", |b| b.iter(|| deflate(xml.as_bytes())));
    group.bench_function("inflate", |b| b.iter(|| inflate(&compressed).is_ok()));
    group.finish();
}

fn opening(c: &mut Criterion) {
    for types in [5, 100] {
        let store = MemoryStore::new();
        let registry = Arc::new(EncodingRegistry::new());
        let state = DatabaseState::new(Arc::clone(&registry));
        let config = SchemaConfig::new(schema(types)).unwrap();
        let mut tx = store.begin(&TxOptions::default()).unwrap();
        open_schema(&mut *tx, &state, &config).unwrap();
        tx.commit().unwrap();
        let mut tx = store.begin(&TxOptions::default()).unwrap();
        let mut group = c.benchmark_group(format!("opening with {types} types"));
        group.bench_function("as before", |b| {
            b.iter(|| open_schema(&mut *tx, &state, &config).is_ok());
        });
        group.bench_function("limit: scan of the recorded schemas", |b| {
            b.iter(|| {
                tx.scan(TABLES_SPAN, Direction::Forward).unwrap().filter(Result::is_ok).count()
            });
        });
        let tables = Arc::new(SchemaTables::read(&*tx).unwrap());
        group.bench_function("for the first time", |b| {
            b.iter(|| {
                let tables = Arc::clone(&tables);
                SchemaBundle::decode(tables, &registry, UnknownEncodings::Refuse).is_ok()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, schemas, opening);
criterion_main!(benches);
