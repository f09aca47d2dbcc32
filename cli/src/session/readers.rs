//! Files that the shell makes cannot be read by users that cannot read the database.

use permazen::open::OpenStore;

/// From now on, this process gives the files and folders that it makes no permissions that the
/// files of `store` do not give. Copies and the files that commands write also look at their group;
/// this is for all the rest.
#[cfg(unix)]
pub(super) fn keep_out(store: &OpenStore) {
    use rustix::fs::{Mode, RawMode};
    use rustix::process::umask;

    #[allow(clippy::cast_possible_truncation, reason = "nine bits, in the system's own type")]
    let closed = Mode::from_raw_mode(store.readers().umask() as RawMode);
    // Setting it is the only way to read it.
    let before = umask(Mode::RWXG | Mode::RWXO);
    umask(before | closed);
}

/// Other systems give a file the permissions of its folder.
#[cfg(not(unix))]
pub(super) fn keep_out(_store: &OpenStore) {}
