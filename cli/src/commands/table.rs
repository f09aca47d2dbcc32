//! The table of commands, and how a command is read from words.

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use permazen_query::parse::{begins_statement, keywords};
use serde_json::json;

use super::topics::{TOPICS, topic};
use super::{
    Command, Context, Scope, check, compact, copy, demo, info, kv, objects, prompt, schema, simple,
    stats, types,
};
use crate::failure::{Answer, Failure};
use crate::session::Session;

/// All commands, in the order in which help lists them.
const COMMANDS: &[Entry] = &[
    Entry::of::<info::Info>("info"),
    Entry::of::<stats::Stats>("stats"),
    Entry::of::<check::Check>("check"),
    Entry::group::<kv::Kv>("kv", KV),
    Entry::of::<types::Types>("types"),
    Entry::of::<types::Type>("type"),
    Entry::group::<schema::Schema>("schema", SCHEMA),
    Entry::of::<objects::Save>("save"),
    Entry::of::<objects::Load>("load"),
    Entry::of::<copy::Copy>("copy"),
    Entry::of::<copy::Backup>("backup"),
    Entry::of::<compact::Compact>("compact"),
    Entry::of::<demo::Demo>("demo"),
    Entry::of::<prompt::Begin>("begin"),
    Entry::of::<prompt::Diff>("diff"),
    Entry::of::<prompt::Commit>("commit"),
    Entry::of::<prompt::Rollback>("rollback"),
    Entry::of::<prompt::Replay>("replay"),
    Entry::of::<simple::ChooseFormat>("format"),
    Entry::of::<simple::Echo>("echo"),
    Entry::of::<simple::Date>("date"),
    Entry::of::<simple::Sleep>("sleep"),
    Entry::of::<simple::Leave>("exit"),
    Entry::of::<Help>("help"),
];

const KV: &[Entry] = &[
    Entry::of::<kv::Get>("get"),
    Entry::of::<kv::Scan>("scan"),
    Entry::of::<kv::Put>("put"),
    Entry::of::<kv::Remove>("remove"),
    Entry::of::<kv::Dump>("dump"),
    Entry::of::<kv::Load>("load"),
    Entry::of::<kv::Decode>("decode"),
    Entry::of::<kv::Pairs>("pairs"),
];

const SCHEMA: &[Entry] = &[
    Entry::of::<schema::List>("list"),
    Entry::of::<schema::Show>("show"),
    Entry::of::<schema::Compare>("compare"),
    Entry::of::<schema::Verify>("verify"),
    Entry::of::<schema::Add>("add"),
    Entry::of::<schema::Remove>("remove"),
    Entry::of::<schema::Gc>("gc"),
    Entry::of::<schema::Rust>("rust"),
];

/// A line of the table.
struct Entry {
    name: &'static str,
    /// Adds the arguments and the help.
    define: fn(clap::Command) -> clap::Command,
    kind: EntryKind,
}

enum EntryKind {
    Command {
        /// Makes the command from the arguments.
        make: fn(&mut ArgMatches) -> Result<Box<dyn Command>, clap::Error>,
        candidates: fn(&Session) -> Vec<String>,
    },
    /// The commands that the next word names.
    Group(&'static [Entry]),
}

impl Entry {
    const fn of<T: Command + clap::Args + 'static>(name: &'static str) -> Entry {
        let kind = EntryKind::Command {
            make: |matches| Ok(Box::new(T::from_arg_matches_mut(matches)?)),
            candidates: T::candidates,
        };
        Entry { name, define: T::augment_args, kind }
    }

    /// `T` has the help.
    const fn group<T: clap::Args>(name: &'static str, entries: &'static [Entry]) -> Entry {
        Entry { name, define: T::augment_args, kind: EntryKind::Group(entries) }
    }
}

/// The command that words name.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) Box<dyn Command>);

/// A command as a line of a script or at the prompt.
#[derive(Debug, Parser)]
#[command(name = "", no_binary_name = true, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Line {
    #[command(subcommand)]
    pub(crate) command: Named,
}

impl Subcommand for Named {
    fn augment_subcommands(parent: clap::Command) -> clap::Command {
        define(COMMANDS, parent)
    }

    fn augment_subcommands_for_update(parent: clap::Command) -> clap::Command {
        define(COMMANDS, parent)
    }

    fn has_subcommand(name: &str) -> bool {
        COMMANDS.iter().any(|entry| entry.name == name)
    }
}

