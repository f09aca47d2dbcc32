//! Commits: each is one transaction of etcd. If no answer comes, this finds out whether the commit
//! took place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use permazen_kv::remote::{Changes, Pauses};
use permazen_kv::{Conflict, KeyRanges, KeySpan, KvError, Result};
use rand::Rng;

use crate::client::{TXN, encoded};
use crate::error::{Failure, ServerError, TooLarge};
use crate::layout::{Horizon, Token, alive, tombstone, value_of};
use crate::merge::merged;
use crate::reading::Reading;
use crate::shared::{MAX_TXN_OPS, Shared};
use crate::sweep;
use crate::wire::{Compare, Done, Op, Txn};

const WHAT: &str = "cannot commit";

/// The number of comparisons of a commit besides its reads: the horizon and the token.
const OWN: usize = 2;

/// The parts of a transaction of etcd.
struct Plan {
    base: i64,
    token: [u8; 16],
    puts: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The keys that are removed.
    removed: BTreeSet<Vec<u8>>,
    /// Keys under which etcd must have no record.
    absent: BTreeSet<Vec<u8>>,
    /// Tombstones of keys that must be absent: they were written at these revisions.
    tombstones: BTreeMap<Vec<u8>, i64>,
    /// The ranges that must not have changed since the base.
    reads: KeyRanges,
}

/// The outcome of a transaction of etcd.
enum Outcome {
    Committed,
    /// These keys were removed before, so etcd has tombstones of them.
    HasTombstones(BTreeMap<Vec<u8>, i64>),
}

/// Makes the changes.
pub(crate) fn commit(mut session: Reading, changes: Changes) -> Result<()> {
    session.end_reading();
    let mut plan = Plan::new(&mut session, changes)?;
    let shared = &*session.shared;
    let wait = session.wait;
    if let Outcome::HasTombstones(tombstones) = plan.run(shared, wait)? {
        plan.absent.retain(|key| !tombstones.contains_key(key));
        plan.tombstones.extend(tombstones);
        if let Outcome::HasTombstones(_) = plan.run(shared, wait)? {
            return Err(others());
        }
    }
    sweep::now_and_then(shared, wait);
    Ok(())
}

fn others() -> KvError {
    Conflict::Reported("others have changed what this transaction has read".into()).into()
}

impl Plan {
    fn new(session: &mut Reading, changes: Changes) -> Result<Self> {
        let Changes { writes, mut absent, reads } = changes;
        let mut reads = reads.unwrap_or_default();
        let spans: Vec<KeySpan<'_>> =
            writes.removes.iter().filter(|span| !span.is_single_key()).collect();
        // Keys may have come into it since the base, so it counts as read.
        let mut removed: BTreeSet<Vec<u8>> =
            session.keys_of(&spans)?.into_iter().map(|key| key.to_vec()).collect();
        spans.iter().for_each(|span| reads.add(*span));
        let single = writes.removes.iter().filter(|span| span.is_single_key());
        removed.extend(single.map(|span| span.min.to_vec()));
        // A key that was read ahead may have changed until the commit, unless the commit compares
        // it.
        let is_known = |key: &[u8]| {
            reads.contains(key) && session.seen.as_ref().is_some_and(|seen| seen.lacks(key))
        };
        removed.retain(|key| {
            !writes.puts.contains_key(key) && !absent.contains(key) && !is_known(key)
        });
        let ops = 1 + writes.puts.len() + removed.len();
        let most = session.shared.max_txn_ops().max(ops);
        if OWN + absent.len() + reads.len().min(1) > most {
            prove_absent(session, &absent)?;
            absent.iter().for_each(|key| reads.add_key(key));
            absent.clear();
        }
        let count = reads.len();
        let reads = merged(reads, most - OWN - absent.len());
        check_reads(session, &reads, reads.len() < count)?;
        let mut token = [0; 16];
        rand::rng().fill_bytes(&mut token);
        // A transaction that has read nothing depends on no state, only on the horizon: any
        // revision that is not too old will do.
        let base = session.base.unwrap_or_else(|| session.shared.client.revision());
        let tombstones = BTreeMap::new();
        Ok(Plan { base, token, puts: writes.puts, removed, absent, tombstones, reads })
    }

