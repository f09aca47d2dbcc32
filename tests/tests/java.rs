//! Permazen for Java and this implementation in turn on the same database.
//!
//! ```text
//! mvn -q -B package -f tests/java      # once; needs a JDK 17 and Maven
//! cargo test -p permazen-tests --test java
//! ```
//!
//! Both make the same random changes to a copy each of the recorded database `music`, some rounds
//! one after the other; then the stores must be equal pair by pair, and the checker of either side
//! finds nothing in what the other wrote, in each kind of file in turn. `PERMAZEN_SEED` chooses the
//! changes, `PERMAZEN_STEPS` their number in a round. Without the driver the test says so and ends.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::{Encoding, Value};
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KeySpan, KvDatabase, TxOptions, xml};
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::schema::{ResolvedField, XmlForm};
use permazen_tests::digest::state_digest;
use permazen_tests::files;
use permazen_tests::scratch::Scratch;
use serde_json::{Value as Json, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let Ok(libraries) = std::fs::read_to_string(java.join("target/classpath.txt")) else {
        println!(
            "skipped: Permazen for Java is not here; with a JDK 17 and Maven, \
             `mvn -q -B package -f {}` gets it",
            java.display()
        );
        return ExitCode::SUCCESS;
    };
    match run(&java.join("target/classes"), libraries.trim()) {
        Ok(rounds) => {
            println!("{rounds} passed, 0 failed");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAIL: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An environment variable's number.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn run(classes: &Path, libraries: &str) -> Result<u32> {
    let seed = setting("PERMAZEN_SEED", 1);
    let steps = setting("PERMAZEN_STEPS", 300);
    println!("seed {seed}, {steps} steps in a round");
    let mut java = Java::start(classes, libraries)?;
    let dir = tempfile::tempdir()?;
    let ours = Scratch::lmdb(&files::data_dir().join("databases/music"))?;
    let store = Arc::new(LmdbStore::open(ours.path())?);
    let db = Database::new(store.clone());
    let model = {
        let tx = db.begin(&TransactionConfig::without_schema().read_only())?;
        let bundle = tx.bundle();
        Arc::clone(&bundle.schemas().first().ok_or("no schema is recorded")?.model)
    };
    let config = TransactionConfig::new(Arc::clone(&model))?.allow_new_schema(false);
    let mut random = Random(seed);
    let mut rounds = 0;
    for kind in ["xml", "lmdb", "sqlite"] {
        // Ours first, then Java goes on with the file.
        let file = dir.path().join(format!("ours.{kind}"));
        make_changes(&db, &config, &mut random, steps)?;
        write(&*store, kind, &file)?;
        java.ok(json!({ "op": "load", "kind": kind, "path": file }))?;
        same("what Java reads of ours", &java.digest()?, &digest(&*store)?)?;
        let issues = java.ask(&json!({ "op": "check" }))?;
        if issues["expect"] != json!([]) {
            return Err(format!("Java's checker, on ours: {issues}").into());
        }
        // Java changes it, we make the same changes, and read what Java writes.
        java.ask(&json!({
            "op": "schema", "name": "music", "xml": model.to_xml(XmlForm::STORED),
        }))?;
        java.ask(&json!({ "op": "open", "schema": "music", "allowNew": false }))?;
        let changes = make_changes(&db, &config, &mut random, steps)?;
        for change in &changes {
            let answer = java.ask(change)?;
            if answer.get("error").is_some() {
                return Err(format!("Java refuses {change}: {answer}").into());
            }
        }
        java.ok(json!({ "op": "commit" }))?;
        same("the state after the same changes", &java.digest()?, &digest(&*store)?)?;
        let file = dir.path().join(format!("java.{kind}"));
        java.ok(json!({ "op": "save", "kind": kind, "path": file }))?;
        let theirs = read(kind, &file)?;
        same("what we read of Java's", &digest(&*theirs)?, &digest(&*store)?)?;
        let kv = theirs.begin(&TxOptions::reading())?;
        let mut found = Vec::new();
        permazen_jsck::check(&*kv, &Default::default(), &mut |finding| {
            found.push(finding.to_string());
        })?;
        if !found.is_empty() {
            return Err(format!("our checker, on Java's {kind}: {found:#?}").into());
        }
        println!("{kind}: {} changes each way, equal and without findings", changes.len());
        rounds += 1;
    }
    Ok(rounds)
}

/// Makes random changes in one transaction and gives them as steps for Java.
fn make_changes(
    db: &Database,
    config: &TransactionConfig,
    random: &mut Random,
    steps: u64,
) -> Result<Vec<Json>> {
    let tx = db.begin(config)?;
    let mut made = Vec::new();
    while (made.len() as u64) < steps {
        let step = random_step(&tx, random)?;
        perform(&tx, &step)?;
        made.push(step);
    }
    tx.commit()?;
    Ok(made)
}

fn random_step(tx: &Transaction<'_>, random: &mut Random) -> Result<Json> {
    const COUNTRIES: &[&str] = &["BRAZIL", "FRANCE", "JAPAN", "NORWAY"];
    const GENRES: &[&str] = &["AMBIENT", "HIP_HOP", "JAZZ", "ROCK"];
    let number = |random: &mut Random| random.below(2000).to_string();
    let word = |random: &mut Random| {
        let words = ["", "Zoë", r"x\ud83c\udfb5y", "Orchard", "ß", "a b", "中文"];
        format!("{}{}", words[random.below(7) as usize], random.below(50))
    };
    let artist = |random: &mut Random| pick(tx, random, "Artist");
    let album = |random: &mut Random| pick(tx, random, "Album");
    let track = |random: &mut Random| pick(tx, random, "Track");
    let playlist = |random: &mut Random| pick(tx, random, "Playlist");
    let listener = |random: &mut Random| pick(tx, random, "Listener");
    let r = random;
    Ok(match r.below(16) {
        0 => json!({ "op": "set", "id": artist(r)?, "field": "name", "value": word(r) }),
        1 => json!({ "op": "set", "id": artist(r)?, "field": "country", "value": r.of(COUNTRIES) }),
        2 => json!({ "op": "set.add", "id": artist(r)?, "field": "genres", "value": r.of(GENRES) }),
        3 => {
            json!({ "op": "set.remove", "id": artist(r)?, "field": "genres", "value": r.of(GENRES) })
        }
        4 => json!({ "op": "set", "id": album(r)?, "field": "year", "value": number(r) }),
        5 => json!({ "op": "set", "id": album(r)?, "field": "artist", "value": artist(r)? }),
        6 => json!({ "op": "set", "id": track(r)?, "field": "seconds", "value": number(r) }),
        7 => json!({ "op": "set", "id": track(r)?, "field": "title", "value": Json::Null }),
        8 => json!({ "op": "set", "id": track(r)?, "field": "album", "value": album(r)? }),
        9 => {
            json!({ "op": "counter.adjust", "id": track(r)?, "field": "plays", "value": number(r) })
        }
        10 => {
            json!({ "op": "list.append", "id": playlist(r)?, "field": "tracks", "value": track(r)? })
        }
        11 => json!({
            "op": "list.insert", "id": playlist(r)?, "field": "tracks", "index": 0, "value": track(r)?,
        }),
        12 => json!({
            "op": "map.put", "id": playlist(r)?, "field": "labels", "key": word(r), "value": number(r),
        }),
        13 => json!({
            "op": "set.add", "id": listener(r)?, "field": "favourites", "value": album(r)?,
        }),
        14 => json!({ "op": "create", "id": new_id(tx, r, "Playlist")? }),
        _ if r.below(8) == 0 => json!({ "op": "delete", "id": playlist(r)? }),
        _ => json!({ "op": "set", "id": playlist(r)?, "field": "owner", "value": listener(r)? }),
    })
}

fn pick(tx: &Transaction<'_>, random: &mut Random, type_name: &str) -> Result<String> {
    let ids: Vec<ObjId> = tx.objects(type_name)?.iter().collect::<std::result::Result<_, _>>()?;
    let at = random.below(ids.len() as u64) as usize;
    Ok(ids.get(at).ok_or("no objects")?.to_string())
}

fn new_id(tx: &Transaction<'_>, random: &mut Random, type_name: &str) -> Result<String> {
    let mut bytes = ObjId::min(tx.type_storage_id(type_name)?).to_bytes();
    bytes[2..].copy_from_slice(&random.next().to_be_bytes()[2..]);
    Ok(ObjId::from_bytes(bytes)?.to_string())
}

fn perform(tx: &Transaction<'_>, step: &Json) -> Result<()> {
    let text = |name: &str| step[name].as_str().ok_or_else(|| format!("no {name} in {step}"));
    let id: ObjId = text("id")?.parse()?;
    let op = text("op")?;
    match op {
        "create" => {
            tx.create_with_id(id)?;
            return Ok(());
        }
        "delete" => {
            tx.delete(id)?;
            return Ok(());
        }
        _ => {}
    }
    let name = text("field")?;
    let schema = tx.schema();
    let object_type = schema.type_by_storage_id(id.storage_id()).ok_or("no such type")?;
    let field = object_type.field(name).ok_or("no such field")?;
    let value = |field: &ResolvedField, name: &str| -> Result<Value> {
        let encoding: &dyn Encoding = &*field.simple().ok_or("not a simple field")?.encoding;
        Ok(match step[name].as_str() {
            Some(text) => encoding.from_text(text)?,
            None => Value::Null,
        })
    };
    let sub = |name: &str| field.sub_field(name).ok_or("no such sub-field");
    match op {
        "set" => tx.set(id, name, &value(field, "value")?, Migrate::No)?,
        "counter.adjust" => {
            tx.adjust_counter(id, name, text("value")?.parse()?, Migrate::No)?;
        }
        "set.add" => {
            tx.set_view(id, name, Migrate::No)?.add(&value(sub("element")?, "value")?)?;
        }
        "set.remove" => {
            tx.set_view(id, name, Migrate::No)?.remove(&value(sub("element")?, "value")?)?;
        }
        "list.append" => {
            tx.list_view(id, name, Migrate::No)?.push(&value(sub("element")?, "value")?)?;
        }
        "list.insert" => {
            tx.list_view(id, name, Migrate::No)?.insert(0, &value(sub("element")?, "value")?)?;
        }
        "map.put" => {
            let view = tx.map_view(id, name, Migrate::No)?;
            view.put(&value(sub("key")?, "key")?, &value(sub("value")?, "value")?)?;
        }
        _ => return Err(format!("unknown operation {op}").into()),
    }
    Ok(())
}

fn digest(store: &dyn KvDatabase) -> Result<String> {
    Ok(state_digest(&*store.begin(&TxOptions::reading())?)?.sha256)
}

fn same(what: &str, found: &str, expected: &str) -> Result<()> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found}, not {expected}").into()) }
}

