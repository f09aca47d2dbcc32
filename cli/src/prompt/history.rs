//! Where lines are kept between sessions.

use std::path::PathBuf;

/// The file for lines that were typed, in the user's folder for the state of programs; `None` if there
/// is no such folder.
pub(super) fn file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = std::env::var_os(name).map(PathBuf::from);
        // A relative path would mean another file in each folder.
        folder.filter(|folder| folder.is_absolute())
    };
    let state = match cfg!(windows) {
        true => folder("LOCALAPPDATA"),
        false => folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state"))),
    };
    Some(state?.join("permazen").join("history"))
}
