//! Standard output, or a pager: takes the text, and records whether it was written.

use std::io::{self, Write};

use super::stderr;

/// How many bytes are collected before they are written.
const BUFFER: usize = 64 << 10;
/// How many bytes are held back for a transaction that is not committed.
const MOST_HELD: usize = 1 << 20;

const PRINTED_BEFORE: &str = "more than 1 MiB is printed, which is shown before the changes are \
     committed: this is not run again if others are in the way";

/// Where bytes go. After the first failure nothing is written any more.
pub(crate) struct Sink {
    out: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    state: State,
    /// How many bytes were added, those that are held back set aside.
    bytes: u64,
    /// The text that is held back until a transaction is committed; `None` if no text is.
    held: Option<Vec<u8>>,
}

enum State {
    Open,
    /// The reader has gone away, which is no failure.
    Gone,
    Failed(io::Error),
}

impl Sink {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Sink {
        Sink { out, buffer: Vec::new(), state: State::Open, bytes: 0, held: None }
    }

    /// Writes to `out` from now on. Gives back where it wrote before.
    pub(super) fn redirect(&mut self, out: Box<dyn Write + Send>) -> Box<dyn Write + Send> {
        self.flush();
        std::mem::replace(&mut self.out, out)
    }

    /// From now on, added text is held back, up to a limit.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Whether added text is held back.
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Adds the text that was held back. From now on, nothing is.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.push(&held);
        }
    }

    /// Forgets the text that was held back. From now on, nothing is.
    pub(super) fn forget(&mut self) {
        self.held = None;
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(bytes);
            if held.len() > MOST_HELD {
                self.release();
                stderr::note_now(PRINTED_BEFORE);
            }
            return;
        }
        self.bytes += bytes.len() as u64;
        if self.is_open() {
            self.buffer.extend_from_slice(bytes);
            if self.buffer.len() >= BUFFER {
                self.write_out();
            }
        }
    }

    fn write_out(&mut self) {
        if let Err(error) = self.out.write_all(&self.buffer) {
            self.fail(error);
        }
        self.buffer.clear();
    }

    /// From now on, nothing is written.
    pub(super) fn fail(&mut self, error: io::Error) {
        if self.is_open() {
            self.state = match error.kind() {
                io::ErrorKind::BrokenPipe => State::Gone,
                _ => State::Failed(error),
            };
        }
    }

    /// Writes everything that was added.
    pub(super) fn flush(&mut self) {
        if self.is_open() && !self.buffer.is_empty() {
            self.write_out();
        }
        if self.is_open()
            && let Err(error) = self.out.flush()
        {
            self.fail(error);
        }
    }

    /// Whether added text is still written.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Whether the reader has gone away.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.state, State::Gone)
    }

    /// How many bytes were added, and so perhaps seen.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Why not everything could be written, apart from a reader that has gone away.
    pub(super) fn error(&self) -> Option<&io::Error> {
        match &self.state {
            State::Failed(error) => Some(error),
            State::Open | State::Gone => None,
        }
    }

    /// Fails if nothing is written any more.
    fn written(&self) -> io::Result<()> {
        match &self.state {
            State::Open => Ok(()),
            State::Gone => Err(io::ErrorKind::BrokenPipe.into()),
            State::Failed(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// A reader that has gone away was that of a pager: the next one may read again.
    pub(super) fn reopen(&mut self) {
        if self.is_gone() {
            self.state = State::Open;
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written()?;
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Sink::flush(self);
        self.written()
    }
}