/// Writes all pairs of a store into a file of that kind.
fn write(store: &dyn KvDatabase, kind: &str, path: &Path) -> Result<()> {
    let from = store.begin(&TxOptions::reading())?;
    if kind == "xml" {
        xml::dump(&*from, KeySpan::FULL, xml::Style::Plain, std::fs::File::create(path)?)?;
        return Ok(());
    }
    let to: Box<dyn KvDatabase> = match kind {
        "lmdb" => Box::new(LmdbStore::open_or_create(path)?),
        _ => Box::new(SqliteStore::open_or_create(path)?),
    };
    let mut kv = to.begin(&TxOptions::writing())?;
    for pair in from.scan(KeySpan::FULL, permazen::kv::Direction::Forward)? {
        let (key, value) = pair?;
        kv.put(&key, &value)?;
    }
    Ok(kv.commit()?)
}

fn read(kind: &str, path: &Path) -> Result<Box<dyn KvDatabase>> {
    Ok(match kind {
        "lmdb" => Box::new(LmdbStore::open(path)?),
        "sqlite" => Box::new(SqliteStore::open(path)?),
        _ => {
            let store = MemoryStore::new();
            let mut kv = store.begin(&TxOptions::writing())?;
            xml::load(&mut *kv, std::fs::File::open(path)?)?;
            kv.commit()?;
            Box::new(store)
        }
    })
}

