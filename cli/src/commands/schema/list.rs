//! `schema list`.

use crate::commands::list::{self, number, text};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// List the recorded schemas, with the number of their object types and objects.
///
/// The exit code is 1 if one of them is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Do not count the objects, which takes a step for each
    #[arg(long)]
    no_counts: bool,
}

impl Command for List {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let bundle = transaction.bundle();
            let mut schemas = session.damaged_schemas();
            schemas.extend(bundle.schemas().iter().map(|schema| schema.index));
            schemas.sort_unstable();
            let mut rows = Vec::new();
            for index in schemas {
                let mut row = vec![number(u64::from(index.get()))];
                match bundle.schema(index) {
                    Some(schema) => {
                        row.push(text(schema.id.to_string()));
                        row.push(number(schema.types.len() as u64));
                    }
                    None => row.extend([text("damaged"), number(None)]),
                }
                if !self.no_counts {
                    let mut count = 0;
                    for id in &transaction.objects_in_schema(index)? {
                        session.interrupt.check()?;
                        id?;
                        count += 1;
                    }
                    row.push(number(count));
                }
                rows.push(row);
            }
            let columns = ["#schema", "id", "#types", "#objects"];
            let shown = if self.no_counts { 3 } else { 4 };
            list::show(columns.get(..shown).unwrap_or(&columns), out, rows)?;
            Ok(session.perhaps_lacking(Answer::Yes))
        })
    }
}
