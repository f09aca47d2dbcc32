//! The commands about the transaction of the prompt: `begin`, `diff`, `commit`, `rollback` and
//! `replay`. The prompt runs them.

use super::{Command, Context, PromptTask, Scope};
use crate::failure::{Answer, Failure};

/// The message if one of them is used elsewhere.
pub(crate) const ONLY_AT_THE_PROMPT: &str = "this is for the prompt, where changes wait for `commit`; \
    a script is a transaction that is committed at its end";

/// At the prompt: begin a transaction, which sees one state of the database and does not block
/// other programs.
#[derive(Debug, clap::Args)]
pub(crate) struct Begin {}

impl Command for Begin {
    fn scope(&self) -> Scope {
        Scope::AtPrompt(PromptTask::Begin)
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_AT_THE_PROMPT))
    }
}

/// At the prompt: show the changes that are not committed.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {}

impl Command for Diff {
    fn scope(&self) -> Scope {
        Scope::AtPrompt(PromptTask::Diff)
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_AT_THE_PROMPT))
    }
}

/// At the prompt: commit the changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Commit {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Command for Commit {
    fn scope(&self) -> Scope {
        Scope::AtPrompt(PromptTask::Commit { yes: self.yes })
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_AT_THE_PROMPT))
    }
}

/// At the prompt: give up the changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Rollback {}

impl Command for Rollback {
    fn scope(&self) -> Scope {
        Scope::AtPrompt(PromptTask::Rollback)
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_AT_THE_PROMPT))
    }
}

/// At the prompt: run the statements of the transaction again, on what is committed now.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {}

impl Command for Replay {
    fn scope(&self) -> Scope {
        Scope::AtPrompt(PromptTask::Replay)
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_AT_THE_PROMPT))
    }
}
