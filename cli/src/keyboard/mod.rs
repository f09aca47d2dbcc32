//! Input that is typed while the prompt works.
//!
//! As long as nothing reads a line, a terminal collects lines itself: it shows them in the middle
//! of the output, and cuts a line that is longer than its buffer. While the prompt is there, the
//! terminal does neither. It keeps all bytes, and they are shown when they are read.
//!
//! | file | what |
//! |---|---|
//! | `mode.rs` | the modes of the terminal |
//! | `signals.rs` | signals that end or stop the program: others find the terminal as it was |

#[cfg(unix)]
mod mode;
#[cfg(unix)]
mod signals;

#[cfg(unix)]
pub(crate) use mode::{drop_typed, end_key, lend, restore, stop_key, take_back, while_reading};
#[cfg(unix)]
pub(crate) use signals::stop;

/// From now on, the terminal keeps typed input.
#[cfg(unix)]
pub(crate) fn keep() {
    signals::listen();
    mode::keep();
}

/// Other systems keep typed input themselves.
#[cfg(not(unix))]
mod other {
    pub(crate) fn keep() {}

    pub(crate) fn restore() {}

    pub(crate) fn lend() {}

    pub(crate) fn take_back() {}

    pub(crate) fn drop_typed(_waits: bool) {}

    pub(crate) fn while_reading<T>(read: impl FnOnce() -> T) -> T {
        read()
    }

    pub(crate) fn end_key() -> Option<char> {
        None
    }

    pub(crate) fn stop_key() -> Option<char> {
        None
    }

    pub(crate) fn stop() {}
}

#[cfg(not(unix))]
pub(crate) use other::{
    drop_typed, end_key, keep, lend, restore, stop, stop_key, take_back, while_reading,
};
