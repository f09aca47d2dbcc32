//! PostgreSQL servers that end at once, and standbys that take their place.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::postgres::Postgres;

/// How a server ends at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As `pg_ctl stop -m immediate` does it: each process of the server gets the signal to end.
    Immediate,
    /// `kill -9` of all its processes, as when the machine fails.
    Killed,
    /// `kill -9` of the first process alone. The others notice it, each in its time.
    Beheaded,
}

impl Postgres {
    /// Ends the server at once. [`run`](Postgres::run) starts it again.
    pub fn end(&mut self, how: End) {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).expect("it runs");
        let first = file.lines().next().expect("its process").to_owned();
        let others = children(&first);
        match how {
            End::Immediate => signal("-QUIT", std::slice::from_ref(&first)),
            End::Killed => {
                signal("-KILL", std::slice::from_ref(&first));
                signal("-KILL", &others);
            }
            End::Beheaded => signal("-KILL", std::slice::from_ref(&first)),
        }
        let begun = Instant::now();
        let is_there = |process: &String| {
            let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
            // Its supervisor waits for something else, so it can stay there as a zombie.
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        // The first process can have started another one just before it ended.
        let data = fs::canonicalize(self.data()).expect("its data");
        while is_there(&first) || others.iter().any(is_there) || is_in_use(&data) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
        self.leave_supervisor();
    }

    /// A new standby of this server. From now on, commits wait for it. `None` if the server came
    /// without the program that makes one.
    pub fn start_standby(&self) -> Option<Postgres> {
        // One of another version does not do.
        if !self.has("pg_basebackup") {
            eprintln!("skipped: the programs of the server are without pg_basebackup");
            return None;
        }
        // The standby has it too, when it takes the place.
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        // It comes back soon after this one does.
        self.sql("ALTER SYSTEM SET wal_retrieve_retry_interval = '100ms'");
        let mut standby = self.beside();
        standby.follow(self);
        self.sql("SELECT pg_reload_conf()");
        self.wait_for_standby();
        Some(standby)
    }

    /// Makes this server, which must not run, a standby of another one, without its own data.
    pub fn follow(&mut self, primary: &Postgres) {
        let _ = fs::remove_dir_all(self.data());
        let mut copy = self.program("pg_basebackup");
        copy.arg("-h").arg(primary.directory()).args(["-p", &primary.port().to_string()]);
        copy.args(["-U", "test", "-c", "fast", "-X", "stream", "-R", "--no-sync", "-D"]);
        copy.arg(self.data());
        let output = copy.output().expect("pg_basebackup runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.run();
    }

    /// Waits until commits wait for a standby.
    pub fn wait_for_standby(&self) {
        self.wait_until("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'");
    }

    /// Makes a standby a server that writes. The one before must have ended.
    pub fn promote(&self) {
        // A query that waited for it could be cancelled, because the standby still applies changes
        // and removes the rows that the query can see.
        let mut promote = self.program("pg_ctl");
        let output = promote.args(["promote", "-w", "-t", "60", "-D"]).arg(self.data()).output();
        let output = output.expect("pg_ctl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn signal(which: &str, processes: &[String]) {
    // `kill` reports processes that have ended meanwhile as errors.
    let _ = Command::new("kill").arg(which).args(processes).output();
}

/// The processes that a process has started.
fn children(process: &str) -> Vec<String> {
    let is_child = |name: &String| {
        let stat = fs::read_to_string(Path::new("/proc").join(name).join("stat")).ok();
        // The name before the parenthesis can have spaces.
        let rest = stat.as_deref().and_then(|stat| stat.rsplit_once(") "));
        rest.and_then(|(_, rest)| rest.split(' ').nth(1)) == Some(process)
    };
    processes().filter(is_child).collect()
}

/// Whether a process works in this directory, as each one of a server does in that of its data.
fn is_in_use(directory: &Path) -> bool {
    processes().any(|process| {
        let place = fs::read_link(Path::new("/proc").join(process).join("cwd"));
        place.is_ok_and(|place| place == directory)
    })
}

/// All processes of the machine.
fn processes() -> impl Iterator<Item = String> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}
