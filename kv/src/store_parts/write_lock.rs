//! The right to write. One holder has it at a time; others wait with a limit. Some of those who wait can
//! commit together with the holder (`group/`): the lock says who does, and in which order.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::above::Above;
use super::awake::{AWAKE, stay_awake};
use super::counts::Counts;
use super::lock::lock;
use super::process::Process;
use crate::group::shared::Group;
use crate::{KvDatabase, KvError, Result, TxOptions};

/// A thread that has waited for this long is given the right directly. Until then, any thread that
/// comes at the right moment takes it. For many short transactions, this saves waking a thread for
/// each.
const PATIENCE: Duration = Duration::from_millis(1);

/// How many members a group has at most. The overlays of more would not make a flush much cheaper.
const MOST_MEMBERS: u32 = 63;

/// How long a group may take.
#[derive(Debug)]
pub(crate) struct Limits {
    /// No member begins after so long.
    pub(crate) beginning: Duration,
    /// A member that still runs after so long must run again, alone. It may be waiting for something that
    /// the thread of the leader does after its commit.
    pub(crate) longest: Duration,
    /// For so long no group begins after a member took too long, because what took so long is done twice:
    /// the shortest and the longest such time. It is twice as long each time, and half as long after a group
    /// that ended well.
    pub(crate) rest: (Duration, Duration),
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // Those who have committed wait for the flush meanwhile, which takes less on most disks.
            beginning: Duration::from_millis(5),
            longest: Duration::from_millis(10),
            rest: (Duration::from_millis(20), Duration::from_secs(1)),
        }
    }
}

/// Who may write. Unlike a mutex, the right can be passed from thread to thread, threads can wait
/// for it with a limit, and each gets it in time.
#[derive(Debug, Default)]
pub(crate) struct WriteLock {
    /// What is done with the store that can be written.
    counts: Counts,
    state: Mutex<State>,
    taken: AtomicBool,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    /// The waiting threads, in the order in which they came.
    queue: VecDeque<Arc<Waiter>>,
    /// The group that the holder leads.
    running: Option<Running>,
    /// The transactions of members that have not ended, with the threads that began them. All but one of
    /// them must run again.
    members: Vec<(ThreadId, Arc<Group>)>,
    /// No group begins before this time.
    no_groups_until: Option<Instant>,
    /// How long no group began when a member took too long the last time.
    rest: Duration,
    /// How long a commit takes, about, of those after which others may come.
    commit_takes: Duration,
    /// The latest group.
    latest: Option<Latest>,
}

/// What the latest group was. Threads that write one transaction after the other come back soon after it.
#[derive(Debug, Clone, Copy)]
struct Latest {
    members: u32,
    ended: Instant,
}

/// A group that others can join.
#[derive(Debug)]
struct Running {
    group: Arc<Group>,
    since: Instant,
    /// How many members have had their turn, or have it.
    members: u32,
    /// Until when the leader waits for others to come, and for how many.
    expects: Option<(Instant, u32)>,
    /// Whose turn it is.
    turn: Option<Arc<Waiter>>,
    /// Whether its thread has taken that turn.
    is_taken: bool,
}

#[derive(Debug)]
struct Holder {
    /// For which transaction above the store the right is held, if for one.
    above: Option<Arc<Above>>,
    asker: Asker,
    /// Whose thread it is. In a child that was forked from that process, it never ends.
    process: Process,
    since: Instant,
    /// Whether it may still give turns in a group.
    gives_turns: bool,
}

/// Who has asked for the right.
#[derive(Debug, Clone, Copy)]
struct Asker {
    thread: ThreadId,
    /// Whether the transaction ends on this thread.
    stays: bool,
}

