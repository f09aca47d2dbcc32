//! A program whose clock is wrong. The server's clock alone decides.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use permazen_test_servers::programs::{self, Outcome, Process, Records, say};
use permazen_test_servers::{Fault, Postgres, Proxy, Way};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::open;

/// The work of the process: a transfer for each name that it reads from standard input.
pub(crate) fn work(url: &str) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    say(&format!("clock {}", now.as_secs()));
    let db = programs::bank(&open(url));
    let accounts = programs::accounts(&db).unwrap();
    let mut rng = StdRng::seed_from_u64(1);
    for name in std::io::stdin().lines() {
        let name = name.unwrap();
        if name == "look" {
            programs::accounts(&db).unwrap();
            say("looked");
            continue;
        }
        let outcome = programs::transfer(&db, &accounts, &name, &mut rng);
        say(&format!("outcome {}", outcome as usize));
    }
}

#[test]
fn a_program_an_hour_ahead_is_told_the_truth() {
    if !Path::new("/usr/bin/faketime").exists() {
        assert!(std::env::var_os("CI").is_none(), "in CI this must be there: faketime");
        println!("skipped: faketime is not here (package faketime of Debian)");
        return;
    }
    let Some(server) = Postgres::start(&[]) else { return };
    programs::found(&open(&server.url()));
    // One that is to be removed, and one that only a wrong clock would remove.
    server.sql(
        r#"INSERT INTO "KV_commit" VALUES ('old', now() - interval '70 minutes'), ('new', now() - interval '50 minutes')"#,
    );
    let proxy = Proxy::new(server.port());
    let url = proxy.url(&server.url(), server.port());
    let mut faketime = Command::new("faketime");
    // Times that are measured with the monotonic clock stay right.
    faketime.args(["-m", "-f", "+1h"]).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let mut ahead = Process::start_under(faketime, &["clock", &url]);
    let clock: u64 = ahead.hear("clock ").parse().unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!((3_500..3_700).contains(&(clock - now)), "{clock} {now}");
    let mut records = Records::default();
    let mut answers_lost = 0;
    // Each message is lost, or each second one; those of the two ways begin at different ones.
    let distance = Fault::distance(2);
    for (row, way) in [Way::There, Way::Back].into_iter().enumerate() {
        for at in Fault::messages(row, distance) {
            assert!(at < 200, "it does not end");
            ahead.tell("look");
            ahead.hear("looked");
            let name = format!("{way:?} {at}");
            proxy.fail(way, at, Fault::Lose);
            ahead.tell(&name);
            let outcome = match &ahead.hear("outcome ")[..] {
                "0" => Outcome::Committed,
                "1" => Outcome::Failed,
                _ => Outcome::Unknown,
            };
            let has_come = proxy.end_fault();
            records.add(&name, outcome);
            if !has_come {
                break;
            }
            answers_lost += usize::from(outcome == Outcome::Committed);
        }
    }
    ahead.stop();
    assert!(records.unknown.is_empty(), "{:?}", records.unknown);
    assert!(records.check(&open(&server.url())).is_empty());
    println!("an hour ahead: {}, {answers_lost} of lost answers", records.summary());
    // There are few lost answers, so that their part can be less than the distance says.
    let is_enough =
        answers_lost > 3 / (distance * distance) && records.failed.len() >= 10 / distance;
    assert!(is_enough, "{}", records.summary());
    let left = r#"SELECT string_agg(convert_from("token", 'UTF8'), ' ') FROM "KV_commit" WHERE octet_length("token") = 3"#;
    assert_eq!(server.sql(left), "new");
}
