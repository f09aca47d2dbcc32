//! From the text of a script to its pieces.
//!
//! A statement begins with a word of the language and ends with `;` or the end of the text. A
//! command ends with its line, or with `;`. Comments go from `--` to the end of the line; after a
//! command, they are arguments of it.

use clap::{CommandFactory, Parser};
use permazen_query::parse::begins_statement;
use permazen_query::syntax::{Span, Statement, StatementKind};
use permazen_query::{Mistake, parse_first};

use super::command_words::words;
use crate::commands::{Command, Line, Named, Scope};
use crate::failure::{Exit, Failure};

/// A text with statements and commands.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in messages, if there are several.
    pub(crate) name: Option<String>,
    /// The text.
    pub(crate) text: String,
}

/// Statements and commands that were read and have no mistake in their form.
#[derive(Debug)]
pub(crate) struct Script {
    sources: Vec<Source>,
    pieces: Vec<Piece>,
}

/// A statement or a command of a script.
#[derive(Debug)]
pub(crate) struct Piece {
    source: usize,
    span: Span,
    pub(crate) kind: PieceKind,
}

/// The kind of a piece.
#[derive(Debug)]
pub(crate) enum PieceKind {
    /// A statement.
    Statement(Box<Statement>),
    /// A command.
    Command(Box<dyn Command>),
    /// Help for a command: a text to be shown.
    Help(String),
}

impl Script {
    /// Reads all pieces.
    ///
    /// # Errors
    /// The first mistake in the form of a statement or a command.
    pub(crate) fn read(sources: Vec<Source>) -> Result<Script, Failure> {
        let mut pieces = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let text = source.text.as_str();
            let fail = |mistake: Mistake| Failure::mistake(&mistake, text, source.name.as_deref());
            let mut at = start(text);
            while let Some(begin) = next_piece(text, at) {
                let rest = text.get(begin..).unwrap_or_default();
                let (kind, length) = piece(rest).map_err(|m| fail(shifted(m, begin)))?;
                at = begin + length;
                let ends =
                    matches!(&kind, PieceKind::Command(command) if command.ends_with().is_some());
                pieces.push(Piece { source: index, span: Span::new(begin, at), kind });
                if ends {
                    return Ok(Script { sources, pieces });
                }
            }
        }
        Ok(Script { sources, pieces })
    }

    /// The pieces, in order.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The text of a piece.
    pub(crate) fn text(&self, piece: &Piece) -> &str {
        let source = self.sources.get(piece.source);
        source.and_then(|source| source.text.get(piece.span.start..piece.span.end)).unwrap_or("")
    }

    /// A mistake in a piece, whose positions count from its beginning.
    pub(crate) fn mistake(&self, piece: &Piece, mistake: Mistake) -> Failure {
        let mistake = shifted(mistake, piece.span.start);
        match self.sources.get(piece.source) {
            Some(source) => Failure::mistake(&mistake, &source.text, source.name.as_deref()),
            None => Failure::new(mistake.to_string()),
        }
    }

    /// The same failure with the position of the piece that failed, if the script has several or is
    /// a file.
    pub(super) fn with_position(&self, piece: &Piece, failure: Failure) -> Failure {
        let is_file = self.sources.get(piece.source).is_some_and(|source| source.name.is_some());
        let is_known = failure.position.is_some() || failure.message.is_empty();
        if is_known || failure.exit != Exit::Failed || (!is_file && self.pieces.len() < 2) {
            return failure;
        }
        let end = self.text(piece).chars().next().map_or(0, char::len_utf8);
        let mistake = Mistake::new(Span::new(0, end), failure.message.clone());
        Failure { position: self.mistake(piece, mistake).position, ..failure }
    }
}

impl Piece {
    /// Where it runs, and whether it changes something.
    pub(crate) fn scope(&self) -> Scope {
        match &self.kind {
            PieceKind::Statement(statement) => Scope::InTransaction { edits: edits(statement) },
            PieceKind::Command(command) => command.scope(),
            PieceKind::Help(_) => Scope::Anywhere,
        }
    }

    /// Whether it writes a file.
    pub(crate) fn writes_file(&self) -> bool {
        match &self.kind {
            PieceKind::Command(command) => command.writes_file(),
            PieceKind::Statement(_) | PieceKind::Help(_) => false,
        }
    }

    /// Whether it moves objects to another schema.
    pub(crate) fn is_migration(&self) -> bool {
        matches!(self.statement(), Some(StatementKind::Migrate(_)))
    }

