//! `schema`: the recorded schemas.

mod change;
mod compare;
mod effects;
mod encodings;
mod list;
pub(crate) mod named;
mod print_rust;
mod rust;
mod show;
mod verify;

use clap::Subcommand;

use super::{Context, Place};
use crate::failure::{Answer, Failure};

/// Look at the recorded schemas, compare them, add and remove them.
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    #[command(subcommand)]
    command: SchemaCommand,
}

#[derive(Debug, Subcommand)]
enum SchemaCommand {
    List(list::List),
    Show(show::Show),
    Compare(compare::Compare),
    Verify(verify::Verify),
    Add(change::Add),
    Remove(change::Remove),
    Gc(change::Gc),
    Rust(print_rust::Rust),
}

impl Schema {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        match &self.command {
            SchemaCommand::List(list) => list.run(context),
            SchemaCommand::Show(show) => show.run(context),
            SchemaCommand::Compare(compare) => compare.run(context),
            SchemaCommand::Verify(verify) => verify.run(context),
            SchemaCommand::Add(add) => add.run(context),
            SchemaCommand::Remove(remove) => remove.run(context),
            SchemaCommand::Gc(gc) => gc.run(context),
            SchemaCommand::Rust(rust) => rust.run(context),
        }
    }

    pub(crate) fn place(&self) -> Place {
        match &self.command {
            SchemaCommand::List(_)
            | SchemaCommand::Show(_)
            | SchemaCommand::Compare(_)
            | SchemaCommand::Verify(_)
            | SchemaCommand::Rust(_) => Place::Inside { edits: false },
            SchemaCommand::Add(_) | SchemaCommand::Remove(_) | SchemaCommand::Gc(_) => {
                Place::Inside { edits: true }
            }
        }
    }
}
