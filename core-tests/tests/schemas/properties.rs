//! Properties of schemas, on random ones.

use std::sync::Arc;

use permazen::__internal::layout;
use permazen::__internal::schema::{
    DatabaseState, RecordedSchemas, SchemaComparison, SchemaConfig, SchemaTables, add_schema,
    deflate, inflate, open_schema, remove_schema,
};
use permazen::StorageId;
use permazen::encoding::{EncodingId, EncodingRegistry};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::schema::{
    DeleteAction, Field, ObjectType, SchemaModel, SchemaRemoval, Simple, SubField, XmlForm,
};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_$][a-zA-Z0-9_$]{0,5}", "[é中Ａ𝒳][a-z0-9é𝒳]{0,3}"]
}

fn simple(types: Vec<String>) -> impl Strategy<Value = Simple> {
    let builtin = prop::sample::select(vec!["int", "String", "boolean", "double[]", "long"]);
    let plain = (builtin, any::<bool>()).prop_map(|(suffix, indexed)| {
        let simple = Simple::of(EncodingId::builtin(suffix).unwrap());
        if indexed { simple.indexed() } else { simple }
    });
    let identifiers = || prop::collection::btree_set("[A-Z]{1,4}", 0..4);
    let enumeration = identifiers().prop_map(Simple::enumeration);
    let array = (1..=3u8, identifiers()).prop_map(|(n, ids)| Simple::enum_array(n, ids));
    let action = prop::sample::select(vec![
        DeleteAction::Ignore,
        DeleteAction::Exception,
        DeleteAction::Nullify,
        DeleteAction::Delete,
    ]);
    let count = types.len();
    let to = prop::option::of(prop::sample::subsequence(types, 0..=count));
    let options = (action, any::<bool>(), any::<bool>(), to);
    let reference = options.prop_map(|(action, forward_delete, allow_deleted, to)| {
        let mut simple = Simple::reference().on_delete(action);
        if allow_deleted {
            simple = simple.allow_deleted(true);
        }
        if forward_delete {
            simple = simple.forward_delete();
        }
        if let Some(to) = to { simple.to(to) } else { simple }
    });
    prop_oneof![plain, enumeration, array, reference]
}

fn field(name: String, types: Vec<String>) -> impl Strategy<Value = Field> {
    let sub_field = || simple(types.clone()).prop_map(SubField::new);
    let parts = (0..6, simple(types.clone()), sub_field(), sub_field());
    parts.prop_map(move |(kind, simple, first, second)| {
        let name = name.clone();
        match kind {
            0 => Field::counter(name),
            1 => Field::set(name, first),
            2 => Field::list(name, first),
            3 => Field::map(name, first, second),
            _ => Field::new(name, simple),
        }
    })
}

fn object_type(name: String, types: Vec<String>) -> impl Strategy<Value = ObjectType> {
    let fields = prop::collection::btree_set(self::name(), 0..6).prop_flat_map(move |names| {
        names.into_iter().map(|name| field(name, types.clone())).collect::<Vec<_>>()
    });
    fields.prop_map(move |fields| {
        let simple: Vec<_> =
            fields.iter().filter(|f| f.simple().is_some()).map(|f| f.name().to_owned()).collect();
        let mut object_type = ObjectType::new(name.clone());
        for field in fields {
            object_type = object_type.field(field);
        }
        match &simple[..] {
            [a, b, ..] => object_type.index("anIndex", [b, a]),
            _ => object_type,
        }
    })
}