#[derive(Debug)]
struct Waiter {
    above: Option<Arc<Above>>,
    asker: Asker,
    /// Whether it can commit together with the holder.
    joins: bool,
    since: Instant,
    woken: Condvar,
    /// Whether it was woken, for one that has not gone to sleep.
    called: AtomicBool,
    /// Whether it has become the holder.
    given: AtomicBool,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(crate) struct WritePermit {
    lock: Arc<WriteLock>,
}

/// What a thread that waited for the right gets.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The right to write.
    Right(WritePermit),
    /// A turn as a member of the group that the holder leads.
    Member(Seat),
}

/// The turn of a member. When it is dropped, the next one gets its turn.
#[derive(Debug)]
pub(crate) struct Seat {
    lock: Arc<WriteLock>,
    group: Arc<Group>,
    thread: ThreadId,
}

thread_local! {
    /// Whether this thread has waited in vain for the right to write, or for a connection, since it began
    /// its latest attempt.
    static WAITED_IN_VAIN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has waited for the right to write, or for a connection to a server, until
/// its time was over. [`Retry`](crate::Retry) does not run the attempt that needed it again: it has
/// used up its time to wait, or, if this thread holds what it waits for itself, would wait for itself
/// each time.
pub fn note_wait_in_vain() {
    WAITED_IN_VAIN.set(true);
}

/// Notes that this thread begins another attempt, or commits. What it waited for in vain before no
/// longer matters.
pub(crate) fn forget_wait_in_vain() {
    WAITED_IN_VAIN.set(false);
}

/// Whether this thread has waited in vain since then.
pub(crate) fn has_waited_in_vain() -> bool {
    WAITED_IN_VAIN.get()
}

/// Fails if a transaction that writes can never begin on this thread, because it would wait for
/// itself, or because this process was forked. Waits for nothing, and changes nothing: others who
/// have the right to write, and any other failure, are for the transaction that comes to find out.
///
/// # Errors
/// [`KvError::WithinWrite`] or [`KvError::Forked`].
pub fn check_can_begin(store: &(impl KvDatabase + ?Sized)) -> Result<()> {
    let before = has_waited_in_vain();
    let begun = store.begin(&TxOptions::writing().with_wait(Duration::ZERO)).map(drop);
    // It has not waited, so what it met says nothing about the next attempt.
    WAITED_IN_VAIN.set(before);
    match begun {
        Err(error @ (KvError::WithinWrite { .. } | KvError::Forked { .. })) => Err(error),
        _ => Ok(()),
    }
}

impl WriteLock {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A lock for the right to write to what has this name.
    pub(crate) fn of(name: impl Into<Box<str>>) -> Arc<Self> {
        Arc::new(WriteLock { counts: Counts::of(name), ..WriteLock::default() })
    }

    /// What is done with the store that can be written.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Waits for at most `wait` until no other holder may write; a `wait` of zero tries once.
    ///
    /// Fails at once if this thread would wait for itself: for a transaction that ends on this thread, or
    /// for one [`Above`] the store that this thread runs; also if the right is held by a thread that only the
    /// parent of this process has.
    pub(crate) fn acquire(self: &Arc<Self>, wait: Duration) -> Result<WritePermit> {
        self.right(wait, false)
    }

    /// Does the same for a transaction with these options.
    pub(crate) fn acquire_for(self: &Arc<Self>, options: &TxOptions) -> Result<WritePermit> {
        self.right(options.writer_wait(), options.stays_here())
    }

    fn right(self: &Arc<Self>, wait: Duration, stays: bool) -> Result<WritePermit> {
        match self.wait(wait, false, stays)? {
            Turn::Right(permit) => Ok(permit),
            Turn::Member(_) => Err(KvError::Retry("it cannot join a group".to_owned())),
        }
    }

    /// Does the same. One that `joins` gets a turn as a member of a group instead, if the holder makes one meanwhile.
    pub(crate) fn turn(self: &Arc<Self>, options: &TxOptions, joins: bool) -> Result<Turn> {
        self.wait(options.writer_wait(), joins, options.stays_here())
    }

    fn wait(self: &Arc<Self>, wait: Duration, joins: bool, stays: bool) -> Result<Turn> {
        let above = Above::of_this_thread();
        let asker = Asker { thread: thread::current().id(), stays };
        let since = Instant::now();
        let mut state = self.state();
        if let Some(holder) = &state.holder {
            holder.process.check(|| self.counts.store())?;
        }
        if state.is_used_by(asker.thread) {
            return Err(KvError::WithinWrite { store: self.counts.store().into() });
        }
        if state.holder.is_some() {
            state.check_holder()?;
            let mut waiting = self.counts.waits().since(since);
            let given = AtomicBool::new(false);
            let joins = joins && above.is_none();
            let (woken, called) = (Condvar::new(), AtomicBool::new(false));
            let waiter = Waiter { above: above.clone(), asker, joins, since, woken, called, given };
            let waiter = Arc::new(waiter);
            state.queue.push_back(Arc::clone(&waiter));
            // If the leader waits for others to come, no member gives the turn to this one.
            if let Some(group) = state.idle_group() {
                state.next_turn(&self.limits);
                group.wake_leader();
            }
            loop {
                // The holder before has passed the right on to this thread.
                if waiter.given.load(Ordering::Relaxed) {
                    return Ok(Turn::Right(WritePermit { lock: Arc::clone(self) }));
                }
                if let Some(group) = state.take_turn(&waiter) {
                    let (lock, thread) = (Arc::clone(self), thread::current().id());
                    return Ok(Turn::Member(Seat { lock, group, thread }));
                }
                let Some(holder) = &state.holder else { break };
                let left = wait.saturating_sub(since.elapsed());
                if left.is_zero() {
                    let held = holder.since.elapsed();
                    let (whose, advice) = match holder.asker.thread == asker.thread {
                        true => (
                            ", begun on this thread,",
                            "; if it is still open here, use it or end it instead of beginning another",
                        ),
                        false => ("", ""),
                    };
                    let error = format!(
                        "waited {wait:?} for the right to write, which another transaction{whose} has held for \
                         {held:?}{advice}"
                    );
                    state.leave(&waiter);
                    waiting.in_vain = true;
                    note_wait_in_vain();
                    return Err(KvError::Retry(error));
                }
                if joins && holder.gives_turns && since.elapsed() < AWAKE.min(wait) {
                    waiter.called.store(false, Ordering::Relaxed);
                    drop(state);
                    stay_awake(since, AWAKE.min(wait), &waiter.called);
                    state = self.state();
                } else {
                    let woken = waiter.woken.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            state.leave(&waiter);
        }
        let (process, since) = (Process::this(), Instant::now());
        state.holder = Some(Holder { above, asker, process, since, gives_turns: joins });
        self.taken.store(true, Ordering::Release);
        drop(state);
        Ok(Turn::Right(WritePermit { lock: Arc::clone(self) }))
    }

    #[cfg(test)]
    pub(crate) fn with_limits(limits: Limits) -> Self {
        WriteLock { limits, ..WriteLock::default() }
    }

    /// How many threads wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// Whether the leader of a group waits for others to come.
    #[cfg(test)]
    pub(crate) fn leader_waits(&self) -> bool {
        self.state().idle_group().is_some()
    }

    /// Whether the first one that waits can commit together with the holder, or others are expected that can.
    /// Called by the holder.
    pub(crate) fn has_joiners(&self) -> bool {
        let mut state = self.state();
        let may_join = match state.queue.front() {
            Some(first) => first.joins,
            None => state.expected(Instant::now()).is_some(),
        };
        let has_joiners = may_join && !state.rests();
        if !has_joiners {
            state.note_commit();
        }
        has_joiners
    }

    /// Notes how long the commit of a group took that had so many members. Called by the holder.
    pub(crate) fn note_group(&self, members: u32, commit_took: Duration) {
        let mut state = self.state();
        state.commit_takes = match state.commit_takes {
            Duration::ZERO => commit_took,
            // One slow commit changes little.
            before => (before * 3 + commit_took) / 4,
        };
        state.latest = Some(Latest { members, ended: Instant::now() });
    }

    /// Gives turns in `group` to those who wait, one after the other, until no other can join. Called by
    /// the holder, who can close the group after it. Returns how many members had a turn.
    pub(crate) fn run_group(&self, group: &Arc<Group>) -> u32 {
        let since = Instant::now();
        let mut state = self.state();
        let (turn, is_taken) = (None, false);
        let until = since + self.limits.beginning;
        let expects = state.expected(since).map(|(time, members)| (time.min(until), members));
        let group_of = Arc::clone(group);
        state.running =
            Some(Running { group: group_of, since, members: 0, expects, turn, is_taken });
        state.next_turn(&self.limits);
        let mut took_too_long = false;
        while let Some(running) = &state.running {
            let left = if running.turn.is_some() {
                let left = self.limits.longest.saturating_sub(since.elapsed());
                took_too_long = left.is_zero();
                left
            } else if state.queue.is_empty() {
                running.waits_for_others(Instant::now())
            } else {
                // The first one that waits cannot join, and no other goes before it.
                Duration::ZERO
            };
            if left.is_zero() {
                break;
            }
            let been = since.elapsed();
            if been < AWAKE {
                group.stay_awake_as_leader(state, since, AWAKE.min(been + left));
                state = self.state();
            } else {
                state = group.wait_as_leader(state, left);
            }
        }
        if took_too_long {
            let (shortest, longest) = self.limits.rest;
            state.rest = (state.rest * 2).clamp(shortest, longest);
            state.no_groups_until = Some(Instant::now() + state.rest);
        } else {
            state.rest /= 2;
        }
        state.note_commit();
        let Some(running) = state.running.take() else { return 0 };
        // One that has not taken its turn is the first again.
        if let Running { turn: Some(waiter), is_taken: false, .. } = running {
            state.queue.push_front(waiter);
        }
        running.members
    }

    /// Fails if this thread would wait for a transaction [`Above`] the store that it runs itself.
    /// Costs one atomic load if the right is free.
    #[cfg(feature = "sqlite")]
    pub(crate) fn check_holder(&self) -> Result<()> {
        if self.taken.load(Ordering::Acquire) { self.state().check_holder() } else { Ok(()) }
    }
}

impl State {
    fn check_holder(&self) -> Result<()> {
        match self.holder.as_ref().and_then(|holder| holder.above.as_ref()) {
            Some(above) if above.is_here() => Err(above.refuse()),
            _ => Ok(()),
        }
    }

    /// Notes that the holder gives no turns any more.
    fn note_commit(&mut self) {
        if let Some(holder) = &mut self.holder {
            holder.gives_turns = false;
        }
    }

    fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.queue.retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// The group whose leader waits for others to come.
    fn idle_group(&self) -> Option<Arc<Group>> {
        let running = self.running.as_ref().filter(|running| running.turn.is_none())?;
        Some(Arc::clone(&running.group))
    }

    /// Until when a leader waits for others to come, and for how many: those of the group before, if it has
    /// just ended. They cannot wait for a flush of their own in less time than this costs.
    fn expected(&self, now: Instant) -> Option<(Instant, u32)> {
        let latest = self.latest.filter(|latest| now < latest.ended + self.commit_takes)?;
        (latest.members > 0).then(|| (now + self.commit_takes / 2, latest.members))
    }

    /// Whether groups do not begin for a while.
    fn rests(&self) -> bool {
        self.no_groups_until.is_some_and(|until| Instant::now() < until)
    }

    /// Whether `thread` runs the transaction of the holder, or that of a member of its group, and another one
    /// of it would wait for itself.
    fn is_used_by(&self, thread: ThreadId) -> bool {
        let holds = |holder: &Holder| holder.asker.stays && holder.asker.thread == thread;
        self.holder.as_ref().is_some_and(holds)
            || self.members.iter().any(|(member, _)| *member == thread)
    }

    /// Gives the turn to the first one that waits, if that can join.
    fn next_turn(&mut self, limits: &Limits) {
        let Some(running) = &mut self.running else { return };
        running.end_turn();
        let may_begin = running.members < MOST_MEMBERS
            && running.since.elapsed() < limits.beginning
            && !running.group.is_over();
        if may_begin && let Some(first) = self.queue.pop_front_if(|first| first.joins) {
            running.members += 1;
            first.wake();
            running.turn = Some(first);
        }
    }

    /// Takes the turn that `waiter` was given, if it was.
    fn take_turn(&mut self, waiter: &Arc<Waiter>) -> Option<Arc<Group>> {
        let running = self.running.as_mut()?;
        if !running.turn.as_ref().is_some_and(|turn| Arc::ptr_eq(turn, waiter)) {
            return None;
        }
        running.is_taken = true;
        let group = Arc::clone(&running.group);
        self.members.push((thread::current().id(), Arc::clone(&group)));
        Some(group)
    }
}

impl Waiter {
    fn wake(&self) {
        self.called.store(true, Ordering::Release);
        self.woken.notify_one();
    }
}

impl Running {
    fn is_of(&self, group: &Arc<Group>) -> bool {
        Arc::ptr_eq(&self.group, group)
    }

    /// For how long from now the leader waits for others to come.
    fn waits_for_others(&self, now: Instant) -> Duration {
        match self.expects {
            Some((until, members)) if self.members < members && !self.group.is_over() => {
                until.saturating_duration_since(now)
            }
            _ => Duration::ZERO,
        }
    }

    fn end_turn(&mut self) {
        (self.turn, self.is_taken) = (None, false);
    }
}

impl Seat {
    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub(crate) fn lock(&self) -> &Arc<WriteLock> {
        &self.lock
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        let is_this = |(thread, group): &(ThreadId, Arc<Group>)| {
            *thread == self.thread && Arc::ptr_eq(group, &self.group)
        };
        state.members.retain(|member| !is_this(member));
        // The leader may have closed the group.
        if state.running.as_ref().is_none_or(|running| !running.is_of(&self.group)) {
            return;
        }
        state.next_turn(&self.lock.limits);
        let is_over = state.running.as_ref().is_none_or(|running| running.turn.is_none());
        drop(state);
        if is_over {
            self.group.wake_leader();
        }
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        let now = Instant::now();
        state.holder = None;
        state.running = None;
        if let Some(first) = state.queue.front().map(Arc::clone) {
            // The first has waited long enough, so the right goes to it directly.
            if now.saturating_duration_since(first.since) >= PATIENCE {
                state.queue.pop_front();
                let (above, asker) = (first.above.clone(), first.asker);
                let gives_turns = first.joins;
                let process = Process::this();
                state.holder = Some(Holder { above, asker, process, since: now, gives_turns });
                first.given.store(true, Ordering::Relaxed);
            }
            first.wake();
        }
        self.lock.taken.store(state.holder.is_some(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
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
            let other = Arc::clone(&lock);
            let (tell, told) = channel::<()>();
            let here = here.clone();
            let waiting = thread::spawn(move || {
                let permit = other.acquire_for(&here).unwrap();
                assert!(matches!(other.acquire(LONG), Err(KvError::WithinWrite { .. })));
                let _ = told.recv();
                drop(permit);
            });
            let permit = match patience.is_zero() {
                true => None,
                false => Some(lock.acquire(LONG).unwrap()),
            };
            while permit.is_some() && lock.waiting() == 0 {
                thread::yield_now();
            }
            thread::sleep(patience);
            drop((permit, tell));
            waiting.join().unwrap();
        }
        // One that can be given to another thread.
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
}
