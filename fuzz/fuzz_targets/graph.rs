//! Objects as JSON: an import happens as a whole or not at all, and the imported objects are
//! exported as a graph that is imported and exported unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen::model::{Detached, Graph, Import};
use permazen_fuzz::model::{DATABASE, SMALL};

fn open() -> Detached {
    DATABASE.detached_from_bytes(&SMALL).expect("it was written here")
}

/// Imports into a database without objects, where references may not dangle. Returns the objects
/// that were made.
fn in_database(graph: &Graph, how: Import) -> Option<Graph> {
    let tx = DATABASE.begin().expect("memory");
    let Ok(ids) = tx.import_graph(graph, how) else {
        let left = tx.everything().and_then(|all| all.count()).expect("memory");
        assert_eq!(left, 0, "an error changes nothing");
        return None;
    };
    Some(tx.export_graph(ids.into_values()).expect("what was imported is readable"))
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how to import.
    let Some((flags, json)) = input.split_first() else { return };
    let Ok(graph) = serde_json::from_slice::<Graph>(json) else { return };
    let mut how = Import::new();
    if flags & 1 != 0 {
        how = how.replacing();
    }
    if flags & 2 != 0 {
        how = how.new_ids();
    }
    if flags & 4 != 0 {
        how = how.silent();
    }
    let in_database = in_database(&graph, how);
    let tx = open();
    let ids = match tx.import_graph(&graph, how) {
        Ok(ids) => ids,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(tx.to_bytes().expect("memory"), *SMALL, "an error changes nothing");
            return;
        }
    };
    assert_eq!(ids.len(), graph.objects.len());

    let exported = tx.export_graph(ids.values().copied()).expect("what was imported is readable");
    assert_eq!(exported.objects.len(), ids.len());
    if let Some(in_database) = in_database
        && flags & 2 == 0
    {
        assert_eq!(in_database, exported);
    }
    let json = serde_json::to_string(&exported).expect("a graph is writable");
    let read: Graph = serde_json::from_str(&json).expect("a written graph is readable");
    assert_eq!(read, exported);

    // The same content again, over these objects and where they are not.
    let before = tx.to_bytes().expect("memory");
    tx.import_graph(&read, Import::new().replacing()).expect("an exported graph is valid");
    assert_eq!(tx.to_bytes().expect("memory"), before);
    let other = open();
    other.import_graph(&read, Import::new().replacing()).expect("an exported graph is valid");
    let again = other.export_graph(ids.values().copied()).expect("it was imported");
    assert_eq!(again, exported);

    // The rules of the models may be broken; the checks say so, or that all is well.
    let _ = tx.validate();
});