prop_compose! {
    fn model()(names in prop::collection::btree_set(name(), 0..5))(
        types in names
            .iter()
            .map(|name| object_type(name.clone(), names.iter().cloned().collect()))
            .collect::<Vec<_>>(),
    ) -> SchemaModel {
        types.into_iter().fold(SchemaModel::new(), SchemaModel::object_type)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn documents_round_trip(model in model()) {
        prop_assert!(model.validate().is_ok(), "{:?}", model.validate());
        let mut number = 100;
        let numbered = model.with_storage_ids(|_| {
            number += 7;
            StorageId::new(number)
        });
        prop_assert_eq!(numbered.schema_id(), model.schema_id());
        for pretty in [false, true] {
            let with = numbered.to_xml(XmlForm { storage_ids: true, pretty });
            prop_assert_eq!(&SchemaModel::from_xml(with.as_bytes()).unwrap(), &numbered);
            let without = numbered.to_xml(XmlForm { storage_ids: false, pretty });
            prop_assert_eq!(&SchemaModel::from_xml(without.as_bytes()).unwrap(), &model);
        }
    }

    #[test]
    fn order_of_building_does_not_matter(model in model()) {
        let reversed = model.object_types().iter().rev().fold(SchemaModel::new(), |result, old| {
            let mut object_type = ObjectType::new(old.name());
            for index in old.indexes().iter().rev() {
                object_type = object_type.composite_index(index.clone());
            }
            for field in old.fields().iter().rev() {
                object_type = object_type.field(field.clone());
            }
            result.object_type(object_type)
        });
        prop_assert_eq!(reversed.schema_id(), model.schema_id());
        prop_assert_eq!(reversed, model);
    }

    #[test]
    fn comparison_and_differences_agree_with_ids(a in model(), b in model()) {
        prop_assert!(SchemaComparison::new(&a, &a).is_empty());
        prop_assert!(a.differences_from(&a).is_empty());
        let same = a.schema_id() == b.schema_id();
        prop_assert_eq!(SchemaComparison::new(&a, &b).types.is_empty(), same);
        prop_assert_eq!(a.differences_from(&b).is_empty(), same);
    }

    #[test]
    fn recorded_tables_stay_consistent(models in prop::collection::vec(model(), 1..6)) {
        let store = MemoryStore::new();
        let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
        let mut tx = store.begin(&TxOptions::default()).unwrap();
        let never = SchemaConfig::empty().schema_removal(SchemaRemoval::Never);
        let mut bundle = open_schema(&mut *tx, &state, &never).unwrap().bundle;
        for model in models.iter().filter(|model| !model.is_empty()) {
            if let Some(new) = add_schema(&mut *tx, &state, &bundle, model).unwrap() {
                bundle = new;
            }
            let tables = SchemaTables::read(&*tx).unwrap();
            prop_assert_eq!(&tables, &**bundle.tables());
            // Without removals, storage IDs have no holes.
            let ids: Vec<u32> = tables.storage_ids.keys().map(|id| id.get()).collect();
            prop_assert_eq!(ids, (1..=tables.storage_ids.len() as u32).collect::<Vec<_>>());
        }
        let ids: Vec<_> = bundle.schemas().iter().map(|schema| schema.id).collect();
        for id in ids {
            bundle = remove_schema(&mut *tx, &state, &bundle, id).unwrap().unwrap();
            let recorded = RecordedSchemas::decode(SchemaTables::read(&*tx).unwrap()).unwrap();
            prop_assert_eq!(recorded.schemas().len(), bundle.schemas().len());
        }
        prop_assert_eq!(&**bundle.tables(), &SchemaTables::default());
    }

    #[test]
    fn damaged_documents_never_panic(
        model in model(),
        at in any::<prop::sample::Index>(),
        byte: u8,
        pretty: bool,
    ) {
        let mut bytes = model.to_xml(XmlForm { storage_ids: false, pretty }).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = SchemaModel::from_xml(&bytes).map(|model| model.validate());
        bytes.truncate(at);
        let _ = SchemaModel::from_xml(&bytes);
        let mut compressed = deflate(&bytes);
        let at = at % compressed.len();
        compressed[at] ^= byte;
        let _ = inflate(&compressed);
    }

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>) {
        let _ = SchemaModel::from_xml(&bytes);
        let _ = inflate(&bytes);
        let _ = layout::parse_key(&bytes);
        let _ = layout::parse_object_info(&bytes);
    }
}
