//! Standard output.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write};

use permazen::__internal::escape::Escaping;
use permazen_jsck::program::{json_line, without_numbers};
use permazen_query::Rows;
use serde::Serialize;

use super::csv::Csv;
use super::format::Format;
use super::json::Json;
use super::lines::Lines;
use super::pager::Pager;
use super::sink::Sink;
use super::table::Table;
use super::writer::Writer;
use super::{stderr, stream};
use crate::failure::{Answer, Exit, Failure};
use crate::interrupt::Interrupt;
use crate::keyboard;

/// Where answers go.
pub(crate) struct Output {
    format: Option<Format>,
    sink: Sink,
    /// Whether people see it at once.
    is_terminal: bool,
    /// Whether a pager may be started: there is none yet, and no other program waits until the
    /// output is shown.
    may_page: bool,
    interrupt: Interrupt,
}

impl Output {
    /// Standard output, in this format if one was chosen.
    pub(crate) fn new(format: Option<Format>, interrupt: Interrupt) -> Output {
        let is_terminal = io::stdout().is_terminal();
        let sink = Sink::new(Box::new(io::stdout()));
        Output { format, sink, is_terminal, may_page: true, interrupt }
    }

    /// Output that a test looks at.
    #[cfg(test)]
    pub(crate) fn to(out: Box<dyn Write + Send>, interrupt: Interrupt) -> Output {
        Output {
            format: None,
            sink: Sink::new(out),
            is_terminal: false,
            may_page: false,
            interrupt,
        }
    }

    /// From now on, shows in this format; in that of each statement and command if it is `None`.
    pub(crate) fn choose(&mut self, format: Option<Format>) {
        self.format = format;
    }

    /// The format that was chosen.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Some(Format::Json)
    }

    /// Whether a person sees the output at once.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints a line for people, escaped.
    pub(crate) fn say(&mut self, text: impl Display) {
        let mut line = String::new();
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut line), "{text}");
        line.push('\n');
        self.sink.push(line.as_bytes());
    }

    /// Prints a line of JSON, escaped.
    pub(crate) fn json(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let line = json_line(line)?;
        self.sink.push(&line);
        Ok(())
    }

    /// Prints the result of a command: as a line for people, or as the line of JSON.
    pub(crate) fn done(
        &mut self,
        text: impl Display,
        json: &impl Serialize,
    ) -> Result<(), Failure> {
        if self.is_json() {
            return self.json(json);
        }
        self.say(text);
        Ok(())
    }

    /// Prints a line of JSON that is already text, and safe.
    pub(crate) fn json_text(&mut self, line: &str) {
        self.sink.push(line.as_bytes());
        self.sink.push(b"\n");
    }

    /// Prints bytes as they are. They must not come from a database if this is a terminal.
    pub(crate) fn exactly(&mut self, bytes: &[u8]) {
        self.sink.push(bytes);
    }

    /// A writer for bytes that are safe to show. The caller must check the result of each write.
    pub(crate) fn raw(&mut self) -> &mut dyn Write {
        &mut self.sink
    }

    /// Where a writer of documents can write: exactly in a pipe, escaped on a terminal.
    pub(crate) fn document(&mut self) -> Document<'_> {
        Document { out: self, cut: Vec::new() }
    }

    /// Gives `run` somewhere to put rows, which are shown in this format, page by page on a
    /// terminal.
    pub(crate) fn rows<T, E>(
        &mut self,
        format: Format,
        run: impl FnOnce(&mut dyn Rows) -> Result<T, E>,
    ) -> Result<T, E> {
        let writer = writer(format, !self.is_terminal);
        self.paged(|out| stream::write_rows(writer, &mut out.sink, run))
    }

    /// From now on, nothing is shown page by page: other programs would wait for the reader.
    pub(crate) fn never_page(&mut self) {
        self.may_page = false;
    }

    /// Shows the output of `show` page by page, if this is a terminal and a person sits at it. A
    /// call within `show` uses the same pager.
    pub(crate) fn paged<T>(&mut self, show: impl FnOnce(&mut Output) -> T) -> T {
        let interactive = self.may_page && self.is_terminal && io::stdin().is_terminal();
        // From its start, Ctrl-C is for the pager, too.
        let paging = interactive.then(|| self.interrupt.paging());
        if interactive {
            keyboard::lend();
        }
        let started = if interactive { Pager::start() } else { None };
        let (Some(paging), Some((pager, input))) = (paging, started) else {
            if interactive {
                keyboard::take_back();
            }
            let shown = show(self);
            self.flush();
            return shown;
        };
        let stdout = self.sink.redirect(Box::new(input));
        self.may_page = false;
        let shown = show(self);
        self.may_page = true;
        drop(self.sink.redirect(stdout));
        paging.all_is_written();
        self.sink.reopen();
        if let Err(error) = pager.wait() {
            self.sink.fail(error);
        }
        keyboard::take_back();
        shown
    }

    /// From now on, output and notes are held back: they are about a transaction that is not
    /// committed. Output of more than 1 MiB is printed all the same.
    pub(crate) fn hold(&mut self) {
        self.sink.hold();
        stderr::hold();
    }

    /// Shows the text that was held back: the transaction is committed.
    pub(crate) fn release(&mut self) {
        self.sink.release();
        self.flush();
        stderr::release();
    }

    /// Forgets the text that was held back: the transaction is run again.
    pub(crate) fn forget(&mut self) {
        self.sink.forget();
        stderr::forget();
    }

    /// Forgets the text that was held back, but not the notes: the transaction has failed.
    pub(crate) fn take_back(&mut self) {
        self.sink.forget();
        self.flush();
        stderr::release();
    }

    /// Prints the notes that were held back if the output is not held back any more.
    pub(crate) fn keep_pace(&mut self) {
        if !self.sink.holds() {
            stderr::release();
            stderr::hold();
        }
    }

    /// Writes everything that was printed so far and is not held back.
    pub(crate) fn flush(&mut self) {
        self.sink.flush();
    }

    /// How many bytes were printed and not held back. They cannot be taken back.
    pub(crate) fn bytes(&self) -> u64 {
        self.sink.bytes()
    }

    /// Whether the output is not read any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.sink.is_gone()
    }

    /// Fails if something could not be written. A reader that has gone away is no failure.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        self.flush();
        match self.sink.error() {
            None => Ok(()),
            Some(error) => {
                let error = without_numbers(&error.to_string());
                let what = format!("standard output: {error}; the output is not complete");
                Err(Failure::new(what))
            }
        }
    }

    /// The end of the program: makes sure that everything was written, and says why it failed.
    pub(crate) fn end(mut self, answer: Result<Answer, Failure>) -> Exit {
        let written = self.check();
        match answer.and_then(|answer| written.map(|()| answer)) {
            Ok(Answer::Yes) => Exit::Done,
            Ok(Answer::No) => Exit::No,
            Ok(Answer::Leave(code)) => Exit::Chosen(code),
            Err(failure) => {
                stderr::failure(&failure);
                failure.exit
            }
        }
    }
}

