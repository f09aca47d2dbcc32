//! Files that the shell makes can be read by nobody who cannot read the database.

use permazen::open::OpenStore;

/// From now on, this process gives the files and folders that it makes no permissions for those who have none
/// for the files of `store`.
#[cfg(unix)]
pub(super) fn keep_out(store: &OpenStore) {
    use std::os::unix::fs::PermissionsExt;

    use permazen::open::StoreKind;
    use rustix::fs::Mode;
    use rustix::process::umask;

    let Some(path) = store.path() else { return };
    let mut files = vec![path.to_path_buf()];
    if store.kind() == StoreKind::Lmdb {
        files.push(path.join("data.mdb"));
    }
    let mut refused = Mode::empty();
    for file in files {
        let Ok(found) = std::fs::metadata(&file) else { continue };
        let mode = found.permissions().mode();
        for (read, all) in [(0o040, Mode::RWXG), (0o004, Mode::RWXO)] {
            refused.set(all, refused.contains(all) || mode & read == 0);
        }
    }
    // Setting it is the only way to read it.
    let before = umask(Mode::RWXG | Mode::RWXO);
    umask(before | refused);
}

/// Other systems give a file the permissions of its folder.
#[cfg(not(unix))]
pub(super) fn keep_out(_store: &OpenStore) {}
