//! What is typed while the prompt works.
//!
//! As long as nothing reads a line, a terminal collects lines itself: it shows them in the middle of
//! the output, and cuts a line that is longer than its buffer. While the prompt is there, the terminal
//! does neither. It keeps all bytes, and they are shown when they are read.

#[cfg(unix)]
pub(crate) use unix::{drop_typed, keep, restore};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    /// The mode before the prompt. It belongs to the process, as its terminal does.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// From now on, the terminal keeps what is typed.
    pub(crate) fn keep() {
        let stdin = io::stdin();
        // If it is no terminal, or one that does not do it, the prompt works all the same.
        let Ok(mut mode) = tcgetattr(&stdin) else { return };
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.get_or_insert_with(|| mode.clone());
        mode.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        let _ = tcsetattr(&stdin, OptionalActions::Now, &mode);
    }

    /// Gives the terminal the mode that it had. Returns whether it had kept what is typed.
    pub(crate) fn restore() -> bool {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mode) = before.take() else { return false };
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &mode);
        true
    }

    /// Drops what has come and what comes with it, until nothing comes for a tenth of a second. `waits`: also if
    /// nothing has come. A part of what comes at once may be lost already, so that the rest would begin in the
    /// middle of a line.
    pub(crate) fn drop_typed(waits: bool) {
        let stdin = io::stdin();
        let Ok(mode) = tcgetattr(&stdin) else { return };
        let mut timed = mode.clone();
        timed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        timed.special_codes[SpecialCodeIndex::VMIN] = 0;
        // In tenths of a second.
        timed.special_codes[SpecialCodeIndex::VTIME] = u8::from(waits);
        let mut dropped = [0; 4096];
        while tcsetattr(&stdin, OptionalActions::Now, &timed).is_ok()
            && matches!(rustix::io::read(&stdin, &mut dropped), Ok(1..))
        {
            timed.special_codes[SpecialCodeIndex::VTIME] = 1;
        }
        let _ = tcsetattr(&stdin, OptionalActions::Now, &mode);
    }
}

/// Other systems keep what is typed.
#[cfg(not(unix))]
mod other {
    pub(crate) fn keep() {}

    pub(crate) fn restore() -> bool {
        false
    }

    pub(crate) fn drop_typed(_waits: bool) {}
}

#[cfg(not(unix))]
pub(crate) use other::{drop_typed, keep, restore};
