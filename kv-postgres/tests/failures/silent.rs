//! Servers that take connections and then say nothing.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen::{Permazen, PermazenObject};
use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Fault, Postgres, Proxy, Way};

/// Much longer than a test takes, and than the store would wait.
const LONG: Duration = Duration::from_secs(120);
/// Long enough for a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn server() -> Option<&'static Postgres> {
    Postgres::shared().filter(|server| server.port() > 0)
}

/// A port that accepts connections and never answers.
fn silent_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            thread::spawn(move || drop(socket.read_to_end(&mut Vec::new())));
        }
    });
    port
}

#[test]
fn a_silent_host_leaves_time_for_the_others() {
    let Some(server) = server() else { return };
    let (url, start) = (server.new_table(), Instant::now());
    let host = format!(":{}/", server.port());
    let url = url.replace(&host, &format!(":{},127.0.0.1{host}", silent_port()));
    PostgresStore::builder().wait(LONG).open(&url).unwrap();
    assert!(start.elapsed() < SOON);
}

/// The connections of the store stall, both the idle ones and a new one. The time that the
/// transaction may wait counts for all of them together.
#[test]
fn a_transaction_waits_no_longer_than_its_options_say() {
    let Some(server) = server() else { return };
    for at in [0, 1] {
        let proxy = Proxy::new(server.port());
        let url = server.new_table();
        let url = proxy.url(&url, server.port());
        let store = PostgresStore::builder().wait(LONG).open(&url).unwrap();
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        proxy.fail_in_turn((0..3).map(|_| (Way::Back, 0, Fault::Stall)));
        let options = TxOptions::reading().with_wait(Duration::from_millis(100));
        let start = Instant::now();
        let read = || -> permazen_kv::Result<()> {
            let tx = store.begin(&options)?;
            (0..=at).try_for_each(|_| tx.get(b"other").map(drop))
        };
        let error = read().unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        proxy.end_fault();
    }
}

/// A server that is frozen: a closure that has waited for it once does not wait again and again.
#[test]
fn a_transaction_that_has_waited_for_its_only_server_is_not_tried_again() {
    let Some(server) = server() else { return };
    for is_idle in [true, false] {
        let proxy = Proxy::new(server.port());
        let url = proxy.url(&server.new_table(), server.port());
        let builder = PostgresStore::builder().wait(Duration::from_secs(4)).connections(1);
        let store = builder.open(&url).unwrap();
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        if !is_idle {
            // The only connection is lost, so there must be a new one.
            proxy.fail(Way::There, 0, Fault::Lose);
            let tx = store.begin(&TxOptions::reading()).unwrap();
            assert!(tx.get(b"key").unwrap_err().is_retryable());
        }
        proxy.fail_in_turn((0..20).map(|_| (Way::Back, 0, Fault::Stall)));
        let mut attempts = 0;
        let error = store.read(|tx| {
            attempts += 1;
            tx.get(b"key").map(drop)
        });
        assert!(error.unwrap_err().is_retryable());
        assert_eq!(attempts, 1, "{is_idle}");
        proxy.end_fault();
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    }
}

/// A host that answers while clients log in, and says nothing more to a transaction while it is
/// frozen, like a host whose disk hangs.
struct HalfFrozen {
    port: u16,
    is_frozen: Arc<AtomicBool>,
}

impl HalfFrozen {
    fn before(server: u16) -> HalfFrozen {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_frozen = Arc::new(AtomicBool::new(false));
        let frozen = Arc::clone(&is_frozen);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let frozen = Arc::clone(&frozen);
                thread::spawn(move || pass_on(back, &|_| false));
                thread::spawn(move || {
                    let begins = |sent: &[u8]| {
                        sent.windows(5).any(|word| word.eq_ignore_ascii_case(b"begin"))
                    };
                    let stalls = |sent: &[u8]| frozen.load(Ordering::Relaxed) && begins(sent);
                    pass_on((client, server), &stalls);
                });
            }
        });
        HalfFrozen { port, is_frozen }
    }

    fn freeze(&self, is_frozen: bool) {
        self.is_frozen.store(is_frozen, Ordering::Relaxed);
    }
}

