//! The modes of the terminal: the one before the prompt, and those in which it keeps typed input.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr,
    tcgetpgrp, tcsetattr,
};

/// How long it is waited for silence.
const LONGEST_DROP: Duration = Duration::from_secs(1);

/// The editor asks a terminal to mark the beginning and the end of a pasted text.
const MARKS_ON: &[u8] = b"\x1b[?2004h";
const MARKS_OFF: &[u8] = b"\x1b[?2004l";

/// The terminal of the process.
static STATE: Mutex<State> = Mutex::new(State::NO_PROMPT);

struct State {
    /// The mode before the prompt, while the prompt is there.
    before: Option<Termios>,
    /// Whether another program has the terminal.
    is_lent: bool,
    /// Whether the editor reads a line.
    reads: bool,
    /// Whether [`come_back`] has asked for marks while the editor read this line.
    marked: bool,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, the terminal keeps typed input.
pub(super) fn keep() {
    let mut state = state();
    if state.before.is_none() {
        // If it is no terminal, or one that does not do it, the prompt works all the same.
        let Ok(mode) = tcgetattr(io::stdin()) else { return };
        state.before = Some(mode);
    }
    state.reads = false;
    state.apply();
}

/// Gives the terminal the mode that it had.
pub(crate) fn restore() {
    let mut state = state();
    state.leave();
    *state = State::NO_PROMPT;
}

/// Gives the terminal the mode that it had, for another program. It is lent before that program
/// starts, which gives back the mode that it finds.
pub(crate) fn lend() {
    let mut state = state();
    state.leave();
    state.is_lent = true;
}

/// After [`lend`].
pub(crate) fn take_back() {
    let mut state = state();
    state.is_lent = false;
    state.apply();
}

/// Gives the terminal the mode that it had until [`come_back`].
pub(super) fn leave() {
    state().leave();
}

/// After [`leave`], or if other programs may have changed the mode.
pub(super) fn come_back() {
    let mut state = state();
    state.apply();
    if state.before.is_some() && state.reads && is_ours() {
        write(MARKS_ON);
        state.marked = true;
    }
}

/// Reads a line with an editor, which has a mode of its own meanwhile.
pub(crate) fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    set_reading(true);
    let got = read();
    set_reading(false);
    got
}

fn set_reading(reads: bool) {
    let mut state = state();
    // In the mode from which the editor makes its own, or in the one that it should have given
    // back.
    state.reads = false;
    state.apply();
    // The editor may have turned the marks off just before they were turned on again.
    if std::mem::take(&mut state.marked) && is_ours() {
        write(MARKS_OFF);
    }
    state.reads = reads && state.before.is_some();
}

impl State {
    const NO_PROMPT: State = State { before: None, is_lent: false, reads: false, marked: false };

    /// Sets the mode that the prompt needs, if it is there.
    fn apply(&self) {
        let Some(before) = self.before.as_ref().filter(|_| !self.is_lent) else { return };
        let mut mode = kept(before);
        if self.reads {
            for_editor(&mut mode);
        }
        set(&mode);
    }

    fn leave(&self) {
        let Some(before) = self.before.as_ref().filter(|_| !self.is_lent) else { return };
        if self.reads && is_ours() {
            write(MARKS_OFF);
        }
        set(before);
    }
}

fn kept(before: &Termios) -> Termios {
    let mut mode = before.clone();
    mode.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    mode
}

/// The mode of the editor, which makes it itself when it begins.
fn for_editor(mode: &mut Termios) {
    mode.input_modes -= InputModes::BRKINT
        | InputModes::ICRNL
        | InputModes::INPCK
        | InputModes::ISTRIP
        | InputModes::IXON;
    mode.control_modes |= ControlModes::CS8;
    mode.local_modes -= LocalModes::IEXTEN | LocalModes::ISIG;
    mode.special_codes[SpecialCodeIndex::VMIN] = 1;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
}

/// Sets a mode. A program in the background would be stopped by that.
fn set(mode: &Termios) {
    if is_ours() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, mode);
    }
}

/// Whether this program is in the foreground.
fn is_ours() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Writes without the lock of standard output, which another thread may hold.
fn write(bytes: &[u8]) {
    let _ = rustix::io::write(io::stdout(), bytes);
}

/// The key that says that nothing more comes.
pub(crate) fn end_key() -> Option<char> {
    key(SpecialCodeIndex::VEOF)
}

/// The key that stops the program.
pub(crate) fn stop_key() -> Option<char> {
    key(SpecialCodeIndex::VSUSP)
}

fn key(index: SpecialCodeIndex) -> Option<char> {
    let state = state();
    // 0 stands for no key.
    let key = state.before.as_ref()?.special_codes[index];
    (key != 0).then(|| char::from(key))
}

/// Drops the input that has come and the input that comes with it, until nothing comes for a tenth
/// of a second. `waits`: also if nothing has come. A part of input that comes at once may be lost
/// already, so that the rest would begin in the middle of a line. If it does not stop, it goes up
/// to the end of a line.
pub(crate) fn drop_typed(waits: bool) {
    let stdin = io::stdin();
    let Ok(mode) = tcgetattr(&stdin) else { return };
    let mut timed = mode.clone();
    timed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    timed.special_codes[SpecialCodeIndex::VMIN] = 0;
    // In tenths of a second.
    timed.special_codes[SpecialCodeIndex::VTIME] = u8::from(waits);
    let end = Instant::now() + LONGEST_DROP;
    let mut dropped = [0; 4096];
    while is_ours() && tcsetattr(&stdin, OptionalActions::Now, &timed).is_ok() {
        let is_late = Instant::now() >= end;
        let most = if is_late { 1 } else { dropped.len() };
        let into = dropped.get_mut(..most).unwrap_or_default();
        match rustix::io::read(&stdin, &mut *into) {
            Ok(1..) if is_late && matches!(into, [b'\r' | b'\n']) => break,
            Ok(1..) => timed.special_codes[SpecialCodeIndex::VTIME] = 1,
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => break,
        }
    }
    set(&mode);
}