/// The driver: one JVM for the whole run.
struct Java {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Java {
    fn start(classes: &Path, libraries: &str) -> Result<Java> {
        let mut class_path = PathBuf::from(classes).into_os_string();
        class_path.push(":");
        class_path.push(libraries);
        let mut process = Command::new("java")
            // A large young generation: the LMDB binding may free buffers that are in use.
            .args(["-Xmn1g", "--add-opens", "java.base/java.nio=ALL-UNNAMED"])
            .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "-cp"])
            .arg(class_path)
            .arg("interop.Driver")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("java cannot be started: {e}"))?;
        let input = process.stdin.take().ok_or("no standard input")?;
        let output = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        Ok(Java { process, input, output })
    }

    fn ask(&mut self, step: &Json) -> Result<Json> {
        writeln!(self.input, "{step}")?;
        self.input.flush()?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(format!("the JVM ended at {step}").into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// A step that returns nothing.
    fn ok(&mut self, step: Json) -> Result<()> {
        let answer = self.ask(&step)?;
        if answer["expect"] == "ok" { Ok(()) } else { Err(format!("{step}: {answer}").into()) }
    }

    fn digest(&mut self) -> Result<String> {
        let answer = self.ask(&json!({ "op": "digest" }))?;
        Ok(answer["expect"].as_str().ok_or_else(|| format!("digest: {answer}"))?.to_owned())
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A small generator whose results depend on the seed alone.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}
