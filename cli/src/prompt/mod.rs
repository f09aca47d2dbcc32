//! The prompt: lines of a person, each a statement or a command, and changes that wait for
//! `commit`.
//!
//! | file | what |
//! |---|---|
//! | `lines.rs` | where lines come from; `plain.rs` reads them from standard input, `terminal.rs` edits them on a terminal, `history.rs` says where they are kept |
//! | `complete/` | what could be typed next |
//! | `continuation.rs` | whether a text is complete, or continues in the next line; `together.rs`: lines that are pasted |
//! | `pending.rs` | the transaction that waits for `commit`, and its statements; `too_old.rs` gives up its snapshot when it is too old |
//! | `work.rs` | what a line does; `end.rs`: `commit`, `diff`, `rollback`, `replay` |

mod complete;
mod continuation;
mod end;
mod history;
mod lines;
mod pending;
mod plain;
mod terminal;
mod together;
mod too_old;
mod work;

use std::thread;

use crate::args::Args;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::Session;

use lines::Lines;
use pending::Shared;
use plain::Plain;
use terminal::Terminal;
use work::Work;

/// Reads and runs lines, until the end of the input or `exit`.
pub(crate) fn run(args: &Args, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let database = session.optimistic();
    let shared = Shared::new(args.max_age);
    let mut lines: Box<dyn Lines + '_> = match args.prompt {
        true => Box::new(Plain::new(session)),
        false => Box::new(Terminal::new(args.no_history, session)?),
    };
    // On a terminal, Ctrl-C between two lines must not end the program and lose the changes.
    let _at_prompt = (!args.prompt).then(|| session.interrupt.at_prompt());
    thread::scope(|scope| {
        // Without the thread, the snapshot is given up at the next line.
        let watching = thread::Builder::new().name("permazen-age".to_owned());
        let watching = watching.spawn_scoped(scope, || shared.give_up_when_too_old());
        let mut work =
            Work { session, database: &database, shared: &shared, lines: &mut *lines, out };
        let answer = work.until_the_end();
        shared.stop_watching();
        drop(watching);
        answer
    })
}
