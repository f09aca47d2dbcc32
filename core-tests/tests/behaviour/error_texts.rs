//! The text of an error has those of its causes, and a chain of errors shows each text once.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use permazen::Error;
use permazen::kv::{ErrorFamily, KvError, xml::XmlError};
use permazen::object;
use permazen::object_xml::ObjectXmlError;
use permazen::open::OpenError;
use permazen::schema::SchemaError;
use permazen::schema_file::SchemaFileError;

/// An error of an application, with a cause of its own.
#[derive(Debug)]
struct Own(io::Error);

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mail was not sent")
    }
}

impl StdError for Own {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

fn disk() -> io::Error {
    io::Error::other("the disk is gone")
}

fn own() -> Box<dyn StdError + Send + Sync> {
    Box::new(Own(disk()))
}

fn store() -> KvError {
    KvError::Store { context: "cannot commit".into(), source: own() }
}

/// An error and its sources, as chains are printed.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let errors = std::iter::successors(Some(error), |error| (*error).source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Each cause is shown exactly once, with all that it says.
fn is_told_once(error: &(dyn StdError + 'static), causes: &[&str]) {
    let shown = chain(error);
    for cause in causes {
        assert_eq!(shown.matches(cause).count(), 1, "{cause:?} in {shown:?}");
    }
}

#[test]
fn no_chain_repeats_a_text() {
    let all = ["the mail was not sent", "the disk is gone"];
    let in_store = ["cannot commit", all[0], all[1]];
    let errors: Vec<(Box<dyn StdError>, &[&str])> = vec![
        (Box::new(store()), &in_store),
        (Box::new(KvError::Other { family: ErrorFamily::Failure, source: own() }), &all),
        (Box::new(XmlError::Store(store())), &in_store),
        (Box::new(XmlError::from(disk())), &all[1..]),
        (Box::new(SchemaError::from(store())), &in_store),
        (Box::new(object::Error::from(store())), &in_store),
        (Box::new(object::Error::listener(own())), &all),
        (Box::new(object::Error::MoveRefused(own())), &all),
        (Box::new(object::Error::RulesBroken(own())), &all),
        (Box::new(object::Error::Hook(own())), &all),
        (Box::new(object::Error::TemporaryFile(disk())), &all[1..]),
        (Box::new(object::Error::Random(disk())), &all[1..]),
        (Box::new(Error::from(store())), &in_store),
        (Box::new(Error::other(own())), &all),
        (Box::new(Error::Convert { field: "f".into(), source: own() }), &all),
        (Box::new(ObjectXmlError::from(disk())), &all[1..]),
        (Box::new(OpenError::Store(store())), &in_store),
        (Box::new(SchemaFileError::Io { path: "schema.xml".into(), source: disk() }), &all[1..]),
    ];
    for (error, causes) in &errors {
        is_told_once(&**error, causes);
    }
}
