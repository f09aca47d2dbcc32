//! Rows on their way from a statement to standard output.

use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use permazen_query::{Column, ObjectRow, Row, Rows};

use super::sink::Sink;
use super::table::LONGEST;
use super::writer::Writer;

/// A writer of rows, and the sink that it writes to.
struct Stream<'s> {
    writer: Box<dyn Writer>,
    sink: &'s mut Sink,
}

/// Gives `run` somewhere to put rows. They are written when there are enough of them, and at the
/// latest after [`LONGEST`], also if the statement takes long to find the next one. If `run` fails,
/// the rows that it has found are written.
pub(super) fn write_rows<T, E>(
    writer: Box<dyn Writer>,
    sink: &mut Sink,
    run: impl FnOnce(&mut dyn Rows) -> Result<T, E>,
) -> Result<T, E> {
    let stream = Mutex::new(Stream { writer, sink });
    let result = thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        let stream = &stream;
        // Without the thread, rows are written a little later.
        let _ = thread::Builder::new().name("permazen-output".to_owned()).spawn_scoped(
            scope,
            move || {
                while ended.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                    let mut stream = lock(stream);
                    let Stream { writer, sink } = &mut *stream;
                    writer.overdue(sink);
                    sink.flush();
                }
            },
        );
        let result = run(&mut Incoming(stream));
        drop(running);
        result
    });
    let mut stream = stream.into_inner().unwrap_or_else(PoisonError::into_inner);
    match &result {
        Ok(_) => stream.writer.end(stream.sink),
        Err(_) => stream.writer.overdue(stream.sink),
    }
    result
}

fn lock<'l, 's>(stream: &'l Mutex<Stream<'s>>) -> MutexGuard<'l, Stream<'s>> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of a stream that a statement uses.
struct Incoming<'l, 's>(&'l Mutex<Stream<'s>>);

impl Incoming<'_, '_> {
    /// Writes something. No more is wanted if the output is not read.
    fn write(&mut self, write: impl FnOnce(&mut dyn Writer, &mut Sink)) -> ControlFlow<()> {
        let mut stream = lock(self.0);
        let Stream { writer, sink } = &mut *stream;
        write(&mut **writer, sink);
        if sink.is_open() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Rows for Incoming<'_, '_> {
    fn columns(&mut self, columns: &[Column]) -> ControlFlow<()> {
        self.write(|writer, sink| writer.columns(columns, sink))
    }

    fn row(&mut self, row: &Row) -> ControlFlow<()> {
        self.write(|writer, sink| writer.row(row, sink))
    }

    fn object(&mut self, object: &ObjectRow) -> ControlFlow<()> {
        self.write(|writer, sink| writer.object(object, sink))
    }
}
