//! Ports that are no PostgreSQL servers, and long requests and answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

/// A port at which each connection gets these bytes, and then nothing.
fn always(answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 1 << 10]);
            let _ = client.write_all(answer);
            // It stays open until the client has had enough.
            thread::spawn(move || while client.read(&mut [0]).is_ok_and(|read| read > 0) {});
        }
    });
    port
}

#[test]
fn whatever_answers_the_error_says_so() {
    let answers: [&'static [u8]; 17] = [
        b"",
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"R\xff\xff\xff\xff",
        b"R\x7f\xff\xff\xff\0\0\0\0",
        b"R\0\0\0\0",
        b"R\0\0\0\x08",
        b"R\0\0\0\x04",
        b"\0\0\0\0\0\0\0\0",
        b"?\0\0\0\x04",
        // An unknown kind of log-in; one without a kind; one that continues before it has begun, or
        // has no number.
        b"R\0\0\0\x08\0\0\0\x63",
        b"R\0\0\0\x09\0\0\0\x0a\0",
        b"R\0\0\0\x09\0\0\0\x0b?",
        b"R\0\0\0\x16\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x09\0\0\0\x0b?",
        // An error without an end, a parameter without a value, and the end of a log-in with
        // nothing after it.
        b"E\0\0\0\x08SERR",
        b"S\0\0\0\x06a\0",
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IZ\0\0\0\x05ID\0\0\0\x0c\xff\xff\x7f\xff\xff\xff\0\0",
    ];
    for answer in answers {
        let url = format!("postgres://ann:secret@127.0.0.1:{}/db", always(answer));
        let opening = PostgresStore::builder().wait(Duration::from_millis(100));
        let error = opening.open(&url).unwrap_err().to_string();
        assert!(error.contains("cannot connect") && !error.contains("secret"), "{error}");
    }
}

/// A port at which each connection gets these bytes, and then others again and again.
fn endless(beginning: &'static [u8], again: &'static [u8], pause: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = client.read(&mut [0; 1 << 10]);
                let _ = client.write_all(beginning);
                while client.write_all(again).is_ok() {
                    thread::sleep(pause);
                }
            });
        }
    });
    port
}

/// Not one of these is an answer, so none of them prolongs the wait for it.
#[test]
fn a_server_that_talks_without_end_is_given_up() {
    let logged_in: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    let notice: &[u8] = b"N\0\0\0\x0eC00000\0\0\0";
    let parameter: &[u8] = b"S\0\0\0\x08a\0b\0";
    let wait = Duration::from_millis(100);
    for (beginning, again) in [
        (&b""[..], notice),
        (b"", parameter),
        (b"", b"R\0\0\0\x08\0\0\0\0"),
        (logged_in, notice),
        (logged_in, parameter),
        (logged_in, b"1\0\0\0\x04"),
        // More statements end than were made.
        (logged_in, b"C\0\0\0\x06S\0"),
    ] {
        for pause in [Duration::ZERO, wait / 10] {
            let url = format!("postgres://ann@127.0.0.1:{}/db", endless(beginning, again, pause));
            let error = PostgresStore::builder().wait(wait).open(&url).unwrap_err().to_string();
            assert!(error.contains("cannot connect"), "{error}");
        }
    }
}

/// Each byte comes in time, and the message that they are of does not end.
#[test]
fn a_server_that_begins_to_encrypt_without_end_is_given_up() {
    // It says that it encrypts, and begins the longest record.
    let port = endless(b"S\x16\x03\x03\x40\0", b"\x02", Duration::from_millis(10));
    let url = format!("postgres://ann@127.0.0.1:{port}/db?sslmode=require");
    let (start, wait) = (Instant::now(), Duration::from_millis(500));
    let error = PostgresStore::builder().wait(wait).open(&url).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("cannot connect"), "{error}");
    // The record would take almost three minutes.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A server that answers each statement with a number, and with nothing in its place once `is_told`
/// is set. It ends after a hundred of these. Returns its port and how many it has sent.
fn without_values(is_told: &Arc<AtomicBool>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (is_told, sent) = (Arc::clone(is_told), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&sent);
    let serve = move |mut client: TcpStream| -> std::io::Result<()> {
        let body = |client: &mut TcpStream| {
            let mut len = [0; 4];
            client.read_exact(&mut len)?;
            let mut body = vec![0; u32::from_be_bytes(len) as usize - 4];
            client.read_exact(&mut body)
        };
        body(&mut client)?;
        client.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")?;
        loop {
            let mut kind = [0];
            client.read_exact(&mut kind)?;
            body(&mut client)?;
            match kind[0] {
                b'E' if is_told.load(Ordering::Relaxed) => {
                    if count.fetch_add(1, Ordering::Relaxed) == 100 {
                        return Ok(());
                    }
                    client.write_all(b"D\0\0\0\x0f\0\x02\0\0\0\x01\x05\xff\xff\xff\xff")?;
                    client.write_all(b"C\0\0\0\x06S\0")?;
                }
                b'E' => {
                    client.write_all(b"D\0\0\0\x1e\0\x02\0\0\0\x08\0\0\0\0\0\0\x10\0")?;
                    client.write_all(b"\0\0\0\x08\0\0\0\0\0\0\x10\0C\0\0\0\x06S\0")?;
                }
                b'S' => client.write_all(b"Z\0\0\0\x05I")?,
                _ => {}
            }
        }
    };
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = serve(client);
        }
    });
    (port, sent)
}

