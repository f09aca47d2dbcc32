//! Ports that are no etcd servers, or not of the cluster of the store.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, TxOptions};
use permazen_kv_etcd::EtcdStore;

use crate::support::member;

/// A port at which each connection gets these bytes, and then nothing.
fn always(answer: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 1 << 12]);
            let _ = client.write_all(answer.as_bytes());
            // It stays open until the client has had enough.
            thread::spawn(move || while client.read(&mut [0]).is_ok_and(|read| read > 0) {});
        }
    });
    port
}

#[test]
fn whatever_answers_the_error_says_so() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunked = format!("{ok}Transfer-Encoding: chunked\r\n\r\n");
    let body = |json: &str| format!("{ok}Content-Length: {}\r\n\r\n{json}", json.len());
    let fields = "a: b\r\n".repeat(100);
    let answers = [
        String::new(),
        "\0\0\0\0\0\0\0\0".to_owned(),
        "220 mail.example.com ESMTP\r\n".to_owned(),
        format!("{ok}Content-Length: 18446744073709551615\r\n\r\n"),
        format!("{ok}Content-Length: 99999999999999999999\r\n\r\n"),
        format!("{ok}Content-Length: -1\r\n\r\n"),
        format!("{ok}Content-Length: 9\r\n\r\n{{"),
        format!("{ok}Transfer-Encoding: gzip\r\n\r\n"),
        format!("{ok}{fields}\r\n"),
        format!("{ok}a: {}", "b".repeat(1 << 17)),
        format!("{chunked}ffffffffffffffff\r\n{{}}"),
        format!("{chunked}fffffffffffffff\r\n{{}}"),
        format!("{chunked}fffffffffffffffff\r\n"),
        format!("{chunked}?\r\n"),
        format!("{chunked}2\r\n{{}}"),
        format!("{chunked}0\r\n"),
        "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
        "HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\n\0no".to_owned(),
        body(""),
        body("null"),
        body("[1"),
        body(r#"{"header":{"revision":"x"}}"#),
        body(r#"{"header":{"revision":"99999999999999999999"}}"#),
        body(r#"{"responses":[{"response_range":{"kvs":[{"key":"?"}]}}]}"#),
        body(&"[".repeat(1 << 16)),
    ];
    // Each of them is waited for.
    thread::scope(|scope| {
        for answer in &answers {
            scope.spawn(move || is_told(answer));
        }
    });
}

fn is_told(answer: &str) {
    let port = always(answer.to_owned());
    // The first question is a log-in, or asks for the horizon.
    for login in ["ann:secret@", ""] {
        let opening = EtcdStore::builder().create(false).wait(Duration::from_millis(100));
        let opened = opening.open(&format!("etcd://{login}127.0.0.1:{port}/db"));
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("127.0.0.1"), "{answer:?}: {error}");
        assert!(!error.contains("secret"), "{answer:?}: {error}");
    }
}

/// It would take ever more memory until the time is over.
#[test]
fn a_piece_or_an_end_that_is_too_long_is_told_at_once() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = "b".repeat(1 << 17);
    for answer in [format!("{chunked}2;{long}"), format!("{chunked}0\r\na: {long}")] {
        let opening = EtcdStore::builder().wait(Duration::from_secs(20));
        let error = opening.open(&format!("etcd://127.0.0.1:{}/db", always(answer))).unwrap_err();
        let text = error.to_string();
        assert!(!error.is_retryable() && text.contains("does not speak HTTP"), "{text}");
    }
}

/// Each byte comes in time, and the message that they are of does not end.
#[test]
fn a_member_that_begins_to_encrypt_without_end_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            // The beginning of the longest record.
            let _ = client.write_all(b"\x16\x03\x03\x40\0");
            thread::spawn(move || {
                while client.write_all(b"\x02").is_ok() {
                    thread::sleep(Duration::from_millis(10));
                }
            });
        }
    });
    let (start, wait) = (Instant::now(), Duration::from_millis(500));
    let opening = EtcdStore::builder().wait(wait);
    let error = opening.open(&format!("etcd://127.0.0.1:{port}/db?tls=unverified")).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("no connection"), "{error}");
    // The record would take almost three minutes.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// An answer that comes as a whole.
pub(super) fn ok(json: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{json}", json.len())
}

