//! Lines that are edited on a terminal.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::escape::path_text;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, Modifiers, RepeatCount,
};

use super::complete::{Completion, complete};
use super::history;
use super::lines::{Lines, Typed, UNREADABLE_AND_MORE, is_yes};
use super::together::{Together, are_whole};
use crate::failure::Failure;
use crate::keyboard;
use crate::output::{self, Output};
use crate::secrets;
use crate::session::Session;

/// Terminals, by `TERM`, of which lines are read as the system gives them.
const WITHOUT_EDITING: [&str; 3] = ["cons25", "dumb", "emacs"];

const NOT_KEPT: &str = "what is typed is not kept there";

/// How many lines are kept.
const MOST_LINES: usize = 1000;

/// A terminal.
pub(super) struct Terminal<'s> {
    editor: Editor<Help<'s>, FileHistory>,
    /// Where lines are kept.
    history: Option<PathBuf>,
    /// Set by the key that ends the input.
    ends: Arc<AtomicBool>,
    /// Lines that were pasted and are not run yet.
    waiting: Together,
}

impl<'s> Terminal<'s> {
    pub(super) fn new(no_history: bool, session: &'s Session) -> Result<Terminal<'s>, Failure> {
        let config = Config::builder()
            .max_history_size(MOST_LINES)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(failed)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Help { session, asks: false }));
        let mut history = if no_history { None } else { history::file() };
        if let Some(file) = &history {
            match history::is_there(file) {
                // It may be from another program: typing works without it.
                Ok(true) => _ = editor.load_history(file),
                Ok(false) => {}
                Err(error) => {
                    output::note(format_args!("{}: {NOT_KEPT}: {error}", path_text(file)));
                    history = None;
                }
            }
        }
        let term = std::env::var("TERM").unwrap_or_default();
        if !WITHOUT_EDITING.iter().any(|without| without.eq_ignore_ascii_case(&term)) {
            keyboard::keep();
        }
        let ends = Arc::new(AtomicBool::new(false));
        let mut bind = |key: Option<char>, does: Box<dyn ConditionalEventHandler>| {
            if let Some(key) = key {
                let key = KeyEvent::new(key, Modifiers::NONE);
                editor.bind_sequence(key, EventHandler::Conditional(does));
            }
        };
        bind(keyboard::end_key(), Box::new(Ends(Arc::clone(&ends))));
        bind(keyboard::stop_key(), Box::new(Stops));
        Ok(Terminal { editor, history, ends, waiting: Together::default() })
    }

    /// Reads a text. If that fails, the editor may have lost input that it had read beyond the
    /// text; the input after that is dropped too, since it may begin in the middle of a line.
    fn line(&mut self, prompt: &str) -> rustyline::Result<String> {
        let read = keyboard::while_reading(|| self.editor.readline(prompt));
        match read {
            Ok(_) if self.ends.swap(false, Ordering::Relaxed) => Err(ReadlineError::Eof),
            Ok(text) => Ok(text),
            Err(error) => {
                keyboard::drop_typed(is_unreadable(&error));
                Err(error)
            }
        }
    }

    /// Keeps a text for the next session. Nothing depends on it.
    fn keep(&mut self, text: &str) {
        if text.trim().is_empty() || secrets::hidden(text) != text {
            return;
        }
        if !matches!(self.editor.add_history_entry(text), Ok(true)) {
            return;
        }
        let Some(file) = self.history.clone() else { return };
        if let Err(error) = history::make(&file)
            .and_then(|()| self.editor.append_history(&file).map_err(std::io::Error::other))
        {
            output::note(format_args!("{}: {NOT_KEPT}: {error}", path_text(&file)));
            self.history = None;
        }
    }

    fn asks(&mut self, asks: bool) {
        if let Some(help) = self.editor.helper_mut() {
            help.asks = asks;
        }
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::new(format!("the terminal: {error}"))
}

/// Whether the typed text is not UTF-8.
fn is_unreadable(error: &ReadlineError) -> bool {
    matches!(error, ReadlineError::Io(error) if error.kind() == io::ErrorKind::InvalidData)
}

impl Lines for Terminal<'_> {
    fn read(&mut self, prompt: &str, out: &mut Output) -> Result<Typed, Failure> {
        if let Some(text) = self.waiting.text() {
            shown(prompt, &text, out);
            self.keep(&text);
            return Ok(Typed::Text(text));
        }
        out.flush();
        match self.line(prompt) {
            Ok(lines) => {
                self.waiting = Together::new(&lines);
                let text = self.waiting.text().unwrap_or_default();
                self.keep(&text);
                Ok(Typed::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Dropped),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) if is_unreadable(&error) => Ok(Typed::Unreadable(UNREADABLE_AND_MORE)),
            Err(error) => Err(failed(error)),
        }
    }

    fn agrees(&mut self, question: &str, out: &mut Output) -> Result<Option<bool>, Failure> {
        if let Some(answer) = self.waiting.line() {
            shown(question, &answer, out);
            return Ok(Some(is_yes(&answer)));
        }
        out.flush();
        self.asks(true);
        let answer = self.line(question);
        self.asks(false);
        match answer {
            Ok(answer) => Ok(Some(is_yes(&answer))),
            Err(ReadlineError::Interrupted) => Ok(Some(false)),
            // Bytes that mean nothing do not mean yes.
            Err(error) if is_unreadable(&error) => Ok(Some(false)),
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn drop_waiting(&mut self) {
        self.waiting = Together::default();
    }
}

/// Shows a pasted text where it is run.
fn shown(prompt: &str, text: &str, out: &mut Output) {
    if !out.is_json() {
        format!("{prompt}{text}").split('\n').for_each(|line| out.say(line));
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // The editor may have read the beginning of a line that would otherwise be for a shell.
        keyboard::drop_typed(false);
        keyboard::restore();
    }
}

/// The key that ends the input, in an empty line. If the editor handled this key itself, it would
/// lose the input that it has read beyond it.
struct Ends(Arc<AtomicBool>);

impl ConditionalEventHandler for Ends {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, at: &EventContext<'_>) -> Option<Cmd> {
        if !at.line().is_empty() {
            return None;
        }
        self.0.store(true, Ordering::Relaxed);
        Some(Cmd::AcceptLine)
    }
}

/// The key that stops the program.
struct Stops;

impl ConditionalEventHandler for Stops {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        keyboard::stop();
        Some(Cmd::Repaint)
    }
}

/// Helps the editor: completes words, and says whether a text is complete.
struct Help<'s> {
    session: &'s Session,
    /// Whether the typed text is the answer to a question.
    asks: bool,
}

impl Validator for Help<'_> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match self.asks || are_whole(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Completer for Help<'_> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..position).filter(|_| !self.asks).unwrap_or_default();
        let Completion { start, candidates } = complete(before, self.session);
        Ok((start, if self.asks { Vec::new() } else { candidates }))
    }
}

impl Hinter for Help<'_> {
    type Hint = String;
}

impl Highlighter for Help<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Borrowed(line)
    }
}

impl Helper for Help<'_> {}
