//! Backups as graphs, restored with their IDs into new databases of newer programs.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::{Builder, Error, ObjId, Permazen, Ref, Validation};

mod before {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    pub(crate) struct Customer {
        #[permazen(indexed)]
        pub(crate) name: String,
    }

    #[derive(PermazenObject, Default)]
    pub(crate) struct Junk {
        pub(crate) text: String,
        pub(crate) owner: Option<Ref<Customer>>,
    }

    #[derive(PermazenObject, Default)]
    pub(crate) struct Part {
        pub(crate) price: f64,
        pub(crate) name: String,
    }

    #[derive(PermazenObject)]
    pub(crate) struct RepairOrder {
        pub(crate) number: i32,
        pub(crate) customer: Ref<Customer>,
        pub(crate) parts: Vec<Ref<Part>>,
    }
}

mod now {
    use permazen::model::OldValues;
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    pub(crate) struct Car {
        pub(crate) plate: String,
    }

    #[derive(PermazenObject, Default)]
    pub(crate) struct Customer {
        #[permazen(indexed, was = "name")]
        pub(crate) full_name: String,
    }

    fn to_cents(old: &OldValues<'_>) -> permazen::Result<i64> {
        let price: Option<f64> = old.take("price")?;
        let cents = (price.unwrap_or_default() * 100.0).round().to_string();
        cents.parse().map_err(permazen::Error::other)
    }

    #[derive(PermazenObject, Default)]
    pub(crate) struct Part {
        pub(crate) name: String,
        #[permazen(upgrade_with = to_cents)]
        pub(crate) cents: i64,
    }

    #[derive(PermazenObject)]
    pub(crate) struct RepairOrder {
        #[permazen(indexed, unique)]
        pub(crate) number: i32,
        pub(crate) customer: Ref<Customer>,
        pub(crate) parts: Vec<Ref<Part>>,
        pub(crate) car: Option<Ref<Car>>,
    }
}

fn version_1(store: &Arc<MemoryStore>) -> Builder {
    Permazen::builder_shared(store.clone())
        .model::<before::RepairOrder>()
        .model::<before::Part>()
        .model::<before::Customer>()
        .model::<before::Junk>()
}

fn version_2(store: &Arc<MemoryStore>) -> Builder {
    Permazen::builder_shared(store.clone())
        .model::<now::Car>()
        .model::<now::RepairOrder>()
        .model::<now::Part>()
        .model::<now::Customer>()
}

/// A new store with objects of the first version.
fn filled() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let db = version_1(&store).build().unwrap();
    db.write(|tx| {
        for number in 0..5 {
            let customer = tx.create(before::Customer { name: format!("Ann {number}") })?;
            let customer = customer.to_ref();
            let price = f64::from(number) + 0.25;
            let part = tx.create(before::Part { price, name: "wheel".into() })?.to_ref();
            tx.create(before::RepairOrder { number, customer, parts: vec![part, part] })?;
            tx.create(before::Junk { text: "old".into(), owner: Some(customer) })?;
        }
        Ok(())
    })
    .unwrap();
    store
}

fn export(db: &Permazen) -> Graph {
    let graph = db.read(|tx| tx.export_graph_with_schemas(tx.everything()?.to_vec()?)).unwrap();
    // The kept form is text.
    serde_json::from_str(&serde_json::to_string(&graph).unwrap()).unwrap()
}

fn assert_same(one: &Graph, other: &Graph) {
    assert_eq!(one.schemas, other.schemas);
    for (one, other) in one.objects.iter().zip(&other.objects) {
        assert_eq!(one, other);
    }
    assert_eq!(one.objects.len(), other.objects.len());
}

/// The ID of the order with a number.
fn order(graph: &Graph, number: i64) -> ObjId {
    let is_it = |object: &&permazen::__internal::model::GraphObject| {
        object.fields.get("number")
            == Some(&permazen::__internal::model::GraphValue::Number(number))
    };
    graph.objects.iter().find(is_it).unwrap().id
}