#[test]
fn a_server_that_sends_no_values_is_not_asked_again_and_again() {
    type Read = fn(&dyn KvRead) -> permazen_kv::Result<()>;
    let reads: [Read; 4] = [
        |tx| tx.get(b"\x05").map(drop),
        |tx| tx.at_least(b"\x05", None).map(drop),
        |tx| tx.at_most(b"", Some(b"\x06")).map(drop),
        |tx| tx.scan(KeySpan::FULL, Direction::Forward)?.try_for_each(|pair| pair.map(drop)),
    ];
    for read in reads {
        let is_told = Arc::default();
        let (port, sent) = without_values(&is_told);
        // It has no settings to look at either.
        let url = format!("postgres://ann@127.0.0.1:{port}/db?warnings=off");
        let store = PostgresStore::builder().wait(Duration::from_secs(20)).open(&url).unwrap();
        is_told.store(true, Ordering::Relaxed);
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let error = read(&*tx).unwrap_err().to_string();
        let sent = sent.load(Ordering::Relaxed);
        assert!(sent < 10 && error.contains("the server has sent no pair"), "{sent}: {error}");
    }
}

/// A server without tables. Its answer to a statement that makes one comes when the client has sent
/// something else.
fn with_late_answers() -> u16 {
    const REFUSED: &[u8] = b"E\0\0\0\x19SERROR\0C42P01\0Mgone\0\0";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move |mut client: TcpStream| -> std::io::Result<()> {
        let body = |client: &mut TcpStream| {
            let mut len = [0; 4];
            client.read_exact(&mut len)?;
            let mut body = vec![0; u32::from_be_bytes(len) as usize - 4];
            client.read_exact(&mut body).map(|()| body)
        };
        let says = |sql: &[u8], words: &[u8]| sql.windows(words.len()).any(|part| part == words);
        body(&mut client)?;
        client.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")?;
        let (mut sql, mut answers, mut is_late) = (Vec::new(), Vec::new(), false);
        loop {
            let mut kind = [0];
            client.read_exact(&mut kind)?;
            let body = body(&mut client)?;
            if is_late {
                client.write_all(&std::mem::take(&mut answers))?;
                is_late = false;
            }
            match kind[0] {
                b'P' => sql = body,
                b'E' if says(&sql, b"\"asked\" FROM") => answers.extend_from_slice(REFUSED),
                b'E' => {
                    answers.extend_from_slice(b"D\0\0\0\x12\0\x01\0\0\0\x08\0\0\0\0\0\0\x10\0");
                    answers.extend_from_slice(b"C\0\0\0\x06S\0");
                }
                b'S' => {
                    answers.extend_from_slice(b"Z\0\0\0\x05I");
                    is_late = says(&sql, b"CREATE TABLE");
                    if !is_late {
                        client.write_all(&std::mem::take(&mut answers))?;
                    }
                }
                _ => {}
            }
        }
    };
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = serve(client);
        }
    });
    port
}

/// The answer that comes late is not taken for the answer to another question: then the store would
/// open without one of its tables.
#[test]
fn an_answer_that_comes_too_late_is_not_taken_for_another_one() {
    let url = format!("postgres://ann@127.0.0.1:{}/db?warnings=off", with_late_answers());
    let error = PostgresStore::builder().wait(Duration::from_secs(2)).open(&url).unwrap_err();
    let text = error.to_string();
    assert!(error.is_retryable() && text.contains("cannot open the tables"), "{text}");
    assert!(text.contains("timed out"), "{text}");
}

/// No server can be sent such a password, so it is not tried for as long as the store may wait.
#[test]
fn a_password_with_a_byte_of_0_is_refused() {
    let asked = always(b"R\0\0\0\x08\0\0\0\x03");
    let url = format!("postgres://ann:secret%00word@127.0.0.1:{asked}/db");
    let opening = PostgresStore::builder().wait(Duration::from_millis(100));
    let error = opening.open(&url).unwrap_err();
    let text = error.to_string();
    assert!(!error.is_retryable() && text.contains("the password has a byte of 0"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

/// No host can have such a name, so any resolver refuses it.
#[test]
fn a_host_that_does_not_exist_is_told_at_once() {
    let opening = || PostgresStore::builder().wait(Duration::from_millis(100));
    let error = opening().open("postgres://ann@a..b,c..d/db").unwrap_err();
    let text = error.to_string();
    assert!(!error.is_retryable() && text.contains("there is no host with the name"), "{text}");
    // Another one may answer soon.
    let silent = always(b"");
    let error = opening().open(&format!("postgres://ann@a..b,127.0.0.1:{silent}/db"));
    assert!(error.unwrap_err().is_retryable());
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table().replace("127.0.0.1", "a..b,127.0.0.1");
    assert!(url.contains("a..b"), "{url}");
    let url = format!("{url}&sslmode=disable");
    PostgresStore::open(&url).unwrap();
}

/// A server whose answers are not taken has no more room for them, and then takes no more
/// statements.
#[test]
fn a_commit_of_many_statements_ends() {
    let Some(url) = Postgres::shared().and_then(Postgres::socket_url) else { return };
    let wait = Duration::from_secs(15);
    let store = PostgresStore::builder().wait(wait).open(&format!("{url}&table=many")).unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for number in 0..60_000_u32 {
        let min = number.to_be_bytes();
        tx.remove_span(KeySpan::new(&min, Some(&[&min[..], b"\x01"].concat()))).unwrap();
    }
    tx.remove(b"key").unwrap();
    tx.commit().unwrap();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 0);
}
