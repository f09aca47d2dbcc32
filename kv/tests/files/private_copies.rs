//! Copies are as private as their source, and new stores can be read by their owner alone.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use permazen_kv::copy::{Readers, Watch};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::xml::{self, Style};

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

/// A directory that all can enter.
fn open_to_all() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    set(dir.path(), 0o755);
    dir
}

/// These permissions without those that the umask of the tests takes away.
fn left(dir: &Path, wanted: u32) -> u32 {
    use std::os::unix::fs::OpenOptionsExt;
    let path = dir.join("left");
    let _ = fs::remove_file(&path);
    fs::OpenOptions::new().write(true).create_new(true).mode(wanted).open(&path).unwrap();
    mode(&path)
}

#[test]
fn a_copy_of_files_is_as_private_as_they_are() {
    let dir = open_to_all();
    let at = |name: &str| dir.path().join(name);
    let lmdb = LmdbStore::open_or_create(at("lmdb")).unwrap();
    let sqlite = SqliteStore::open_or_create(at("sqlite")).unwrap();
    set(&at("lmdb"), 0o755);
    for source in [0o600, 0o640, 0o644] {
        set(&at("lmdb/data.mdb"), source);
        set(&at("sqlite"), source);
        let (environment, file) = (at(&format!("l{source:o}")), at(&format!("s{source:o}")));
        lmdb.copy_to(&environment).unwrap();
        sqlite.copy_to(&file, &mut Watch::new()).unwrap();
        let wanted = left(dir.path(), source);
        assert_eq!((mode(&environment.join("data.mdb")), mode(&file)), (wanted, wanted));
        let folder = wanted | 0o100 | ((wanted & 0o044) >> 2);
        assert_eq!(mode(&environment), folder, "{source:o}");
    }
}

#[test]
fn a_new_store_is_for_its_owner_unless_the_watch_says_otherwise() {
    let dir = open_to_all();
    let from = MemoryStore::new().snapshot();
    let like = dir.path().join("like");
    fs::write(&like, "").unwrap();
    set(&like, 0o644);
    for (name, readers, wanted) in [("own", None, 0o600), ("all", Some(Readers::of(&like)), 0o644)]
    {
        let watch = || readers.map_or_else(Watch::new, |readers| Watch::new().readers(readers));
        let at = |end: &str| dir.path().join(format!("{name}.{end}"));
        LmdbStore::builder().create_from(at("lmdb"), &from, &mut watch()).unwrap();
        SqliteStore::builder().create_from(at("sqlite"), &from, &mut watch()).unwrap();
        xml::create_from(at("xml"), &from, Style::Indented, &mut watch()).unwrap();
        let wanted = left(dir.path(), wanted);
        for made in [at("lmdb").join("data.mdb"), at("sqlite"), at("xml")] {
            assert_eq!(mode(&made), wanted, "{}", made.display());
        }
        assert_eq!(mode(&at("lmdb")), wanted | 0o100 | ((wanted & 0o044) >> 2));
    }
}

#[test]
fn the_folders_above_a_file_count_for_each_kind() {
    let dir = open_to_all();
    let folder = dir.path().join("folder");
    fs::create_dir_all(folder.join("lmdb")).unwrap();
    fs::create_dir(folder.join("inside")).unwrap();
    for path in [folder.join("lmdb"), folder.join("inside")] {
        set(&path, 0o755);
    }
    let files = [folder.join("file"), folder.join("inside/file"), folder.join("lmdb/data.mdb")];
    for file in &files {
        fs::write(file, "").unwrap();
        set(file, 0o644);
    }
    let group = files[0].metadata().unwrap().gid();
    let named = [files[0].clone(), files[1].clone(), folder.join("lmdb")];
    for (of_folder, wanted) in [(0o755, 0o644), (0o711, 0o644), (0o750, 0o640), (0o700, 0o600)] {
        set(&folder, of_folder);
        for path in &named {
            let found = Readers::of(path).file_mode(group);
            assert_eq!(found, wanted, "{of_folder:o}: {}", path.display());
        }
    }
    assert_eq!(Readers::of(folder.join("missing")), Readers::owner());
}

#[test]
fn another_group_gets_only_what_all_have() {
    let dir = open_to_all();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let group = file.metadata().unwrap().gid();
    for (source, wanted) in
        [(0o600, 0o600), (0o640, 0o600), (0o604, 0o600), (0o644, 0o644), (0o664, 0o644)]
    {
        set(&file, source);
        let readers = Readers::of(&file);
        assert_eq!((readers.file_mode(group), readers.file_mode(group + 1)), (source, wanted));
    }
    set(&file, 0o640);
    // Only a system administrator can give it to any group.
    if chown(&file, None, Some(group + 1)).is_ok() {
        let (from, copy) = (MemoryStore::new().snapshot(), dir.path().join("copy"));
        let mut watch = Watch::new().readers(Readers::of(&file));
        xml::create_from(&copy, &from, Style::Indented, &mut watch).unwrap();
        assert_eq!((mode(&copy), copy.metadata().unwrap().gid()), (0o600, group));
    }
}
