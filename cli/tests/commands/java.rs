//! Permazen for Java takes the files that `save` and `kv dump` write, and a database that it has
//! open is in use.
//!
//! The driver in `tests/java` plays Java's part: it does the same as the commands `load` and
//! `kvload` of Java's command line, which itself is not published. Without the driver or `java`
//! the first of these tests says what is missing, and all of them end; with `PERMAZEN_JAVA=1` they
//! fail.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Run, pairs, run, text};

const DATABASES: [&str; 5] = ["music", "encodings", "evolution", "storage-ids", "reference"];

/// The options to try with the database of this number: all of them if `PERMAZEN_JAVA_OPTIONS=all`,
/// and otherwise another choice with each.
fn some<'o>(options: &[&'o [&'o str]], number: usize) -> Vec<&'o [&'o str]> {
    match std::env::var("PERMAZEN_JAVA_OPTIONS") {
        Ok(all) if all == "all" => options.to_vec(),
        _ => vec![options[number % options.len()]],
    }
}

/// The databases with their numbers: all of them if `PERMAZEN_JAVA_OPTIONS=all`, and otherwise
/// without the largest one, whose pairs Java loads as a dump.
fn databases() -> impl Iterator<Item = (usize, &'static str)> {
    let all = std::env::var("PERMAZEN_JAVA_OPTIONS").is_ok_and(|all| all == "all");
    DATABASES.into_iter().enumerate().filter(move |(_, name)| all || *name != "music")
}

/// The running driver. All tests use one. It ends when its input does, with this process.
struct Java {
    _process: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

static JAVA: LazyLock<Option<Java>> = LazyLock::new(Java::start);

impl Java {
    /// Starts it; `None` if something is missing, which is printed, once for all tests.
    fn start() -> Option<Java> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/java");
        let started = std::fs::read_to_string(folder.join("target/classpath.txt"));
        let started = started.map_err(|_| "the driver has not been built");
        let started = started.and_then(|libraries| {
            let classes = text(&folder.join("target/classes"));
            Command::new("java")
                .args(["-Xmn256m", "-XX:+UseSerialGC"])
                .args(["--add-opens", "java.base/java.nio=ALL-UNNAMED"])
                .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"])
                .args(["-cp", &format!("{classes}:{}", libraries.trim()), "interop.Driver"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|_| "there is no program `java` on the PATH")
        });
        match started {
            Ok(mut process) => {
                let input = process.stdin.take().expect("input");
                let output = BufReader::new(process.stdout.take().expect("output"));
                Some(Java { _process: process, pipes: Mutex::new((input, output)) })
            }
            Err(missing) => {
                let required = std::env::var("PERMAZEN_JAVA").is_ok_and(|set| set != "0");
                assert!(!required, "{missing}");
                println!(
                    "skipped: {missing}; Permazen for Java needs a JDK 17, and `mvn -q -B package \
                     -f tests/java`"
                );
                None
            }
        }
    }

    /// Lets it do something, which must succeed.
    fn must(&self, step: &Value) -> Value {
        let mut line = String::new();
        {
            let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
            let (input, output) = &mut *pipes;
            writeln!(input, "[{step}]").expect("write");
            input.flush().expect("write");
            output.read_line(&mut line).expect("read");
        }
        let answer: Value = serde_json::from_str(&line).expect("an answer");
        assert!(answer[0].get("expect").is_some(), "{step}: {answer}");
        answer[0]["expect"].clone()
    }
}

fn recorded(name: &str) -> Fixture {
    match name {
        "reference" => Fixture::reference(),
        name => Fixture::recorded(name),
    }
}

/// All pairs, with schemas as text: their compressed bytes may differ.
fn readable(store: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let inflated = |(key, value): (Vec<u8>, Vec<u8>)| {
        if !key.starts_with(&[0, 1]) {
            return (key, value);
        }
        let mut document = Vec::new();
        flate2::read::ZlibDecoder::new(&*value).read_to_end(&mut document).expect("zlib");
        (key, document)
    };
    pairs(store).into_iter().map(inflated).collect()
}

#[test]
fn java_loads_dumps_of_pairs() {
    let Some(java) = &*JAVA else { return };
    for (number, name) in DATABASES.into_iter().enumerate() {
        let db = recorded(name);
        for options in some(&[&[], &["--indent"]], number) {
            let file = db.name("ours.xml");
            db.out(&[&["kv", "dump"], options, &[&file]].concat());
            let theirs = db.name("theirs.xml");
            java.must(&json!({ "op": "loadPairs", "path": file, "dump": theirs }));
            assert!(pairs(&theirs) == db.pairs(), "{name} {options:?} differs");
        }
    }
}

#[test]
fn java_loads_saved_objects_with_their_ids() {
    let Some(java) = &*JAVA else { return };
    for (number, name) in databases() {
        let db = recorded(name);
        for options in some(&[&[], &["--plain"], &["--compact"], &["--with-defaults"]], number) {
            let file = db.name("ours.xml");
            db.out(&[&["save", "--storage-ids"], options, &[&file]].concat());
            let theirs = db.name("theirs.xml");
            let step = json!({ "op": "loadObjects", "path": file, "dump": theirs });
            let count = java.must(&step);
            let saved = db.name("again.xml");
            assert_eq!(count, db.run(&["--json", "save", &saved]).json(0)[0]["objects"]);
            let (ours, theirs) = (readable(&db.db), readable(&theirs));
            assert!(
                without_schemas(&ours) == without_schemas(&theirs),
                "{name} {options:?} differs"
            );
            // Schemas have the storage IDs of the document, as with our own `load`.
            let other = Fixture::with(|_| {});
            other.out(&["--write", "load", &file]);
            same(readable(&other.db), theirs, &format!("{name} {options:?}"));
        }
    }
}

/// All values at the ends of the encodings but those that `save` refuses.
#[test]
fn java_loads_the_extremes_of_every_encoding() {
    let Some(java) = &*JAVA else { return };
    let (db, _) = crate::every_value::all(false);
    let file = db.name("ours.xml");
    db.out(&["save", "--storage-ids", &file]);
    let theirs = db.name("theirs.xml");
    java.must(&json!({ "op": "loadObjects", "path": file, "dump": theirs }));
    let (ours, theirs) = (readable(&db.db), readable(&theirs));
    let (ours, theirs) = (without_schemas(&ours), without_schemas(&theirs));
    same(ours, theirs, "the extremes");
}

#[test]
fn java_loads_saved_objects_as_new_ones() {
    let Some(java) = &*JAVA else { return };
    for (number, name) in databases() {
        let db = recorded(name);
        let expected = without_ids(&db.db);
        for options in some(&[&[], &["--plain"]], number) {
            let file = db.name("ours.xml");
            db.out(&[&["save"], options, &[&file]].concat());
            let theirs = db.name("theirs.xml");
            java.must(&json!({ "op": "loadObjects", "path": file, "dump": theirs }));
            same(without_ids(&theirs), expected.clone(), &format!("{name} {options:?}"));
        }
    }
}

/// Compares two lists, and shows the beginning of the first difference.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(ours: Vec<T>, theirs: Vec<T>, what: &str) {
    let both = ours.iter().zip(&theirs);
    let at = both.take_while(|(ours, theirs)| ours == theirs).count();
    let shown = |of: Option<&T>| format!("{of:?}").chars().take(3000).collect::<String>();
    let (our, their) = (ours.get(at), theirs.get(at));
    assert!(our == their, "{what}: at {at}\n{}\n{}", shown(our), shown(their));
}

/// Pairs but for the schemas.
fn without_schemas(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<&(Vec<u8>, Vec<u8>)> {
    pairs.iter().filter(|(key, _)| !key.starts_with(&[0, 1])).collect()
}

/// All objects in a form that does not depend on their IDs, sorted: each object with a number for
/// each object that it refers to, which is made from the content of that object, and so on.
fn without_ids(store: &str) -> Vec<String> {
    let mut objects = BTreeMap::new();
    let types = run(&[store, "--raw", "types", "--no-counts"], "").out(0);
    for name in types.lines().filter_map(|line| line.split('\t').next()) {
        for object in run(&[store, "--json", &format!("show `{name}`")], "").out(0).lines() {
            // Values can have halves of characters, which no parser of JSON here takes.
            let (_, object) = object.split_once("\"id\":\"").expect("an ID");
            let (id, object) = object.split_once('"').expect("an ID");
            let (_, fields) = object.split_once("\"fields\":").expect("fields");
            objects.insert(id.to_owned(), format!("{name} {fields}"));
        }
    }
    let mut numbers: BTreeMap<String, u64> = objects.keys().map(|id| (id.clone(), 0)).collect();
    let with = |object: &str, numbers: &BTreeMap<String, u64>| {
        // Sets and maps with references have the order of the IDs.
        let mut parts: Vec<String> = object
            .split([',', '[', ']', '{', '}'])
            .map(|part| match part.split('"').find_map(|word| numbers.get(word)) {
                Some(number) => format!("refers to {number:x}"),
                None => part.to_owned(),
            })
            .collect();
        parts.sort();
        parts.join(" ")
    };
    // After three rounds, a number stands for all objects that are at most three references away.
    for _ in 0..3 {
        let next = objects.iter().map(|(id, object)| {
            let mut hasher = DefaultHasher::new();
            with(object, &numbers).hash(&mut hasher);
            (id.clone(), hasher.finish())
        });
        numbers = next.collect();
    }
    let mut all: Vec<String> = objects.values().map(|object| with(object, &numbers)).collect();
    all.sort();
    all
}

/// An LMDB environment has one format of locks at a time, and an SQLite file can be locked for all
/// others.
#[test]
fn what_java_has_open_is_in_use() {
    let Some(java) = &*JAVA else { return };
    let refused = |run: Run, why: &str| {
        let error = run.error(3);
        assert!(error.contains(why), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    let db = Fixture::reference();
    java.must(&json!({ "op": "hold", "kind": "lmdb", "path": db.db }));
    for args in [&["count Person"][..], &["--write", "create Pet"], &["check"]] {
        refused(db.run(args), "such as Permazen for Java");
    }
    refused(db.run(&["--write", "compact"]), "another process has it open");
    java.must(&json!({ "op": "release" }));
    assert_eq!(db.out(&["--raw", "count Person"]), "3\n");

    let sqlite = db.name("db.sqlite");
    db.out(&["copy", &format!("sqlite:{sqlite}")]);
    java.must(&json!({ "op": "hold", "kind": "sqlite", "path": sqlite }));
    for args in [&["count Person"][..], &["--write", "create Pet"]] {
        let args = [&[&*sqlite, "--wait", "200ms"], args].concat();
        refused(run(&args, ""), "waited 200ms for others that use it: ");
    }
    java.must(&json!({ "op": "release" }));
    assert_eq!(run(&[&sqlite, "--raw", "count Person"], "").out(0), "3\n");
}
