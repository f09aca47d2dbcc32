//! Input that never was a database, or was made to do harm. The program says what is wrong, in
//! bounded memory. It never panics, and is never killed.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseFlags, EnvOpenOptions};
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions, xml};
use tempfile::TempDir;

/// How much memory the program may use for data, in KiB. Memory mapped from files does not count.
const MEMORY_KIB: usize = 400 * 1024;

/// Runs the program with bounded memory, and checks that it ends by itself. The exit code is 0 for
/// a healthy database; 1 with findings; 2 with one line that says why it could not be checked.
fn run(args: &[&str], path: &Path) -> Output {
    run_within(MEMORY_KIB, args, path)
}

fn run_within(memory_kib: usize, args: &[&str], path: &Path) -> Output {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -d {memory_kib}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_jsck"))
        .args(args)
        .arg(path)
        .output()
        .expect("run");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)), "{path:?}: {:?}: {errors}", output.status);
    assert!(!errors.contains("panicked"), "{path:?}: {errors}");
    if code == Some(2) {
        assert_eq!(errors.lines().count(), 1, "{path:?}: {errors}");
    }
    output
}

/// Like [`run`], and repairs too. Damage is always noticed.
fn survives(path: &Path) {
    for args in [&["--json"][..], &["--online"], &["--repair", "--yes"]] {
        let output = run(args, path);
        assert_ne!(output.status.code(), Some(0), "{path:?} {args:?} is taken for healthy");
    }
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/reference/R.kv.xml")
}

/// The reference database as an LMDB environment, with these pairs put into it.
fn environment(pairs: &[(&[u8], &[u8])]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("db");
    let store = LmdbStore::open_or_create(&path).expect("open");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    xml::load(&mut *kv, fs::File::open(reference()).expect("data")).expect("load");
    for (key, value) in pairs {
        kv.put(key, value).expect("put");
    }
    kv.commit().expect("commit");
    (dir, path)
}

fn compressed(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    for chunk in chunks {
        encoder.write_all(&chunk).expect("compress");
    }
    encoder.finish().expect("compress")
}

#[test]
fn random_bytes_are_no_database() {
    let dir = TempDir::new().expect("a directory");
    for (seed, len) in [(1, 0), (2, 1), (3, 100), (4, 4096), (5, 8192), (6, 100_000), (7, 1 << 20)]
    {
        let bytes = noise(seed, len);
        let environment = dir.path().join(format!("env{seed}"));
        fs::create_dir(&environment).expect("create");
        fs::write(environment.join("data.mdb"), &bytes).expect("write");
        if len > 0 {
            survives(&environment);
        }
        for start in [&b"SQLite format 3\0"[..], b"<", b"<?xml version=\"1.0\"?><entries>", b""] {
            let file = dir.path().join(format!("file{seed}"));
            fs::write(&file, [start, &bytes].concat()).expect("write");
            survives(&file);
        }
    }
}

#[test]
fn an_lmdb_file_cut_off_anywhere() {
    let (dir, path) =
        environment(&[(b"\x11long", &noise(1, 3000)), (b"\x12big", &noise(2, 50_000))]);
    let whole = fs::read(path.join("data.mdb")).expect("read");
    let cut = dir.path().join("cut");
    fs::create_dir(&cut).expect("create");
    let pages = (0..whole.len()).step_by(4096);
    let odd = (0..40).map(|n| n * whole.len() / 40 + n);
    for len in pages.chain(odd) {
        fs::write(cut.join("data.mdb"), whole.get(..len).expect("shorter")).expect("write");
        let _ = fs::remove_file(cut.join("lock.mdb"));
        // A cut at the end may remove only pages that are not in use.
        run(&["--json"], &cut);
        run(&["--repair", "--dry-run"], &cut);
    }
}

#[test]
fn a_sqlite_file_cut_off_anywhere() {
    let dir = TempDir::new().expect("a directory");
    let whole = dir.path().join("whole.db");
    {
        let store =
            permazen::kv::sqlite::SqliteStore::builder().create(true).open(&whole).expect("open");
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        xml::load(&mut *kv, fs::File::open(reference()).expect("data")).expect("load");
        kv.commit().expect("commit");
    }
    let bytes = fs::read(&whole).expect("read");
    let cut = dir.path().join("cut.db");
    for len in (1..40).map(|n| n * bytes.len() / 40) {
        fs::write(&cut, bytes.get(..len).expect("shorter")).expect("write");
        run(&["--json"], &cut);
    }
}

