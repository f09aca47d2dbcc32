//! The text of a program with many types.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const MANIFEST: &str = r#"[package]
name = "program-NUMBER"
version = "0.0.0"
edition = "2024"

[dependencies]
heed = { version = "0.23.1", default-features = false }
permazen = { path = "REPOSITORY/core" }

[workspace]
"#;

const MODEL: &str = r#"
#[derive(PermazenObject, Clone, Debug, Default)]
pub struct ModelN {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(indexed)]
    pub number: i64,
    pub text: Option<String>,
    pub count: Counter,
    pub names: BTreeSet<String>,
    pub next: Option<Ref<ModelN>>,
}
"#;

/// Its arguments are what to do and the path of a database.
const MAIN: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (task, path) = (arguments[1].as_str(), arguments[2].as_str());
    let begun = Instant::now();
    let found = match task {
        "create" => {
            let db = models(LmdbStore::builder().create(true).open(path).unwrap());
            db.write(|tx| tx.create(&Model0::default()).map(drop)).unwrap();
            begun.elapsed()
        }
        "load" => {
            let db = models(LmdbStore::builder().open(path).unwrap());
            let tx = db.begin_read().unwrap();
            let object = tx.all::<Model0>().unwrap().iter().next().unwrap().unwrap();
            assert_eq!(object.load().unwrap().number, 0);
            begun.elapsed()
        }
        // Opens the same environment and reads one pair.
        _ => {
            // SAFETY: no other process has the database open.
            let env = unsafe { EnvOpenOptions::new().map_size(1 << 30).max_dbs(1).open(path).unwrap() };
            let txn = env.write_txn().unwrap();
            let made = env.create_databases_and_commit(txn, |maker, txn| {
                let pairs = maker.create_database::<Bytes, Bytes>(txn, Some("permazen"))?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(pairs))
            });
            let pairs = made.unwrap().commit().unwrap();
            let txn = env.read_txn().unwrap();
            assert!(pairs.last(&txn).unwrap().is_some());
            begun.elapsed()
        }
    };
    println!("{}", found.as_nanos());
}
"#;

/// Writes the program to a folder.
pub fn write(folder: &Path, models: usize) {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        MANIFEST.replace("REPOSITORY", repository).replace("NUMBER", &models.to_string()),
    )
    .unwrap();
    // The versions with which the repository is tested, as far as it names them.
    let lock = format!("{repository}/bench/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let mut text = "use std::collections::BTreeSet;\nuse std::time::Instant;\n\n\
        use heed::types::Bytes;\nuse heed::{CommitOrAbort, EnvOpenOptions};\n\
        use permazen::kv::lmdb::LmdbStore;\nuse permazen::{Counter, Permazen, PermazenObject, Ref};\n"
        .to_owned();
    for number in 0..models {
        text += &MODEL.replace("ModelN", &format!("Model{number}"));
    }
    text += "\nfn models(store: LmdbStore) -> Permazen {\n    let builder = Permazen::builder(store);\n";
    for number in 0..models {
        writeln!(text, "    let builder = builder.model::<Model{number}>();").unwrap();
    }
    text += "    builder.build().unwrap()\n}\n";
    text += MAIN;
    fs::write(folder.join("src/main.rs"), text).unwrap();
}

/// Changes the program a little, as a programmer does while working on it.
pub fn change(folder: &Path, change: usize) {
    let path = folder.join("src/main.rs");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("let begun =", &format!("let _changed = {change};\n    let begun ="));
    fs::write(path, text).unwrap();
}
