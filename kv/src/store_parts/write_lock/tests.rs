//! Which thread gets the right to write, and when.
#![allow(clippy::unwrap_used)]
use std::sync::mpsc::channel;

use super::*;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn one_holder_at_a_time() {
    let lock = Arc::new(WriteLock::default());
    let permit = lock.acquire(Duration::ZERO).unwrap();
    assert!(lock.acquire(Duration::from_millis(5)).unwrap_err().is_retryable());
    let other = Arc::clone(&lock);
    let waiting = thread::spawn(move || other.acquire(LONG).is_ok());
    drop(permit);
    assert!(waiting.join().unwrap());
    assert!(lock.acquire(LONG).is_ok());
    assert!(lock.state().holder.is_none() && lock.state().queue.is_empty());
}

#[test]
fn only_a_transaction_that_stays_on_its_thread_makes_that_thread_wait_for_itself() {
    let lock = WriteLock::of("it");
    let here = TxOptions::writing().with_wait(LONG).ending_here();
    let permit = lock.acquire_for(&here).unwrap();
    let refused = lock.acquire(LONG).unwrap_err();
    assert!(matches!(&refused, KvError::WithinWrite { store } if **store == *"it"));
    assert!(!refused.is_retryable() && refused.is_caller_error());
    drop(permit);
    // Another thread waits, and has the right then, whichever way it gets it.
    for patience in [Duration::ZERO, PATIENCE] {
        // Before the other thread comes, which keeps the right until it is told.
        let permit = match patience.is_zero() {
            true => None,
            false => Some(lock.acquire(LONG).unwrap()),
        };
        let other = Arc::clone(&lock);
        let (tell, told) = channel::<()>();
        let here = here.clone();
        let waiting = thread::spawn(move || {
            let permit = other.acquire_for(&here).unwrap();
            assert!(matches!(other.acquire(LONG), Err(KvError::WithinWrite { .. })));
            let _ = told.recv();
            drop(permit);
        });
        while permit.is_some() && lock.waiting() == 0 {
            thread::yield_now();
        }
        thread::sleep(patience);
        drop((permit, tell));
        waiting.join().unwrap();
    }
    // A permit that can be given to another thread.
    let given = lock.acquire(LONG).unwrap();
    let waited = lock.acquire(Duration::from_millis(1)).unwrap_err();
    assert!(waited.is_retryable() && waited.to_string().contains("begun on this thread"));
    let (tell, told) = channel::<()>();
    thread::spawn(move || {
        let _ = told.recv();
        drop(given);
    });
    tell.send(()).unwrap();
    assert!(lock.acquire_for(&here).is_ok());
}

#[test]
fn one_that_has_waited_is_not_passed_over() {
    let lock = Arc::new(WriteLock::default());
    let permit = lock.acquire(Duration::ZERO).unwrap();
    let (other, (tell, told)) = (Arc::clone(&lock), channel::<()>());
    let waiting = thread::spawn(move || {
        let permit = other.acquire(LONG).unwrap();
        let _ = told.recv();
        drop(permit);
    });
    while lock.state().queue.is_empty() {
        thread::yield_now();
    }
    // Until it has waited for that long, others may take the right before it.
    thread::sleep(PATIENCE);
    drop(permit);
    assert!(lock.acquire(Duration::ZERO).is_err());
    drop(tell);
    waiting.join().unwrap();
    assert!(lock.acquire(Duration::ZERO).is_ok());
}

#[test]
fn the_right_goes_at_once_to_one_that_has_waited_long_enough() {
    let thread = thread::spawn(|| ()).thread().id();
    for joins in [true, false] {
        for has_waited in [true, false] {
            let lock = WriteLock::of("it");
            let permit = lock.acquire(Duration::ZERO).unwrap();
            let (now, asker) = (Instant::now(), Asker { thread, stays: true });
            let waiter = Arc::new(Waiter {
                above: None,
                asker,
                joins,
                // A thread that has not waited comes after the right was given back.
                since: if has_waited { now.checked_sub(PATIENCE).unwrap() } else { now + LONG },
                woken: Condvar::new(),
                called: AtomicBool::new(false),
                given: AtomicBool::new(false),
            });
            lock.state().queue.push_back(Arc::clone(&waiter));
            drop(permit);
            assert!(waiter.called.load(Ordering::Relaxed));
            assert_eq!(waiter.given.load(Ordering::Relaxed), has_waited);
            assert_eq!(lock.taken.load(Ordering::Relaxed), has_waited);
            let state = lock.state();
            assert_eq!(state.queue.len(), usize::from(!has_waited));
            let holder = state.holder.as_ref();
            assert_eq!(holder.is_some(), has_waited);
            // It holds the right as it has asked for it.
            assert!(holder.is_none_or(|it| it.gives_turns == joins && it.process.is_this()));
            assert!(holder.is_none_or(|it| it.asker.thread == thread && it.asker.stays));
        }
    }
}