/// Reads objects of the restored database, which move if they must.
fn use_it(db: &Permazen, graph: &Graph) {
    db.read(|tx| {
        let order = tx.get(Ref::<now::RepairOrder>::new(order(graph, 3)))?;
        assert_eq!(order.number()?, 3);
        assert_eq!(order.customer()?.full_name()?, "Ann 3");
        let part = order.parts()?.get(1)?.unwrap();
        assert_eq!(tx.get(part)?.cents()?, 325);
        Ok(())
    })
    .unwrap();
    let report = db.upgrade_all().run().unwrap();
    assert_eq!(report.refused, 0, "{report:?}");
    db.write(|tx| {
        let order = tx.index(now::RepairOrder::NUMBER)?.get(4)?.first()?.unwrap();
        order.set_car(tx.create(now::Car { plate: "M 1".into() })?)
    })
    .unwrap();
}

fn import(db: &Permazen, graph: &Graph) -> permazen::Result<()> {
    db.write(|tx| {
        // The check of unique values would move objects.
        tx.set_validation(Validation::Off)?;
        tx.import_graph(graph, Import::new().silent()).map(drop)
    })
}

#[test]
fn a_backup_of_an_evolved_database_is_restored_with_its_ids() {
    let store = filled();
    let db = version_2(&store).unique_among_indexed().build().unwrap();
    db.write(|tx| {
        // Some objects are in the second schema.
        let customer = tx.create(now::Customer { full_name: "Bob".into() })?.to_ref();
        let car = Some(tx.create(now::Car { plate: "B 1".into() })?.to_ref());
        tx.create(now::RepairOrder { number: 77, customer, parts: Vec::new(), car })?;
        Ok(())
    })
    .unwrap();
    let graph = export(&db);
    assert_eq!((graph.schemas.len(), graph.objects.len()), (2, 23));
    drop(db);

    // A new database gives other storage IDs to the types of the models. The error names the way.
    let plain = Arc::new(MemoryStore::new());
    let db = version_2(&plain).build().unwrap();
    let error = import(&db, &graph).unwrap_err();
    assert!(matches!(error, Error::GraphIds { .. }), "{error:?}");
    for part in ["graph", "schemas_of", "new_ids", "save --storage-ids"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    drop(db);

    // As long as it has no objects, it can still be used.
    for store in [Arc::new(MemoryStore::new()), plain] {
        let db = version_2(&store).strict().schemas_of(&graph).build().unwrap();
        // Commits before the import do not matter.
        db.write(|_| Ok(())).unwrap();
        import(&db, &graph).unwrap();
        assert_same(&export(&db), &graph);
        // The schemas are there, so the next program needs nothing of this.
        drop(db);
        let db = version_2(&store).build().unwrap();
        assert_same(&export(&db), &graph);
        use_it(&db, &graph);
    }
}

#[test]
fn a_backup_of_the_first_version_is_restored_by_the_second() {
    let graph = export(&version_1(&filled()).build().unwrap());
    assert_eq!((graph.schemas.len(), graph.objects.len()), (1, 20));
    let store = Arc::new(MemoryStore::new());
    let db = version_2(&store).schemas_of(&graph).build().unwrap();
    import(&db, &graph).unwrap();
    assert_same(&export(&db), &graph);
    // Objects of the removed type stay as they are.
    let junk = db.read(|tx| Ok(tx.core().objects("Junk")?.iter().count())).unwrap();
    assert_eq!(junk, 5);
    use_it(&db, &graph);
    // With it once more, nothing is written.
    let version = |store: &Arc<MemoryStore>| {
        use permazen::kv::{KvDatabase, KvTransaction, TxOptions};
        store.begin(&TxOptions::reading()).unwrap().version()
    };
    let before = version(&store);
    drop(version_2(&store).schemas_of(&graph).build().unwrap());
    assert_eq!(version(&store), before);
}

#[test]
fn rules_of_the_second_version_are_checked_if_they_are_on() {
    let first = version_1(&filled()).build().unwrap();
    let mut graph = export(&first);
    let open =
        |graph: &Graph| version_2(&Arc::new(MemoryStore::new())).schemas_of(graph).build().unwrap();
    let db = open(&graph);
    db.write(|tx| tx.import_graph(&graph, Import::new()).map(drop)).unwrap();
    // The orders have moved, so that the index of the unique field has them.
    let found = db.read(|tx| tx.index(now::RepairOrder::NUMBER)?.get(4)?.count()).unwrap();
    assert_eq!(found, 1);
    use_it(&db, &graph);

    let number = permazen::__internal::model::GraphValue::Number(3);
    for object in graph.objects.iter_mut().filter(|object| object.type_name == "RepairOrder") {
        object.fields.insert("number".into(), number.clone());
    }
    let db = open(&graph);
    let refused = db.write(|tx| tx.import_graph(&graph, Import::new()).map(drop)).unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
    assert_eq!(db.read(|tx| tx.everything()?.count()).unwrap(), 0);
}

#[test]
fn what_contradicts_a_backup_is_named_and_the_database_stays() {
    let graph = export(&version_1(&filled()).build().unwrap());
    let store = Arc::new(MemoryStore::new());
    let db = version_2(&store).build().unwrap();
    db.write(|tx| tx.create(now::Car::default()).map(drop)).unwrap();
    drop(db);
    let pairs = || {
        let db = version_2(&store).build().unwrap();
        db.read(|tx| tx.snapshot()?.to_bytes()).unwrap()
    };
    let before = pairs();
    let error = version_2(&store).schemas_of(&graph).build().unwrap_err();
    let Error::GraphIds { reason } = &error else { panic!("{error:?}") };
    assert!(reason.contains("in the graph and"), "{reason}");
    assert!(pairs() == before, "something has changed");

    // Without schemas in it, a graph cannot say which objects it has.
    let none = Graph { schemas: Vec::new(), ..graph.clone() };
    let new = || Arc::new(MemoryStore::new());
    let error = version_2(&new()).schemas_of(&none).build().unwrap_err().to_string();
    assert!(error.contains("export_graph_with_schemas"), "{error}");
    let damaged = Graph { schemas: vec!["<Schema>".into()], ..graph.clone() };
    assert!(version_2(&new()).schemas_of(&damaged).build().is_err());
    // Nothing is nothing to record.
    assert!(version_2(&new()).schemas_of(&Graph::default()).build().is_ok());

    // Only the schemas of the graph may be recorded, and the models have another.
    let store = new();
    let refused = version_2(&store).schemas_of(&graph).allow_new_schema(false).build();
    assert!(matches!(refused, Err(Error::SchemaDiffers { .. })), "{refused:?}");
    let db = version_1(&store).schemas_of(&graph).allow_new_schema(false).build().unwrap();
    import(&db, &graph).unwrap();
}

#[test]
fn the_id_of_a_type_that_the_models_have_may_be_taken_by_a_field() {
    // The same schema, and other storage IDs.
    let graph = export(&version_1(&filled()).build().unwrap());
    let other = Permazen::builder(MemoryStore::new()).model::<now::Car>().build().unwrap();
    other.write(|tx| tx.create(now::Car::default()).map(drop)).unwrap();
    let error = import(&other, &graph).unwrap_err().to_string();
    assert!(error.contains("the database has it for"), "{error}");
    // The models of the graph, with other storage IDs because another model comes first.
    let store = Arc::new(MemoryStore::new());
    let car = Permazen::builder_shared(store.clone()).model::<now::Car>().build().unwrap();
    car.write(|tx| tx.create(now::Car::default()).map(drop)).unwrap();
    let error = import(&version_1(&store).build().unwrap(), &graph).unwrap_err();
    let Error::Graph(graph_error) = &error else { panic!("{error:?}") };
    assert_eq!(graph_error.object, graph.objects[0].id);
    assert!(error.to_string().contains("schemas_of"), "{error}");
}

/// Storage IDs that the fields of the graph would get, if the models did not ask for them.
mod numbered {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    #[permazen(storage_id = 2)]
    pub(crate) struct Car {
        #[permazen(storage_id = 3)]
        pub(crate) plate: String,
    }

    #[derive(PermazenObject, Default)]
    pub(crate) struct Customer {
        #[permazen(was = "name", storage_id = 6)]
        pub(crate) full_name: String,
        #[permazen(storage_id = 7)]
        pub(crate) car: Option<Ref<Car>>,
    }
}

#[test]
fn storage_ids_of_the_models_are_kept_free() {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store).model::<before::Customer>().build().unwrap();
    db.write(|tx| tx.create(before::Customer { name: "Ann".into() }).map(drop)).unwrap();
    let graph = export(&db);
    let db = Permazen::builder(MemoryStore::new())
        .model::<numbered::Car>()
        .model::<numbered::Customer>()
        .schemas_of(&graph)
        .build()
        .unwrap();
    import(&db, &graph).unwrap();
    assert_same(&export(&db), &graph);
    let ann = Ref::<numbered::Customer>::new(graph.objects[0].id);
    assert_eq!(db.read(|tx| tx.get(ann)?.full_name()).unwrap(), "Ann");
}
