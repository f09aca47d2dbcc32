//! Files that the shell makes can be read by nobody who cannot read the database.

#[cfg(unix)]
use std::path::Path;

use permazen::open::OpenStore;
#[cfg(unix)]
use permazen::open::StoreKind;

/// From now on, this process gives the files and folders that it makes no permissions for those who have none
/// for the files of `store`. A server says who can read it in its own way, so there nobody else has some.
#[cfg(unix)]
pub(super) fn keep_out(store: &OpenStore) {
    use rustix::fs::Mode;
    use rustix::process::umask;

    // Setting it is the only way to read it.
    let before = umask(Mode::RWXG | Mode::RWXO);
    umask(before | refused(store.kind(), store.path()));
}

/// The permissions that nobody gets.
#[cfg(unix)]
fn refused(kind: StoreKind, path: Option<&Path>) -> rustix::fs::Mode {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::Mode;

    if kind.is_on_servers() {
        return Mode::RWXG | Mode::RWXO;
    }
    let Some(path) = path else { return Mode::empty() };
    let mut files = vec![path.to_path_buf()];
    if kind == StoreKind::Lmdb {
        files.push(path.join("data.mdb"));
    }
    let mut refused = Mode::empty();
    for file in files {
        let Ok(found) = std::fs::metadata(&file) else { continue };
        let mode = found.permissions().mode();
        for (missing, all) in
            [(0o040, Mode::RWXG), (0o020, Mode::WGRP), (0o004, Mode::RWXO), (0o002, Mode::WOTH)]
        {
            refused.set(all, refused.contains(all) || mode & missing == 0);
        }
    }
    refused
}

/// Other systems give a file the permissions of its folder.
#[cfg(not(unix))]
pub(super) fn keep_out(_store: &OpenStore) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::Mode;

    use super::*;

    #[test]
    fn who_cannot_read_the_source_cannot_read_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("dump.xml");
        std::fs::write(&file, "").unwrap();
        let of = |mode: u32| {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            refused(StoreKind::Xml, Some(&file))
        };
        assert_eq!(of(0o600), Mode::RWXG | Mode::RWXO);
        assert_eq!(of(0o640), Mode::WGRP | Mode::RWXO);
        assert_eq!(of(0o644), Mode::WGRP | Mode::WOTH);
        assert_eq!(of(0o666), Mode::empty());
        assert_eq!(refused(StoreKind::Memory, None), Mode::empty());
        for kind in [StoreKind::Postgres, StoreKind::Etcd] {
            assert_eq!(refused(kind, None), Mode::RWXG | Mode::RWXO);
        }
    }
}
