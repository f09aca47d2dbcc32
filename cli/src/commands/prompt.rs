//! The commands about the transaction of the prompt: `begin`, `diff`, `commit`, `rollback` and `replay`.
//! The prompt runs them.

/// What is said about them elsewhere.
pub(crate) const ONLY_AT_THE_PROMPT: &str = "this is for the prompt, where changes wait for `commit`; \
    a script is a transaction that is committed at its end";

/// At the prompt: begin a transaction, which sees one state of the database and keeps nobody waiting.
#[derive(Debug, clap::Args)]
pub(crate) struct Begin {}

/// At the prompt: show the changes that are not committed.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {}

/// At the prompt: commit the changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Commit {
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// At the prompt: give up the changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Rollback {}

/// At the prompt: run the statements of the transaction again, on what is committed now.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {}
