//! This program, started again to play a role on a database, and the output of such a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, Result};
use permazen::object::{Database, TransactionConfig};
use permazen::schema::SchemaRemoval;
use permazen_ledger::{MAIN, PageId, Repository};
use permazen_tests::child;

use crate::damage::Checks;
use crate::model::Model;
use crate::workload::{Workload, config};
use crate::{copies, creating, damage, disk, loads, upgrades};

/// A kind of store that survives its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Lmdb,
    Sqlite,
    /// A page of a ledger in LMDB.
    Page,
}

impl Store {
    pub(crate) fn create(self, path: &Path) -> Result<Arc<dyn KvDatabase>> {
        Ok(match self {
            Store::Lmdb => Arc::new(LmdbStore::open_or_create(path)?),
            Store::Sqlite => Arc::new(SqliteStore::open_or_create(path)?),
            Store::Page => {
                let repository = Repository::open_or_create(LmdbStore::open_or_create(path)?)?;
                let page = repository.page_or_create("objects", PageId::ROOT)?;
                Arc::new(page.database(MAIN)?)
            }
        })
    }

    /// Its name for a process that is started.
    fn name(self) -> &'static str {
        match self {
            Store::Lmdb => "lmdb",
            Store::Sqlite => "sqlite",
            Store::Page => "page",
        }
    }
}

/// The task of a process.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    pub(crate) path: PathBuf,
    pub(crate) workload: Workload,
}

const ENV: &str = "PERMAZEN_CHILD";

impl Role {
    /// Starts a process that plays this role.
    pub(crate) fn start(&self) -> Process {
        self.start_by(child::this_program())
    }

    /// Like [`start`](Role::start), with files limited to this many KiB.
    pub(crate) fn start_limited(&self, kib: u32) -> Process {
        let mut shell = Command::new("bash");
        // Writing too much must be an error, and not kill the process.
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"")]);
        self.start_with(shell)
    }

    /// Like [`start`](Role::start), with a command that starts its arguments.
    pub(crate) fn start_with(&self, mut command: Command) -> Process {
        command.arg(child::this_program().get_program());
        self.start_by(command)
    }

    fn start_by(&self, mut command: Command) -> Process {
        let Workload { seed, partition, large } = self.workload;
        let store = self.store.name();
        let mut child = command
            .args(child::arguments(module_path!(), "child"))
            .args(["--nocapture", "--test-threads=1"])
            .env(ENV, format!("{} {store} {seed} {partition} {large}", self.name))
            .env("PERMAZEN_CHILD_PATH", &self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Process { child, out, said: Vec::new() }
    }
}

/// A running process.
pub(crate) struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
    said: Vec<String>,
}

/// How a process has ended.
pub(crate) struct Ended {
    /// Its complete lines.
    pub(crate) said: Vec<String>,
    pub(crate) status: std::process::ExitStatus,
}

impl Process {
    /// Waits for a line with `word` in it.
    pub(crate) fn wait_for(&mut self, word: &str) {
        loop {
            let mut line = String::new();
            let read = self.out.read_line(&mut line).unwrap();
            assert!(read > 0, "the process ended without {word:?}: {:?}", self.said);
            let found = line.contains(word);
            self.said.push(line);
            if found {
                return;
            }
        }
    }

    /// Its next line; `None` after it has ended.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.out.read_line(&mut line).unwrap() > 0).then_some(line)
    }

    /// Kills it after a pause.
    pub(crate) fn kill(mut self, pause: Duration) -> Ended {
        let begun = Instant::now();
        while begun.elapsed() < pause {
            std::hint::spin_loop();
        }
        self.child.kill().unwrap();
        self.ended()
    }

    /// Tells a process that waits to begin.
    pub(crate) fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Ended {
        drop(self.child.stdin.take());
        self.ended()
    }

    /// Waits until it ends.
    pub(crate) fn ended(mut self) -> Ended {
        let mut rest = String::new();
        // A killed process can have written half a line, or even half a character.
        let mut bytes = Vec::new();
        self.out.read_to_end(&mut bytes).unwrap();
        rest.push_str(&String::from_utf8_lossy(&bytes));
        let status = self.child.wait().unwrap();
        let mut said = self.said;
        said.extend(rest.split_inclusive('\n').map(str::to_owned));
        said.retain(|line| line.ends_with('\n'));
        Ended { said, status }
    }
}

impl Ended {
    /// The number after the last `word` in its output; 0 if there was none.
    pub(crate) fn last(&self, word: &str) -> u64 {
        let number = |line: &String| line.trim_end().rsplit_once(word)?.1.trim().parse().ok();
        self.said.iter().rev().find_map(number).unwrap_or(0)
    }
}

