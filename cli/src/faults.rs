//! Tests of commands whose store fails at each of its operations in turn.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use permazen::encoding::EncodingRegistry;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions, xml};
use permazen::open::{OpenStore, Opening};
use tempfile::TempDir;

use crate::failure::{Answer, Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::script::{self, Script};
use crate::session::{Options, Session};
use crate::{command_line, run_command};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

const WHY: &str = "the disk burns";

/// A database in memory whose operations fail when a test says so.
struct Burning {
    store: Arc<OpenStore>,
    kv: Arc<FaultStore<Arc<OpenStore>>>,
    faults: Faults,
}

impl Burning {
    /// One with the pairs of a document.
    fn with(document: &[u8]) -> Burning {
        Burning::filled(|kv| _ = xml::load(kv, document).unwrap())
    }

    /// One with these pairs.
    fn of(pairs: &Pairs) -> Burning {
        Burning::filled(|kv| {
            pairs.iter().for_each(|(key, value)| kv.put(key, value).unwrap());
        })
    }

    fn filled(fill: impl FnOnce(&mut dyn KvWrite)) -> Burning {
        let store = Arc::new(Opening::new().write(true).open("memory:").unwrap());
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        fill(&mut *tx);
        tx.commit().unwrap();
        let kv = Arc::new(FaultStore::new(store.clone()));
        let faults = kv.faults();
        Burning { store, kv, faults }
    }

    /// Runs the program on this database.
    fn run(&self, words: &[&str]) -> Result<Answer, Failure> {
        self.run_to(words, Box::new(std::io::sink()))
    }

    /// The same, and what it printed.
    fn prints(&self, words: &[&str]) -> (Result<Answer, Failure>, String) {
        let printed = Printed::default();
        let result = self.run_to(words, Box::new(printed.clone()));
        let bytes = printed.0.lock().unwrap().clone();
        (result, String::from_utf8(bytes).unwrap())
    }

    fn run_to(&self, words: &[&str], to: Box<dyn Write + Send>) -> Result<Answer, Failure> {
        let words = ["permazen", "memory:"].iter().chain(words).map(OsString::from);
        let line = command_line::parse(&words.collect::<Vec<_>>()).unwrap();
        let args = line.args;
        let interrupt = Interrupt::deaf();
        let session = Session::over(
            Options::of(&args).unwrap(),
            self.store.clone(),
            self.kv.clone(),
            Arc::new(EncodingRegistry::new()),
            interrupt.clone(),
        );
        let mut out = Output::to(to, interrupt);
        out.choose(args.format());
        let answer = match &line.command {
            Some(command) => run_command(&**command, &session, &mut out),
            None => {
                let script = Script::read(script::sources(&args).unwrap().unwrap()).unwrap();
                script::run(&script, args.each, &session, &mut out)
            }
        };
        out.flush();
        answer
    }

    fn succeeds(&self, words: &[&str]) {
        assert_eq!(self.run(words).unwrap(), Answer::Yes, "{words:?}");
    }

    fn pairs(&self) -> Pairs {
        pairs(&self.store)
    }
}

fn pairs(store: &OpenStore) -> Pairs {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())).unwrap())
        .collect()
}

/// Where output goes that a test looks at.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A recorded file of Java, perhaps compressed.
fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name);
    let mut bytes = Vec::new();
    match std::fs::read(&path) {
        Ok(plain) => bytes = plain,
        Err(_) => {
            let file = std::fs::File::open(path.with_added_extension("gz")).unwrap();
            let mut file = flate2::read::MultiGzDecoder::new(file);
            std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        }
    }
    bytes
}

/// How the store fails.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// For good.
    Broken,
    /// Trying again helps.
    Busy,
    /// It is not known whether a commit that fails so has happened.
    Unknown {
        /// Whether it has not.
        lost: bool,
    },
}

impl Fault {
    const ALL: [Fault; 4] =
        [Fault::Broken, Fault::Busy, Fault::Unknown { lost: false }, Fault::Unknown { lost: true }];

    fn error(self) -> KvError {
        match self {
            Fault::Broken => KvError::Store { context: "disk".into(), source: WHY.into() },
            Fault::Busy => KvError::Retry(WHY.to_owned()),
            Fault::Unknown { .. } => KvError::OutcomeUnknown(WHY.to_owned()),
        }
    }
}