    /// The plan as a transaction of etcd.
    fn txn(&self, shared: &Shared) -> Result<Txn> {
        let layout = &shared.layout;
        let token = layout.token(&self.token);
        let mut compare = vec![
            Compare::value_below(layout.horizon(), Horizon::after(self.base)),
            Compare::absent(token.clone()),
        ];
        compare.extend(self.absent.iter().map(|key| Compare::absent(layout.data(key))));
        let exactly =
            |(key, revision): (&Vec<u8>, &i64)| Compare::written_at(layout.data(key), *revision);
        compare.extend(self.tombstones.iter().map(exactly));
        compare.extend(self.reads.iter().map(|span| {
            let end = (!span.is_single_key()).then(|| layout.data_end(span.max));
            Compare::unchanged(layout.data(span.min), end, self.base)
        }));
        let removed = Token::committed(self.removed.iter().map(Vec::as_slice));
        let removed = removed.map_err(|_| {
            KvError::InvalidArgument(
                "cannot remove a key of 4 GiB or more: no store has one".to_owned(),
            )
        })?;
        let mut success = vec![Op::put(token.clone(), removed)];
        let put = |(key, value): (&Vec<u8>, &Vec<u8>)| Op::put(layout.data(key), alive(value));
        success.extend(self.puts.iter().map(put));
        success.extend(self.removed.iter().map(|key| Op::put(layout.data(key), tombstone())));
        let mut failure = vec![Op::get(layout.horizon()), Op::get(token)];
        failure.extend(self.absent.iter().map(|key| Op::get(layout.data(key))));
        Ok(Txn { compare, success, failure })
    }

    fn run(&self, shared: &Shared, wait: Duration) -> Result<Outcome> {
        let client = &shared.client;
        let until = client.commit_until(wait);
        let txn = self.txn(shared)?;
        let body = encoded(&txn).map_err(|failure| shared.error(WHAT, &failure))?;
        let mut pauses = Pauses::new();
        loop {
            let (host, known) = (client.host(), client.revision());
            let done = client.ask_one::<Done>(host, TXN, &body, until);
            // A commit makes a new revision.
            let least = |done: &Done| known.saturating_add(i64::from(done.succeeded));
            match done
                .and_then(|done| client.note_latest(host, done.header, least(&done)).map(|()| done))
            {
                Ok(done) => return self.judge(shared, done),
                Err(Failure::Server(error)) if error.is_full() => {
                    return self.judge_full(shared, error, until);
                }
                Err(failure) if failure.is_definite() => {
                    if let Some(error) = failure.server()
                        && let Some(error) = too_large(shared, error, &txn)
                    {
                        return Err(error);
                    }
                    if failure.may_pass() {
                        client.avoid(host);
                        if pauses.sleep_until(until) {
                            continue;
                        }
                    }
                    return Err(shared.error(WHAT, &failure));
                }
                Err(failure) => {
                    client.avoid(host);
                    let lost = format!("{WHAT}: {}: {failure}", client.path().display());
                    let until = client.commit_until(wait);
                    return self.ask_outcome(shared, &lost, until).map(|()| Outcome::Committed);
                }
            }
        }
    }

    /// Says why etcd has not made the changes, if it has not.
    fn judge(&self, shared: &Shared, done: Done) -> Result<Outcome> {
        if done.succeeded {
            return Ok(Outcome::Committed);
        }
        let mut found = done.found().map(|found| found.kvs.into_iter().next());
        let horizon = found.next().flatten();
        let token = found.next().flatten();
        if token
            .is_some_and(|token| matches!(Token::parse(&token.value), Some(Token::Committed(_))))
        {
            return Ok(Outcome::Committed);
        }
        let horizon = horizon.and_then(|record| Horizon::parse(&record.value));
        let Some(horizon) = horizon else {
            let reason = "the horizon of the store is gone, so its keys were probably removed: open the store again";
            return Err(KvError::Open { path: shared.client.path().into(), reason: reason.into() });
        };
        if horizon.revision > self.base {
            return Err(KvError::Retry(format!(
                "it began before the horizon, and what was removed since then may be forgotten: others have \
                 committed more than {} times meanwhile",
                shared.distance
            )));
        }
        let mut tombstones = BTreeMap::new();
        for (key, record) in self.absent.iter().zip(found) {
            let Some(record) = record else { continue };
            match value_of(key, &record.value) {
                Ok(Some(_)) => return Err(KvError::is_not_new(key)),
                Ok(None) => drop(tombstones.insert(key.clone(), record.mod_revision)),
                Err(failure) => return Err(shared.error(WHAT, &failure)),
            }
        }
        match tombstones.is_empty() {
            true => Err(others()),
            false => Ok(Outcome::HasTombstones(tombstones)),
        }
    }

    /// The database of the cluster is full. The commit that fills it takes place all the same.
    fn judge_full(&self, shared: &Shared, error: ServerError, until: Instant) -> Result<Outcome> {
        let failure = Failure::from(error);
        let token = Op::get(shared.layout.token(&self.token));
        let txn = Txn { success: vec![token], ..Txn::default() };
        match shared.client.txn(&txn, until) {
            Ok((_, done)) => match done.found().next().is_some_and(|found| !found.kvs.is_empty()) {
                true => Ok(Outcome::Committed),
                false => Err(shared.error(WHAT, &failure)),
            },
            Err(lost) => Err(KvError::OutcomeUnknown(format!("{failure}; {lost}"))),
        }
    }

