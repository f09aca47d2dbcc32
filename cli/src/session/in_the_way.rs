//! Waiting for other programs that use the database.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output;

/// After this time a message says that the program waits.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// How long to wait at a time before looking for Ctrl-C.
pub(super) const SLICE: Duration = Duration::from_millis(50);
/// How long to pause if other programs are in the way and nothing can be waited for.
const PAUSE: Duration = Duration::from_millis(10);

const WAITING: &str = "waiting for other programs that use the database";
/// Nothing tells a server that is not there from one that is about to come back.
const WAITING_FOR_SERVER: &str = "waiting for the server";

/// Runs `attempt` until it succeeds, fails for another reason than another program, or `wait` is
/// over. `attempt` gets the time for which it may wait itself.
pub(super) fn patiently<T, E: Into<Failure>>(
    interrupt: &Interrupt,
    wait: Duration,
    slice: Duration,
    mut attempt: impl FnMut(Duration) -> Result<T, E>,
) -> Result<T, Failure> {
    let start = Instant::now();
    let mut told = false;
    loop {
        interrupt.check()?;
        let left = wait.saturating_sub(start.elapsed());
        let failure = match attempt(left.min(slice)) {
            Ok(done) => return Ok(done),
            Err(error) => error.into(),
        };
        if !failure.is_retryable {
            return Err(failure);
        }
        if start.elapsed() >= wait {
            return Err(busy(&failure, wait));
        }
        if !told && start.elapsed() >= TOLD_AFTER {
            output::note_now(WAITING);
            told = true;
        }
        thread::sleep(PAUSE.min(left));
    }
}

fn busy(failure: &Failure, wait: Duration) -> Failure {
    let message = format!(
        "another program is changing the database, and was waited for {wait:?}; try again, or wait \
         longer with --wait"
    );
    // Reasons other than the right to write are worth knowing.
    let message = match failure.message.contains("the right to write") {
        true => message,
        false => format!("{message} ({})", failure.message),
    };
    Failure { is_retryable: true, ..Failure::with(Exit::Busy, message) }
}

/// Runs something that may wait for others, or for the server of the store, and says so if it takes
/// long.
pub(crate) fn telling<T>(on_server: bool, run: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        // Without the thread, there is no message.
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            if ended.recv_timeout(TOLD_AFTER) == Err(RecvTimeoutError::Timeout) {
                output::note_now(if on_server { WAITING_FOR_SERVER } else { WAITING });
            }
        });
        let result = run();
        drop(running);
        result
    })
}
