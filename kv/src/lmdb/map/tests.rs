//! Which threads wait for which when a map must grow. A test whose thread waits for itself does not
//! end.
#![allow(clippy::unwrap_used)]

use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(3600);
const SIZE: usize = 1 << 20;

fn path() -> &'static Path {
    Path::new("here")
}

/// A map that is used up and waits for a long time.
fn full() -> Map {
    let mut map = Map::new(SIZE, SIZE, true);
    map.patience = LONG;
    map.set_need(Need::Now);
    map
}

fn begin(map: &Map, version: usize) -> Counted {
    map.begin_read(path(), || Ok(((), version))).unwrap().unwrap().1
}

fn make_room(map: &Map) -> bool {
    map.make_room(path(), LONG, |_| Ok(())).unwrap();
    map.size() > SIZE
}

fn is_kept_free(map: &Map) -> bool {
    lock(&map.uses).kept_free.is_some()
}

#[test]
fn a_thread_that_reads_does_not_wait_for_itself_to_grow_the_map() {
    let map = full();
    let reader = begin(&map, 1);
    assert!(!make_room(&map));
    assert!(matches!(map.used_up(path()), KvError::Full { .. }));
    assert!(map.follow(path(), 2 * SIZE, |_| Ok(())).unwrap_err().is_retryable());
    map.end_read(reader);
    assert!(make_room(&map));
}

#[test]
fn before_a_read_the_map_grows_only_if_nothing_uses_it() {
    let map = full();
    let try_it = || {
        map.make_room_at_once(path(), |_| Ok(())).unwrap();
        (map.size() > SIZE, map.need())
    };
    let reader = begin(&map, 1);
    assert_eq!(try_it(), (false, Need::Now));
    map.end_read(reader);
    map.begin_use(path()).unwrap();
    assert_eq!(try_it(), (false, Need::Now));
    map.end_use();
    assert_eq!(try_it(), (true, Need::No));
}

#[test]
fn a_thread_that_reads_can_read_again_while_the_map_waits_for_it() {
    let map = full();
    let first = begin(&map, 1);
    thread::scope(|scope| {
        let grows = scope.spawn(|| make_room(&map));
        while !is_kept_free(&map) {
            thread::yield_now();
        }
        let second = begin(&map, 2);
        map.begin_use(path()).unwrap();
        map.end_use();
        map.end_read(first);
        // Another one waits until the map has grown.
        let other = scope.spawn(|| {
            let reader = begin(&map, 2);
            let grown = map.size() > SIZE;
            map.end_read(reader);
            grown
        });
        map.end_read(second);
        assert!(grows.join().unwrap() && other.join().unwrap());
    });
}

#[test]
fn after_a_wait_in_vain_it_waits_only_for_others() {
    let mut map = full();
    map.patience = Duration::from_millis(1);
    let read_elsewhere = |map: &Map, version| {
        thread::scope(|scope| scope.spawn(|| begin(map, version)).join().unwrap())
    };
    let reader = read_elsewhere(&map, 1);
    assert!(!make_room(&map));
    assert_eq!(map.need(), Need::InVain);
    map.patience = LONG;
    map.set_need(Need::Now);
    assert!(!make_room(&map));
    map.end_read(reader);
    let other = read_elsewhere(&map, 2);
    map.set_need(Need::Now);
    thread::scope(|scope| {
        let grows = scope.spawn(|| make_room(&map));
        while !is_kept_free(&map) {
            thread::yield_now();
        }
        map.end_read(other);
        assert!(grows.join().unwrap());
    });
}

#[test]
fn what_the_system_refuses_is_asked_for_again_when_half_of_the_rest_is_used() {
    let map = Map::new(SIZE, SIZE, true);
    // Each of these sizes is half full. A size that is refused is no longer needed.
    let asks = |used| {
        map.note_used(used, SIZE);
        let asks = map.is_to_grow();
        map.set_need(Need::No);
        asks
    };
    let half = SIZE / 2;
    assert!(!asks(half) && asks(half + 2));
    assert!(!asks(half + 2) && !asks(SIZE / 4 * 3));
    assert!(asks(SIZE / 4 * 3 + 2) && !asks(SIZE / 8 * 7));
    assert!(asks(SIZE / 8 * 7 + 2));
}