/// Runs a command that fails at its N-th operation, for many N or each. `new` is a database in
/// which it runs without a fault, and `check` looks at the result of each run.
fn at_each_operation(
    words: &[&str],
    faults: &[Fault],
    new: impl Fn() -> Burning,
    check: impl Fn(&Burning, Fault, Result<Answer, Failure>),
) {
    let burning = new();
    burning.faults.stop();
    let _ = burning.run(words).unwrap();
    let operations = burning.faults.operations();
    assert!(operations > 10, "{operations}");
    let step = (operations / most()).max(1);
    for &fault in faults {
        // Operations at the ends are special.
        for n in (1..=operations).filter(|n| n % step == 0 || *n == 1 || n + 2 > operations) {
            let burning = new();
            burning.faults.lose_commits(matches!(fault, Fault::Unknown { lost: true }));
            burning.faults.fail_nth(n, move || fault.error());
            let result = burning.run(words);
            assert_eq!(burning.faults.hits(), 1, "{words:?}: {fault:?} at {n}");
            burning.faults.stop();
            check(&burning, fault, result);
        }
    }
}

const MOST: u64 = 3;

/// At how many operations each kind of fault is tried, besides the first and last ones.
fn most() -> u64 {
    let most = std::env::var("PERMAZEN_CLI_FAULTS").ok();
    most.map_or(MOST, |most| most.parse().expect("a number"))
}

/// Checks that the state is the one before or the one after, and that the message is right.
fn check_whole(burning: &Burning, fault: Fault, result: &Result<Answer, Failure>, states: &States) {
    let found = burning.pairs();
    assert!(found == states.before || found == states.after, "{fault:?}: half of it is there");
    match result {
        Ok(_) => assert!(found == states.after, "{fault:?}: it says that it was done"),
        Err(failure) => {
            check_failure(fault, failure);
            if failure.exit != Exit::Unknown {
                assert!(found == states.before, "{fault:?}: it says that nothing is changed");
            }
        }
    }
}

fn check_failure(fault: Fault, failure: &Failure) {
    let message = failure.to_string();
    assert!(message.contains(WHY), "{fault:?}: {message}");
    let expected = match fault {
        Fault::Broken => Exit::Failed,
        Fault::Busy => Exit::Busy,
        Fault::Unknown { .. } => Exit::Unknown,
    };
    assert_eq!(failure.exit, expected, "{fault:?}: {message}");
    match fault {
        Fault::Broken => {}
        Fault::Busy => assert!(message.contains("try again"), "{message}"),
        Fault::Unknown { .. } => assert!(message.contains("it is not known"), "{message}"),
    }
}

struct States {
    before: Pairs,
    after: Pairs,
}

impl States {
    fn of(words: &[&str], new: impl Fn() -> Burning) -> States {
        let burning = new();
        let before = burning.pairs();
        let _ = burning.run(words).unwrap();
        let after = burning.pairs();
        assert!(before != after);
        States { before, after }
    }
}

fn reference() -> Burning {
    Burning::with(&data("reference/R.kv.xml"))
}

/// Runs a command at each operation; it is whole or absent.
fn whole_or_absent(words: &[&str], new: fn() -> Burning) {
    let states = States::of(words, new);
    at_each_operation(words, &Fault::ALL, new, |burning, fault, result| {
        check_whole(burning, fault, &result, &states);
    });
}

#[test]
fn what_changes_the_database_is_whole_or_absent() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (pairs, objects, json) = (path("pairs.xml"), path("objects.xml"), path("pets.jsonl"));
    let music = Burning::with(&data("databases/music/kv.xml"));
    music.succeeds(&["kv", "dump", &pairs, "00", "0100"]);
    music.succeeds(&["save", "--storage-ids", &objects, "find Artist limit 3"]);
    let object = r#"{"type":"object","id":"2000000000000007","object_type":"Pet","schema":1,"fields":{"name":"Tom"}}"#;
    std::fs::write(&json, object).unwrap();
    let exported = path("exported.jsonl");
    std::fs::write(&exported, music.prints(&["--json", "export Artist limit 2"]).1).unwrap();
    let empty = || Burning::with(b"<entries/>");
    whole_or_absent(&["--write", "load", &objects], empty);
    whole_or_absent(&["--write", "load", &json], reference);
    // The schemas in it ask for storage IDs, and get them, or the load fails.
    whole_or_absent(&["--write", "load", "--allow-unresolved", &exported], empty);
    whole_or_absent(&["--write", "load", "-R", &json], reference);
    whole_or_absent(&["--write", "kv", "load", &pairs], empty);
    whole_or_absent(&["--write", "kv", "load", "-R", &pairs], reference);
    whole_or_absent(&["--write", "kv", "remove", "--prefix", "10"], reference);
    whole_or_absent(&["--write", "demo"], empty);
    whole_or_absent(&["--write", "set all Person to age += 1, tags add \"y\""], reference);
    whole_or_absent(&["--write", "-c", "delete all Pet; delete all Person"], reference);
    let script = format!("set all Person to age = 1; load '{json}'");
    whole_or_absent(&["--write", "-c", &script], reference);
}

/// Where the copies of a test are.
struct Target {
    dir: TempDir,
    kind: &'static str,
}

