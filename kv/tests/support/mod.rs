//! Code that several test programs of this crate need.
#![allow(dead_code, reason = "not each test program uses all of it")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

pub(crate) mod conflict;
#[cfg(all(feature = "lmdb", feature = "sqlite", feature = "testsuite"))]
pub(crate) mod each_store;
#[cfg(unix)]
pub(crate) mod in_a_child;
pub(crate) mod told;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, TxOptions};

/// All pairs of a store.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Everything in `store`, in order.
pub(crate) fn dump(store: &dyn KvRead) -> Pairs {
    let scan = store.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.unwrap()).map(|(k, v)| (k.into_owned(), v.into_owned())).collect()
}

/// A transaction that writes.
pub(crate) fn writing(store: &dyn KvDatabase) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::writing()).unwrap()
}

/// A transaction that reads.
pub(crate) fn reading(store: &dyn KvDatabase) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::reading()).unwrap()
}

/// Commits a pair.
pub(crate) fn put(store: &dyn KvDatabase, key: &[u8], value: &[u8]) {
    let mut tx = writing(store);
    tx.put(key, value).unwrap();
    tx.commit().unwrap();
}

/// The store of that name. Creates it if it is missing.
pub(crate) fn open_or_create(store: &str, path: &Path) -> Box<dyn KvDatabase> {
    match store {
        #[cfg(feature = "lmdb")]
        "lmdb" => Box::new(permazen_kv::lmdb::LmdbStore::open_or_create(path).unwrap()),
        #[cfg(feature = "sqlite")]
        "sqlite" => Box::new(permazen_kv::sqlite::SqliteStore::open_or_create(path).unwrap()),
        other => panic!("no store {other}"),
    }
}

/// The message of an error. It must name `path` and have one line.
pub(crate) fn message<T>(result: Result<T, KvError>, path: &Path) -> String {
    let text = result.err().unwrap().to_string();
    assert!(text.contains(path.to_str().unwrap()), "does not name the path: {text}");
    assert!(!text.contains('\n'), "more than a line: {text}");
    text
}

/// Runs a test of this program in a process of its own, which has the role `role` on `path`, for
/// steps that only another process can make.
///
/// The path of the test begins with the name of the program, as `module_path!` has it. The test
/// asks for its [`role`].
pub(crate) fn spawn(test: &str, role: &str, path: &Path) -> (Child, BufReader<ChildStdout>) {
    start(Command::new(std::env::current_exe().unwrap()), test, role, path)
}

/// The same under a limit to the size of files, in units of 1024 bytes.
pub(crate) fn spawn_limited(
    test: &str,
    role: &str,
    path: &Path,
    kib: u32,
) -> (Child, BufReader<ChildStdout>) {
    let mut shell = Command::new("bash");
    // Writing too much must be an error, and must not kill the process.
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"")]);
    shell.arg(std::env::current_exe().unwrap());
    start(shell, test, role, path)
}

fn start(
    mut command: Command,
    test: &str,
    role: &str,
    path: &Path,
) -> (Child, BufReader<ChildStdout>) {
    play(&mut command, test, role, path);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // A name that no test has is no error of the program: it runs nothing, and ends.
    wait_for(&mut out, RUNS);
    (child, out)
}

/// The output of a program that has found the test which it shall run.
pub(crate) const RUNS: &str = "running 1 test";

/// Lets the program that a command starts run this test in this role.
pub(crate) fn play(command: &mut Command, test: &str, role: &str, path: &Path) {
    let (_, test) = test.split_once("::").unwrap();
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("PERMAZEN_CHILD_ROLE", role)
        .env("PERMAZEN_CHILD_PATH", path);
}

/// The role of this process, and the path for it.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    let role = std::env::var("PERMAZEN_CHILD_ROLE").ok()?;
    Some((role, std::env::var_os("PERMAZEN_CHILD_PATH")?.into()))
}

/// Reads the output of a child until a line begins with `word`. Returns the rest of that line.
pub(crate) fn wait_for(out: &mut BufReader<ChildStdout>, word: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "child ended without {word:?}: {seen}");
        // The test harness writes its own words before the first line of a test.
        if let Some(at) = line.find(word) {
            return line[at + word.len()..].trim().to_owned();
        }
        seen.push_str(&line);
    }
}

/// The role of the process that [`seen_by_another_process`] starts: it prints how many pairs it
/// sees.
pub(crate) fn count_pairs(open: impl FnOnce(&Path) -> Box<dyn KvDatabase>) {
    let Some((role, path)) = role() else { return };
    assert_eq!(role, "count");
    println!("sees {}", dump(&*reading(&*open(&path))).len());
}

/// How many pairs a process sees that opens the store now.
pub(crate) fn seen_by_another_process(test: &str, path: &Path) -> usize {
    let (mut child, mut out) = spawn(test, "count", path);
    let seen = wait_for(&mut out, "sees").parse().unwrap();
    assert!(child.wait().unwrap().success());
    seen
}

/// The text of an error about a file, and the action that causes it: on a store, with a backup.
pub(crate) type Restore = (&'static str, fn(&Path, &Path));