/// Passes bytes on until `stalls` says to stop. From then on, it takes the bytes and drops them.
fn pass_on((mut from, mut to): (TcpStream, TcpStream), stalls: &dyn Fn(&[u8]) -> bool) {
    let (mut bytes, mut is_stalled) = ([0; 65_536], false);
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        is_stalled |= stalls(&bytes[..len]);
        if !is_stalled && to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Each host is waited for once, and not once for each time that the transaction runs.
#[test]
fn hosts_that_are_all_frozen_are_not_waited_for_again_and_again() {
    let Some(server) = server() else { return };
    let hosts = [(); 2].map(|()| HalfFrozen::before(server.port()));
    let url = server.new_table();
    let places = format!("127.0.0.1:{},127.0.0.1:{}/", hosts[0].port, hosts[1].port);
    let url = url.replace(&format!("127.0.0.1:{}/", server.port()), &places);
    assert!(url.contains(&places), "{url}");
    let builder = PostgresStore::builder().wait(Duration::from_secs(4));
    let store = builder.open(&url).unwrap();
    let mut attempts = 0;
    let mut read = || {
        attempts = 0;
        let read = store.read(|tx| {
            attempts += 1;
            tx.get(b"key").map(drop)
        });
        (read, attempts)
    };
    read().0.unwrap();
    hosts.iter().for_each(|host| host.freeze(true));
    let (result, attempts) = read();
    assert!(result.unwrap_err().is_retryable());
    assert_eq!(attempts, 2);
    // One of them is enough, whichever it is.
    for at in [0, 1] {
        hosts[at].freeze(false);
        let (result, attempts) = read();
        result.unwrap();
        assert!(attempts <= 2, "{attempts}");
        hosts[at].freeze(true);
    }
}

#[derive(PermazenObject)]
struct Song {
    title: String,
}

/// The steps of a health check: it begins by hand, and reads one pair.
#[test]
fn a_health_check_ends_in_time_and_a_server_that_comes_back_is_well() {
    let Some(server) = server() else { return };
    let proxy = Proxy::new(server.port());
    let url = proxy.url(&server.new_table(), server.port());
    let store = PostgresStore::builder().wait(LONG).open(&url).unwrap();
    let db = Permazen::builder(store).model::<Song>().build().unwrap();
    let touch = || -> permazen::Result<()> {
        let options = TxOptions::reading().with_wait(Duration::from_millis(300));
        let tx = db.database().kv().begin(&options)?;
        tx.get(&[0])?;
        tx.rollback();
        Ok(())
    };
    // On a busy machine one answer, or a new connection, can take longer than a check waits.
    let is_well = || (0..100).any(|_| touch().is_ok());
    assert!(is_well());
    proxy.fail_in_turn((0..20).map(|_| (Way::Back, 0, Fault::Stall)));
    let start = Instant::now();
    let error = touch().unwrap_err();
    assert!(error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    proxy.end_fault();
    assert!(is_well());
}

/// To run the outer one again would only make the inner one wait as long again, and each of them
/// thirty times.
#[test]
fn a_transaction_within_another_one_that_has_the_last_connection_is_not_tried_again() {
    let Some(server) = Postgres::shared() else { return };
    // The connection is also made in this time.
    let builder = PostgresStore::builder().connections(1).wait(Duration::from_secs(5));
    let store = builder.open(&server.new_table()).unwrap();
    let (mut outer, mut inner) = (0, 0);
    let nested = store.write(|tx| {
        outer += 1;
        tx.get(b"key")?;
        store.write(|tx| {
            inner += 1;
            tx.put(b"key", b"")
        })
    });
    let error = nested.unwrap_err();
    let text = error.to_string();
    assert!(error.is_retryable() && text.contains("all 1 connections of this process"), "{text}");
    assert!(text.contains("PostgresBuilder::connections"), "{text}");
    assert_eq!((outer, inner), (1, 1));
    // Afterwards all is as before.
    let mut attempts = 0;
    store
        .write(|tx| {
            attempts += 1;
            match attempts {
                3 => tx.put(b"key", b""),
                _ => Err(permazen_kv::KvError::Retry("busy".to_owned())),
            }
        })
        .unwrap();
}
