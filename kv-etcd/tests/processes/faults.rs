//! Members and programs that stop at once while programs commit.
//!
//! `PERMAZEN_FAULTS=full` does it 50 times instead of twice (programs: 200 times instead of 4), or
//! as often as it says.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;
use permazen_test_servers::programs::{
    Records, World, accounts, bank, kill_programs, rounds, transfer,
};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::open;

/// Lets the other threads end, also after a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Programs work on one bank for this many rounds, and then on a new one, so that a round never
/// costs more than the first ones: a check of a bank reads all of it, while the programs make it
/// larger.
const ROUNDS_TO_A_BANK: usize = 5;

/// Programs work while something is done to the leader and undone, again and again. They continue
/// in between. Each time, the answers that they got are compared with the data.
fn disturbed(what: &str, cluster: &Etcd, act: fn(&Etcd, usize), undo: fn(&Etcd, usize)) {
    let (count, mut rng) = (rounds(50, 2), StdRng::seed_from_u64(4));
    let (begun, mut records) = (Instant::now(), Records::default());
    for first in (0..count).step_by(ROUNDS_TO_A_BANK) {
        let url = cluster.new_prefix();
        let mut world = World::new(open, &url, 3);
        let last = count.min(first + ROUNDS_TO_A_BANK);
        for round in first..last {
            world.wait();
            world.pause();
            disturb(&format!("{what} {round}"), cluster, &url, &world, &mut rng, act, undo);
            world.check();
        }
        world.wait();
        records.join(&format!("bank {first}"), world.end());
        println!("leader {what} {last} times in {:?}: {}", begun.elapsed(), records.summary());
    }
    assert!(records.unknown.is_empty() && records.committed.len() > 5 * count);
}

/// One round.
fn disturb(
    name: &str,
    cluster: &Etcd,
    url: &str,
    world: &World<EtcdStore>,
    rng: &mut StdRng,
    act: fn(&Etcd, usize),
    undo: fn(&Etcd, usize),
) {
    let leader = cluster.leader();
    // One store asks only the member that was the leader, also when it leads no more.
    let of_leader = bank(&open(&cluster.url_of(leader, url)));
    let accounts = accounts(&of_leader).unwrap();
    let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let number = done.load(Ordering::Relaxed);
                let name = format!("{name} {number}");
                world.note(&name, transfer(&of_leader, &accounts, &name, rng));
                done.store(number + 1, Ordering::Relaxed);
            }
        });
        let _over = Over(&is_over);
        while done.load(Ordering::Relaxed) < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        act(cluster, leader);
        world.wait();
        undo(cluster, leader);
    });
}

#[test]
fn a_leader_is_killed() {
    let Some(cluster) = Etcd::start(3, &[]) else { return };
    disturbed("killed", &cluster, Etcd::kill, Etcd::restart);
}

#[test]
fn a_leader_is_paused() {
    let Some(cluster) = Etcd::start(3, &[]) else { return };
    disturbed("paused", &cluster, Etcd::pause, Etcd::resume);
}

#[test]
fn a_leader_is_cut_off_from_the_others() {
    let Some(cluster) = Etcd::start_with_lines(3, &[]) else { return };
    disturbed("cut off", &cluster, Etcd::cut_off, Etcd::reunite);
}

#[test]
fn killed_programs_leave_nothing_half_done() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    kill_programs(open, &cluster.new_prefix());
}
