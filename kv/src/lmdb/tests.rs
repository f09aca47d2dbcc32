//! Environments with databases that only LMDB itself can make.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseFlags, EnvOpenOptions};

use super::file;

const PAGE: usize = 4096;

/// An environment with the pairs and other databases. Each has a value with its name on pages that
/// are in use.
fn environment(directory: &Path) {
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 26).max_dbs(8);
    #[allow(unsafe_code)]
    // SAFETY: no other code knows the directory.
    let env = unsafe { options.open(directory) }.unwrap();
    let tx = env.write_txn().unwrap();
    env.create_databases_and_commit(tx, |open, tx| {
        for (name, flags) in [
            ("permazen", DatabaseFlags::empty()),
            ("other", DatabaseFlags::empty()),
            ("reverse", DatabaseFlags::REVERSE_KEY),
            ("several", DatabaseFlags::DUP_SORT),
        ] {
            let mut options = open.database_options().types::<Bytes, Bytes>();
            let database = options.name(name).flags(flags).create(tx)?;
            for number in 0..3000u32 {
                let value = [name.repeat(10).as_bytes(), &number.to_be_bytes()].concat();
                // A few keys with many values.
                let key = if name == "several" { number / 1000 } else { number };
                database.put(tx, &key.to_be_bytes(), &value)?;
            }
            if name == "other" {
                database.put(tx, b"large", &[7; 20_000])?;
            }
        }
        // A pair of the main database is not a database.
        let main = open.database_options().types::<Bytes, Bytes>().create(tx)?;
        main.put(tx, b"pair", b"value")?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })
    .unwrap();
    env.prepare_for_closing().wait();
}

/// The last leaf page that contains `part`.
fn leaf_with(file: &[u8], part: &[u8]) -> usize {
    let is_it = |page: &[u8]| {
        page[10] == 2 && page.windows(part.len()).filter(|window| *window == part).count() > 9
    };
    file.chunks(PAGE).rposition(is_it).unwrap() * PAGE
}

#[test]
fn other_databases_are_followed_as_well() {
    let directory = tempfile::tempdir().unwrap();
    environment(directory.path());
    let data = directory.path().join("data.mdb");
    let whole = fs::read(&data).unwrap();
    let problems = |file: &[u8]| {
        fs::write(&data, file).unwrap();
        file::verify(directory.path(), "permazen").unwrap()
    };
    assert_eq!(problems(&whole), [""; 0]);
    for name in ["other", "reverse"] {
        let page = leaf_with(&whole, name.as_bytes());
        let mut file = whole.clone();
        file[page + 1] ^= 0x40;
        let found = problems(&file);
        let expected = format!("the database {name:?}: page {}", page / PAGE);
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{expected}: {found:?}");
        assert!(found[0].ends_with("says that it is another page"), "{found:?}");
    }
    let overflow = whole.chunks(PAGE).rposition(|page| page[10] == 4).unwrap() * PAGE;
    let mut file = whole.clone();
    file[overflow + 12] = 1;
    let found = problems(&file);
    assert!(found[0].starts_with("the database \"other\": page"), "{found:?}");
    assert!(found[0].contains("does not begin the 20000 bytes"), "{found:?}");
    // Its pages are of other kinds, which are not checked.
    let mut file = whole.clone();
    let several = whole.chunks(PAGE).rposition(|page| {
        page[10] == 2 && page.windows(14).any(|window| window == b"severalseveral")
    });
    file[several.unwrap() * PAGE + 1] ^= 0x40;
    assert_eq!(problems(&file), [""; 0]);
}

#[test]
#[allow(deprecated, reason = "other programs use these flags")]
fn an_environment_of_another_program_is_not_called_damaged() {
    use crate::KvError;
    use crate::lmdb::LmdbStore;

    let all = [
        (DatabaseFlags::REVERSE_KEY, "MDB_REVERSEKEY"),
        (DatabaseFlags::DUP_SORT, "MDB_DUPSORT"),
        (DatabaseFlags::INTEGER_KEY, "MDB_INTEGERKEY"),
        (DatabaseFlags::DUP_SORT | DatabaseFlags::DUP_FIXED, "MDB_DUPSORT | MDB_DUPFIXED"),
        (
            DatabaseFlags::DUP_SORT | DatabaseFlags::DUP_FIXED | DatabaseFlags::INTEGER_DUP,
            "MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP",
        ),
        (DatabaseFlags::DUP_SORT | DatabaseFlags::REVERSE_DUP, "MDB_DUPSORT | MDB_REVERSEDUP"),
    ];
    // With a name of its own, and the one that every environment has.
    for (name, (flags, names)) in
        [Some("permazen"), None].into_iter().flat_map(|name| all.map(|it| (name, it)))
    {
        let directory = tempfile::tempdir().unwrap();
        let mut options = EnvOpenOptions::new();
        options.map_size(1 << 26).max_dbs(8);
        #[allow(unsafe_code)]
        // SAFETY: no other code knows the directory.
        let env = unsafe { options.open(directory.path()) }.unwrap();
        env.create_databases_and_commit(env.write_txn().unwrap(), |open, tx| {
            let mut options = open.database_options().types::<Bytes, Bytes>();
            options.flags(flags);
            if let Some(name) = name {
                options.name(name);
            }
            let database = options.create(tx)?;
            for number in 0..1000u64 {
                database.put(tx, &(number / 3).to_ne_bytes(), &number.to_ne_bytes())?;
            }
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
        })
        .unwrap();
        env.prepare_for_closing().wait();
        let data = directory.path().join("data.mdb");
        let before = fs::read(&data).unwrap();
        for builder in [
            LmdbStore::builder(),
            LmdbStore::builder().create(true),
            LmdbStore::builder().read_only(true),
            LmdbStore::builder().verify(true),
        ] {
            let error = builder.open(directory.path()).unwrap_err();
            assert!(matches!(error, KvError::Open { .. }) && !error.is_damage(), "{error}");
            let text = error.to_string();
            assert!(text.contains("another program has made it"), "{text}");
            assert!(text.contains(&format!("the flags {names}, and")), "{text}");
            assert!(!text.contains("backup"), "{text}");
        }
        assert!(fs::read(&data).unwrap() == before);
    }
}