/// The writer of a format. `exact`: nothing is escaped in formats that are exact in pipes.
fn writer(format: Format, exact: bool) -> Box<dyn Writer> {
    match format {
        Format::Table => Box::new(Table::new()),
        // Statements whose objects are XML are not written as rows.
        Format::Lines | Format::Xml => Box::new(Lines::new()),
        Format::Json => Box::new(Json::new()),
        Format::Csv => Box::new(Csv::new(exact)),
        Format::Raw => Box::new(Csv::raw(exact)),
    }
}

/// Text of a database on its way to standard output.
pub(crate) struct Document<'o> {
    out: &'o mut Output,
    /// The beginning of a character whose end has not come yet.
    cut: Vec<u8>,
}

impl Write for Document<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.out.is_terminal {
            return self.out.sink.write(bytes);
        }
        self.cut.extend_from_slice(bytes);
        let mut escaped = String::new();
        let text = std::mem::take(&mut self.cut);
        for chunk in text.utf8_chunks() {
            for (at, line) in chunk.valid().split('\n').enumerate() {
                escaped.push_str(if at > 0 { "\n" } else { "" });
                // Writing to a string does not fail.
                let _ = write!(Escaping(&mut escaped), "{line}");
            }
            let invalid = chunk.invalid();
            let is_end =
                text.ends_with(invalid) && text.as_ptr_range().end == invalid.as_ptr_range().end;
            match std::str::from_utf8(invalid) {
                // The rest of the character may come.
                Err(error) if is_end && error.error_len().is_none() => self.cut = invalid.to_vec(),
                Err(_) => escaped.push(char::REPLACEMENT_CHARACTER),
                Ok(_) => {}
            }
        }
        self.out.sink.write_all(escaped.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.out.sink)
    }
}