impl Target {
    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join(self.kind)
    }

    fn url(&self) -> String {
        format!("{}:{}", self.kind, self.path().display())
    }

    fn remove(&self) {
        let _ = std::fs::remove_dir_all(self.path());
        let _ = std::fs::remove_file(self.path());
    }

    fn is_there(&self) -> bool {
        self.path().is_file() || self.path().join("data.mdb").exists()
    }

    fn pairs(&self) -> Pairs {
        pairs(&permazen::open(self.url()).unwrap())
    }
}

#[test]
fn a_copy_is_whole_or_absent() {
    let all = reference().pairs();
    let other = Burning::with(&data("databases/evolution/kv.xml"));
    let old = other.pairs();
    for kind in ["lmdb", "sqlite", "xml"] {
        if cfg!(not(feature = "sqlite")) && kind == "sqlite" {
            continue;
        }
        let target = Target { dir: TempDir::new().unwrap(), kind };
        let words = ["copy", &target.url(), "--force"];
        // Each makes a store. Nothing is committed where the faults are.
        let faults = if most() > MOST { &Fault::ALL[..2] } else { &Fault::ALL[..1] };
        let new = || {
            target.remove();
            reference()
        };
        at_each_operation(&words, faults, new, |_, fault, result| match &result {
            Ok(_) => assert!(target.pairs() == all, "{kind}: {fault:?}"),
            Err(failure) => {
                check_failure(fault, failure);
                assert!(!target.is_there(), "{kind}: {fault:?}: a part of the copy is there");
            }
        });
        // In the place of another one.
        let new = || {
            target.remove();
            other.succeeds(&["copy", &target.url()]);
            reference()
        };
        at_each_operation(&words, faults, new, |_, fault, result| match &result {
            Ok(_) => assert!(target.pairs() == all, "{kind}: {fault:?}"),
            Err(failure) => {
                check_failure(fault, failure);
                assert!(target.pairs() == old, "{kind}: {fault:?}: it is not the old one any more");
            }
        });
    }
}

/// Two schemas, and objects for more than two batches in the first one.
fn many() -> Burning {
    let burning = Burning::with(b"<entries/>");
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    let file = file.to_str().unwrap();
    for encoding in ["int", "long"] {
        let schema = format!(
            r#"<Schema><ObjectType name="P" storageId="16"><SimpleField name="n"
               encoding="urn:fdc:permazen.io:2020:{encoding}"/></ObjectType></Schema>"#
        );
        std::fs::write(file, schema).unwrap();
        burning.succeeds(&["--write", "schema", "add", file]);
    }
    let objects = (1..=2500_u32).map(|n| {
        format!(
            r#"{{"type":"object","id":"10{n:014x}","object_type":"P","schema":1,"fields":{{"n":{n}}}}}"#
        ) + "\n"
    });
    std::fs::write(file, objects.collect::<String>()).unwrap();
    burning.succeeds(&["--write", "load", file]);
    burning
}

#[test]
fn a_migration_moves_whole_batches_and_says_so() {
    let words = ["--write", "migrate P to 2"];
    let all = many().pairs();
    let new = || Burning::of(&all);
    at_each_operation(&words, &Fault::ALL, new, |burning, fault, result| {
        let pairs = burning.pairs();
        let moved = pairs.iter().filter(|(key, _)| key.starts_with(&[0, 0x80, 2])).count();
        let left = pairs.iter().filter(|(key, _)| key.starts_with(&[0, 0x80, 1])).count();
        assert_eq!(moved + left, 2500);
        match result {
            Ok(_) => assert_eq!(left, 0),
            Err(failure) => {
                check_failure(fault, &failure);
                assert!([0, 1000, 2000, 2500].contains(&moved), "{moved}");
                let message = failure.to_string();
                let known = message.rsplit("; ").next().and_then(|said| {
                    let end =
                        " object(s) are moved, and the same statement continues with the others";
                    said.strip_suffix(end)?.parse().ok()
                });
                let known = known.unwrap_or(0);
                // The number of objects in the message was committed. If the outcome is unknown, it
                // can be one batch more.
                let unsure = if failure.exit == Exit::Unknown { 1000 } else { 0 };
                assert!(
                    (moved - unsure.min(moved)..=moved).contains(&known),
                    "{known} {moved}: {message}"
                );
                // The same statement continues.
                burning.succeeds(&words);
                assert!(burning.pairs().iter().all(|(key, _)| !key.starts_with(&[0, 0x80, 1])));
            }
        }
    });
}

fn conflict() -> KvError {
    KvError::Conflict(Box::new(permazen::kv::Conflict::ReadWrite(b"k".to_vec().into())))
}

