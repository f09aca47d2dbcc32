//! Databases that Permazen for Java wrote. Each store that uses its files reads them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use permazen_kv::{KvDatabase, TxOptions, key::parse_hex};

use crate::support::{Pairs, dump};

/// The directory of the recorded databases.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/databases")
}

/// The content of a file that may be compressed.
fn content(path: &Path) -> Vec<u8> {
    if let Ok(plain) = fs::read(path) {
        return plain;
    }
    let compressed = fs::File::open(format!("{}.gz", path.display())).unwrap();
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(compressed).read_to_end(&mut content).unwrap();
    content
}

/// The pairs of a raw XML dump, parsed without any of the tested code.
fn expected(directory: &Path) -> Pairs {
    let xml = String::from_utf8(content(&directory.join("kv.xml"))).unwrap();
    let hex = |entry: &str, name: &str| {
        let inner = entry.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
        parse_hex(inner.map_or("", |rest| rest.split_once('<').unwrap().0)).unwrap()
    };
    xml.split("<entry>").skip(1).map(|entry| (hex(entry, "key"), hex(entry, "value"))).collect()
}

const NAMES: [&str; 8] = [
    "music",
    "evolution",
    "encodings",
    "storage-ids",
    "empty/untouched",
    "empty/opened",
    "empty/model",
    "empty/model-used",
];

/// Checks that `open` makes a store with the right pairs from each copied file, and that the store
/// works afterwards.
fn check<D: KvDatabase>(file: &str, copied_to: &str, open: impl Fn(&Path) -> D) {
    for name in NAMES {
        let directory = recorded().join(name);
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join(copied_to), content(&directory.join(file))).unwrap();
        let pairs = expected(&directory);
        let store = open(copy.path());
        let found = dump(&*store.begin(&TxOptions::reading()).unwrap());
        assert_eq!(found.len(), pairs.len(), "{name}");
        assert!(found == pairs, "{name}");
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"\xfe new", b"value").unwrap();
        tx.commit().unwrap();
        drop(store);
        let store = open(copy.path());
        assert_eq!(dump(&*store.begin(&TxOptions::reading()).unwrap()).len(), pairs.len() + 1);
    }
}

#[test]
#[cfg(feature = "lmdb")]
fn t099_lmdb_environments_of_java() {
    check("lmdb/data.mdb", "data.mdb", |path| permazen_kv::lmdb::LmdbStore::open(path).unwrap());
}

#[test]
#[cfg(feature = "sqlite")]
fn t101_sqlite_databases_of_java() {
    check("sqlite.db", "sqlite.db", |path| {
        permazen_kv::sqlite::SqliteStore::open(path.join("sqlite.db")).unwrap()
    });
}

#[test]
#[cfg(feature = "lmdb")]
fn reading_an_environment_of_java_does_not_change_it() {
    let file = recorded().join("music/lmdb/data.mdb");
    let copy = tempfile::tempdir().unwrap();
    let data = copy.path().join("data.mdb");
    fs::write(&data, content(&file)).unwrap();
    for read_only in [true, false] {
        let store = permazen_kv::lmdb::LmdbStore::builder().read_only(read_only);
        let store = store.open(copy.path()).unwrap();
        assert!(!dump(&*store.begin(&TxOptions::reading()).unwrap()).is_empty());
        drop(store);
        assert!(fs::read(&data).unwrap() == content(&file), "read_only {read_only}");
    }
}
