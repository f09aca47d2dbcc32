//! Copies, imports and damaged or empty collections: nothing is dropped or renumbered on the way.

use permazen::kv::{Direction, KeySpan, TxOptions};
use permazen::object::CopyOptions;
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};

use super::*;

mod dropped {
    use super::*;

    versions! {
        old {
            pub struct Note {
                pub text: String,
            }
        }
        new {
            pub struct Note {
                pub text: String,
                pub extra: Option<i32>,
            }
        }
    }

    /// An object of the newer program with a value that the older schema lacks.
    fn moved(store: &Store, id: ObjId) -> (Permazen, new::Note) {
        let db = open::<new::Note>(store);
        let extra = |note: Obj<'_, new::Note>| note.set_extra(9);
        assert!(change(&db, id, extra).unwrap());
        let value = load::<new::Note>(&db, id).unwrap();
        assert_eq!(value.extra, Some(9));
        (db, value)
    }

    #[test]
    fn a_copy_that_would_drop_what_its_schema_lacks_is_refused() {
        on_each_store(|store| {
            let old = open::<old::Note>(store);
            let id = create(&old, &old::Note { text: "old".into() });
            let copy = old.read(|tx| {
                let copy = tx.core().detached()?;
                tx.core().copy_to(id, &copy, &mut CopyOptions::new())?;
                Ok(copy)
            });
            let copy = copy.unwrap();
            let (db, value) = moved(store, id);
            db.write(|tx| {
                let refused = copy.copy_to(id, tx.core(), &mut CopyOptions::new());
                assert_eq!(lost(refused.map_err(Error::from)), ["extra"]);
                assert_eq!(tx.get::<new::Note>(id)?.load()?, value);
                Ok(())
            })
            .unwrap();
            assert_eq!(load::<new::Note>(&db, id).unwrap(), value);
            // Where nothing is dropped, the copy takes its place.
            db.write(|tx| {
                tx.get::<new::Note>(id)?.set_extra(None)?;
                copy.copy_to(id, tx.core(), &mut CopyOptions::new())?;
                Ok(())
            })
            .unwrap();
            assert_eq!(load::<new::Note>(&db, id).unwrap().extra, None);
        });
    }

    #[test]
    fn an_import_that_would_drop_what_its_schema_lacks_is_refused() {
        on_each_store(|store| {
            let old = open::<old::Note>(store);
            let id = create(&old, &old::Note { text: "old".into() });
            let document = old.read(|tx| {
                let mut document = Vec::new();
                let writer = ObjectXmlWriter::new().with_storage_ids();
                writer.write(tx.core(), &mut document).map_err(Error::other)?;
                Ok(document)
            });
            let document = document.unwrap();
            let (db, value) = moved(store, id);
            db.write(|tx| {
                let refused = ObjectXmlReader::new().read(tx.core(), &document[..]).unwrap_err();
                assert!(refused.to_string().contains("\"extra\""), "{refused}");
                assert_eq!(tx.get::<new::Note>(id)?.load()?, value);
                assert_eq!(schema_of(tx, id), db.schema().schema_id());
                Ok(())
            })
            .unwrap();
            assert_eq!(load::<new::Note>(&db, id).unwrap(), value);
        });
    }
}

mod lists {
    use super::*;

    versions! {
        old {
            pub struct Row {
                pub numbers: Vec<i32>,
            }
        }
        new {
            pub struct Row {
                pub numbers: Vec<i64>,
            }
        }
    }

    #[test]
    fn a_list_with_gaps_is_not_renumbered() {
        let store: Store = Arc::new(MemoryStore::new());
        let id = create(&open::<old::Row>(&store), &old::Row { numbers: vec![1, 2, 3] });
        let elements = || -> Vec<Vec<u8>> {
            let tx = store.begin(&TxOptions::reading()).unwrap();
            let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
            let keys = scan.map(|pair| pair.unwrap().0.to_vec());
            keys.filter(|key| key.starts_with(id.as_bytes()) && key.len() > 8).collect()
        };
        let before = elements();
        assert_eq!(before.len(), 3);
        let mut tx = store.begin(&TxOptions::default()).unwrap();
        tx.remove(&before[1]).unwrap();
        tx.commit().unwrap();
        let db = open::<new::Row>(&store);
        assert_eq!(lost(load::<new::Row>(&db, id)), ["numbers"]);
        assert_eq!(lost(db.write(|tx| tx.get::<new::Row>(id)?.migrate())), ["numbers"]);
        assert_eq!(elements(), [before[0].clone(), before[2].clone()]);
    }
}

mod empty {
    use super::*;

    versions! {
        old {
            pub struct Page {
                pub tags: BTreeSet<String>,
            }
        }
        new {
            pub struct Page {
                #[permazen(default = Some("untagged".to_owned()))]
                pub tags: Option<String>,
            }
        }
    }

    #[test]
    fn an_empty_set_becomes_null_and_not_the_default() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Page>(store), open::<new::Page>(store));
            let id = create(&old, &old::Page { tags: BTreeSet::new() });
            assert_eq!(load::<new::Page>(&new, id).unwrap().tags, None);
            assert!(new.write(|tx| tx.get::<new::Page>(id)?.migrate()).unwrap());
            assert!(old.write(|tx| tx.get::<old::Page>(id)?.migrate()).unwrap());
            assert_eq!(load::<old::Page>(&old, id).unwrap().tags, BTreeSet::new());
        });
    }
}

mod apart {
    use super::*;

    versions! {
        old {
            pub struct Sum {
                pub total: i32,
                pub text: String,
            }
        }
        new {
            pub struct Sum {
                pub total: i64,
                pub text: i32,
            }
        }
    }

    #[test]
    fn snapshots_and_detached_transactions_convert_as_their_parent_does() {
        use permazen::encoding::Value;
        use permazen::object::Migrate;
        on_each_store(|store| {
            let old = open::<old::Sum>(store);
            let ids = ["7", "no number"]
                .map(|text| create(&old, &old::Sum { total: 3, text: text.to_owned() }));
            let db = open::<new::Sum>(store);
            db.read(|tx| {
                let detached = tx.core().detached()?;
                for id in ids {
                    tx.core().copy_to(id, &detached, &mut CopyOptions::new())?;
                }
                for apart in [&tx.core().snapshot()?, &detached] {
                    assert_eq!(apart.get(ids[0], "total", Migrate::Yes)?, Value::Long(3));
                    assert_eq!(apart.get(ids[0], "text", Migrate::No)?, Value::Int(7));
                    let refused = apart.get(ids[1], "total", Migrate::Yes);
                    assert_eq!(lost(refused.map_err(Error::from)), ["text"]);
                }
                Ok(())
            })
            .unwrap();
        });
    }
}
