//! A PostgreSQL server.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{free_port, missing};

/// Ends the server when its input ends, and removes its directory. With a line of input, it does
/// neither: the server has ended.
const SUPERVISOR: &str = r#"
"$@" >"$DIRECTORY/log" 2>&1 &
server=$!
if read -r line; then wait $server; exit; fi
kill -QUIT $server 2>/dev/null
wait $server
rm -rf "$DIRECTORY"
"#;

/// A running server with a user `test` that needs no password, and a database `test`.
#[derive(Debug)]
pub struct Postgres {
    directory: PathBuf,
    programs: PathBuf,
    port: u16,
    settings: Vec<String>,
    supervisor: Option<Child>,
    /// The URL of a server that was not started here.
    url: Option<String>,
    tables: AtomicU64,
}

impl Postgres {
    /// The server that all tests of a process share: the one that `PERMAZEN_TEST_POSTGRES` names,
    /// or a new one. `None` if there is none; the reason was printed then.
    pub fn shared() -> Option<&'static Postgres> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        let start = || match std::env::var("PERMAZEN_TEST_POSTGRES") {
            Ok(url) => Some(Postgres::of_url(url)),
            // Data that is lost when the machine ends does not matter.
            Err(_) => Postgres::start(&["fsync=off", "max_pred_locks_per_transaction=1024"]),
        };
        SHARED.get_or_init(start).as_ref()
    }

    fn of_url(url: String) -> Postgres {
        Postgres {
            directory: PathBuf::new(),
            programs: PathBuf::new(),
            port: 0,
            settings: Vec::new(),
            supervisor: None,
            url: Some(url),
            tables: AtomicU64::new(0),
        }
    }

    /// A new server with these settings. `None` if the programs are not there.
    pub fn start(settings: &[&str]) -> Option<Postgres> {
        Self::start_after(settings, |_| true)
    }

    /// A new server with these settings that takes encrypted connections alone, with a certificate
    /// for `localhost`.
    pub fn start_with_certificate(settings: &[&str]) -> Option<Postgres> {
        let settings: Vec<&str> = settings.iter().copied().chain(["ssl=on"]).collect();
        Self::start_after(&settings, |server| {
            let mut make = Command::new("openssl");
            make.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]);
            make.args(["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.crt"]);
            make.args(["-addext", "subjectAltName=DNS:localhost"]);
            make.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
            make.current_dir(server.data()).stdin(Stdio::null());
            if let Some((user, group)) = other_user() {
                make.uid(user).gid(group);
            }
            match make.output() {
                Ok(output) => {
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                }
                Err(_) => {
                    missing("openssl, which makes certificates");
                    return false;
                }
            }
            let key = server.data().join("server.key");
            fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
            let only = "hostssl all all all trust\nlocal all all trust\n";
            fs::write(server.data().join("pg_hba.conf"), only).unwrap();
            true
        })
    }

    /// A new server with these settings, on which users need passwords. [`sql`](Self::sql) needs
    /// none.
    pub fn start_with_passwords(settings: &[&str]) -> Option<Postgres> {
        Self::start_after(settings, |server| {
            let rules = "host all all all scram-sha-256\nlocal all all trust\n";
            fs::write(server.data().join("pg_hba.conf"), rules).unwrap();
            true
        })
    }

    /// The certificate of a server that was started with one.
    pub fn certificate(&self) -> PathBuf {
        self.data().join("server.crt")
    }

    fn start_after(settings: &[&str], prepare: impl FnOnce(&Postgres) -> bool) -> Option<Postgres> {
        let Some(programs) = programs() else {
            missing("the programs of PostgreSQL (postgresql-15 of Debian)");
            return None;
        };
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut server = Self::nowhere(programs, settings);
        let mut copy = server.command("cp");
        copy.arg("-a").arg(Self::template().data()).arg(server.data());
        done(&mut copy);
        if !prepare(&server) {
            return None;
        }
        server.run();
        Some(server)
    }

    /// The data of a new server with the database `test`, of which each server of this process
    /// gets a copy: to make them takes much longer. It goes with the process.
    fn template() -> &'static Postgres {
        static TEMPLATE: OnceLock<Postgres> = OnceLock::new();
        TEMPLATE.get_or_init(|| {
            let mut template = Self::nowhere(programs().unwrap_or_default(), Vec::new());
            // Its supervisor stays until this process ends. The program ends at once: one that a
            // shell has started with `&` ignores SIGQUIT, and would stay for ever.
            template.supervise(&Command::new("true"));
            let mut init = template.program("initdb");
            init.args(["--username=test", "--auth=trust", "--no-sync", "--encoding=UTF8"]);
            done(init.arg("--locale=C").arg("-D").arg(template.data()));
            // A server that takes its statements from standard input.
            let mut create = template.program("postgres");
            create.args(["--single", "-F", "-D"]).arg(template.data()).arg("postgres");
            let statements = template.directory.join("statements");
            fs::write(&statements, "CREATE DATABASE test\n").unwrap();
            done(create.stdin(fs::File::open(statements).unwrap()));
            let databases = fs::read_dir(template.data().join("base")).unwrap().count();
            assert_eq!(databases, 4, "the database was not created");
            template
        })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Where its socket is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A server with the same settings that has no data yet and does not run.
    pub(crate) fn beside(&self) -> Postgres {
        Self::nowhere(self.programs.clone(), self.settings.clone())
    }

    fn nowhere(programs: PathBuf, settings: Vec<String>) -> Postgres {
        let directory =
            tempfile::Builder::new().prefix("permazen-postgres-").tempdir().unwrap().keep();
        if let Some((user, group)) = other_user() {
            chown(&directory, Some(user), Some(group)).unwrap();
        }
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        let (port, tables) = (free_port(), AtomicU64::new(0));
        Postgres { directory, programs, port, settings, supervisor: None, url: None, tables }
    }

    /// A program of the server, run by a user other than root.
    pub(crate) fn program(&self, name: &str) -> Command {
        self.command(self.path_of(name))
    }

    /// The same of any program.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).stdin(Stdio::null());
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        command
    }

    /// Whether a program came with the server.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.programs.join(name).exists()
    }

    /// Where a program is. Some packages of the server lack the client programs; the ones of the
    /// system are used then.
    fn path_of(&self, name: &str) -> PathBuf {
        let own = self.has(name).then(|| self.programs.clone());
        own.or_else(installed).unwrap_or_default().join(name)
    }

    /// Starts the server, which must not run, and waits until it answers.
    pub fn run(&mut self) {
        let mut server = Command::new(self.programs.join("postgres"));
        server.arg("-D").arg(self.data()).arg("-k").arg(&self.directory);
        server.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        for setting in &self.settings {
            server.args(["-c", setting]);
        }
        self.supervise(&server);
        let begun = Instant::now();
        loop {
            let mut ready = self.program("pg_isready");
            ready.arg("-h").arg(&self.directory).args(["-q", "-U", "test", "-d", "postgres"]);
            ready.args(["-p", &self.port.to_string()]);
            if ready.status().is_ok_and(|status| status.success()) {
                break;
            }
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the server does not start: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a program under a supervisor.
    fn supervise(&mut self, program: &Command) {
        let mut supervisor = self.command("/bin/sh");
        supervisor.args(["-c", SUPERVISOR, "sh"]).arg(program.get_program());
        supervisor.args(program.get_args());
        supervisor.env("DIRECTORY", &self.directory).stdin(Stdio::piped());
        self.supervisor = Some(supervisor.spawn().expect("a shell"));
    }

    /// The server has ended. Its supervisor notices it, and leaves the directory.
    pub(crate) fn leave_supervisor(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            let _ = supervisor.stdin.take().map(|mut input| input.write_all(b"ended\n"));
            let _ = supervisor.wait();
        }
    }

    /// The URL of the database.
    pub fn url(&self) -> String {
        match &self.url {
            Some(url) => url.clone(),
            None => format!("postgres://test@127.0.0.1:{}/test", self.port),
        }
    }

    /// The URL of the database through its socket in the file system; `None` if the server was not
    /// started here.
    pub fn socket_url(&self) -> Option<String> {
        let (directory, port) = (self.directory.display(), self.port);
        self.url.is_none().then(|| format!("postgres://test@:{port}/test?host={directory}"))
    }

    /// The URL of a new table. It turns off warnings, since this server may lose commits when the
    /// machine fails.
    pub fn new_table(&self) -> String {
        let number = self.tables.fetch_add(1, Ordering::Relaxed);
        let url = self.url();
        let joint = if url.contains('?') { '&' } else { '?' };
        format!("{url}{joint}warnings=off&table=t{}_{number}", std::process::id())
    }

    /// Runs SQL as the superuser `test`. Returns what it prints: columns separated by `|`.
    ///
    /// # Panics
    /// If it fails, or if the server was not started here.
    pub fn sql(&self, sql: &str) -> String {
        assert!(self.url.is_none(), "the server was not started here");
        let output = self.psql().args(["-c", sql]).output().expect("psql runs");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A session of the user `test`, for transactions of several steps.
    ///
    /// # Panics
    /// If the server was not started here.
    pub fn session(&self) -> Psql {
        assert!(self.url.is_none(), "the server was not started here");
        let mut psql = self.psql();
        psql.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = psql.spawn().expect("psql runs");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Psql { process, output }
    }

    fn psql(&self) -> Command {
        let mut psql = self.program("psql");
        psql.arg("-h").arg(&self.directory).args(["-p", &self.port.to_string(), "-U", "test"]);
        psql.args(["-d", "test", "-XqAt", "-v", "ON_ERROR_STOP=1"]);
        psql
    }

    /// Waits until this SQL prints `t`.
    ///
    /// # Panics
    /// If it does not for a minute.
    pub fn wait_until(&self, sql: &str) {
        // A process for each question would keep a core busy.
        let (begun, mut session) = (Instant::now(), self.session());
        while session.ask(sql) != "t" {
            assert!(begun.elapsed() < Duration::from_secs(60), "never true: {sql}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The port of the loopback device on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            // The end of its input ends it.
            drop(supervisor.stdin.take());
            let _ = supervisor.wait();
        } else if self.url.is_none() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// A session of the server's own program for SQL. It ends with this.
#[derive(Debug)]
pub struct Psql {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Psql {
    /// Runs SQL, and waits until it is done.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&mut self, sql: &str) {
        self.ask(sql);
    }

    /// The same. Returns what it prints, as [`Postgres::sql`] does.
    fn ask(&mut self, sql: &str) -> String {
        let input = self.process.stdin.as_mut().expect("its input");
        writeln!(input, "{sql};\n\\echo done").expect("it reads");
        let (mut printed, mut line) = (String::new(), String::new());
        while line != "done\n" {
            printed.push_str(&line);
            line.clear();
            assert!(self.output.read_line(&mut line).expect("it answers") > 0, "failed: {sql}");
        }
        printed.trim().to_owned()
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Runs a command.
fn done(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Where the programs are.
fn programs() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("PERMAZEN_POSTGRES_PROGRAMS") {
        return Some(PathBuf::from(given));
    }
    installed()
}

/// Where the newest programs are that the system has.
fn installed() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| path.join("initdb").exists())
        .collect();
    versions.sort();
    versions.pop()
}

/// The user and group that run servers if this process is root.
pub(crate) fn other_user() -> Option<(u32, u32)> {
    let mine = fs::metadata("/proc/self").ok()?;
    if std::os::unix::fs::MetadataExt::uid(&mine) != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody"))
}