#[test]
fn schema_values_of_ten_megabytes() {
    const TEN_MB: usize = 10 << 20;
    let open = |depth: usize| {
        compressed(
            std::iter::once(b"<Schema>".to_vec())
                .chain((0..depth).map(|_| b"<ObjectType name=\"A\">".to_vec())),
        )
    };
    // Names are long, so that fewer of them are ten megabytes.
    let fields = (0..30_000).map(|n| {
        format!("<SimpleField name=\"f{n:0280}\" encoding=\"urn:fdc:permazen.io:2020:int\"/>\n")
            .into_bytes()
    });
    let many_fields = compressed(
        std::iter::once(b"<Schema><ObjectType name=\"A\">".to_vec())
            .chain(fields)
            .chain([b"</ObjectType></Schema>\n".to_vec()]),
    );
    let long_name = format!("<Schema><ObjectType name=\"{}\"/></Schema>", "a".repeat(TEN_MB));
    let values = [
        noise(9, TEN_MB),
        [&[0x78, 0xda][..], &noise(10, TEN_MB)].concat(),
        open(500_000),
        many_fields,
        compressed(std::iter::once(long_name.into_bytes())),
    ];
    // More spaces than there is memory, in a few megabytes.
    let memory_mib = if std::env::var_os("PERMAZEN_ALL").is_some() { 400 } else { 192 };
    let spaces = || (0..memory_mib + 50).map(|_| vec![b' '; 1 << 20]);
    let endless =
        [compressed(spaces()), compressed(std::iter::once(b"<Schema>".to_vec()).chain(spaces()))];
    let check = |memory_kib: usize, values: &[Vec<u8>], expected: &str| {
        for value in values {
            let (_dir, path) = environment(&[(&[0, 1, 2], value)]);
            let output = run_within(memory_kib, &["--json"], &path);
            assert_eq!(output.status.code(), Some(1), "a schema that no program wrote");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains(expected), "{said}");
        }
    };
    // A process may need all of its memory, so there are only two at a time.
    std::thread::scope(|scope| {
        scope.spawn(|| check(MEMORY_KIB, &values, ""));
        scope.spawn(|| check(memory_mib * 1024, &endless, "longer than 67108864 bytes"));
    });
}

#[test]
fn an_xml_dump_that_is_deep_or_endless() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("dump.xml");
    let key =
        "<entries><entry><key>".to_owned() + &"00".repeat(5 << 20) + "</key></entry></entries>";
    for text in [
        "<entries>".repeat(1_000_000),
        "<entries><entry>".to_owned() + &"<key>".repeat(1_000_000),
        "<entries>".to_owned() + &"<!-- ".repeat(2_000_000),
        "<entries a=\"".to_owned() + &"x".repeat(10 << 20),
        "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\"><!ENTITY c \"&b;&b;&b;&b;\">]><entries>&c;</entries>"
            .to_owned(),
        key,
    ] {
        fs::write(&file, text).expect("write");
        survives(&file);
    }
}

/// An LMDB environment whose pairs have another order than ours, as other programs make them.
fn foreign(directory: &Path, name: Option<&str>, flags: DatabaseFlags) {
    fs::create_dir(directory).expect("a directory");
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 24).max_dbs(2);
    #[allow(unsafe_code)]
    // SAFETY: No other code knows the directory.
    let env = unsafe { options.open(directory) }.expect("open");
    env.create_databases_and_commit(env.write_txn().expect("begin"), |open, tx| {
        let mut options = open.database_options().types::<Bytes, Bytes>();
        options.flags(flags);
        if let Some(name) = name {
            options.name(name);
        }
        let database = options.create(tx)?;
        for number in 0..100u64 {
            database.put(tx, &(number / 3).to_ne_bytes(), &number.to_ne_bytes())?;
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })
    .expect("create");
    env.prepare_for_closing().wait();
}

/// It is whole, and not ours: it is not called damaged, and nothing of it changes.
#[test]
#[allow(deprecated, reason = "other programs use these flags")]
fn an_environment_of_another_program_is_not_called_damaged() {
    let dir = TempDir::new().expect("a directory");
    let flags = [DatabaseFlags::DUP_SORT, DatabaseFlags::INTEGER_KEY, DatabaseFlags::REVERSE_KEY];
    for (number, flags) in flags.into_iter().enumerate() {
        for name in [Some("permazen"), None] {
            let path = dir.path().join(format!("{number} {}", name.is_some()));
            foreign(&path, name, flags);
            let file = path.join("data.mdb");
            let before = fs::read(&file).expect("read");
            for args in [&[][..], &["--repair", "--yes"], &["--kind", "lmdb"]] {
                let output = run(args, &path);
                let said = String::from_utf8(output.stderr).expect("UTF-8");
                assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
                assert!(said.contains("another program has made it"), "{args:?}: {said}");
                for wrong in ["damage", "backup", "restore"] {
                    assert!(!said.contains(wrong), "{args:?}: {said}");
                }
                assert!(output.stdout.is_empty(), "{args:?}");
            }
            assert!(fs::read(&file).expect("read") == before);
        }
    }
}