/// Tells the process that started this one. The text is sent at once, so that a kill loses nothing.
pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what}").unwrap();
    out.flush().unwrap();
}

/// The entry of the processes, which plays a role.
#[test]
fn child() {
    let Ok(role) = std::env::var(ENV) else { return };
    let path = PathBuf::from(std::env::var_os("PERMAZEN_CHILD_PATH").unwrap());
    let mut words = role.split(' ');
    let name = words.next().unwrap();
    let store = words.next();
    let named = |it: &Store| Some(it.name()) == store;
    let store = [Store::Lmdb, Store::Sqlite, Store::Page].into_iter().find(named).unwrap();
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (seed, partition) = (number(), number() as u8);
    let large = words.next() == Some("true");
    let workload = Workload { seed, partition, large };
    match name {
        "commit" => {
            let stopped = stop_flag();
            let db = Database::new(store.create(&path).unwrap());
            commit_until(&db, workload, &|| stopped.load(std::sync::atomic::Ordering::Relaxed));
        }
        "copy" => copies::child(&path, workload),
        "create" => creating::child(&path, store, workload),
        "build" => creating::build(&path, store, false),
        "build-optimistic" => creating::build(&path, store, true),
        "fill" => disk::fill(&path, store),
        "fill-mounted" => disk::fill_mounted(&path, store),
        "look" => disk::look_without_writing(&path, store, false),
        "look-mounted" => disk::look_without_writing(&path, store, true),
        "load" => loads::child(&path, store),
        "read" => damage::child(&path, workload, Checks::Nothing),
        "read-verified" => damage::child(&path, workload, Checks::All),
        "read-checked" => damage::child(&path, workload, Checks::AsUsed),
        "upgrade" => upgrades::child(&path, store),
        other => panic!("no role {other}"),
    }
}

/// Waits until the process that started this one says [`go`](Process::go).
pub(crate) fn wait_for_go() {
    say("ready");
    std::io::stdin().read_exact(&mut [0]).unwrap();
}

/// Set when the process that started this one tells it to end.
pub(crate) fn stop_flag() -> Arc<std::sync::atomic::AtomicBool> {
    let flag = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let set = Arc::clone(&flag);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        set.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    flag
}

/// Makes one commit of the workload after another, and reports each.
pub(crate) fn commit_until(db: &Database, workload: Workload, enough: &dyn Fn() -> bool) {
    let configs = [config(1), config(2)];
    let mut number = last(db, workload);
    while !enough() {
        number += 1;
        let config = &configs[usize::from(workload.version(number)) - 1];
        let tx = db.begin(config).unwrap();
        workload.perform(&tx, number).unwrap();
        tx.commit().unwrap();
        say(&format!("committed {number}"));
        if workload.partition > 0 {
            // SQLite has no queue, so a process that never pauses gives others no turn.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Sees everything as it is, and records no schema.
pub(crate) fn looking() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never).read_only()
}

/// The number of the last commit of a workload.
fn last(db: &Database, workload: Workload) -> u64 {
    let tx = db.begin(&looking()).unwrap();
    Model::read(&tx, workload).unwrap().last
}

/// The objects of a workload in the database, after a check that everything in it is healthy.
pub(crate) fn inspect(kv: Arc<dyn KvDatabase>, workload: Workload, when: &str) -> Model {
    check(Arc::clone(&kv), when);
    read(kv, workload)
}

/// The objects of a workload in the database.
pub(crate) fn read(kv: Arc<dyn KvDatabase>, workload: Workload) -> Model {
    let db = Database::new(kv);
    let tx = db.begin(&looking()).unwrap();
    Model::read(&tx, workload).unwrap()
}

/// Checks that everything in the database is healthy.
pub(crate) fn check(kv: Arc<dyn KvDatabase>, when: &str) {
    match kv.verify() {
        Ok(problems) => assert!(problems.is_empty(), "{when}: {problems:?}"),
        Err(error) => assert!(error.to_string().contains("structure"), "{when}: {error}"),
    }
    let db = Database::new(kv);
    let tx = db.begin(&looking()).unwrap();
    let mut findings = Vec::new();
    let report = tx.read_pairs(|kv| {
        let options = permazen_jsck::Options::default();
        let mut sink = |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
        Ok(permazen_jsck::check(kv, &options, &mut sink).unwrap())
    });
    assert!(report.unwrap().is_clean() && findings.is_empty(), "{when}: {findings:#?}");
}
