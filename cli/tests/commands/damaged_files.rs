//! LMDB environments whose file was damaged while no program had it open. No command ends with a
//! signal or a panic: it prints correct data, or says that the file is damaged.

use std::process::Output;

use crate::fixture::{Fixture, data, pairs, run, text};
use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseFlags, EnvOpenOptions};
use permazen::kv::xml;

const PAGE: usize = 4096;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// How many files are damaged.
fn files() -> u64 {
    let files = std::env::var("PERMAZEN_DAMAGED_FILES").ok();
    files.map_or(64, |files| files.parse().expect("a number"))
}

/// A database with several levels of pages, values on pages of their own, and free pages.
fn healthy() -> Fixture {
    let db = Fixture::with(|kv| {
        xml::load(kv, &data("databases/evolution/kv.xml")[..]).expect("pairs");
        for number in 0..4500u16 {
            let key = [&[0xff, 1][..], &number.to_be_bytes()].concat();
            kv.put(&key, &[number as u8; 40]).expect("put");
        }
        for number in 0..4u8 {
            kv.put(&[0xff, 2, number], &vec![number; 9000]).expect("put");
        }
    });
    for key in ["ff010300", "ff0202", "ff011000"] {
        db.run(&["--write", "kv", "remove", key]).out(0);
    }
    db
}

const READING: &[&[&str]] = &[
    &["kv", "scan"],
    &["kv", "scan", "--reverse"],
    &["stats"],
    &["types"],
    &["find Customer"],
    &["find Customer where name = \"x\""],
    &["count Customer"],
    &["info"],
    &["kv", "get", "ff010400"],
    &["kv", "get", "ff0203"],
    &["check"],
    &["kv", "dump", "-"],
    &["--json", "kv", "scan", "--words"],
    &["schema", "list"],
    &["explain run find Customer"],
    &["save", "-"],
    &["copy", "xml:TARGET"],
    &["backup", "TARGET"],
];

const WRITING: &[&[&str]] = &[
    &["--write", "kv", "put", "ff010401", "01"],
    &["--write", "kv", "remove", "ff0201"],
    &["--write", "--yes", "delete all Customer"],
    &["--write", "check", "--repair", "--yes"],
    &["--write", "schema", "gc"],
    &["--write", "compact"],
    // The damaged file is what is written to, and the source is as it should be.
    &["copy", "--force", "lmdb:DAMAGED"],
];

/// Changes one byte, or some in a row. Most are where LMDB keeps what it needs to find pairs.
fn damage(file: &mut [u8], random: &mut Random) -> usize {
    let pages = file.len() / PAGE;
    // The last pages were written last, and the others are often free.
    let page = match random.below(8) {
        0 => random.below(2),
        1..=3 => 2 + random.below(pages - 2),
        _ => pages - 1 - random.below(pages.min(80) - 2),
    };
    let within = match random.below(4) {
        0 => random.below(16),
        1 => 16 + random.below(224),
        2 => random.below(160),
        _ => random.below(PAGE),
    };
    let at = page * PAGE + within;
    let count = if random.below(5) > 0 { 1 } else { 2 + random.below(10) };
    for at in at..(at + count).min(file.len()) {
        file[at] ^= match random.below(2) {
            0 => 1 << random.below(8),
            _ => 1 + random.below(255) as u8,
        };
    }
    at
}

#[test]
fn a_damaged_file_ends_no_command_with_a_signal() {
    let db = healthy();
    let file = std::fs::read(format!("{}/data.mdb", db.db)).expect("read");
    let whole = pairs(&db.db);
    let (mut refused, mut done) = (0, 0);
    for number in 0..files() {
        let mut random = Random(number << 32);
        let mut damaged = file.clone();
        let at = damage(&mut damaged, &mut random);
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("db");
        std::fs::create_dir(&path).expect("a directory");
        std::fs::write(path.join("data.mdb"), &damaged).expect("write");
        let commands = if number % 4 == 3 { WRITING } else { READING };
        let command = commands[random.below(commands.len())];
        let target = text(&place.path().join("target"));
        let is_replaced = command.iter().any(|word| word.contains("DAMAGED"));
        let opened = if is_replaced { db.db.clone() } else { text(&path) };
        let command: Vec<String> = command
            .iter()
            .map(|word| word.replace("TARGET", &target).replace("DAMAGED", &text(&path)))
            .collect();
        let words = [vec![opened], command.clone()].concat();
        let args: Vec<&str> = words.iter().map(|word| &**word).collect();
        let ended = run(&args, "").output;
        let Output { status, stdout, stderr } = ended;
        let said = String::from_utf8_lossy(&stderr);
        let what = format!("file {number}, byte {at:#x}, {command:?}: {status}\n{said}");
        assert!(matches!(status.code(), Some(0..=3)), "{what}");
        match status.code() {
            Some(0 | 1) => done += 1,
            _ => refused += 1,
        }
        // Replaced as a whole, or left as it was.
        if is_replaced && status.code() == Some(0) {
            assert!(pairs(&text(&path)) == whole, "{what}");
        } else if is_replaced {
            let left = std::fs::read(path.join("data.mdb")).expect("read");
            assert!(left == damaged, "{what}");
        }
        // A list without an error lacks at most the damaged pair.
        if command[..] == ["kv", "scan"] && status.code() == Some(0) {
            let said = String::from_utf8_lossy(&stdout).into_owned();
            let shown = |count: usize| said.contains(&format!("Displayed {count} key/value pairs"));
            assert!(
                (whole.len() - 1..=whole.len()).any(shown),
                "{what}: {:?}",
                said.lines().last()
            );
        }
    }
    println!("{refused} refused, {done} done");
    assert!(refused > files() / 20 && done > files() / 20, "{refused} refused, {done} done");
}

