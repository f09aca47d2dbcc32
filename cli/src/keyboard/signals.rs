//! Signals that end or stop the program while the terminal has a mode of the prompt. They do what
//! they do otherwise, and the terminal has the mode that it had before.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use rustix::process::{Signal, getpgid, getpgrp, getppid, getsid, kill_current_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::mode::{come_back, leave, restore};
use crate::temporary;

/// Whether a thread deals with [`SIGTSTP`]; empty before [`listen`].
static STOPS: OnceLock<bool> = OnceLock::new();

/// How often the program was stopped, or should have been.
static STOPPED: Mutex<u64> = Mutex::new(0);
static HAS_STOPPED: Condvar = Condvar::new();

/// From now on, signals find the terminal as it was.
pub(super) fn listen() {
    STOPS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("permazen-signals".to_owned());
        // Without the thread, signals have their usual effect, and the terminal stays in its mode.
        let spawned = thread.spawn(move || {
            let ignored = ignored();
            let wanted = [SIGCONT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP]
                .into_iter()
                .filter(|signal| ignored >> (signal - 1) & 1 == 0);
            let Ok(mut signals) = Signals::new(wanted) else { return };
            let _ = sender.send(ignored >> (SIGTSTP - 1) & 1 == 0);
            signals.forever().for_each(deal_with);
        });
        spawned.is_ok() && receiver.recv().unwrap_or(false)
    });
}

fn deal_with(signal: i32) {
    match signal {
        // After a stop without [`SIGTSTP`] too.
        SIGCONT => come_back(),
        SIGTSTP => {
            if can_stop() {
                leave();
                let _ = emulate_default_handler(SIGTSTP);
            }
            come_back();
            *STOPPED.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            HAS_STOPPED.notify_all();
        }
        _ => {
            temporary::remove_all();
            restore();
            let _ = emulate_default_handler(signal);
        }
    }
}

/// Does the work of the key that stops all programs in the foreground, while the editor gets that
/// key. Returns when the program continues.
pub(crate) fn stop() {
    if STOPS.get() != Some(&true) {
        return;
    }
    let mut stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = *stopped;
    if kill_current_process_group(Signal::TSTP).is_err() {
        return;
    }
    while *stopped == before {
        stopped = HAS_STOPPED.wait(stopped).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Whether there is a shell that can let the program continue. Systems do not stop others by a key.
fn can_stop() -> bool {
    let (group, session) = (getpgrp(), getsid(None));
    let Some(parent) = getppid() else { return false };
    // The parent of the first process of a session is outside of it.
    session.is_ok_and(|session| session != group)
        && (getpgid(Some(parent)) == Ok(group) || getsid(Some(parent)) == session)
}

/// The signals that this program ignores since its start, as a bit each: `nohup` asks for that.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    found.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
