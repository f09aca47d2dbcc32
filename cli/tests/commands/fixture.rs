//! Databases in a directory of their own, and the program run on them.

use std::io::Read;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions, xml};
use permazen::open::Opening;
use serde_json::Value;
use tempfile::TempDir;

use crate::json_schema;

/// A recorded file, perhaps compressed.
pub(crate) fn data(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(file);
    if let Ok(bytes) = std::fs::read(&path) {
        return bytes;
    }
    let compressed = std::fs::File::open(path.with_added_extension("gz")).expect("recorded data");
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(compressed).read_to_end(&mut bytes).expect("gzip");
    bytes
}

/// A database, and room for files beside it.
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) db: String,
}

impl Fixture {
    /// The small reference database as an LMDB environment.
    pub(crate) fn reference() -> Fixture {
        Fixture::of(&data("reference/R.kv.xml"))
    }

    /// A recorded database as an LMDB environment.
    pub(crate) fn recorded(name: &str) -> Fixture {
        Fixture::of(&data(&format!("databases/{name}/kv.xml")))
    }

    /// An LMDB environment with the pairs of a document.
    pub(crate) fn of(pairs: &[u8]) -> Fixture {
        Fixture::with(|kv| {
            xml::load(kv, pairs).expect("pairs");
        })
    }

    /// An LMDB environment with the pairs that `fill` puts into it.
    pub(crate) fn with(fill: impl FnOnce(&mut dyn KvWrite)) -> Fixture {
        let dir = TempDir::new().expect("a directory");
        let db = dir.path().join("db");
        let store = LmdbStore::open_or_create(&db).expect("open");
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        fill(&mut *kv);
        kv.commit().expect("commit");
        let db = text(&db);
        Fixture { dir, db }
    }

    /// A path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path of a file with this content.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).expect("write");
        text(&path)
    }

    /// A path in the directory as an argument.
    pub(crate) fn name(&self, name: &str) -> String {
        text(&self.path(name))
    }

    /// The program on the database with these arguments.
    pub(crate) fn run<S: AsRef<str>>(&self, args: &[S]) -> Run {
        self.run_with(args, "")
    }

    /// The same with standard input.
    pub(crate) fn run_with<S: AsRef<str>>(&self, args: &[S], input: impl Into<Vec<u8>>) -> Run {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        run(&[&[&*self.db], &*args].concat(), input)
    }

    /// The output of the program, which must not fail.
    pub(crate) fn out<S: AsRef<str>>(&self, args: &[S]) -> String {
        self.run(args).out(0)
    }

    /// All pairs of the database.
    pub(crate) fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        pairs(&self.db)
    }
}

/// All pairs of a store.
pub(crate) fn pairs(store: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let store = Opening::new().open(store).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let scan = kv.scan(KeySpan::FULL, Direction::Forward).expect("scan");
    scan.map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())).expect("pair"))
        .collect()
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The program with these arguments.
pub(crate) fn run(args: &[&str], input: impl Into<Vec<u8>>) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_permazen"));
    command.args(args).write_stdin(input);
    let output = command.output().expect("run");
    Run { args: args.join(" "), output }
}

/// How the program ended.
pub(crate) struct Run {
    args: String,
    pub(crate) output: std::process::Output,
}

impl Run {
    fn check(&self, code: i32) {
        let stdout = String::from_utf8_lossy(&self.output.stdout);
        let stderr = String::from_utf8_lossy(&self.output.stderr);
        let args = &self.args;
        assert_eq!(self.output.status.code(), Some(code), "{args}\n{stdout}\n{stderr}");
    }

    /// Its exit code.
    pub(crate) fn code(&self) -> i32 {
        self.output.status.code().expect("an exit code")
    }

    /// Its output if it ended with this code.
    pub(crate) fn out(&self, code: i32) -> String {
        String::from_utf8(self.bytes(code)).expect("UTF-8")
    }

    /// Its output as bytes.
    pub(crate) fn bytes(&self, code: i32) -> Vec<u8> {
        self.check(code);
        self.output.stdout.clone()
    }

    /// Its lines of JSON, all of which are as the program says.
    pub(crate) fn json(&self, code: i32) -> Vec<Value> {
        let text = self.out(code);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines.iter().for_each(json_schema::check);
        lines
    }

    /// Why it failed.
    pub(crate) fn error(&self, code: i32) -> String {
        self.check(code);
        assert!(code == 1 || self.output.stdout.is_empty(), "{}", self.out(code));
        String::from_utf8(self.output.stderr.clone()).expect("UTF-8")
    }
}