/// LMDB follows what a branch page says while it removes the old pairs, so the file is checked as a
/// whole before that.
#[test]
fn a_damaged_branch_page_of_what_a_copy_replaces_is_refused() {
    let db = healthy();
    let file = std::fs::read(format!("{}/data.mdb", db.db)).expect("read");
    let short = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes"));
    // Of the two pages that say where the tree of databases begins, that of the later transaction
    // counts. It has one database, whose record ends with the number of its own first page.
    let meta = if number(144) > number(PAGE + 144) { 0 } else { PAGE };
    let databases = number(meta + 128) as usize * PAGE;
    let record = databases + short(databases + 16);
    let at = number(record + 8 + short(record + 6) + 40) as usize * PAGE;
    assert_eq!(file[at + 10..at + 12], [1, 0], "the first page is no branch page");
    // A node has the number of a page, to which its place on this page leads.
    let node = at + short(at + 16);
    for (place, byte) in [(node + 1, 0x40), (node + 2, 0x40), (node + 4, 0x40), (at + 17, 0x70)] {
        let mut damaged = file.clone();
        damaged[place] ^= byte;
        let dir = db.path(&format!("damaged-{place}"));
        std::fs::create_dir(&dir).expect("a directory");
        std::fs::write(dir.join("data.mdb"), &damaged).expect("write");
        let target = format!("lmdb:{}", text(&dir));
        let error = db.run(&["copy", &target, "--force"]).error(2);
        assert!(error.contains("store is damaged") && error.contains("another path"), "{error}");
        assert!(std::fs::read(dir.join("data.mdb")).expect("read") == damaged, "{error}");
    }
}

/// Makes an LMDB environment whose pairs have another order than ours, as other programs do.
fn foreign(directory: &std::path::Path, name: Option<&str>, flags: DatabaseFlags) {
    std::fs::create_dir(directory).expect("a directory");
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

/// It is whole, and not ours: no command says that it is damaged, or changes it.
#[test]
#[allow(deprecated, reason = "other programs use these flags")]
fn an_environment_of_another_program_is_not_called_damaged() {
    let flags = [DatabaseFlags::DUP_SORT, DatabaseFlags::INTEGER_KEY, DatabaseFlags::REVERSE_KEY];
    let kinds = [Some("permazen"), None].map(|name| flags.map(|flags| (name, flags)));
    let place = tempfile::tempdir().expect("a directory");
    let (ours, target) = (Fixture::reference(), text(&place.path().join("target")));
    let environments: Vec<_> = kinds
        .as_flattened()
        .iter()
        .enumerate()
        .map(|(number, (name, flags))| {
            let path = place.path().join(number.to_string());
            foreign(&path, *name, *flags);
            let content = std::fs::read(path.join("data.mdb")).expect("read");
            (path, content)
        })
        .collect();
    // Each kind with a check, and each command with one of the kinds.
    let checks = [&["check"][..]; 6];
    let commands = checks.iter().chain(READING).chain(WRITING);
    for (command, (path, content)) in commands.zip(environments.iter().cycle()) {
        let is_target = command.iter().any(|word| word.contains("DAMAGED"));
        let opened = if is_target { ours.db.clone() } else { text(path) };
        let command: Vec<String> = command
            .iter()
            .map(|word| word.replace("TARGET", &target).replace("DAMAGED", &text(path)))
            .collect();
        let words = [vec![opened], command].concat();
        let args: Vec<&str> = words.iter().map(|word| &**word).collect();
        let said = run(&args, "").error(2);
        assert!(said.contains("another program has made it"), "{args:?}: {said}");
        let calls_damaged =
            ["damage", "from a backup", "restore"].iter().any(|it| said.contains(it));
        assert!(!calls_damaged, "{args:?}: {said}");
        let left = std::fs::read(path.join("data.mdb")).expect("read");
        assert!(left == *content, "{args:?}");
    }
}