    /// Whether it says how a statement would be run.
    pub(crate) fn is_explanation(&self) -> bool {
        matches!(self.statement(), Some(StatementKind::Explain(_)))
    }

    fn statement(&self) -> Option<&StatementKind> {
        match &self.kind {
            PieceKind::Statement(statement) => Some(&statement.kind),
            PieceKind::Command(_) | PieceKind::Help(_) => None,
        }
    }
}

/// Whether a statement changes objects.
fn edits(statement: &Statement) -> bool {
    use StatementKind::{Create, Delete, Migrate, Set};
    matches!(statement.kind, Create(_) | Delete(_) | Migrate(_) | Set(_))
}

/// The same mistake in a text that has `by` bytes more before it.
fn shifted(mut mistake: Mistake, by: usize) -> Mistake {
    mistake.span = Span::new(mistake.span.start + by, mistake.span.end + by);
    mistake
}

/// Where a script begins: after a byte order mark and a line for the system, `#!/usr/bin/env …`.
fn start(text: &str) -> usize {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    match text.get(start..) {
        Some(rest) if rest.starts_with("#!") => start + rest.find('\n').unwrap_or(rest.len()),
        _ => start,
    }
}

/// Where the next piece begins, at or after `at`.
fn next_piece(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let skipped = rest.find(|c: char| !c.is_whitespace() && c != ';')?;
        at += skipped;
        let rest = text.get(at..)?;
        if !rest.starts_with("--") {
            return Some(at);
        }
        at += rest.find('\n')?;
    }
}

/// The piece at the beginning of `text`, and its length.
fn piece(text: &str) -> Result<(PieceKind, usize), Mistake> {
    let word_end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let word = text.get(..word_end).unwrap_or_default();
    if begins_statement(word) {
        let (statement, length) = parse_first(text)?;
        return Ok((PieceKind::Statement(Box::new(statement)), length));
    }
    let (words, length) =
        words(text).map_err(|(at, what)| Mistake::new(Span::new(at, at + 1), what))?;
    Ok((command(&words, text, length)?, length))
}

/// The mistake of words that are no command, or lack a part of one.
fn no_command(words: &[String], text: &str, length: usize) -> Mistake {
    let (mut command, mut known) = (Line::command(), 0);
    while let Some(inner) = words.get(known).and_then(|word| command.find_subcommand(word)) {
        (command, known) = (inner.clone(), known + 1);
    }
    let statements = permazen_query::parse::keywords().filter(|word| begins_statement(word));
    let statements = statements.filter(|_| known == 0);
    let names: Vec<_> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let before = words.get(..known).unwrap_or_default().join(" ");
    let Some(word) = words.get(known) else {
        let what = format!("`{before}` needs a command after it");
        let mut mistake = Mistake::new(Span::new(0, length), what);
        mistake.expected = names.iter().map(|name| format!("`{name}`")).collect();
        return mistake;
    };
    let at = text.find(word.as_str()).filter(|_| !word.is_empty()).unwrap_or(0);
    let what = match known {
        0 => format!("there is no statement or command `{word}`"),
        _ => format!("`{before}` has no command `{word}`"),
    };
    let mut mistake = Mistake::new(Span::new(at, at + word.len().max(1)), what);
    let statements: Vec<&str> = statements.collect();
    let known_names = names.iter().map(String::as_str).chain(statements.iter().copied());
    mistake.nearest = permazen_query::nearest(word, known_names);
    if known > 0 && mistake.nearest.is_none() {
        mistake.expected = names.iter().map(|name| format!("`{name}`")).collect();
    }
    mistake
}

fn command(words: &[String], text: &str, length: usize) -> Result<PieceKind, Mistake> {
    use clap::error::ErrorKind;
    let error = match Line::try_parse_from(words) {
        Ok(Line { command: Named(command) }) => return Ok(PieceKind::Command(command)),
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Ok(PieceKind::Help(error.render().to_string()));
    }
    let is_missing = matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    );
    if is_missing || error.kind() == ErrorKind::InvalidSubcommand {
        return Err(no_command(words, text, length));
    }
    // The first paragraph says what is wrong; the others repeat the usage.
    let rendered = error.render().to_string();
    let first = rendered.split("\n\n").next().unwrap_or_default();
    let what = first.strip_prefix("error: ").unwrap_or(first);
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(Mistake::new(Span::new(0, length), what))
}