    /// Finds out whether a commit without an answer took place. This puts the token of the commit,
    /// as the commit itself does; the second of the two comes too late.
    fn ask_outcome(&self, shared: &Shared, lost: &str, until: Instant) -> Result<()> {
        let unknown = |why: &str| Err(KvError::OutcomeUnknown(format!("{lost}; {why}")));
        let (token, horizon) = (shared.layout.token(&self.token), shared.layout.horizon());
        let txn = Txn {
            compare: vec![Compare::absent(token.clone())],
            success: vec![Op::get(horizon.clone()), Op::put(token.clone(), Token::asked())],
            failure: vec![Op::get(horizon), Op::get(token)],
        };
        // If the question is sent twice, the second one may find the token of the first.
        let (is_new, mut found) = match shared.client.txn(&txn, until) {
            Ok((_, done)) => (done.succeeded, done.found()),
            Err(failure) => {
                return unknown(&format!("and no member can say what became of it: {failure}"));
            }
        };
        let mut next = || found.next().and_then(|found| found.kvs.into_iter().next());
        let (horizon, token) = (next(), next());
        if !is_new {
            match token.and_then(|token| Token::parse(&token.value)) {
                Some(Token::Committed(_)) => return Ok(()),
                Some(Token::Asked) => {}
                None => {
                    return unknown(
                        "and the token of the commit is not one that this version knows",
                    );
                }
            }
        }
        // Otherwise the token may have been there, and be swept away.
        match horizon.and_then(|record| Horizon::parse(&record.value)) {
            Some(horizon) if horizon.revision <= self.base => {
                Err(KvError::Retry(format!("{lost}, and the commit did not take place")))
            }
            _ => unknown("and too much was committed meanwhile to find out"),
        }
    }
}

/// Reads keys that must be absent and were not read.
fn prove_absent(session: &mut Reading, absent: &BTreeSet<Vec<u8>>) -> Result<()> {
    let ends: Vec<Vec<u8>> = absent.iter().map(|key| permazen_kv::key::next_key(key)).collect();
    let spans = absent.iter().zip(&ends).map(|(key, end)| KeySpan::new(key, Some(end)));
    match session.keys_of(&spans.collect::<Vec<_>>())?.first() {
        Some(key) => Err(KvError::is_not_new(key)),
        None => Ok(()),
    }
}

/// Refuses to compare more pairs and tombstones than the limit, because the cluster would do
/// nothing else for a long time. If there may be more, etcd is asked how many there are.
fn check_reads(session: &mut Reading, reads: &KeyRanges, are_merged: bool) -> Result<()> {
    let most = session.shared.most_checked;
    // Unless they were merged, all that lies in these ranges has come, some of it perhaps twice.
    if !are_merged && session.pairs <= most {
        return Ok(());
    }
    let count = session.count(reads)?;
    if count <= most {
        return Ok(());
    }
    let what = match are_merged {
        true => {
            "has read more ranges than one transaction of etcd may compare, so etcd would compare"
        }
        false => "has read so much that its commit would compare",
    };
    Err(failed(TooLarge {
        what: format!(
            "{what} {count} pairs, removed ones included until two calls of EtcdStore::sweep"
        ),
        limit: format!("etcd does nothing else meanwhile, so at most {most} are allowed"),
        flag: match are_merged {
            true => "--max-txn-ops of the server, and max_txn_ops in the URL",
            false => "EtcdBuilder::most_checked",
        },
    }))
}

fn failed(error: TooLarge) -> KvError {
    KvError::Store { context: WHAT.into(), source: Box::new(error) }
}

/// The error for a transaction that etcd refuses because of its size.
fn too_large(shared: &Shared, error: &ServerError, txn: &Txn) -> Option<KvError> {
    if error.is_too_many() {
        let limit = match shared.client.address.max_txn_ops {
            Some(said) => {
                format!("the server takes fewer, although there is max_txn_ops={said} in the URL")
            }
            None => format!("the server takes {MAX_TXN_OPS} unless it is told otherwise"),
        };
        let flag = "--max-txn-ops of the server, and max_txn_ops in the URL";
        return Some(failed(TooLarge {
            what: format!("has {} operations", txn.ops()),
            limit,
            flag,
        }));
    }
    error.is_too_large().then(|| {
        failed(TooLarge {
            what: format!("has about {} bytes", txn.len()),
            limit: "the server takes 1572864 unless it is told otherwise".to_owned(),
            flag: "--max-request-bytes of the server",
        })
    })
}