impl FromArgMatches for Named {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Named, clap::Error> {
        Named::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Named, clap::Error> {
        read(COMMANDS, matches).map(Named)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Named::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Defines commands within another one.
fn define(entries: &[Entry], parent: clap::Command) -> clap::Command {
    entries.iter().fold(parent, |parent, entry| {
        let command = (entry.define)(clap::Command::new(entry.name));
        parent.subcommand(match entry.kind {
            EntryKind::Command { .. } => command,
            EntryKind::Group(entries) => {
                define(entries, command).subcommand_required(true).arg_required_else_help(true)
            }
        })
    })
}

fn read(entries: &[Entry], matches: &mut ArgMatches) -> Result<Box<dyn Command>, clap::Error> {
    let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
    let (name, mut matches) = matches.remove_subcommand().ok_or_else(missing)?;
    match entries.iter().find(|entry| entry.name == name).ok_or_else(missing)?.kind {
        EntryKind::Command { make, .. } => make(&mut matches),
        EntryKind::Group(entries) => read(entries, &mut matches),
    }
}

/// The names of all commands.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|entry| entry.name)
}

/// The candidates after these words of a command.
pub(crate) fn candidates(words: &str, typed: &str, session: &Session) -> Vec<String> {
    let mut words = words.split_whitespace();
    let mut definition = Line::command();
    definition.build();
    let mut definition = &definition;
    let mut found: Option<&Entry> = None;
    let mut entries = COMMANDS;
    for word in words.by_ref() {
        let Some(inner) = definition.find_subcommand(word) else { break };
        definition = inner;
        found = entries.iter().find(|entry| entry.name == inner.get_name());
        entries = match found.map(|entry| &entry.kind) {
            Some(EntryKind::Group(entries)) => entries,
            _ => &[],
        };
    }
    if typed.starts_with('-') {
        let options = definition.get_arguments().filter_map(|argument| argument.get_long());
        return options.map(|long| format!("--{long}")).collect();
    }
    match found.map(|entry| &entry.kind) {
        Some(EntryKind::Command { candidates, .. }) => candidates(session),
        _ => entries.iter().map(|entry| entry.name.to_owned()).collect(),
    }
}

/// Say what there is, or what a command or a statement does.
#[derive(Debug, clap::Args)]
struct Help {
    /// The command or the first word of the statement; several for a command within another one
    words: Vec<String>,
}

impl Command for Help {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let text = self.text()?;
        let out = &mut *context.out;
        if out.is_json() {
            out.json(&json!({ "type": "help", "text": text }))?;
        } else {
            out.paged(|out| text.lines().for_each(|line| out.say(line)));
        }
        Ok(Answer::Yes)
    }

    fn candidates(_: &Session) -> Vec<String> {
        let statements = keywords().filter(|word| begins_statement(word));
        statements.chain(names()).map(str::to_owned).collect()
    }
}

impl Help {
    fn text(&self) -> Result<String, Failure> {
        let mut command = Line::command();
        let Some(word) = self.words.first() else { return Ok(overview(&command)) };
        if let Some(topic) = topic(word) {
            return Ok(topic.text());
        }
        for word in &self.words {
            let Some(inner) = command.find_subcommand(word) else {
                let known = command.get_subcommands().map(clap::Command::get_name);
                let statements = TOPICS.iter().map(|topic| topic.word);
                let known: Vec<_> = known.chain(statements).collect();
                let words = keywords().filter(|word| topic(word).is_some());
                let mut names = known.clone();
                words.for_each(|word| names.push(word));
                if let Some(near) = permazen_query::nearest(word, names) {
                    let message =
                        format!("{word}: there is no such command (did you mean `{near}`?)");
                    return Err(Failure { nearest: Some(near), ..Failure::new(message) });
                }
                let message =
                    format!("{word}: there is no such command; there are {}", known.join(", "));
                return Err(Failure::new(message));
            };
            command = inner.clone();
        }
        command = command.bin_name(self.words.join(" "));
        Ok(command.render_long_help().to_string())
    }
}

/// All statements and commands, a line each.
fn overview(commands: &clap::Command) -> String {
    let about = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        (command.get_name().to_owned(), about)
    };
    let statements = TOPICS.iter().map(|topic| (topic.word.to_owned(), topic.summary.to_owned()));
    let statements: Vec<_> = statements.collect();
    let commands: Vec<_> = commands.get_subcommands().map(about).collect();
    let mut text = String::new();
    for (title, entries) in [("Statements", statements), ("Commands", commands)] {
        text.push_str(&format!("{title}:\n"));
        for (name, about) in entries {
            text.push_str(&format!("  {name:8}  {about}\n"));
        }
        text.push('\n');
    }
    text.push_str(
        "`help WORD` says more. A statement in a script ends with ; and a command with its line.\n",
    );
    text
}
