//! `schema verify`: whether a schema is the one that a file expects, and fits older ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use permazen::__internal::escape::path_text;
use permazen::__internal::schema::Item;
use permazen::object::Transaction;
use permazen::schema::SchemaModel;
use serde_json::json;

use super::compare;
use super::named::{self, Named};
use super::show::expected_form;
use crate::commands::{Command, Context, Scope, file};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;

/// Verify that a recorded schema is the expected one, and that older ones can be recorded beside
/// it.
///
/// Schemas are equal if their IDs are, in which storage IDs do not count. The exit code is 1 if the
/// schema is another one, or an older one asks for storage IDs that this database has given to
/// something else, or a recorded schema is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The schema: its number, its ID or the first digits of that [default: the newest one]
    schema: Option<String>,
    /// An XML file with the schema that is expected
    #[arg(long, value_name = "FILE", required_unless_present_any = ["old", "actual"])]
    expected: Option<PathBuf>,
    /// A directory with older schemas: all files in it, and in directories in it, that end in .xml
    #[arg(long, value_name = "DIR")]
    old: Option<PathBuf>,
    /// First write the schema to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    actual: Option<PathBuf>,
    /// Storage IDs count too, where both schemas have one
    #[arg(long, requires = "expected")]
    storage_ids: bool,
}

impl Command for Verify {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn writes_file(&self) -> bool {
        self.actual.as_deref().is_some_and(|actual| !file::is_stream(actual))
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let schema = named::recorded_or_newest(transaction, self.schema.as_deref())?;
            let schema = Named::recorded(&schema);
            if let Some(actual) = &self.actual {
                let xml = expected_form(&schema.model);
                file::write(actual, session, out, |to| Ok(to.write_all(xml.as_bytes())?))?;
            }
            let mut answer = Answer::Yes;
            if let Some(expected) = &self.expected {
                answer = answer.max(self.is_expected(&schema, expected, session, out)?);
            }
            if let Some(old) = &self.old {
                answer = answer.max(fits(transaction, old, session, out)?);
            }
            // The damage was reported when the transaction began.
            Ok(session.perhaps_lacking(answer))
        })
    }
}

impl Verify {
    fn is_expected(
        &self,
        schema: &Named,
        expected: &Path,
        session: &Session,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        if !file::is_stream(expected) && !expected.exists() {
            let file = path_text(expected);
            let message = format!(
                "{file}: there is no such file; if the schema is right, write it with --actual {file}"
            );
            return Err(Failure::new(message));
        }
        let model = named::read(expected, session)?;
        let name = format!("the expected schema of {}", file::file_text(expected));
        // The models have the same items if their IDs are the same.
        let storage_ids = |model: &SchemaModel| -> Vec<_> {
            model.items().map(|item| item.storage_id()).collect()
        };
        let ids = storage_ids(&schema.model).into_iter().zip(storage_ids(&model));
        let counts = self.storage_ids && schema.id == model.schema_id();
        let both: Vec<bool> = ids.map(|(a, b)| counts && a.is_some() && b.is_some()).collect();
        let compared = |model: &SchemaModel| {
            let mut both = both.iter();
            let compared = |item: &Item<'_>| {
                let counts = both.next() == Some(&true);
                item.storage_id().filter(|_| counts)
            };
            Arc::new(model.with_storage_ids(compared))
        };
        let expected = Named { name, id: model.schema_id(), model: compared(&model), number: None };
        let schema = Named { model: compared(&schema.model), ..schema.clone() };
        Ok(Answer::yes_if(!compare::show(&expected, &schema, out)?))
    }
}

/// Whether all schemas of a directory can be recorded in this database, each alone.
fn fits(
    transaction: &Transaction,
    directory: &Path,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let mut files = Vec::new();
    find_files(directory, &mut files)?;
    files.sort();
    let mut answer = Answer::Yes;
    for file in files {
        session.interrupt.check()?;
        let conflict = match named::read(&file, session) {
            Ok(model) => try_to_add(transaction, &model).err(),
            Err(failure) => Some(failure.message),
        };
        let file = path_text(&file);
        if let Some(conflict) = conflict {
            answer = Answer::No;
            out.done(
                format_args!("Schema conflict found with {file}: {conflict}"),
                &json!({ "type": "old_schema", "file": file, "conflict": conflict }),
            )?;
        } else if out.is_json() {
            out.json(&json!({ "type": "old_schema", "file": file, "conflict": null }))?;
        }
    }
    Ok(answer)
}

/// Adds a schema and takes it back.
fn try_to_add(transaction: &Transaction, model: &SchemaModel) -> Result<(), String> {
    enum Stop {
        Enough,
        Failed(permazen::object::Error),
    }
    impl From<permazen::object::Error> for Stop {
        fn from(error: permazen::object::Error) -> Stop {
            Stop::Failed(error)
        }
    }
    let added = transaction.atomic(|transaction| -> Result<(), Stop> {
        transaction.add_schema(model)?;
        Err(Stop::Enough)
    });
    match added {
        Err(Stop::Failed(error)) => Err(error.to_string()),
        Ok(()) | Err(Stop::Enough) => Ok(()),
    }
}

/// The XML files of a directory, with those of directories in it. Links to directories are not
/// followed, so that there is no circle.
fn find_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{}: {error}", path_text(directory)));
    for entry in directory.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            find_files(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "xml") {
            files.push(path);
        }
    }
    Ok(())
}
