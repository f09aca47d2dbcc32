//! An etcd cluster.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::peers::Lines;
use crate::postgres::other_user;
use crate::{free_port, missing};

/// Ends the server when its input ends, and removes the directory of the cluster. After a line of
/// input, it leaves the directory, which a member needs that is started again. With several
/// members, the last one that ends leaves nothing.
const SUPERVISOR: &str = r#"
"$@" >>"$LOG" 2>&1 &
server=$!
echo $server
read -r line
is_left=$?
kill -KILL $server 2>/dev/null
wait $server
if [ $is_left != 0 ]; then rm -rf "$DIRECTORY"; fi
"#;

/// The extensions of a server's certificate. Clients, the gateway in the server among them, check
/// its name; and for the server, its gateway is a client.
const SERVER: &[&str] = &[
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
    "-addext",
    "extendedKeyUsage=serverAuth,clientAuth",
];

/// Made by the authority.
const OF_CA: &[&str] = &["-CA", "ca.crt", "-CAkey", "ca.key"];

/// A field of an answer.
fn field(text: &str, name: &str) -> Option<String> {
    Some(text.split_once(&format!("\"{name}\":\""))?.1.split('"').next()?.to_owned())
}

/// The program `etcd`: the one that `PERMAZEN_ETCD_PROGRAM` names, or the one that the system
/// finds.
fn program() -> OsString {
    std::env::var_os("PERMAZEN_ETCD_PROGRAM").unwrap_or_else(|| "etcd".into())
}

/// The members of a cluster, which end with the process that started them.
#[derive(Debug)]
pub struct Etcd {
    directory: Option<tempfile::TempDir>,
    members: Vec<Member>,
    args: Vec<String>,
    /// The lines between the members, if they can be cut.
    lines: Option<Lines>,
    /// A port of the first member that takes encrypted connections alone.
    encrypted: Option<u16>,
    /// The URL of a cluster that was not started here.
    url: Option<String>,
    prefixes: AtomicU64,
}

#[derive(Debug)]
struct Member {
    port: u16,
    peer: u16,
    /// The program that ends it, and its process.
    running: Mutex<Option<(Child, String)>>,
}

