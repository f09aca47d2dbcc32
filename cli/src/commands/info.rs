//! `info`: what the database is.

use permazen::escape::path_text;
use permazen::kv::{KvDatabase, WarningKind};
use permazen::layout;
use permazen::schema::read_usable_schemas;
use serde_json::{Map, Value, json};

use super::kv::read_pairs;
use super::{Context, Place};
use crate::failure::{Answer, Failure};

/// Say what the database is, also if it is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Info {}

/// A line: its name for people and in JSON, and its value.
type Line = (&'static str, &'static str, Value);

impl Info {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let session = context.session;
        let store = session.store();
        let mut lines: Vec<Line> = vec![("Database", "kind", store.kind().to_string().into())];
        if let Some(path) = store.path() {
            lines.push(("Path", "path", path_text(path).into()));
        } else if store.kind().is_on_servers() {
            lines.push(("Server", "server", path_text(store.name()).into()));
        }
        let access = if session.options.write { "Read/Write" } else { "Read-Only" };
        lines.push(("Access", "access", access.into()));
        let problems = read_pairs(session, |kv| {
            let version = kv.get(layout::FORMAT_VERSION_KEY)?;
            let version = match version.as_deref() {
                Some([version]) => Value::from(*version),
                Some(other) => permazen::kv::Hex(other).to_string().into(),
                None => "none: this is no Permazen database yet".into(),
            };
            lines.push(("Format Version", "format_version", version));
            let usable = read_usable_schemas(kv, session.database().encodings())?;
            let schemas = usable.schemas.schemas();
            lines.push(("Schemas", "schemas", schemas.len().into()));
            if let Some(newest) = schemas.last() {
                lines.push(("Newest Schema", "newest_schema", newest.id.to_string().into()));
                lines.push(("Object Types", "object_types", newest.types.len().into()));
            }
            Ok(usable.problems.iter().map(ToString::to_string).collect::<Vec<_>>())
        })?;
        if let Ok(found) = store.statistics() {
            let figures = [
                ("Pairs", "pairs", found.entries),
                ("Used Bytes", "used_bytes", found.used_bytes),
                ("Free Bytes", "free_bytes", found.free_bytes),
                ("File Bytes", "file_bytes", found.file_bytes),
                ("Page Bytes", "page_bytes", found.page_bytes),
                ("Readers", "readers", found.readers),
                ("Most Readers", "max_readers", found.max_readers),
            ];
            let known = figures.into_iter().filter_map(|(name, key, figure)| {
                figure.map(|figure| (name, key, Value::from(figure)))
            });
            lines.extend(known);
        }
        let out = &mut *context.out;
        if out.is_json() {
            let mut line = Map::new();
            line.insert("type".to_owned(), "info".into());
            for (_, key, value) in lines {
                line.insert(key.to_owned(), value);
            }
            if store.kind().is_on_servers() {
                let warnings = store.warnings().iter().map(
                    |warning| json!({ "kind": warning.kind().name(), "warning": warning.text() }),
                );
                line.insert("warnings".to_owned(), warnings.collect());
            }
            line.insert("problems".to_owned(), problems.clone().into());
            out.json(&Value::Object(line))?;
        } else {
            for (name, _, value) in &lines {
                match value {
                    Value::String(text) => out.say(format_args!("  {name}: {text}")),
                    value => out.say(format_args!("  {name}: {value}")),
                }
            }
            for warning in store.warnings() {
                let name = match warning.kind() {
                    WarningKind::Speed => "Advice",
                    _ => "Warning",
                };
                out.say(format_args!("  {name}: {warning}"));
            }
            problems.iter().for_each(|problem| out.say(format_args!("  Problem: {problem}")));
        }
        Ok(Answer::yes_if(problems.is_empty()))
    }

    pub(crate) fn place(&self) -> Place {
        Place::Alone { edits: false }
    }
}
