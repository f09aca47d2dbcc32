//! Servers and programs that end at once while programs commit. These tests take longest. Tests
//! begin in the order of their names, so these run beside all others.

use std::time::Instant;

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::programs::{World, kill_programs, rounds};
use permazen_test_servers::{End, Postgres};

use crate::processes::open;

/// A server as users have it: commits are on the disk.
const SETTINGS: &[&str] = &["max_pred_locks_per_transaction=1024"];

/// Records are compared with the database after this many rounds, and at the end.
const ROUNDS_TO_CHECK: usize = 20;

/// Looks at all that is there, and fails in no conflict.
fn look(url: &str) -> PostgresStore {
    let joint = if url.contains('?') { '&' } else { '?' };
    open(&format!("{url}{joint}deferrable=on"))
}

#[test]
fn a_server_that_ends_at_once_loses_no_acknowledged_commit() {
    let Some(mut server) = Postgres::start(SETTINGS) else { return };
    let mut world = World::new(look, &server.url(), 3);
    let count = rounds(200, 3);
    let begun = Instant::now();
    for round in 1..=count {
        world.wait();
        world.pause();
        let end = [End::Immediate, End::Killed, End::Beheaded][round % 3];
        server.end(end);
        server.run();
        if round % ROUNDS_TO_CHECK == 0 {
            world.check();
        }
    }
    world.wait();
    let records = world.end();
    println!("server ended {count} times in {:?}: {}", begun.elapsed(), records.summary());
    assert!(records.committed.len() > 5 * count);
}

#[test]
fn a_standby_has_all_acknowledged_commits() {
    let Some(mut primary) = Postgres::start(SETTINGS) else { return };
    open(&primary.url());
    let Some(mut standby) = primary.start_standby() else { return };
    let url =
        format!("postgres://test@127.0.0.1:{},127.0.0.1:{}/test", primary.port(), standby.port());
    let mut world = World::new(look, &url, 3);
    let count = rounds(20, 3);
    let begun = Instant::now();
    for round in 1..=count {
        world.wait();
        world.pause();
        let end = [End::Immediate, End::Killed, End::Beheaded][round % 3];
        primary.end(end);
        // Sometimes it comes back before the other one takes its place.
        if round % 4 == 3 {
            primary.run();
            primary.wait_for_standby();
            world.wait();
            primary.end(end);
        }
        standby.promote();
        std::mem::swap(&mut primary, &mut standby);
        standby.follow(&primary);
        primary.wait_for_standby();
        if round % ROUNDS_TO_CHECK == 0 {
            world.check();
        }
    }
    world.wait();
    let records = world.end();
    println!("standby promoted {count} times in {:?}: {}", begun.elapsed(), records.summary());
    assert!(records.committed.len() > 5 * count);
}

#[test]
fn killed_programs_leave_nothing_half_done() {
    let Some(server) = Postgres::start(SETTINGS) else { return };
    kill_programs(look, &server.url());
}
