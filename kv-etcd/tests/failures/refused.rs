//! Users without a password, without a right, and with both.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, post_to_etcd};

use super::strange::{found, horizon, ok};
use crate::support::member;

/// Text as it travels: these have no length that needs more.
fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| char::from(LETTERS[(bits & 63) as usize]);
    text.as_bytes()
        .chunks(3)
        .flat_map(|three| {
            let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| letter(bits >> shift))
        })
        .collect()
}

#[test]
fn rights_are_those_of_the_user() {
    let Some(cluster) = Etcd::start(1, &["--auth-token-ttl=1"]) else { return };
    let port = cluster.endpoints()[0];
    let post = |path: &str, body: String| {
        let answer = post_to_etcd(port, path, &body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
    };
    for user in ["root", "ann", "eve"] {
        post("auth/user/add", format!(r#"{{"name":"{user}","password":"of {user}"}}"#));
        post("auth/role/add", format!(r#"{{"name":"{user}"}}"#));
        post("auth/user/grant", format!(r#"{{"user":"{user}","role":"{user}"}}"#));
    }
    // All keys that begin with `cities`, and no others.
    let range = format!(r#""key":"{}","range_end":"{}""#, base64("cities"), base64("citiet"));
    for (user, rights) in [("ann", "READWRITE"), ("eve", "READ")] {
        post(
            "auth/role/grant",
            format!(r#"{{"name":"{user}","perm":{{"permType":"{rights}",{range}}}}}"#),
        );
    }
    let url = |login: &str, prefix: &str| format!("etcd://{login}127.0.0.1:{port}/{prefix}");
    // A password is of no use yet, and does no harm.
    let early = EtcdStore::open(&url("ann:of%20ann@", "cities")).unwrap();
    early.write(|tx| tx.put(b"key", b"value")).unwrap();
    post("auth/enable", "{}".to_owned());
    let refused = |url: String, words: &str| {
        let error = EtcdStore::open(&url).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, KvError::Open { .. }), "{text}");
        assert!(
            text.contains(words) && !text.contains("of ann") && !text.contains("wr0ng"),
            "{text}"
        );
    };
    refused(url("", "cities"), "name one in the URL");
    refused(url("ann:wr0ng@", "cities"), "the password in the URL or in ETCD_PASSWORD");
    refused(url("ann@", "cities"), "ETCD_PASSWORD");
    refused(url("ann:of%20ann@", "others"), "read and write all keys of the prefix");
    // A store that was open before logs in now.
    early.write(|tx| tx.put(b"key", b"2")).unwrap();
    let eve = EtcdStore::open(&url("eve:of%20eve@", "cities")).unwrap();
    assert_eq!(eve.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"2");
    let mut tx = eve.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"3").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.to_string().contains("read and write all keys"), "{error}");
    // Sessions end by themselves, and begin again.
    std::thread::sleep(Duration::from_secs(3));
    early.write(|tx| tx.put(b"key", b"4")).unwrap();
    assert_eq!(eve.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"4");
    let shown = format!("{early:?} {}", early.name());
    assert!(shown.contains("ann@") && !shown.contains("of ann"), "{shown}");
}

/// A member forgets all sessions when it ends. The watch is the only request after that.
#[test]
fn a_listener_logs_in_again() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let port = cluster.endpoints()[0];
    for (path, body) in [
        ("auth/user/add", r#"{"name":"root","password":"of root"}"#),
        ("auth/role/add", r#"{"name":"root"}"#),
        ("auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("auth/enable", "{}"),
    ] {
        let answer = post_to_etcd(port, path, body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
    }
    let url = format!("etcd://root:of%20root@127.0.0.1:{port}/cities");
    let store = EtcdStore::builder().wait(Duration::from_secs(5)).open(&url).unwrap();
    let watch = || store.begin(&TxOptions::reading()).unwrap().watch(b"key");
    let early = watch().unwrap();
    cluster.kill(0);
    assert!(early.wait_timeout(Duration::from_secs(20)).unwrap());
    cluster.restart(0);
    let again = (0..12).find_map(|_| watch().ok()).unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert!(again.wait_timeout(Duration::from_secs(20)).unwrap());
}

/// The beginning of a watch: one message, after which nothing comes.
fn told(result: &str) -> String {
    let header = r#""header":{"cluster_id":"7","revision":"9"}"#;
    let line = format!("{{\"result\":{{{header},{result}}}}}\n");
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{line}\r\n", line.len())
}

/// The store has logged in again since the watch was asked for.
#[test]
fn a_watch_that_is_refused_ends_no_later_session() {
    const SOON: Duration = Duration::from_secs(20);
    let ((asks, asked), (refuse, refused)) = (mpsc::channel(), mpsc::channel::<()>());
    let refused = Mutex::new(refused);
    let (is_over, logins) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (first_is_over, count) = (Arc::clone(&is_over), Arc::clone(&logins));
    let port = member(move |request| {
        let token = request.lines().find_map(|line| line.strip_prefix("Authorization: "));
        let token = token.unwrap_or_default();
        if request.contains("/v3/auth/authenticate") {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            return ok(&format!(r#"{{"token":"t{number}"}}"#));
        }
        if request.contains("/v3/watch") {
            let _ = asks.send(token.to_owned());
            if token != "t1" {
                return told(r#""created":true"#);
            }
            let _ = refused.lock().unwrap().recv();
            return told(r#""created":true,"canceled":true,"cancel_reason":"permission denied""#);
        }
        if token == "t1" && first_is_over.load(Ordering::Relaxed) {
            let error =
                r#"{"error":"invalid auth token","message":"invalid auth token","code":16}"#;
            let head = format!("HTTP/1.1 401 Unauthorized\r\nContent-Length: {}", error.len());
            return format!("{head}\r\n\r\n{error}");
        }
        horizon(request).unwrap_or_else(|| found(7, 9, ""))
    });
    let store = EtcdStore::open(&format!("etcd://ann:secret@127.0.0.1:{port}/db")).unwrap();
    thread::scope(|scope| {
        let watch = || store.begin(&TxOptions::reading()).unwrap().watch(b"key").map(drop);
        let watching = scope.spawn(watch);
        assert_eq!(asked.recv_timeout(SOON).unwrap(), "t1");
        is_over.store(true, Ordering::Relaxed);
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        drop(refuse);
        // On a busy machine, the first one may have been given up and asked for again.
        while asked.recv_timeout(SOON).unwrap() != "t2" {}
        watching.join().unwrap().unwrap();
    });
    assert_eq!(logins.load(Ordering::Relaxed), 2);
}

/// The commands that the guide shows below *Users*.
fn recipe() -> Vec<String> {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/outgrowing.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, users) = guide.split_once("**Users.**").unwrap();
    let (commands, _) = users.split_once("```text\n").unwrap().1.split_once("```").unwrap();
    commands.lines().map(str::to_owned).collect()
}

/// Does what a command of `etcdctl` does. Returns the answer, or why it is refused.
fn by_http(port: u16, command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split(' ').collect();
    let name = |name: &str| format!(r#"{{"name":"{name}"}}"#);
    let (path, body) = match words[..] {
        ["etcdctl", "role", "add", role] => ("auth/role/add", name(role)),
        ["etcdctl", "role", "grant-permission", role, rights, "--prefix=true", prefix] => {
            let mut end = prefix.as_bytes().to_vec();
            *end.last_mut().unwrap() += 1;
            let range = (base64(prefix), base64(std::str::from_utf8(&end).unwrap()));
            let rights = rights.to_uppercase();
            let body = format!(
                r#"{{"name":"{role}","perm":{{"permType":"{rights}","key":"{}","range_end":"{}"}}}}"#,
                range.0, range.1
            );
            ("auth/role/grant", body)
        }
        ["etcdctl", "user", "add", user] => {
            ("auth/user/add", format!(r#"{{"name":"{user}","password":"of-{user}"}}"#))
        }
        ["etcdctl", "user", "grant-role", user, role] => {
            ("auth/user/grant", format!(r#"{{"user":"{user}","role":"{role}"}}"#))
        }
        ["etcdctl", "auth", "enable"] => ("auth/enable", "{}".to_owned()),
        _ => panic!("the guide has a command that this test does not know: {command}"),
    };
    let answer = post_to_etcd(port, path, &body);
    if answer.contains("200 OK") { Ok(()) } else { Err(answer) }
}

/// Runs the command itself, which asks for a password where it adds a user.
fn by_etcdctl(port: u16, command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let mut run = Command::new(words.next().unwrap());
    run.arg(format!("--endpoints=http://127.0.0.1:{port}")).args(words);
    if let Some((_, user)) = command.split_once("user add ") {
        run.args(["--interactive=false"]);
        run.stdin(Stdio::piped());
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "of-{user}").unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return if output.status.success() { Ok(()) } else { Err(errors) };
    }
    let output = run.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(errors) }
}

/// The same for a user that only reads, as the guide says it.
fn for_readers(command: &str) -> Option<String> {
    let is_of_root = command.contains("root") || command.ends_with("auth enable");
    let role = command.strip_suffix(" music").map(|start| format!("{start} readers"));
    let command = role.unwrap_or_else(|| command.replace(" music ", " readers "));
    (!is_of_root).then(|| command.replace("readwrite", "read").replace(" ann", " eve"))
}

#[test]
fn the_users_of_the_guide_have_the_rights_that_it_says() {
    type Run = fn(u16, &str) -> Result<(), String>;
    let mut ways: Vec<(&str, Run)> = vec![("HTTP", by_http)];
    match Command::new("etcdctl").arg("version").output() {
        Ok(_) => ways.push(("etcdctl", by_etcdctl)),
        Err(_) => println!("there is no etcdctl here: its commands are made as requests only"),
    }
    let commands = recipe();
    assert_eq!(commands.last().map(String::as_str), Some("etcdctl auth enable"));
    for (way, run) in ways {
        let Some(cluster) = Etcd::start(1, &[]) else { return };
        let port = cluster.endpoints()[0];
        for command in &commands {
            // It would shut out all users, so etcd refuses it as long as none of them may do
            // everything. Then `etcdctl` gives the user `root` its role by itself.
            let is_given = command == "etcdctl user grant-role root root" && way == "etcdctl";
            if command != "etcdctl auth enable" && !is_given {
                let early = run(port, "etcdctl auth enable");
                assert!(early.as_ref().is_err_and(|text| text.contains("root")), "{early:?}");
            }
            for command in for_readers(command).iter().chain([command]) {
                run(port, command).unwrap_or_else(|error| panic!("{way}, {command}: {error}"));
            }
        }
        // From now on a client without a user may do nothing.
        run(port, "etcdctl user add eva").unwrap_err();
        let url = |login: &str, prefix: &str| format!("etcd://{login}127.0.0.1:{port}/{prefix}");
        let ann = EtcdStore::open(&url("ann:of-ann@", "music")).unwrap();
        ann.write(|tx| tx.put(b"key", b"value")).unwrap();
        ann.sweep().unwrap();
        // The colon belongs to the prefix.
        for (login, prefix) in [("ann:of-ann@", "musicians"), ("ann:of-ann@", "mus"), ("", "music")]
        {
            let error = EtcdStore::open(&url(login, prefix)).unwrap_err();
            assert!(matches!(error, KvError::Open { .. }), "{way}: {error}");
        }
        let eve = EtcdStore::open(&url("eve:of-eve@", "music")).unwrap();
        assert_eq!(eve.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"value");
        assert!(eve.write(|tx| tx.put(b"key", b"2")).is_err());
        let root = EtcdStore::open(&url("root:of-root@", "musicians")).unwrap();
        root.write(|tx| tx.put(b"key", b"value")).unwrap();
    }
}