/// The answer of a cluster to one question for a range, with these fields.
pub(super) fn found(cluster: u64, revision: u64, range: &str) -> String {
    let header = format!(r#"{{"cluster_id":"{cluster}","revision":"{revision}"}}"#);
    ok(&format!(r#"{{"header":{header},"responses":[{{"response_range":{{{range}}}}}]}}"#))
}

/// The answer to the question whether the store `db` is there; `None` if another one is asked.
pub(super) fn horizon(request: &str) -> Option<String> {
    let key = r#""key":"ZGI6aA==""#;
    request.contains(key).then(|| found(7, 9, &format!(r#""kvs":[{{{key}}}]"#)))
}

/// Other answers come for a while, for example because an address leads elsewhere.
#[test]
fn an_answer_of_another_cluster_is_refused_and_forgotten() {
    let strange = Arc::new(Mutex::new(None));
    let next = Arc::clone(&strange);
    let port = member(move |request| {
        let strange: Option<String> = next.lock().unwrap().take();
        strange.or_else(|| horizon(request)).unwrap_or_else(|| found(7, 9, ""))
    });
    let store = EtcdStore::open(&format!("etcd://127.0.0.1:{port}/db")).unwrap();
    let read = || store.read(|tx| tx.get(b"key").map(drop));
    read().unwrap();
    for (answer, words) in [
        (found(8, 2, ""), "a member of another cluster"),
        (found(8, 12, ""), "a member of another cluster"),
        (ok("{}"), "does not say its revision"),
    ] {
        *strange.lock().unwrap() = Some(answer);
        let error = read().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        read().unwrap();
    }
}

/// What was removed is skipped, so the store would ask again and again.
#[test]
fn pairs_that_were_not_asked_for_are_refused() {
    use Direction::{Forward, Reverse};
    let (asked, range) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
    let (count, answer) = (Arc::clone(&asked), Arc::clone(&range));
    let port = member(move |request| {
        // The last answer ends a scan.
        let is_over = count.fetch_add(1, Ordering::Relaxed) > 100;
        let range = if is_over { String::new() } else { answer.lock().unwrap().clone() };
        horizon(request).unwrap_or_else(|| found(7, 9, &range))
    });
    let store = EtcdStore::open(&format!("etcd://127.0.0.1:{port}/db")).unwrap();
    let removed =
        |key: &&str| format!(r#"{{"key":"{}","value":"AA=="}}"#, BASE64_STANDARD.encode(key));
    let strange: [(Direction, &[&str]); 8] = [
        (Forward, &[]),
        (Forward, &["db:da"]),
        (Forward, &["db:dz"]),
        (Forward, &["xy:dn"]),
        (Forward, &["db:hn"]),
        (Forward, &["db:dn", "db:dn"]),
        (Forward, &["db:do", "db:dn"]),
        (Reverse, &["db:dn", "db:do"]),
    ];
    for (direction, keys) in strange {
        let kvs: Vec<String> = keys.iter().map(removed).collect();
        *range.lock().unwrap() = format!(r#""kvs":[{}],"more":true"#, kvs.join(","));
        asked.store(0, Ordering::Relaxed);
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let span = KeySpan::new(b"m", Some(b"p"));
        let error = tx.scan(span, direction).unwrap().find_map(Result::err);
        let error = error.unwrap().to_string();
        assert!(error.contains("the server has sent"), "{keys:?}: {error}");
        assert!(asked.load(Ordering::Relaxed) < 10, "{keys:?}");
    }
}

/// A sweep removes what it finds, so it would remove records of others.
#[test]
fn tokens_that_were_not_asked_for_are_not_swept() {
    let (removals, range) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
    let (count, answer) = (Arc::clone(&removals), Arc::clone(&range));
    let port = member(move |request| {
        if horizon(request).is_some() {
            // It stands at revision 5, and was raised just now.
            let value = BASE64_STANDARD.encode([5_i64.to_be_bytes(), 9_i64.to_be_bytes()].concat());
            return found(7, 9, &format!(r#""kvs":[{{"key":"ZGI6aA==","value":"{value}"}}]"#));
        }
        let is_removal = request.contains("request_delete_range");
        count.fetch_add(usize::from(is_removal), Ordering::Relaxed);
        found(7, 9, &answer.lock().unwrap())
    });
    let store = EtcdStore::open(&format!("etcd://127.0.0.1:{port}/db")).unwrap();
    let sweep = |tokens: &[(&str, i64)]| {
        let token = |(key, revision): &(&str, i64)| {
            let key = BASE64_STANDARD.encode(key);
            format!(r#"{{"key":"{key}","value":"YQ==","mod_revision":"{revision}"}}"#)
        };
        let kvs: Vec<String> = tokens.iter().map(token).collect();
        *range.lock().unwrap() = format!(r#""kvs":[{}]"#, kvs.join(","));
        store.sweep()
    };
    let strange: [&[(&str, i64)]; 7] = [
        &[("db:s", 5)],
        &[("db:u", 5)],
        &[("db:dn", 5)],
        &[("xy:ta", 5)],
        &[("db:ta", 5), ("db:ta", 5)],
        &[("db:tb", 5), ("db:ta", 5)],
        &[("db:ta", 6)],
    ];
    for tokens in strange {
        let error = sweep(tokens).unwrap_err().to_string();
        assert!(error.contains("the server has sent"), "{tokens:?}: {error}");
    }
    assert_eq!(removals.load(Ordering::Relaxed), 0);
    sweep(&[("db:ta", 4), ("db:tb", 5)]).unwrap();
    assert!(removals.load(Ordering::Relaxed) > 0);
}

/// The members after it are asked, as after an answer of another cluster.
#[test]
fn a_member_that_does_not_say_the_revision_is_asked_no_more() {
    let good = |request: &str| horizon(request).unwrap_or_else(|| found(7, 9, ""));
    let is_strange = Arc::new(AtomicBool::new(false));
    let strange = Arc::clone(&is_strange);
    let first = member(move |request| match strange.load(Ordering::Relaxed) {
        true => ok("{}"),
        false => good(request),
    });
    let second = member(good);
    let url = format!("etcd://127.0.0.1:{first},127.0.0.1:{second}/db");
    let store = EtcdStore::open(&url).unwrap();
    let read = || store.read(|tx| tx.get(b"key").map(drop));
    read().unwrap();
    is_strange.store(true, Ordering::Relaxed);
    let error = read().unwrap_err().to_string();
    assert!(error.contains("does not say its revision"), "{error}");
    read().unwrap();
}

/// No host can have such a name, so any resolver refuses it.
#[test]
fn a_host_that_does_not_exist_is_told_at_once() {
    let open = |hosts: &str| {
        let opening = EtcdStore::builder().wait(Duration::from_millis(100));
        opening.open(&format!("etcd://{hosts}/db?tls=off")).unwrap_err()
    };
    let error = open("a..b,c..d");
    let text = error.to_string();
    assert!(!error.is_retryable() && text.contains("there is no host with the name"), "{text}");
    // Another one may answer soon.
    assert!(open(&format!("a..b,127.0.0.1:{}", always(String::new()))).is_retryable());
}
