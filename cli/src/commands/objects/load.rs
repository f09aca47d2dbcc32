//! `load`.

use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::time::Instant;

use permazen::__internal::layout;
use permazen::__internal::object_xml::GeneratedIds;
use permazen::kv::KeySpan;
use permazen::object::{MissingTargets, Transaction, TransactionConfig};
use permazen::object_xml::{ObjectXmlError, ObjectXmlReader};
use permazen::schema::SchemaRemoval;
use serde_json::json;

use super::from_json;
use crate::commands::file::{self, file_text};
use crate::commands::kv::remove_span;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output;
use crate::session::Session;
use crate::xml_root::other_reader;

/// Read objects from an XML file, in the format of `load` of Permazen for Java, or from the JSON
/// lines that `show` and `export` print with --json.
///
/// Which of the two it is, is seen from its beginning. The JSON can be an array too. An object
/// without an ID is a new one. An object that exists already is replaced. All happens as a whole or
/// not at all.
#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    /// The file; - is standard input
    file: PathBuf,
    /// First remove all objects; schemas stay
    #[arg(long, short = 'R')]
    replace_all: bool,
    /// Also if there are references to objects that are neither in the file nor in the database;
    /// they stay, and lead to nothing
    #[arg(long)]
    allow_unresolved: bool,
}

impl Command for Load {
    fn scope(&self) -> Scope {
        match self.replace_all {
            true => Scope::OwnTransactions { edits: true },
            false => Scope::InTransaction { edits: true },
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let empty_is_json = context.out.is_json();
        let open = || file::read(&self.file, session);
        let mut removed = None;
        let count = if self.replace_all {
            let begun = Instant::now();
            let (before, count) = loop {
                match self.replace_all(open()?, empty_is_json, session) {
                    Err(failure) if session.is_run_again(&failure, begun) => {}
                    done => break done?,
                }
            };
            removed = Some(before);
            count
        } else {
            let mut ids = context.ids.of_next_load();
            let count = context.write(|transaction| {
                self.read(transaction, open()?, empty_is_json, &mut ids, session)
            });
            match count {
                Ok(count) => {
                    context.ids.keep(ids);
                    context.ids.has_changed(count);
                    count
                }
                Err(failure) => {
                    context.ids.give_back(ids);
                    return Err(failure);
                }
            }
        };
        let file = file_text(&self.file);
        if let Some(removed) = removed.filter(|_| !context.out.is_json()) {
            context.out.say(format_args!("Deleted {removed} object(s)"));
        }
        let mut line = json!({ "type": "read", "file": file, "objects": count });
        if let Some(removed) = removed {
            line["removed"] = removed.into();
        }
        context.out.done(format_args!("Read {count} object(s) from \"{file}\""), &line)?;
        Ok(Answer::Yes)
    }
}

impl Load {
    /// Removes the pairs of all objects, and reads the file. No delete action applies.
    fn replace_all(
        &self,
        input: impl Read,
        empty_is_json: bool,
        session: &Session,
    ) -> Result<(u64, u64), Failure> {
        let mut kv = session.begin_pairs()?;
        let before = remove_span(&mut *kv, layout::OBJECT_SCHEMA_INDEX_SPAN, &session.interrupt)?;
        remove_span(&mut *kv, KeySpan::new(&[1], None), &session.interrupt)?;
        layout::delete_object_data(&mut *kv)?;
        let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
        let transaction = session.database().begin_on(kv, &config)?;
        let mut ids = GeneratedIds::new();
        let count = self.read(&transaction, input, empty_is_json, &mut ids, session)?;
        session.commit(transaction)?;
        Ok((before, count))
    }

