//! The program as a function of another program.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use permazen::encoding::{Encodable, EncodingId, EncodingRegistry, Reader, Value};
use permazen::kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen::open::Opening;
use permazen_jsck::program::{BUSY, CheckArgs, Committed, FAILED, FINDINGS, Host, Subject, check};

use crate::support;

/// A program that embeds the check.
#[derive(Default)]
struct Shell {
    stop: Arc<AtomicBool>,
    answer: Option<bool>,
    asked: RefCell<Vec<String>>,
    looked_at: Cell<bool>,
    commits: Cell<u32>,
    /// Whether it was asked to stop just before the commit.
    refuses: bool,
    /// The work of another program just before the commit.
    meanwhile: Option<Box<dyn Fn()>>,
    encodings: Arc<EncodingRegistry>,
}

impl Host for Shell {
    fn name(&self) -> &str {
        "shell check"
    }

    fn shows_colours(&self) -> bool {
        false
    }

    fn encodings(&self) -> Arc<EncodingRegistry> {
        Arc::clone(&self.encodings)
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn stop_is_checked(&self) {
        self.looked_at.set(true);
    }

    fn can_ask(&self) -> bool {
        self.answer.is_some()
    }

    fn confirm(&self, question: &str) -> io::Result<bool> {
        self.asked.borrow_mut().push(question.to_owned());
        Ok(self.answer.unwrap())
    }

    fn commit(&self, commit: &mut dyn FnMut() -> Committed) -> Committed {
        if self.refuses {
            return Ok(());
        }
        self.commits.set(self.commits.get() + 1);
        if let Some(meanwhile) = &self.meanwhile {
            meanwhile();
        }
        commit()
    }
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    check: CheckArgs,
}

/// Runs the check. Returns the exit code and the report.
fn run(host: &Shell, subject: Subject<'_>, args: &[&str]) -> (u8, String) {
    let args = Command::parse_from([&["check"], args].concat());
    let mut out = Vec::new();
    let code = check(&args.check, subject, host, &mut out);
    (code, String::from_utf8(out).unwrap())
}

const DAMAGE: [(&str, Option<&str>); 1] = [("11416e6e001000000000000001", None)];

#[test]
fn a_host_prints_what_the_program_prints() {
    let (_dir, path) = support::damaged(&DAMAGE);
    let host = Shell::default();
    for args in [&[][..], &["--json"], &["--verbose"]] {
        let (code, report) = run(&host, Subject::Named(OsStr::new(&path)), args);
        let of_program = support::stdout(&mut support::jsck(&[args, &[&path]].concat()), 1);
        assert_eq!(code, FINDINGS);
        let without_time = |text: &str| {
            let digits = |word: &str| word.replace(|c: char| c.is_ascii_digit(), "");
            text.split_inclusive(' ').map(digits).collect::<String>()
        };
        assert_eq!(without_time(&report), without_time(&of_program));
    }
    assert!(host.looked_at.get() && host.commits.get() == 0);
}

#[test]
fn an_open_store_is_checked_and_repaired_after_a_question() {
    let (dir, path) = support::damaged(&DAMAGE);
    let store = Opening::new().write(true).open(&path).unwrap();
    let subject = Subject::Open(&store);
    // There is no user to ask.
    let no_user = Shell::default();
    assert_eq!(run(&no_user, subject, &["--repair"]), (FAILED, String::new()));
    let no = Shell { answer: Some(false), ..Shell::default() };
    let (code, report) = run(&no, subject, &["--repair"]);
    assert!(code == FINDINGS && report.contains("Nothing was changed"), "{report}");
    assert_eq!(
        (&no.asked.borrow()[..], no.commits.get()),
        (&["Make 1 changes? [y/N] ".to_owned()][..], 0)
    );
    let yes = Shell { answer: Some(true), ..Shell::default() };
    let (code, report) = run(&yes, subject, &["--repair"]);
    assert!(code == FINDINGS && report.contains("Repaired: 1 changes"), "{report}");
    assert_eq!(yes.commits.get(), 1);
    assert_eq!(run(&yes, subject, &[]).0, 0);
    // The undo file lies beside the store, and is applied to it.
    let undo = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let undo: Vec<_> = undo.filter(|file| file.to_str().unwrap().contains(".undo-")).collect();
    assert_eq!(undo.len(), 1);
    let (code, report) = run(&yes, subject, &["--apply-undo", undo[0].to_str().unwrap()]);
    assert!(code == 0 && report.contains("1 changes undone"), "{report}");
    assert_eq!(yes.commits.get(), 2);
    assert_eq!(run(&yes, subject, &[]).0, FINDINGS);
}

/// In such a store, others can write although one has the right to write.
#[test]
fn a_repair_does_not_overwrite_what_another_program_has_written_meanwhile() {
    let dir = tempfile::TempDir::new().unwrap();
    let store = Opening::new().write(true).open("memory:").unwrap().optimistic();
    support::fill(&store, |kv| support::change(kv, &[support::STALE_ENTRY]));
    let key = support::bytes(support::STALE_ENTRY.0);
    let (other, written) = (store.clone(), key.clone());
    let meanwhile = move || {
        let mut kv = other.begin(&TxOptions::writing()).unwrap();
        kv.put(&written, b"by another").unwrap();
        kv.commit().unwrap();
    };
    let host =
        Shell { answer: Some(true), meanwhile: Some(Box::new(meanwhile)), ..Shell::default() };
    let undo = dir.path().join("undo");
    let args = ["--repair", "--undo-file", undo.to_str().unwrap()];
    let (code, report) = run(&host, Subject::Open(&store), &args);
    assert!(code == BUSY && !report.contains("Repaired"), "{code} {report}");
    assert_eq!((host.asked.borrow().len(), host.commits.get()), (1, 1));
    let kv = store.begin(&TxOptions::reading()).unwrap();
    assert_eq!(kv.get(&key).unwrap().as_deref(), Some(&b"by another"[..]));
    // There is nothing to undo.
    assert!(!undo.exists());
}

#[test]
fn an_open_xml_dump_is_opened_again_and_a_store_in_memory_is_not() {
    let dir = tempfile::TempDir::new().unwrap();
    let dump = dir.path().join("dump.xml");
    std::fs::copy(support::data("reference/R.kv.xml"), &dump).unwrap();
    let host = Shell::default();
    let store = permazen::open(&dump).unwrap();
    assert_eq!(run(&host, Subject::Open(&store), &[]).0, 0);
    let text = std::fs::read_to_string(&dump).unwrap();
    let damaged = text.replace("11416e6e001000000000000001", "11416e6e001000000000000002");
    assert_ne!(text, damaged);
    std::fs::write(&dump, damaged).unwrap();
    assert_eq!(run(&host, Subject::Open(&store), &["--repair", "--yes"]).0, FINDINGS);
    assert_eq!(run(&host, Subject::Named(dump.as_os_str()), &[]).0, 0);
    let memory = permazen::open("memory:").unwrap();
    let mut tx = memory.begin(&TxOptions::writing()).unwrap();
    tx.put(permazen::__internal::layout::FORMAT_VERSION_KEY, &[1]).unwrap();
    tx.commit().unwrap();
    let (code, report) = run(&host, Subject::Open(&memory), &[]);
    assert!(
        code == 0 && report.starts_with("Checking memory: (store in memory, 1 pairs)"),
        "{report}"
    );
}

/// The encodings that the host knows count.
#[test]
fn the_encodings_are_those_of_the_host() {
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Letter(u8);
    impl Encodable for Letter {
        const PREFIX_00: bool = false;
        const PREFIX_FF: bool = false;
        const SORTS_NATURALLY: bool = true;
        fn encoding_id() -> EncodingId {
            EncodingId::new("urn:fdc:example.com:letter").unwrap()
        }
        fn write_to(&self, out: &mut Vec<u8>) -> Result<(), permazen::encoding::EncodingError> {
            out.push(self.0);
            Ok(())
        }
        fn read_from(reader: &mut Reader<'_>) -> Result<Self, permazen::encoding::EncodingError> {
            match reader.byte()? {
                letter @ b'a'..=b'z' => Ok(Letter(letter)),
                _ => Err(permazen::encoding::EncodingError::Invalid("no letter".into())),
            }
        }
        fn to_text(&self) -> String {
            char::from(self.0).to_string()
        }
        fn from_text(text: &str) -> Result<Self, permazen::encoding::EncodingError> {
            Ok(Letter(text.as_bytes()[0]))
        }
        fn into_value(self) -> Value {
            Value::Byte(self.0 as i8)
        }
        fn borrow_value(_: &Value) -> Option<std::borrow::Cow<'_, Self>> {
            None
        }
    }
    let store = Opening::new().write(true).open("memory:").unwrap();
    let model = r#"<Schema><ObjectType name="T"><SimpleField name="letter"
        encoding="urn:fdc:example.com:letter"/></ObjectType></Schema>"#;
    let model = permazen::schema::SchemaModel::from_xml(model.as_bytes()).unwrap();
    let registry = Arc::new(EncodingRegistry::new());
    registry.add::<Letter>().unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let state = permazen::__internal::schema::DatabaseState::new(Arc::clone(&registry));
    let config = permazen::__internal::schema::SchemaConfig::new(model).unwrap();
    let opened = permazen::__internal::schema::open_schema(&mut *tx, &state, &config).unwrap();
    let object_type = opened.schema.object_type("T").unwrap();
    let id = permazen::ObjId::min(object_type.storage_id);
    let index = opened.schema.index;
    tx.put(id.as_bytes(), &permazen::__internal::layout::object_info(index)).unwrap();
    tx.put(&permazen::__internal::layout::object_schema_key(index, id), &[]).unwrap();
    let field = object_type.field("letter").unwrap().storage_id;
    tx.put(&permazen::__internal::layout::content_key(id, field, &[]), b"?").unwrap();
    tx.commit().unwrap();
    // Without the encoding, the value cannot be judged.
    let (_, report) = run(&Shell::default(), Subject::Open(&store), &[]);
    assert!(!report.contains("undecodable-value"), "{report}");
    let knowing = Shell { encodings: registry, ..Shell::default() };
    let (code, report) = run(&knowing, Subject::Open(&store), &[]);
    assert!(code == FINDINGS && report.contains("undecodable-value"), "{report}");
}

