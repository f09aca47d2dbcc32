//! `info`: what the database is.

use permazen::__internal::escape::path_text;
use permazen::__internal::layout;
use permazen::__internal::schema::read_usable_schemas;
use permazen::kv::{Counters, KvDatabase, WarningKind};
use serde_json::{Map, Value, json};

use super::kv::read_pairs;
use super::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::Output;

/// Say what the database is, also if it is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Info {}

/// A line: its name for people and in JSON, and its value.
type Line = (&'static str, &'static str, Value);

fn say(out: &mut Output, indent: &str, (name, _, value): &Line) {
    match value {
        Value::String(text) => out.say(format_args!("{indent}{name}: {text}")),
        value => out.say(format_args!("{indent}{name}: {value}")),
    }
}

/// The counters of the store since it was opened, without those that it does not have.
fn counted(counters: &Counters) -> Vec<Line> {
    let seconds = counters.waited.map(|waited| Value::from(waited.as_secs_f64()));
    let of = |name, key, count: Option<u64>| Some((name, key, Value::from(count?)));
    let lines = [
        of("Transactions", "transactions", counters.begun),
        of("Commits", "commits", counters.commits),
        of("Conflicts", "conflicts", counters.conflicts),
        of("Retries", "retries", counters.retries),
        of("Unknown Outcomes", "unknown_outcomes", counters.unknown_outcomes),
        of("Waits", "waits", counters.waits),
        of("Waits in Vain", "waits_in_vain", counters.waits_in_vain),
        seconds.map(|seconds| ("Seconds Waited", "seconds_waited", seconds)),
        of("Requests", "requests", counters.requests),
        of("Failovers", "failovers", counters.failovers),
        of("Connections", "connections", counters.connections),
        of("Idle Connections", "idle_connections", counters.idle_connections),
        of("Most Connections", "most_connections", counters.most_connections),
    ];
    lines.into_iter().flatten().collect()
}

impl Command for Info {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
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
                None if kv.get(layout::LEDGER_KEY)?.is_some_and(|row| layout::is_ledger(&row)) => {
                    "none: this is a repository of permazen-ledger; a program with that crate opens its pages".into()
                }
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
            let counted = counted(&store.counters());
            if !counted.is_empty() {
                let counted = counted.into_iter().map(|(_, key, value)| (key.to_owned(), value));
                line.insert("counters".to_owned(), Value::Object(counted.collect()));
            }
            line.insert("problems".to_owned(), problems.clone().into());
            out.json(&Value::Object(line))?;
        } else {
            lines.iter().for_each(|line| say(out, "  ", line));
            // A command has just opened the store, so most of them are 0.
            let mut counted = counted(&store.counters());
            counted.retain(|(.., value)| value.as_f64() != Some(0.0));
            if !counted.is_empty() {
                out.say("  Since It Was Opened");
                counted.iter().for_each(|line| say(out, "    ", line));
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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_store_does_not_count_is_left_out() {
        assert_eq!(counted(&Counters::default()), []);
        let mut counters = Counters::default();
        (counters.commits, counters.requests) = (Some(3), Some(0));
        counters.waited = Some(Duration::from_millis(1_500));
        let lines = counted(&counters);
        let shown: Vec<String> =
            lines.iter().map(|(_, key, value)| format!("{key} {value}")).collect();
        assert_eq!(shown, ["commits 3", "seconds_waited 1.5", "requests 0"]);
    }
}
