//! `stats`: how large everything is.

use std::ops::ControlFlow;

use permazen::__internal::schema::read_usable_schemas;
use permazen::__internal::sizes::{Size, Sizes, Spaces, sizes, spaces};
use permazen::kv::Space;
use permazen_query::Cell;

use super::kv::read_pairs;
use super::list::{self, number, text};
use super::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::Progress;

/// Say how many pairs and bytes there are: of meta-data, and of each type, field and index.
///
/// Reads every pair once. Bytes are those of keys and values; what the store adds to them is not
/// counted unless `--pages` asks for it.
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// List this many of the largest objects instead
    #[arg(long, value_name = "N")]
    largest: Option<usize>,
    /// Say also how many bytes of the file the pages with these pairs have, and how full they are,
    /// in percent (LMDB only; reads the file twice more)
    #[arg(long, conflicts_with = "largest")]
    pages: bool,
}

impl Command for Stats {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let Context { session, out, .. } = context;
        let sizes = read_pairs(session, |kv| {
            let usable = read_usable_schemas(kv, session.database().encodings())?;
            let progress = Progress::of("pairs");
            let largest = self.largest.unwrap_or(0);
            let sizes = sizes(kv, &usable.schemas, largest, &mut |counted| {
                progress.at(counted.pairs);
                match session.interrupt.check() {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            session.interrupt.check()?;
            Ok(sizes)
        })?;
        if self.largest.is_some() {
            let objects = sizes.largest_objects.iter();
            let rows =
                objects.map(|size| vec![Cell::Id(size.id), number(size.pairs), number(size.bytes)]);
            list::show(&["object", "#pairs", "#bytes"], out, rows)?;
            return Ok(Answer::Yes);
        }
        let columns =
            ["part", "name", "#pairs", "#key_bytes", "#value_bytes", "#average", "#largest"];
        if !self.pages {
            list::show(&columns, out, rows(&sizes, None))?;
            return Ok(Answer::Yes);
        }
        let spaces = spaces(session.store(), &sizes)?.ok_or_else(|| {
            Failure::new("--pages: only stores on LMDB know what lies in which page")
        })?;
        let columns: Vec<_> = columns.into_iter().chain(["#page_bytes", "#fill"]).collect();
        list::show(&columns, out, rows(&sizes, Some(&spaces)))?;
        Ok(Answer::Yes)
    }
}

/// How full the pages are.
fn percent(space: &Space) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the whole, so at most 100"
    )]
    {
        (space.fill() * 100.0).round() as u64
    }
}

/// A row for everything, and for each part that has pairs. With `spaces`, also the bytes that they
/// take in the file.
fn rows(sizes: &Sizes, spaces: Option<&Spaces>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut add = |part: &str, name: &str, size: &Size, space: Option<&Space>| {
        if size.pairs > 0 || part == "all" {
            let mut row = row(part, name, size);
            if spaces.is_some() {
                row.push(number(space.map(|space| space.page_bytes)));
                row.push(number(space.map(percent)));
            }
            rows.push(row);
        }
    };
    add("all", "", &sizes.total, spaces.map(|spaces| &spaces.total));
    let meta_data = &sizes.meta_data;
    let of_objects = spaces.map(|spaces| &spaces.object_schema_index);
    for (name, size, space) in [
        ("format version", &meta_data.format_version, None),
        ("schema table", &meta_data.schema_table, None),
        ("storage ID table", &meta_data.storage_id_table, None),
        ("object schema index", &meta_data.object_schema_index, of_objects),
        ("user meta-data", &meta_data.user, None),
        ("unknown meta-data", &meta_data.unknown, None),
    ] {
        add("meta-data", name, size, space);
    }
    for (at, of_type) in sizes.types.iter().enumerate() {
        let name = &of_type.name;
        add("type", name, &of_type.size, spaces.and_then(|spaces| spaces.types.get(at)));
        add("objects", name, &of_type.objects_themselves, None);
        for field in &of_type.fields {
            add("field", &format!("{name}.{}", field.name), &field.size, None);
        }
        // Of no field in any schema.
        add("field", &format!("{name}.?"), &of_type.unknown, None);
    }
    for (at, index) in sizes.indexes.iter().enumerate() {
        let space = spaces.and_then(|spaces| spaces.indexes.get(at));
        add("index", &index.names.join(", "), &index.size, space);
    }
    add("unknown", "", &sizes.unknown, None);
    rows
}

fn row(part: &str, name: &str, size: &Size) -> Vec<Cell> {
    vec![
        text(part),
        text(name),
        number(size.pairs),
        number(size.key_bytes),
        number(size.value_bytes),
        number(size.bytes().checked_div(size.pairs).unwrap_or(0)),
        number(size.largest_pair),
    ]
}
