//! The turns of a group: the holder of the right to write lets waiting transactions commit together
//! with it, and gives each of them a turn, one after the other.

use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::{LockState, Waiter, WriteLock};
use crate::group::shared::Group;
use crate::store_parts::awake::AWAKE;

/// How many members a group has at most. The overlays of more would not make a flush much cheaper.
const MOST_MEMBERS: u32 = 63;

/// How long a group may take.
#[derive(Debug)]
pub(crate) struct Limits {
    /// After this time no more members begin.
    pub(crate) beginning: Duration,
    /// A member that still runs after this time must run again, alone. It may be waiting for
    /// something that the thread of the leader does after its commit.
    pub(crate) longest: Duration,
    /// How long no group begins after a member took too long: the shortest and the longest such
    /// time. (The work of a member that takes too long is done twice.) It becomes twice as long
    /// each time a member takes too long, and half as long after a group that ended well.
    pub(crate) rest: (Duration, Duration),
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // Members that have committed wait meanwhile for the flush, which takes less than this
            // on most disks.
            beginning: Duration::from_millis(5),
            longest: Duration::from_millis(10),
            rest: (Duration::from_millis(20), Duration::from_secs(1)),
        }
    }
}

/// The latest group. Threads that write one transaction after the other come back soon after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latest {
    members: u32,
    ended: Instant,
}

/// A group that others can join.
#[derive(Debug)]
pub(super) struct Running {
    group: Arc<Group>,
    since: Instant,
    /// How many members have had their turn, or have it.
    members: u32,
    /// Until when the leader waits for members to come, and for how many.
    expects: Option<(Instant, u32)>,
    /// The waiter that has the turn.
    turn: Option<Arc<Waiter>>,
    /// Whether its thread has taken that turn.
    is_taken: bool,
}

/// The turn of a member. When it is dropped, the next one gets its turn.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(super) lock: Arc<WriteLock>,
    pub(super) group: Arc<Group>,
    pub(super) thread: ThreadId,
}

impl WriteLock {
    /// Whether the first waiter can commit together with the holder, or, if none waits, whether
    /// members are expected. Called by the holder.
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

    /// Notes how many members a group had, and how long its commit took. Called by the holder.
    pub(crate) fn note_group(&self, members: u32, commit_took: Duration) {
        let mut state = self.state();
        state.commit_takes = match state.commit_takes {
            Duration::ZERO => commit_took,
            // One slow commit changes little.
            before => (before * 3 + commit_took) / 4,
        };
        state.latest = Some(Latest { members, ended: Instant::now() });
    }

    /// Gives turns in `group` to waiters, one after the other, until no other can join. Called by
    /// the holder, which can close the group afterwards. Returns how many members had a turn.
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
                // The first waiter cannot join, and no other goes before it.
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
        // A waiter that has not taken its turn is the first again.
        if let Running { turn: Some(waiter), is_taken: false, .. } = running {
            state.queue.push_front(waiter);
        }
        running.members
    }
}

impl LockState {
    /// The group whose leader waits for members to come.
    pub(super) fn idle_group(&self) -> Option<Arc<Group>> {
        let running = self.running.as_ref().filter(|running| running.turn.is_none())?;
        Some(Arc::clone(&running.group))
    }

    /// Until when a leader waits for members to come, and for how many: the members of the latest
    /// group, if it has just ended. A flush of their own would take them longer than this wait.
    fn expected(&self, now: Instant) -> Option<(Instant, u32)> {
        let latest = self.latest.filter(|latest| now < latest.ended + self.commit_takes)?;
        (latest.members > 0).then(|| (now + self.commit_takes / 2, latest.members))
    }

    /// Whether groups do not begin for a while.
    fn rests(&self) -> bool {
        self.no_groups_until.is_some_and(|until| Instant::now() < until)
    }

    /// Gives the turn to the first waiter, if it can join.
    pub(super) fn next_turn(&mut self, limits: &Limits) {
        let Some(running) = &mut self.running else { return };
        running.end_turn();
        let may_begin = running.members < MOST_MEMBERS
            && running.since.elapsed() < limits.beginning
            && !running.group.is_over();
        if may_begin
            && self.queue.front().is_some_and(|first| first.joins)
            && let Some(first) = self.queue.pop_front()
        {
            running.members += 1;
            first.wake();
            running.turn = Some(first);
        }
    }

    /// Takes the turn that `waiter` was given, if it was.
    pub(super) fn take_turn(&mut self, waiter: &Arc<Waiter>) -> Option<Arc<Group>> {
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

impl Running {
    fn is_of(&self, group: &Arc<Group>) -> bool {
        Arc::ptr_eq(&self.group, group)
    }

    /// How much longer the leader waits for members to come.
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
