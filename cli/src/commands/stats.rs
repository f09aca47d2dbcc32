//! `stats`: how large everything is.

use std::ops::ControlFlow;

use permazen::schema::read_usable_schemas;
use permazen::sizes::{Size, Sizes, sizes};
use permazen_query::Cell;

use super::kv::read_pairs;
use super::list::{self, number, text};
use super::progress::Progress;
use super::{Context, Place};
use crate::failure::{Answer, Failure};

/// Say how many pairs and bytes there are: of meta-data, and of each type, field and index.
///
/// Reads every pair once. Bytes are those of keys and values; what the store adds to them is not
/// counted.
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// List so many of the largest objects instead
    #[arg(long, value_name = "N")]
    largest: Option<usize>,
}

impl Stats {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
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
        list::show(&columns, out, rows(&sizes))?;
        Ok(Answer::Yes)
    }

    pub(crate) fn place(&self) -> Place {
        Place::Alone { edits: false }
    }
}

/// A row for everything, and for each part that has pairs.
fn rows(sizes: &Sizes) -> Vec<Vec<Cell>> {
    let mut rows = vec![row("all", "", &sizes.total)];
    let mut add = |part: &str, name: &str, size: &Size| {
        if size.pairs > 0 {
            rows.push(row(part, name, size));
        }
    };
    let meta_data = &sizes.meta_data;
    for (name, size) in [
        ("format version", &meta_data.format_version),
        ("schema table", &meta_data.schema_table),
        ("storage ID table", &meta_data.storage_id_table),
        ("object schema index", &meta_data.object_schema_index),
        ("user meta-data", &meta_data.user),
        ("unknown meta-data", &meta_data.unknown),
    ] {
        add("meta-data", name, size);
    }
    for of_type in &sizes.types {
        let name = &of_type.name;
        add("type", name, &of_type.size);
        add("objects", name, &of_type.objects_themselves);
        for field in &of_type.fields {
            add("field", &format!("{name}.{}", field.name), &field.size);
        }
        // Of no field in any schema.
        add("field", &format!("{name}.?"), &of_type.unknown);
    }
    for index in &sizes.indexes {
        add("index", &index.names.join(", "), &index.size);
    }
    add("unknown", "", &sizes.unknown);
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
