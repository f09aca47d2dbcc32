//! A store that fails at each operation: the next run does the rest.

use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvError, Retry};
use permazen::object::Migrate;
use permazen::schema::Field;

use crate::migration::world::*;

#[test]
fn each_operation_fails_once() {
    let schemas = [Field::new("f", long().indexed()), Field::new("f", int().indexed())];
    let schemas = schemas.map(with_field);
    let mut expected = None;
    for n in 1.. {
        let store = Arc::new(FaultStore::new(MemoryStore::new()));
        let faults = store.faults();
        let (db, ids) = database(Arc::clone(&store) as Arc<dyn KvDatabase>, &schemas);
        for number in 0..6 {
            let id = create(&db, "A", ids[0]);
            let tx = db.begin(&config()).unwrap();
            tx.set(id, "f", &Value::Long(number), Migrate::No).unwrap();
            tx.commit().unwrap();
        }
        let once = Retry { times: 0, ..Retry::default() };
        faults.fail_nth(n, || KvError::InvalidArgument("injected".to_owned()));
        let failed = db.migrate_objects(ids[1]).batch(2).retry(once).run();
        let hits = faults.hits();
        faults.stop();
        assert_clean(&db);
        assert_eq!(failed.is_err(), hits > 0, "{n}: {failed:?}");
        let report = db.migrate_objects(ids[1]).batch(2).run().unwrap();
        assert_clean(&db);
        let tx = db.begin(&config()).unwrap();
        let index = tx.index_by_name("A", "f").unwrap();
        let found: Vec<Value> =
            index.entries().map(|entry| entry.unwrap().value(0).unwrap()).collect();
        assert_eq!(&found, expected.get_or_insert_with(|| found.clone()));
        assert_eq!(found.len(), 6);
        if hits == 0 {
            assert!(report.moved == 0 && n > 30, "{n}: {report:?}");
            break;
        }
    }
}