    fn read(
        &self,
        transaction: &Transaction,
        input: impl Read,
        empty_is_json: bool,
        ids: &mut GeneratedIds,
        session: &Session,
    ) -> Result<u64, Failure> {
        let file = file_text(&self.file);
        let (form, input) = look(input)?;
        let read = match form {
            Form::Nothing if self.replace_all && !empty_is_json => {
                let what = "there is nothing in it, and all objects would be removed; with --json, that \
                            is what it means";
                Err(Failure::new(format!("{file}: {what}")))
            }
            Form::Nothing => Ok((0, MissingTargets::new())),
            Form::Graph => Err(Failure::new(format!(
                "{file}: this is a graph, which a program has made with `export_graph`: `import_graph` in a program reads \
                 it; `load` reads what `export` and `save` write"
            ))),
            Form::Lines | Form::Array => {
                let is_array = form == Form::Array;
                from_json::read(transaction, input, is_array, ids, session).map_err(|failure| {
                    let message = format!("{file}: {}", failure.message);
                    Failure { message, ..failure }
                })
            }
            Form::Xml => match ObjectXmlReader::new()
                .sharing_ids(ids)
                .allow_unresolved()
                .read(transaction, input)
            {
                Ok(imported) => Ok((imported.count, imported.unresolved)),
                Err(ObjectXmlError::Transaction(error)) => Err(error.into()),
                Err(error) => {
                    let named = Some(&self.file).filter(|file| !file::is_stream(file));
                    let others = named.and_then(|file| other_reader(file, "database"));
                    if let Some(what) = others {
                        return Err(Failure::new(format!("{file}: {what}")));
                    }
                    let join = match error {
                        // Their messages begin with their position.
                        ObjectXmlError::Object { .. } | ObjectXmlError::Schema { .. } => ", ",
                        _ => ": ",
                    };
                    let failure = Failure::from(error);
                    Err(Failure { message: format!("{file}{join}{}", failure.message), ..failure })
                }
            },
        };
        // The reader says only that it was stopped.
        session.interrupt.check()?;
        let (count, unresolved) = read?;
        let Some((target, field)) = unresolved.iter().next() else { return Ok(count) };
        let what = format!(
            "{file}: {} unresolved reference(s) remain, one to object {target} in field {field}",
            unresolved.len()
        );
        if !self.allow_unresolved {
            let how = "add the objects, or use --allow-unresolved";
            return Err(Failure::new(format!("{what}: {how}")));
        }
        output::note(what);
        Ok(count)
    }
}

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// There are at most blanks in it.
    Nothing,
    /// Lines of JSON.
    Lines,
    /// A JSON array.
    Array,
    /// The JSON of `permazen::model::Graph`.
    Graph,
    Xml,
}

/// The form of an input, and a reader of all of it except for a byte order mark.
fn look(mut input: impl Read) -> Result<(Form, impl Read), Failure> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut seen = Vec::new();
    let mut byte = [0];
    let form = loop {
        if input.read(&mut byte)? == 0 {
            break Form::Nothing;
        }
        seen.extend_from_slice(&byte);
        match byte {
            [b' ' | b'\t' | b'\r' | b'\n'] => {}
            _ if seen == MARK => seen.clear(),
            _ if MARK.starts_with(&seen) => {}
            [b'{'] => {
                break if is_graph(&mut input, &mut seen)? { Form::Graph } else { Form::Lines };
            }
            [b'['] => break Form::Array,
            _ => break Form::Xml,
        }
    };
    Ok((form, Cursor::new(seen).chain(input)))
}

/// Whether a JSON object, whose brace was read, is a graph. No line that `load` reads begins with
/// such a name. The bytes read are added to `seen`.
fn is_graph(input: &mut impl Read, seen: &mut Vec<u8>) -> Result<bool, Failure> {
    const NAMES: [&[u8]; 2] = [b"\"objects\"", b"\"schemas\""];
    let (mut name, mut byte) = (Vec::new(), [0]);
    while input.read(&mut byte)? > 0 {
        seen.extend_from_slice(&byte);
        if name.is_empty() && byte[0].is_ascii_whitespace() {
            continue;
        }
        name.extend_from_slice(&byte);
        if NAMES.contains(&&*name) {
            return Ok(true);
        }
        if !NAMES.iter().any(|other| other.starts_with(&name)) {
            break;
        }
    }
    Ok(false)
}
