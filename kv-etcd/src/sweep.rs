//! Removes tombstones and tokens that no transaction needs any more.
//!
//! The horizon is a revision. A transaction that began before it cannot commit any more, so the
//! tombstones and tokens that were written up to it are not needed: first the horizon is raised,
//! then they are removed. A token says which keys its commit has removed. Their tombstones have the
//! revision of the token, and are removed before it.

use std::time::{Duration, Instant};

use permazen_kv::Result;
use rand::Rng;

use crate::error::Failure;
use crate::layout::{Horizon, Token};
use crate::reading::NOT_ASKED_FOR;
use crate::shared::Shared;
use crate::wire::{Compare, Delete, Done, Op, Range, Record, Txn};

/// How many tokens are read at once.
const TOKENS: usize = 1 << 10;

/// One of this many commits sweeps. So all commits together remove as much as they make, whichever
/// programs make them.
const SELDOM: u32 = 256;

/// How long a sweep may take within a commit, unless the commit has less time.
const PATIENCE: Duration = Duration::from_secs(5);

type Tried<T> = std::result::Result<T, Failure>;

/// Sweeps a little, after one of many commits.
pub(crate) fn now_and_then(shared: &Shared, wait: Duration) {
    if !rand::rng().next_u32().is_multiple_of(SELDOM) {
        return;
    }
    let until = Instant::now() + PATIENCE.min(wait);
    let swept = raise(shared, shared.distance, until)
        .and_then(|horizon| sweep_some(shared, horizon, &mut shared.layout.tokens().0, until));
    if let Err(failure) = swept {
        tracing::debug!(server = %shared.client.address, %failure, "cannot sweep");
    }
}

/// Raises the horizon to the revision of the last call, and removes all before it. Returns how many
/// records.
pub(crate) fn sweep(shared: &Shared, wait: Duration) -> Result<u64> {
    let mut swept = 0;
    let mut run = || {
        let horizon = raise(shared, 1, Instant::now() + wait)?;
        let mut from = shared.layout.tokens().0;
        loop {
            let (removed, is_last) = sweep_some(shared, horizon, &mut from, Instant::now() + wait)?;
            swept += removed;
            if is_last {
                return Ok(());
            }
        }
    };
    run().map_err(|failure| shared.error("cannot sweep", &failure))?;
    Ok(swept)
}

/// Fails unless these are records of tokens from `from` on, in their order, that were written up to
/// the horizon. Otherwise records of others would be removed, or the sweep would come to no end.
fn check(shared: &Shared, tokens: &[Record], from: &[u8], horizon: i64) -> Tried<()> {
    let end = shared.layout.tokens().1;
    let mut last: Option<&Record> = None;
    for token in tokens {
        let is_in_range = token.key[..] >= *from && token.key[..] < end[..];
        let is_next = last.is_none_or(|last| last.key < token.key);
        if !is_in_range || !is_next || token.mod_revision > horizon {
            return Err(Failure::garbled(NOT_ASKED_FOR));
        }
        last = Some(token);
    }
    Ok(())
}

/// Raises the horizon, if `distance` revisions have passed since that was done last. Returns where
/// it is.
fn raise(shared: &Shared, distance: i64, until: Instant) -> Tried<i64> {
    let key = shared.layout.horizon();
    let txn = Txn { success: vec![shared.horizon()], ..Txn::default() };
    let (_, done) = shared.client.txn(&txn, until)?;
    let revision = done.header.revision;
    let record = done.found().next().and_then(|found| found.kvs.into_iter().next());
    let Some(record) = record else { return Ok(0) };
    let Some(horizon) = Horizon::parse(&record.value) else {
        return Err(Failure::other("the horizon of the store cannot be read"));
    };
    if revision.saturating_sub(horizon.next) < distance {
        return Ok(horizon.revision);
    }
    let raised = Horizon { revision: horizon.next, next: revision };
    let txn = Txn {
        // If two sweeps raise it at the same time, it is raised once.
        compare: vec![Compare::written_at(key.clone(), record.mod_revision)],
        success: vec![Op::put(key, raised.to_bytes())],
        failure: Vec::new(),
    };
    let (_, done) = shared.client.txn(&txn, until)?;
    Ok(if done.succeeded { raised.revision } else { horizon.revision })
}

/// Removes some tokens before the horizon, and their tombstones. Returns how many records were
/// removed, and whether no more are left.
fn sweep_some(
    shared: &Shared,
    horizon: i64,
    from: &mut Vec<u8>,
    until: Instant,
) -> Tried<(u64, bool)> {
    // A limit of 0 would mean no limit.
    if horizon < 1 {
        return Ok((0, true));
    }
    let range = Range {
        range_end: Some(shared.layout.tokens().1),
        limit: TOKENS,
        max_mod_revision: Some(horizon),
        ..Range::of(from.clone())
    };
    let txn = Txn { success: vec![Op::Range(range)], ..Txn::default() };
    let (_, done) = shared.client.txn(&txn, until)?;
    let Some(found) = done.found().next() else { return Ok((0, true)) };
    check(shared, &found.kvs, from, horizon)?;
    let is_last = found.kvs.len() < TOKENS;
    if let Some(last) = found.kvs.last() {
        *from = permazen_kv::key::next_key(&last.key);
    }
    let mut tombstones = Vec::new();
    for record in &found.kvs {
        if let Some(Token::Committed(keys)) = Token::parse(&record.value) {
            let of = |key: Vec<u8>| (shared.layout.data(&key), record.mod_revision);
            tombstones.extend(keys.into_iter().map(of));
        }
    }
    let mut removed = remove(shared, &there(shared, tombstones, until)?, until)?;
    let token = |record: Record| (record.key.to_vec(), record.mod_revision);
    removed += remove(shared, &found.kvs.into_iter().map(token).collect::<Vec<_>>(), until)?;
    Ok((removed, is_last))
}

type Written = (Vec<u8>, i64);

/// The keys among these that were written last at these revisions.
fn there(shared: &Shared, keys: Vec<Written>, until: Instant) -> Tried<Vec<Written>> {
    let mut there = Vec::new();
    for some in keys.chunks(shared.max_txn_ops()) {
        let get =
            |(key, _): &Written| Op::Range(Range { keys_only: true, ..Range::of(key.clone()) });
        let txn = Txn { success: some.iter().map(get).collect(), ..Txn::default() };
        let (_, done) = shared.client.txn(&txn, until)?;
        for ((key, revision), found) in some.iter().zip(done.found()) {
            if found.kvs.first().is_some_and(|record| record.mod_revision == *revision) {
                there.push((key.clone(), *revision));
            }
        }
    }
    Ok(there)
}

/// Removes keys that were written last at these revisions. Returns how many.
fn remove(shared: &Shared, keys: &[Written], until: Instant) -> Tried<u64> {
    let mut removed = 0;
    for some in keys.chunks(shared.max_txn_ops()) {
        if delete(shared, some, until)?.succeeded {
            removed += some.len() as u64;
            continue;
        }
        // One of them was written meanwhile.
        for one in some.chunks(1) {
            removed += u64::from(delete(shared, one, until)?.succeeded);
        }
    }
    Ok(removed)
}

fn delete(shared: &Shared, keys: &[Written], until: Instant) -> Tried<Done> {
    let compare = keys.iter().map(|(key, revision)| Compare::written_at(key.clone(), *revision));
    let txn = Txn {
        compare: compare.collect(),
        success: keys.iter().map(|(key, _)| Op::Delete(Delete { key: key.clone() })).collect(),
        failure: Vec::new(),
    };
    Ok(shared.client.txn(&txn, until)?.1)
}