/// A script with changes prints when it is committed: after a conflict it runs again, and its
/// output is shown once.
#[test]
fn a_script_in_conflict_runs_again_and_prints_once() {
    for (script, printed) in [
        ("set all Person to age = 1", "3 objects set\n"),
        ("count Pet; set all Person to age = 1; echo a", "count\n-----\n    1\n3 objects set\na\n"),
    ] {
        for options in [&["--write"][..], &["--write", "--each"]] {
            let words = [options, &["-c", script]].concat();
            let states = States::of(&words, reference);
            let burning = reference();
            burning.faults.stop();
            burning.succeeds(&words);
            let last = burning.faults.operations();
            // At operations from the first change to the commit.
            let step = (last / (4 * most())).max(1);
            for n in (2..=last).filter(|n| n % step == 0 || *n == 2 || n + 2 > last) {
                let burning = reference();
                burning.faults.fail_nth(n, conflict);
                let (result, out) = burning.prints(&words);
                assert_eq!(burning.faults.hits(), 1);
                match result {
                    Ok(answer) => {
                        assert_eq!((answer, out.as_str()), (Answer::Yes, printed), "{n} of {last}");
                        assert!(burning.pairs() == states.after);
                    }
                    // A statement that only reads prints at once.
                    Err(failure) => {
                        assert_eq!((options.len(), failure.exit), (2, Exit::Busy), "{n}");
                        assert!(!out.contains("set"), "{out}");
                    }
                }
            }
            // If each attempt fails, the shell gives up.
            let burning = reference();
            burning.faults.fail_from(1, conflict);
            let words = [&words[..], &["--wait", "50ms"]].concat();
            assert_eq!(burning.run(&words).unwrap_err().exit, Exit::Busy);
        }
    }
}

/// No message says that something is done if its commit fails.
#[test]
fn what_is_not_committed_is_not_printed() {
    let scripts = ["create Pet", "delete all Person", "set all Person to age = 1; echo a", "demo"];
    for script in scripts {
        for format in [&[][..], &["--json"], &["--raw"]] {
            let document: &[u8] =
                if script == "demo" { b"<entries/>" } else { &data("reference/R.kv.xml") };
            let words = [&["--write"], format, &["-c", script]].concat();
            let done = Burning::with(document);
            let (result, printed) = done.prints(&words);
            assert_eq!(result.unwrap(), Answer::Yes);
            assert_eq!(printed.is_empty(), format == ["--raw"] && script.starts_with("delete"));
            let last = done.faults.operations();
            for fault in Fault::ALL {
                let burning = Burning::with(document);
                burning.faults.lose_commits(matches!(fault, Fault::Unknown { lost: true }));
                burning.faults.fail_from(last, move || fault.error());
                let words = [&words[..], &["--wait", "20ms"]].concat();
                let (result, printed) = burning.prints(&words);
                assert_eq!(printed, "", "{script}: {fault:?}");
                check_failure(fault, &result.unwrap_err());
            }
        }
    }
}

/// Beyond 1 MiB, it prints before the commit, and is not run again.
#[test]
fn what_has_printed_much_is_not_run_again() {
    for (lines, is_held) in [(12, true), (150, false)] {
        let word = "x".repeat(8000);
        let script =
            format!("set all Person to age = 1; {}", format!("echo {word}\n").repeat(lines));
        let words = ["--write", "-c", &script];
        let burning = reference();
        burning.succeeds(&words);
        let last = burning.faults.operations();
        let burning = reference();
        burning.faults.fail_nth(last, conflict);
        let (result, out) = burning.prints(&words);
        let all = "3 objects set\n".len() + lines * 8001;
        if is_held {
            assert_eq!((result.unwrap(), out.len()), (Answer::Yes, all));
        } else {
            let failure = result.unwrap_err();
            assert!(failure.to_string().ends_with("; nothing is changed"), "{failure}");
            assert_eq!((failure.exit, out.len()), (Exit::Busy, all));
        }
    }
}

/// Commands that change pairs are run again too.
#[test]
fn a_command_in_conflict_runs_again() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("pairs.xml").to_str().unwrap().to_owned();
    reference().succeeds(&["kv", "dump", &file, "00", "0100"]);
    let objects = dir.path().join("objects.xml").to_str().unwrap().to_owned();
    reference().succeeds(&["save", "--storage-ids", &objects]);
    for command in [
        &["kv", "put", "ff00", "01"][..],
        &["kv", "remove", "--prefix", "10"],
        &["kv", "load", &file],
        &["load", &objects],
        &["load", "-R", &objects],
    ] {
        let words = [&["--write"], command].concat();
        let burning = reference();
        let (_, printed) = burning.prints(&words);
        let (after, last) = (burning.pairs(), burning.faults.operations());
        let burning = reference();
        burning.faults.fail_nth(last, conflict);
        let (result, out) = burning.prints(&words);
        assert_eq!((result.unwrap(), out), (Answer::Yes, printed), "{command:?}");
        assert_eq!(burning.faults.hits(), 1);
        assert!(burning.pairs() == after);
    }
}
