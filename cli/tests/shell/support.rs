//! Databases, and runs of the program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use permazen::object::{Database, TransactionConfig};
use permazen::object_xml::ObjectXmlReader;
use permazen::open::{OpenStore, Opening};
use permazen::schema::SchemaModel;

/// A schema with a field of every kind.
pub(crate) const SCHEMA: &str = r#"<Schema>
  <ObjectType name="Person" storageId="16">
    <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="17"/>
    <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="18"/>
    <ReferenceField name="spouse" storageId="19" inverseDelete="NULLIFY"/>
    <ReferenceField name="boss" storageId="20" inverseDelete="IGNORE" allowDeleted="true"/>
    <SetField name="tags" storageId="21"><SimpleField encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="22"/></SetField>
    <ListField name="friends" storageId="23"><ReferenceField storageId="24" inverseDelete="REMOVE"/></ListField>
    <MapField name="scores" storageId="25"><SimpleField encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="26"/>
                                           <SimpleField encoding="urn:fdc:permazen.io:2020:int" indexed="true" storageId="27"/></MapField>
    <CounterField name="visits" storageId="28"/>
    <CompositeIndex name="nameAge" storageId="31"><Field name="name"/><Field name="age"/></CompositeIndex>
  </ObjectType>
  <ObjectType name="Pet" storageId="32">
    <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="17"/>
    <SimpleField name="born" encoding="urn:fdc:permazen.io:2020:Date" storageId="33"/>
  </ObjectType>
</Schema>"#;

const OBJECTS: &str = r#"
  <Person id="1000000000000001">
    <name>Ann</name><age>40</age><spouse>1000000000000002</spouse><boss>1000000000000003</boss>
    <tags><element>x</element><element>y</element></tags>
    <friends><element>1000000000000002</element><element>1000000000000003</element><element>1000000000000002</element></friends>
    <scores><entry><key>a</key><value>1</value></entry><entry><key>b</key><value>-1</value></entry></scores>
    <visits>7</visits>
  </Person>
  <Person id="1000000000000002"><name>Bob</name></Person>
  <Person id="1000000000000003"/>
  <Pet id="2000000000000001"><name>Rex</name><born>1970-01-01T00:00:00Z</born></Pet>
"#;

/// A database that goes when it is dropped.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    config: TransactionConfig,
}

impl Fixture {
    /// An LMDB environment with three persons and a pet.
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture::with_schema(SCHEMA);
        fixture.load(OBJECTS);
        fixture
    }

    /// An LMDB environment without objects.
    pub(crate) fn with_schema(schema: &str) -> Fixture {
        let model = SchemaModel::from_xml(schema.as_bytes()).unwrap();
        let config = TransactionConfig::new(model).unwrap();
        let fixture = Fixture { folder: tempfile::tempdir().unwrap(), config };
        fixture.load("");
        fixture
    }

    /// Adds objects from XML.
    pub(crate) fn load(&self, objects: &str) {
        let database = Database::new(Arc::new(self.open()));
        let tx = database.begin(&self.config).unwrap();
        let document = format!("<database><schemas/><objects>{objects}</objects></database>");
        ObjectXmlReader::new().read(&tx, document.as_bytes()).unwrap();
        tx.commit().unwrap();
    }

    /// The store itself.
    pub(crate) fn open(&self) -> OpenStore {
        let name = format!("lmdb:{}", self.path().display());
        Opening::new().create(true).open(name).unwrap()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    /// A file beside it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with the database as the first argument.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        program(&self.path(), arguments)
    }

    /// Runs it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Runs it with a script on standard input.
    pub(crate) fn script(&self, arguments: &[&str], script: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(script).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }
}

/// The program, without a terminal and without the user's settings.
pub(crate) fn program(database: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("permazen"));
    command.arg(database).args(arguments).stdin(Stdio::null());
    command.env_remove("PAGER").env_remove("LESS");
    command
}

/// The output of the program, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        Ran::from(command.output().unwrap())
    }

    /// All that it printed.
    pub(crate) fn whole(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Its output, if it succeeded and printed nothing on standard error.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Its text on standard error, if it failed with this code and printed nothing on standard
    /// output.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self.err
    }
}

/// The output, without the lines at the beginning that say that it waits.
impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let mut ran = Ran::whole(output);
        ran.err = without_waits(&ran.err).to_owned();
        ran
    }
}

/// The text after the lines at the beginning that say what the program waits for. On a busy machine
/// it takes long to open any store.
fn without_waits(mut text: &str) -> &str {
    while let Some(rest) = without_a_wait(text) {
        text = rest;
    }
    text
}

/// The text after the first line, if that line says what the program waits for.
pub(crate) fn without_a_wait(err: &str) -> Option<&str> {
    let (first, rest) = err.split_once('\n')?;
    let text = match first.strip_prefix("permazen: ") {
        Some(text) => text,
        None => first.strip_prefix(r#"{"type":"note","message":""#)?.strip_suffix("\"}")?,
    };
    let waits = ["waiting for the server", "waiting for other programs that use the database"];
    waits.contains(&text).then_some(rest)
}

/// Says that a test is left out because there is no program `script`. Where everything is tested,
/// it must be there.
pub(crate) fn without_terminal() {
    assert!(std::env::var_os("CI").is_none(), "there is no program `script` to make a terminal");
    println!("skipped: there is no program `script` to make a terminal");
}

/// Runs a program on a terminal, which `script` makes: returns the output, and the exit code.
/// `None` if that program is not there.
pub(crate) fn on_terminal(command: &Command) -> Option<Ran> {
    let quoted =
        |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line: Vec<_> = words.map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &format!("exec {}", line.join(" ")), "/dev/null"]).stdin(Stdio::null());
    script.env("SHELL", "/bin/sh").env("PAGER", "cat");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => &mut script,
        };
    }
    let output = match script.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            without_terminal();
            return None;
        }
        output => output.unwrap(),
    };
    // The terminal moves to the beginning of each line.
    let shown = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    let out = without_waits(&shown).to_owned();
    Some(Ran { code: output.status.code().unwrap_or(-1), out, err: String::new() })
}