impl Etcd {
    /// The cluster of one member that all tests of a process share: the one that
    /// `PERMAZEN_TEST_ETCD` names, or a new one that takes large transactions. `None` if there is
    /// none; the reason was printed then.
    pub fn shared() -> Option<&'static Etcd> {
        static SHARED: OnceLock<Option<Etcd>> = OnceLock::new();
        let start = || match std::env::var("PERMAZEN_TEST_ETCD") {
            Ok(url) => Some(Etcd {
                directory: None,
                members: Vec::new(),
                args: Vec::new(),
                lines: None,
                encrypted: None,
                url: Some(url),
                prefixes: AtomicU64::new(0),
            }),
            Err(_) => Etcd::start(1, &["--max-txn-ops=100000", "--max-request-bytes=67108864"]),
        };
        SHARED.get_or_init(start).as_ref()
    }

    /// A new cluster with `members` members, which get these arguments. `None` if the program is
    /// not there.
    pub fn start(members: usize, args: &[&str]) -> Option<Etcd> {
        Self::start_after(members, args, |_| true)
    }

    /// A new cluster with `members` members, between which the lines can be [cut](Self::cut_off).
    pub fn start_with_lines(members: usize, args: &[&str]) -> Option<Etcd> {
        Self::start_after(members, args, |cluster| {
            let peers: Vec<u16> = cluster.members.iter().map(|member| member.peer).collect();
            cluster.lines = Some(Lines::new(&peers));
            true
        })
    }

    /// A new cluster of one member with another port that takes encrypted connections alone, with a
    /// certificate for `localhost`.
    pub fn start_with_certificate(args: &[&str]) -> Option<Etcd> {
        Self::start_after(1, args, |cluster| {
            cluster.encrypted = Some(free_port());
            cluster.certify("server", SERVER)
        })
    }

    /// The same where an authority has made the certificate, and clients must have one of it on the
    /// encrypted port.
    pub fn start_with_authority(args: &[&str]) -> Option<Etcd> {
        Self::start_after(1, args, |cluster| {
            cluster.encrypted = Some(free_port());
            cluster
                .args
                .extend(["--client-cert-auth", "--trusted-ca-file=ca.crt"].map(str::to_owned));
            cluster.certify("ca", &["-subj", "/CN=authority"])
                && cluster.certify("server", &[SERVER, OF_CA].concat())
        })
    }

    /// The certificate and the port of a cluster that was started with one.
    pub fn certificate(&self) -> (PathBuf, u16) {
        (self.path().join("server.crt"), self.encrypted.expect("it was started with one"))
    }

    /// The certificate of the authority of a cluster that was [started with
    /// one](Self::start_with_authority).
    pub fn authority(&self) -> PathBuf {
        self.path().join("ca.crt")
    }

    /// A new certificate for a client, signed by the authority of the cluster, with its key. `file`
    /// is the name of its files, `subject` the name in it.
    pub fn client_certificate(&self, file: &str, subject: &str) -> (PathBuf, PathBuf) {
        let own = ["-subj", subject, "-addext", "extendedKeyUsage=clientAuth"];
        assert!(self.certify(file, &[&own, OF_CA].concat()));
        (self.path().join(format!("{file}.crt")), self.path().join(format!("{file}.key")))
    }

    /// Makes a certificate with these properties. False if there is no program for that, which was
    /// printed then.
    fn certify(&self, name: &str, properties: &[&str]) -> bool {
        let mut make = Command::new("openssl");
        make.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
        make.args(["-pkeyopt", "ec_paramgen_curve:prime256v1"]).args(properties);
        make.args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt")]);
        make.current_dir(self.path()).stdin(Stdio::null());
        if let Some((user, group)) = other_user() {
            make.uid(user).gid(group);
        }
        let Ok(output) = make.output() else {
            missing("openssl, which makes certificates");
            return false;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        true
    }

    fn start_after(
        members: usize,
        args: &[&str],
        prepare: impl FnOnce(&mut Etcd) -> bool,
    ) -> Option<Etcd> {
        if Command::new(program()).arg("--version").output().is_err() {
            missing("etcd (etcd-server of Debian, or PERMAZEN_ETCD_PROGRAM)");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        if let Some((user, group)) = other_user() {
            chown(directory.path(), Some(user), Some(group)).unwrap();
        }
        let member = |_| Member { port: free_port(), peer: free_port(), running: Mutex::new(None) };
        let mut cluster = Etcd {
            directory: Some(directory),
            members: (0..members).map(member).collect(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            lines: None,
            encrypted: None,
            url: None,
            prefixes: AtomicU64::new(0),
        };
        if !prepare(&mut cluster) {
            return None;
        }
        (0..members).for_each(|member| cluster.run(member));
        (0..members).for_each(|member| cluster.await_health(member));
        Some(cluster)
    }

    fn path(&self) -> PathBuf {
        self.directory.as_ref().unwrap().path().to_owned()
    }

    fn run(&self, at: usize) {
        let member = &self.members[at];
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        // The port at which the other members reach a member.
        let peer = |at: usize| match &self.lines {
            Some(lines) => url(lines.port(at)),
            None => url(self.members[at].peer),
        };
        let peers: Vec<String> =
            (0..self.members.len()).map(|at| format!("m{at}={}", peer(at))).collect();
        let log = self.path().join(format!("log{at}"));
        fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut run = Command::new("sh");
        run.args(["-c", SUPERVISOR, "sh"]).arg(program());
        run.args(["--name", &format!("m{at}")]);
        run.arg("--data-dir").arg(self.path().join(format!("m{at}")));
        let mut clients = url(member.port);
        if let Some(port) = self.encrypted {
            clients.push_str(&format!(",https://127.0.0.1:{port}"));
            run.args(["--cert-file", "server.crt", "--key-file", "server.key"]);
        }
        run.args(["--listen-client-urls", &clients, "--listen-peer-urls", &url(member.peer)]);
        run.args(["--advertise-client-urls", &url(member.port)]);
        run.args(["--initial-advertise-peer-urls", &peer(at)]);
        run.args(["--initial-cluster", &peers.join(",")]);
        // A process that is killed loses nothing by that, and commits do not wait for the disk.
        run.arg("--unsafe-no-fsync");
        // A member alone elects itself as soon as it may, and no other one can take its place.
        if self.members.len() == 1 {
            run.args(["--heartbeat-interval=20", "--election-timeout=200"]);
        }
        run.args(&self.args).current_dir(self.path());
        run.env("LOG", &log).env("DIRECTORY", self.path());
        if let Some((user, group)) = other_user() {
            chown(&log, Some(user), Some(group)).unwrap();
            run.uid(user).gid(group);
        }
        let mut child =
            run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        *member.running.lock().unwrap() = Some((child, line.trim().to_owned()));
    }

    /// The body of an answer, if there is one.
    fn ask(&self, member: usize, method: &str, path: &str) -> Option<String> {
        self.ask_for(member, method, path, "{}")
    }

    fn ask_for(&self, member: usize, method: &str, path: &str, body: &str) -> Option<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.members[member].port)).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        write!(
            socket,
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        answer.contains("200 OK").then_some(answer)
    }

    fn await_health(&self, member: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.ask(member, "GET", "/health").is_some_and(|text| text.contains("\"true\"")) {
            let log = || fs::read_to_string(self.path().join(format!("log{member}")));
            assert!(Instant::now() < until, "etcd does not start: {:?}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The URL of a store of which there is nothing yet.
    pub fn new_prefix(&self) -> String {
        let number = self.prefixes.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("test-{}-{number}", std::process::id());
        if let Some(url) = &self.url {
            return format!("{}/{prefix}", url.trim_end_matches('/'));
        }
        let hosts = self.members.iter().map(|member| format!("127.0.0.1:{}", member.port));
        format!("etcd://{}/{prefix}", hosts.collect::<Vec<_>>().join(","))
    }

    /// The ports on which the members serve clients.
    pub fn endpoints(&self) -> Vec<u16> {
        self.members.iter().map(|member| member.port).collect()
    }

    /// Ends a member at once.
    pub fn kill(&self, member: usize) {
        if let Some((mut child, _)) = self.members[member].running.lock().unwrap().take() {
            // Without a line, the directory would go.
            let _ = child.stdin.take().map(|mut input| input.write_all(b"ended\n"));
            child.wait().unwrap();
        }
    }

    /// Starts a member again that was killed, and waits until it is healthy.
    pub fn restart(&self, member: usize) {
        self.run(member);
        self.await_health(member);
    }

    /// Kills all members, starts them with these arguments in place of the others, and waits until
    /// they answer. A cluster that was full is not healthy then.
    ///
    /// # Panics
    /// If they do not start.
    pub fn restart_with(&mut self, args: &[&str]) {
        (0..self.members.len()).for_each(|member| self.kill(member));
        self.args = args.iter().map(|&arg| arg.to_owned()).collect();
        (0..self.members.len()).for_each(|member| self.run(member));
        let begun = Instant::now();
        let answers =
            |member| self.ask_for(member, "POST", "/v3/kv/range", r#"{"key":"AA=="}"#).is_some();
        while !(0..self.members.len()).all(answers) {
            assert!(begun.elapsed() < Duration::from_secs(60), "etcd does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Removes all keys of the cluster, as a program that knows nothing of stores may do.
    ///
    /// # Panics
    /// If the first member does not.
    pub fn remove_all(&self) {
        let all = r#"{"key":"AA==","range_end":"AA=="}"#;
        let answer = post_to_etcd(self.members[0].port, "kv/deleterange", all);
        assert!(answer.contains("200 OK"), "{answer}");
    }

    /// Copies the data of the only member. The member is ended meanwhile.
    ///
    /// # Panics
    /// If that fails.
    pub fn back_up(&self) {
        self.replace("m0", "backup");
    }

    /// Puts the copied data back. The member is ended meanwhile.
    ///
    /// # Panics
    /// If that fails.
    pub fn restore(&self) {
        self.replace("backup", "m0");
    }

    fn replace(&self, from: &str, to: &str) {
        self.kill(0);
        let (from, to) = (self.path().join(from), self.path().join(to));
        let _ = fs::remove_dir_all(&to);
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
        self.restart(0);
    }

    fn signal(&self, member: usize, signal: &str) {
        let running = self.members[member].running.lock().unwrap();
        let (_, process) = running.as_ref().expect("it runs");
        assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
    }

    /// A member does nothing until it is resumed.
    pub fn pause(&self, member: usize) {
        self.signal(member, "-STOP");
        let until = Instant::now() + Duration::from_secs(60);
        while !self.is_stopped(member) {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether each thread of a member has stopped, which takes a while after the signal.
    fn is_stopped(&self, member: usize) -> bool {
        let running = self.members[member].running.lock().unwrap();
        let (_, process) = running.as_ref().expect("it runs");
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return true };
        let stopped =
            |stat: String| stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'));
        threads
            .flatten()
            .all(|thread| fs::read_to_string(thread.path().join("stat")).map_or(true, stopped))
    }

    /// A member that was paused continues. Waits until it is healthy.
    pub fn resume(&self, member: usize) {
        self.signal(member, "-CONT");
        self.await_health(member);
    }

    /// A member and the others hear nothing of each other. Clients still reach it.
    ///
    /// # Panics
    /// Unless the cluster was [started with lines](Self::start_with_lines).
    pub fn cut_off(&self, member: usize) {
        let status = post_to_etcd(self.members[member].port, "maintenance/status", "{}");
        let name: u64 = field(&status, "member_id").and_then(|id| id.parse().ok()).expect("its ID");
        self.lines.as_ref().expect("started with lines").cut(member, format!("{name:x}"));
    }

    /// A member that was cut off hears the others again. Waits until it is healthy.
    ///
    /// # Panics
    /// Unless the cluster was [started with lines](Self::start_with_lines).
    pub fn reunite(&self, member: usize) {
        self.lines.as_ref().expect("started with lines").join();
        self.await_health(member);
    }

    /// The URL of a store by one of the members alone.
    pub fn url_of(&self, member: usize, url: &str) -> String {
        let prefix = url.rsplit('/').next().unwrap_or_default();
        format!("etcd://127.0.0.1:{}/{prefix}", self.members[member].port)
    }

    /// The member that leads.
    pub fn leader(&self) -> usize {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            for member in 0..self.members.len() {
                if self.members[member].running.lock().unwrap().is_some()
                    && let Some(text) = self.ask(member, "POST", "/v3/maintenance/status")
                    && let Some(own) = field(&text, "member_id")
                    && field(&text, "leader") == Some(own)
                {
                    return member;
                }
            }
            assert!(Instant::now() < until, "no member leads");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|member| self.kill(member));
    }
}

/// Asks the member at this port something without a store: the whole answer, with its head. Asks
/// again while the member has no leader, as on a machine that is very busy.
///
/// # Panics
/// If no member answers.
pub fn post_to_etcd(port: u16, path: &str, body: &str) -> String {
    let once = || {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let len = body.len();
        write!(socket, "POST /v3/{path} HTTP/1.0\r\nContent-Length: {len}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    for _ in 0..60 {
        let answer = once();
        if !answer.contains("503 Service Unavailable") {
            return answer;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    once()
}
