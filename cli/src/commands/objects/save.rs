//! `save`.

use std::path::PathBuf;

use permazen::ObjId;
use permazen::object::{self, Transaction};
use permazen::object_xml::ObjectXmlWriter;
use permazen_query::syntax::StatementKind;
use permazen_query::{Checked, Limits};
use serde_json::json;

use crate::commands::file::{self, file_text};
use crate::commands::schema::named;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::Progress;
use crate::session::Session;

/// Write objects to an XML file, in the format of `save` of Permazen for Java.
///
/// Without --storage-ids, the file can be loaded into any database, where each object becomes a new
/// one. With them, it can only be loaded into this database or an empty one, and gives the same
/// pairs again.
#[derive(Debug, clap::Args)]
pub(crate) struct Save {
    /// The file, which appears when it is complete; - is standard output
    file: PathBuf,
    /// Only these objects: a statement such as "find Person where age > 30"
    objects: Option<String>,
    /// Elements that are called object and field, instead of what types and fields are called
    #[arg(long)]
    plain: bool,
    /// Storage IDs of schemas, and the IDs of objects as they are
    #[arg(long)]
    storage_ids: bool,
    /// No schemas: the database that loads the file must have them
    #[arg(long)]
    no_schemas: bool,
    /// No objects
    #[arg(long, conflicts_with = "objects")]
    no_objects: bool,
    /// Everything in one line
    #[arg(long)]
    compact: bool,
    /// Also fields that have their default values
    #[arg(long)]
    with_defaults: bool,
    /// Values that have no text, such as dates after the year 10007, as hex digits; Java cannot
    /// load such a file
    #[arg(long)]
    encoded_values: bool,
    /// Cut values after this many characters; such a file cannot be loaded
    #[arg(long, value_name = "CHARACTERS")]
    truncate: Option<usize>,
    /// Objects of this schema do not name it: its number, its ID or the first digits of that
    #[arg(long, value_name = "SCHEMA")]
    default_schema: Option<String>,
}

impl Command for Save {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn writes_file(&self) -> bool {
        !file::is_stream(&self.file)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let count = context.read(|transaction, out| {
            // Such a file would look complete, and perhaps replace one that is.
            if session.is_damaged() && self.writes_file() {
                return Err(Failure::new(format!(
                    "{}: recorded schemas are damaged, so objects may be missing in the file; nothing is \
                     written; `save -` prints what can be read",
                    file_text(&self.file)
                )));
            }
            let writer = self.writer(transaction)?;
            let ids = self.ids(transaction, session)?;
            let progress = Progress::of("objects");
            let told = |id: object::Result<ObjId>| {
                progress.add(1);
                id
            };
            file::write(&self.file, session, out, |to| {
                Ok(match ids {
                    Some(ids) => {
                        writer.write_objects(transaction, ids.into_iter().map(Ok).map(told), to)
                    }
                    None => writer.write_objects(
                        transaction,
                        transaction.all_objects()?.iter().map(told),
                        to,
                    ),
                }?)
            })
        })?;
        if self.writes_file() {
            let file = file_text(&self.file);
            context.out.done(
                format_args!("Wrote {count} objects to \"{file}\""),
                &json!({ "type": "written", "file": file, "objects": count }),
            )?;
        }
        Ok(session.perhaps_lacking(Answer::Yes))
    }
}

impl Save {
    fn writer(&self, transaction: &Transaction) -> Result<ObjectXmlWriter, Failure> {
        let mut writer = ObjectXmlWriter::new();
        if self.plain {
            writer = writer.plain();
        }
        if self.storage_ids {
            writer = writer.with_storage_ids();
        }
        if self.no_schemas {
            writer = writer.schemas([]);
        }
        if self.compact {
            writer = writer.compact();
        }
        if self.with_defaults {
            writer = writer.with_defaults();
        }
        if self.encoded_values {
            writer = writer.with_encoded_values();
        }
        if let Some(characters) = self.truncate {
            writer = writer.truncated(characters);
        }
        if let Some(schema) = &self.default_schema {
            writer =
                writer.default_schema(named::recorded_or_newest(transaction, Some(schema))?.id);
        }
        Ok(writer)
    }

    /// The objects that are written; `None` if all are.
    fn ids(
        &self,
        transaction: &Transaction,
        session: &Session,
    ) -> Result<Option<Vec<ObjId>>, Failure> {
        if self.no_objects {
            return Ok(Some(Vec::new()));
        }
        let Some(text) = &self.objects else { return Ok(None) };
        let checked = query(transaction, text, session)?;
        let mut limits = Limits::default();
        limits.stop = Some(session.interrupt.flag());
        let ids = permazen_query::matches(transaction, &checked, &limits)?;
        session.interrupt.check()?;
        Ok(Some(ids))
    }
}

/// A statement that finds objects, as an argument of a command.
pub(crate) fn query(
    transaction: &Transaction,
    text: &str,
    session: &Session,
) -> Result<Checked, Failure> {
    let mistake = |mistake| Failure::mistake(&mistake, text, None);
    let statement = permazen_query::parse(text).map_err(mistake)?;
    match &statement.kind {
        StatementKind::Find(find) if find.columns.is_empty() => {}
        StatementKind::Show(_) => {}
        _ => {
            let what = "which objects is said by a `find` statement without columns, or a `show` statement";
            return Err(Failure::new(what));
        }
    }
    let catalog = session.catalog(transaction);
    let parameters = session.parameters(transaction)?;
    permazen_query::check(&statement, &catalog, &parameters).map_err(mistake)
}