#[test]
fn a_check_stops_when_the_host_says_so() {
    let (_dir, path) = support::damaged(&[]);
    let host = Shell::default();
    host.stop.store(true, Ordering::Relaxed);
    let (code, report) = run(&host, Subject::Named(OsStr::new(&path)), &[]);
    assert!(code == FAILED && report.contains("not everything was checked"), "{report}");
}

/// The pairs of a store that was opened again.
fn pairs(path: &str) -> Vec<u8> {
    let store = Opening::new().open(path).unwrap();
    let kv = store.begin(&TxOptions::reading()).unwrap();
    let mut pairs = Vec::new();
    let style = permazen::kv::xml::Style::Plain;
    permazen::kv::xml::dump(&*kv, permazen::kv::KeySpan::FULL, style, &mut pairs).unwrap();
    pairs
}

#[test]
fn what_was_not_committed_is_not_called_repaired_or_undone() {
    let (dir, path) = support::damaged(&DAMAGE);
    let subject = Subject::Named(OsStr::new(&path));
    let undo = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let damaged = pairs(&path);
    let refuses = || Shell { refuses: true, ..Shell::default() };
    let repair = |host: &Shell, file: &str| {
        run(host, subject, &["--repair", "--yes", "--undo-file", &undo(file)])
    };
    let (code, report) = repair(&refuses(), "first");
    assert!(code == FAILED && !report.contains("Repaired"), "{report}");
    assert_eq!(pairs(&path), damaged);
    assert_eq!(repair(&Shell::default(), "second").0, FINDINGS);
    let repaired = pairs(&path);
    let args = ["--apply-undo", &undo("second")];
    assert_eq!(run(&refuses(), subject, &args), (FAILED, String::new()));
    assert_eq!(pairs(&path), repaired);
    // So it is if the host wants to stop.
    let stopped = Shell::default();
    stopped.stop.store(true, Ordering::Relaxed);
    assert_eq!(run(&stopped, subject, &args), (FAILED, String::new()));
    assert_eq!((stopped.commits.get(), pairs(&path)), (0, repaired));
}

/// Nothing is remembered from one run to the next.
#[test]
fn a_report_that_cannot_be_written_concerns_no_later_one() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (_dir, path) = support::damaged(&DAMAGE);
    let args = Command::parse_from(["check", "--repair", "--yes"]);
    let host = Shell::default();
    let subject = Subject::Named(OsStr::new(&path));
    assert_eq!(check(&args.check, subject, &host, &mut Full), FAILED);
    assert_eq!(run(&host, subject, &[]).0, FINDINGS);
}

/// The default undo file of a URL lies beside the database.
#[test]
fn the_files_of_a_url_are_beside_its_path() {
    let (dir, path) = support::damaged(&DAMAGE);
    let host = Shell::default();
    let url = format!("lmdb:{path}");
    let (code, report) = run(&host, Subject::Named(OsStr::new(&url)), &["--repair", "--yes"]);
    assert!(code == FINDINGS && report.contains("Repaired: 1 changes"), "{report}");
    let undo = Path::new(&path).with_file_name("db.undo-").to_str().unwrap().to_owned();
    assert!(report.contains(&undo) && dir.path().exists(), "{report}");
}
