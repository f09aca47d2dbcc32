//! Transactions of closures that are committed together.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use permazen::encoding::EncodingId;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::schema::{Field, ObjectType, SchemaModel, SchemaRemoval, Simple};
use permazen::{Permazen, PermazenObject, Result, Tx};

use crate::child;

#[derive(PermazenObject, Default)]
struct Person {
    #[permazen(indexed)]
    name: String,
}

/// Runs a closure on each database until both are committed together.
fn together(
    store: &LmdbStore,
    (db, other): (&Permazen, &Permazen),
    first: impl Fn(&Tx) -> Result<()>,
    second: impl Fn(&Tx) -> Result<()> + Sync,
) {
    let version = || store.begin(&TxOptions::reading()).unwrap().version().unwrap();
    for _ in 0..10_000 {
        let before = version();
        let (tell, told) = channel();
        thread::scope(|scope| {
            let second = &second;
            let (begin, begun) = channel();
            let member = scope.spawn(move || {
                begun.recv().unwrap();
                tell.send(()).unwrap();
                other.write(second).unwrap();
            });
            db.write(|tx| {
                first(tx)?;
                let _ = begin.send(());
                let _ = told.recv();
                thread::sleep(Duration::from_micros(500));
                Ok(())
            })
            .unwrap();
            member.join().unwrap();
        });
        if version() == before + 1 {
            return;
        }
    }
    panic!("they are never committed together");
}

#[test]
fn a_schema_that_a_member_of_a_group_adds_is_seen_by_all_later_transactions() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(directory.path()).unwrap();
    // Otherwise the next transaction removes the schemas, which have no objects.
    let open = || {
        let builder = Permazen::builder(store.clone()).model::<Person>();
        builder.schema_removal(SchemaRemoval::Never).build().unwrap()
    };
    let (db, second) = (open(), open());
    let string: EncodingId = "urn:fdc:permazen.io:2020:String".parse().unwrap();
    let create = |tx: &Tx| tx.create(Person::default()).map(drop);
    let other = |number: usize| {
        let field = Field::new("name", Simple::of(string.clone()));
        SchemaModel::new().object_type(ObjectType::new(format!("Other{number}")).field(field))
    };
    // The member is of the same database, or of another one over the same store.
    for (number, of) in [&db, &second, &db, &second].into_iter().enumerate() {
        let added = other(number);
        together(&store, (&db, of), create, |tx| {
            tx.create(Person::default())?;
            tx.core().add_schema(&added)?;
            Ok(())
        });
        for _ in 0..3 {
            let seen = |tx: &Tx| Ok(tx.core().bundle().schema_by_id(added.schema_id()).is_some());
            for db in [&db, &second] {
                assert!(db.read(seen).unwrap() && db.write(seen).unwrap());
            }
        }
    }
}

#[test]
fn members_see_objects_of_those_before_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(directory.path()).unwrap();
    let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
    let ann = |tx: &Tx| tx.create(Person { name: "Ann".into() }).map(drop);
    together(&store, (&db, &db), ann, |tx| {
        let found = tx.index(Person::NAME)?.get("Ann")?.count()?;
        tx.create(Person { name: format!("{}", found > 0) })?;
        Ok(())
    });
    let seen = db.read(|tx| tx.index(Person::NAME)?.get("true")?.count()).unwrap();
    assert!(seen > 0);
}

/// Names the store of a process that this program starts.
const STORE: &str = "PERMAZEN_TEST_GROUPS";
const THREADS: usize = 4;

/// Creates people on several threads until the process is killed, and prints the name of each when
/// its transaction is committed.
#[test]
fn child() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let db = Permazen::builder(LmdbStore::open(path).unwrap()).model::<Person>().build().unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || {
                for number in 0.. {
                    let name = format!("{} {thread} {number}", std::process::id());
                    db.write(|tx| {
                        tx.create(Person { name: name.clone() })?;
                        let name = name.clone();
                        tx.on_commit(move || writeln!(std::io::stdout(), "told {name}").unwrap())
                    })
                    .unwrap();
                }
            });
        }
    });
}

/// Lets the program create people, kills it after this number of people, and returns the names that
/// it printed.
fn killed_after(path: &Path, people: usize) -> Vec<String> {
    let mut command = child::this_program();
    command.args(child::arguments(module_path!(), "child")).arg("--nocapture").env(STORE, path);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    for line in lines {
        // The first one follows what the test program prints itself.
        if let Some((_, name)) = line.unwrap().split_once("told ") {
            told.push(name.to_owned());
        }
        if told.len() == people {
            process.kill().unwrap();
        }
    }
    assert!(!process.wait().unwrap().success() && told.len() >= people, "{told:?}");
    told
}

/// `PERMAZEN_KILLS` sets how often the program is killed; twenty times unless set.
#[test]
fn what_a_callback_after_the_commit_told_survives_a_kill() {
    let kills = std::env::var("PERMAZEN_KILLS").ok().and_then(|kills| kills.parse().ok());
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = LmdbStore::open_or_create(directory.path()).unwrap();
        let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
        let version = store.begin(&TxOptions::reading()).unwrap().version().unwrap();
        (db, version)
    };
    let ((_, mut before), mut commits) = (open(), 0);
    for kill in 0..kills.unwrap_or(20) {
        let told = killed_after(directory.path(), 3 + kill % 17);
        let (db, version) = open();
        let lost = |tx: &Tx| {
            let names = tx.index(Person::NAME)?;
            let mut lost = Vec::new();
            for name in &told {
                if names.get(name.as_str())?.count()? != 1 {
                    lost.push(name.clone());
                }
            }
            Ok(lost)
        };
        assert_eq!(db.read(lost).unwrap(), [""; 0], "kill {kill}");
        commits += version - before;
        before = version;
    }
    // Those that a kill has kept from being told are there too.
    let all = open().0.read(|tx| tx.all::<Person>()?.count()).unwrap() as u64;
    assert!(commits < all, "{commits} commits of {all} transactions: they were committed together");
}
