//! The commands of the shell: as arguments of the program, in scripts and at the prompt. Each has a
//! file of its own.

pub(crate) mod check;
mod compact;
mod context;
mod copy;
mod demo;
mod file;
mod help;
mod info;
mod kv;
mod list;
pub(crate) mod migrate;
mod objects;
mod progress;
pub(crate) mod prompt;
mod schema;
mod simple;
mod stats;
mod types;

use clap::{Parser, Subcommand};

pub(crate) use compact::Compact;
pub(crate) use context::Context;
pub(crate) use kv::in_words;

use crate::failure::{Answer, Failure};

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(info::Info),
    Stats(stats::Stats),
    Check(check::Check),
    Kv(kv::Kv),
    Types(types::Types),
    Type(types::Type),
    Schema(schema::Schema),
    Save(objects::Save),
    Load(objects::Load),
    Copy(copy::Copy),
    Backup(copy::Backup),
    Compact(compact::Compact),
    Demo(demo::Demo),
    Begin(prompt::Begin),
    Diff(prompt::Diff),
    Commit(prompt::Commit),
    Rollback(prompt::Rollback),
    Replay(prompt::Replay),
    Format(simple::ChooseFormat),
    Echo(simple::Echo),
    Date(simple::Date),
    Sleep(simple::Sleep),
    #[command(alias = "quit")]
    Exit(simple::Leave),
    Help(help::Help),
}

/// A command as a line of a script or at the prompt.
#[derive(Debug, Parser)]
#[command(name = "", no_binary_name = true, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Line {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where a command of a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It reads and changes only in the transaction of the script.
    Inside {
        /// Whether it changes something.
        edits: bool,
    },
    /// It has transactions of its own, or none. A script that also has edits refuses it unless each
    /// statement is a transaction of its own.
    Alone {
        /// Whether it changes the database, so that it needs `--write`.
        edits: bool,
    },
}

impl Place {
    /// Whether it changes the database.
    pub(crate) fn edits(self) -> bool {
        match self {
            Place::Inside { edits } | Place::Alone { edits } => edits,
        }
    }

    /// Whether it has transactions of its own.
    pub(crate) fn is_alone(self) -> bool {
        matches!(self, Place::Alone { .. })
    }
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        match self {
            Command::Info(info) => info.run(context),
            Command::Stats(stats) => stats.run(context),
            Command::Check(check) => check.run(context, None),
            Command::Kv(kv) => kv.run(context),
            Command::Types(types) => types.run(context),
            Command::Type(of) => of.run(context),
            Command::Schema(schema) => schema.run(context),
            Command::Save(save) => save.run(context),
            Command::Load(load) => load.run(context),
            Command::Copy(copy) => copy.run(context),
            Command::Backup(backup) => backup.run(context),
            Command::Compact(_) => Err(Failure::new(compact::ONLY_ALONE)),
            Command::Demo(demo) => demo.run(context),
            Command::Begin(_)
            | Command::Diff(_)
            | Command::Commit(_)
            | Command::Rollback(_)
            | Command::Replay(_) => Err(Failure::new(prompt::ONLY_AT_THE_PROMPT)),
            Command::Format(format) => format.run(context),
            Command::Echo(echo) => echo.run(context),
            Command::Date(date) => date.run(context),
            Command::Sleep(sleep) => sleep.run(context),
            Command::Exit(exit) => Ok(exit.run()),
            Command::Help(help) => help.run(context),
        }
    }

    /// Whether it ends a script, and the prompt.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self, Command::Exit(_))
    }

    /// Whether it is about the transaction of the prompt.
    pub(crate) fn is_for_prompt(&self) -> bool {
        use Command::{Begin, Commit, Diff, Replay, Rollback};
        matches!(self, Begin(_) | Diff(_) | Commit(_) | Rollback(_) | Replay(_))
    }

    /// Whether it sees something of the database.
    pub(crate) fn reads(&self) -> bool {
        use Command::{Date, Echo, Exit, Format, Help, Sleep};
        !matches!(self, Format(_) | Echo(_) | Date(_) | Sleep(_) | Exit(_) | Help(_))
            && !self.is_for_prompt()
    }

    /// Where it runs.
    pub(crate) fn place(&self) -> Place {
        match self {
            Command::Info(info) => info.place(),
            Command::Stats(stats) => stats.place(),
            Command::Check(check) => check.place(),
            Command::Kv(kv) => kv.place(),
            Command::Types(types) => types.place(),
            Command::Type(of) => of.place(),
            Command::Schema(schema) => schema.place(),
            Command::Save(save) => save.place(),
            Command::Load(load) => load.place(),
            Command::Copy(copy) => copy.place(),
            Command::Backup(backup) => backup.place(),
            Command::Compact(_) => Place::Alone { edits: true },
            Command::Demo(_) => Place::Inside { edits: true },
            Command::Begin(_)
            | Command::Diff(_)
            | Command::Commit(_)
            | Command::Rollback(_)
            | Command::Replay(_)
            | Command::Format(_)
            | Command::Echo(_)
            | Command::Date(_)
            | Command::Sleep(_)
            | Command::Exit(_)
            | Command::Help(_) => Place::Inside { edits: false },
        }
    }
}
