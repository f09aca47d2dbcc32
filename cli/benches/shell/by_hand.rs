//! The work of the shell, as a program for this one database would do it. The benchmark runs it as
//! a process of its own, as it runs the shell.

use std::io::{BufWriter, Write};
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvOpenOptions, PutFlags};
use permazen::Permazen;
use permazen::kv::lmdb::LmdbStore;

use crate::people::Person;

/// Runs the work of this name.
pub(crate) fn run(arguments: &[String]) {
    let [what, rest @ ..] = arguments else { panic!("what shall be done?") };
    match (&**what, rest) {
        ("csv", [path]) => csv(&open(path)),
        ("json", [path]) => json(&open(path)),
        ("copy", [path, target]) => copy(Path::new(path), Path::new(target)),
        _ => panic!("{what} is no work"),
    }
}

fn open(path: &str) -> Permazen {
    let store = LmdbStore::builder().read_only(true).open(path).unwrap();
    Permazen::builder(store).model::<Person>().build().unwrap()
}

fn out() -> BufWriter<impl Write> {
    BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// The entries of an index.
fn csv(db: &Permazen) {
    let mut out = out();
    out.write_all(b"name,id\n").unwrap();
    db.read(|tx| {
        for entry in tx.index(Person::NAME)?.iter() {
            let (name, person) = entry?;
            if name.is_empty() || name.contains([',', '"', '\n', '\r']) {
                write!(out, "\"{}\"", name.replace('"', "\"\"")).unwrap();
            } else {
                out.write_all(name.as_bytes()).unwrap();
            }
            writeln!(out, ",{}", person.id()).unwrap();
        }
        Ok::<_, permazen::Error>(())
    })
    .unwrap();
    out.flush().unwrap();
}

/// All objects.
fn json(db: &Permazen) {
    let mut out = out();
    db.read(|tx| {
        let schema = tx.schema().id;
        for found in tx.all::<Person>()?.iter() {
            let found = found?;
            let person = found.load()?;
            let (id, Person { age, email, name, score, visits }) = (found.id(), person);
            write!(out, r#"{{"type":"object","id":"{id}","object_type":"Person","schema":1,"#)
                .unwrap();
            write!(out, r#""schema_id":"{schema}","fields":{{"age":{age},"email":"#).unwrap();
            serde_json::to_writer(&mut out, &email).unwrap();
            out.write_all(br#","name":"#).unwrap();
            serde_json::to_writer(&mut out, &name).unwrap();
            writeln!(out, r#","score":{score},"visits":{}}}}}"#, visits.0).unwrap();
        }
        Ok::<_, permazen::Error>(())
    })
    .unwrap();
    out.flush().unwrap();
}

/// All pairs, into a new environment, in the order of their keys.
fn copy(path: &Path, target: &Path) {
    std::fs::create_dir(target).unwrap();
    let open = |path: &Path| {
        // SAFETY: No program changes these files but LMDB.
        unsafe { EnvOpenOptions::new().map_size(1 << 40).max_dbs(1).open(path) }.unwrap()
    };
    let (source, copy) = (open(path), open(target));
    let database = |env: &Env| {
        let created = env.create_databases_and_commit(env.write_txn().unwrap(), |opener, tx| {
            let created = opener.create_database::<Bytes, Bytes>(tx, Some("permazen"));
            created.map(CommitOrAbort::<_, ()>::Commit)
        });
        created.unwrap().commit().unwrap()
    };
    let (pairs, to) = (database(&source), database(&copy));
    let reading = source.read_txn().unwrap();
    let mut writing = copy.write_txn().unwrap();
    for pair in pairs.iter(&reading).unwrap() {
        let (key, value) = pair.unwrap();
        to.put_with_flags(&mut writing, PutFlags::APPEND, key, value).unwrap();
    }
    writing.commit().unwrap();
}
