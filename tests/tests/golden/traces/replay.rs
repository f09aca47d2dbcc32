//! Going through the steps of a trace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use permazen::__internal::schema::{RecordedSchemas, SchemaTables, inflate};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions, xml};
use permazen::object::{Database, Transaction};
use permazen_tests::digest::{self, StateDigest};
use permazen_tests::{files, hex};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::events;
use crate::report::{Outcome, Stop, fail, same, same_text};
use permazen_tests::trace::deletion::{self, Refused};
use permazen_tests::trace::event_log::EventLog;
use permazen_tests::trace::objects::{Context, Tx, configuration};
use permazen_tests::trace::operations::{done, perform};
use permazen_tests::trace::refusal::{Answer, Refusal};
use permazen_tests::trace::step::{Header, Step};

/// Replays `steps` on an empty store. It ends at the first answer, event or digest that differs.
/// Adds to `differing` what each deletion that Java refuses does here, if that is something else by
/// the rule.
pub fn replay(
    dir: &Path,
    name: &str,
    header: &Header,
    steps: &[Step],
    differing: &mut Vec<String>,
) -> Outcome {
    let mut replay = Replay {
        header: Arc::new(header.clone()),
        steps,
        at: 0,
        store: MemoryStore::new(),
        log: EventLog::default(),
        storage_ids: Value::Null,
        differing: Vec::new(),
    };
    let place = |replay: &Replay<'_>| {
        let step = &steps[replay.at.saturating_sub(1).min(steps.len() - 1)];
        format!("step {} ({})", step.number(), step.op())
    };
    let outcome = replay.run().and_then(|()| replay.compare_store(dir, name));
    differing.append(&mut replay.differing);
    match outcome {
        Err(Stop::Fail(text)) => Err(fail(format!("{}: {text}", place(&replay)))),
        other => other,
    }
}

struct Replay<'t> {
    header: Arc<Header>,
    steps: &'t [Step],
    at: usize,
    store: MemoryStore,
    log: EventLog,
    /// The storage IDs listed last.
    storage_ids: Value,
    /// Deletions that Java refuses and that are another case here.
    differing: Vec<String>,
}

impl<'t> Replay<'t> {
    fn next(&mut self) -> Option<&'t Step> {
        let step = self.steps.get(self.at)?;
        self.at += 1;
        Some(step)
    }

    fn run(&mut self) -> Outcome {
        let store = self.store.clone();
        let new_database = || Database::new(Arc::new(store.clone()));
        let mut database = new_database();
        while let Some(step) = self.next() {
            match step.op() {
                "database" => database = new_database(),
                "digest" => {
                    let committed = store.begin(&TxOptions::reading())?;
                    compare_digest(step, digest::state_digest(&*committed)?)?;
                }
                "schemas" => {
                    let found =
                        self.schemas(SchemaTables::read(&*store.begin(&TxOptions::reading())?)?)?;
                    self.compare_schemas(step, found)?;
                }
                "open" => self.transaction(&database, step)?,
                // The recorded transaction has ended. Ours no longer exists, so this call is
                // impossible.
                _ if step.op() == "rollback" || is_stale(step) => {}
                _ => return Err(fail("no transaction is open here")),
            }
        }
        Ok(())
    }

    fn open(&self, database: &Database, step: &Step) -> Answer<Transaction> {
        let config = configuration(&self.header, step)?;
        Ok(database.begin(&config)?)
    }

    /// The steps from `open` to the end of the transaction.
    fn transaction(&mut self, database: &Database, open: &Step) -> Outcome {
        let transaction = match self.open(database, open) {
            Ok(transaction) => {
                let answer = json!({ "schemaIndex": transaction.schema().index.get() });
                self.compare(open, Ok(answer))?;
                transaction
            }
            Err(refusal) => return self.compare(open, Err(refusal)),
        };
        let context = Arc::new(Context {
            header: Arc::clone(&self.header),
            log: self.log.clone(),
            listeners: Mutex::new(BTreeMap::new()),
        });
        while let Some(step) = self.next() {
            match step.op() {
                "commit" => {
                    let answer = transaction.commit().map_err(Refusal::from).and_then(done);
                    return self.compare(step, answer);
                }
                "rollback" => {
                    let answer = transaction.rollback().map_err(Refusal::from).and_then(done);
                    return self.compare(step, answer);
                }
                "digest" => {
                    let found = transaction.read_pairs(|kv| Ok(digest::state_digest(kv)?))?;
                    compare_digest(step, found)?;
                }
                "schemas" => {
                    let tables = transaction.read_pairs(|kv| Ok(SchemaTables::read(kv)?))?;
                    let found = self.schemas(tables)?;
                    self.compare_schemas(step, found)?;
                }
                _ if deletion::is_refused(step) => {
                    self.refused_deletion(&Tx::new(&transaction, &context), step)?;
                }
                _ => {
                    let answer = self.in_transaction(&Tx::new(&transaction, &context), step);
                    self.compare(step, answer)?;
                }
            }
        }
        Err(fail("the trace ends within a transaction"))
    }

    /// A deletion that Java refuses. It may be allowed here, or refused for another reference.
    fn refused_deletion(&mut self, tx: &Tx<'_>, step: &Step) -> Outcome {
        let (what, text) = match deletion::replay(tx, step)? {
            Refused::Answer(answer) => return self.compare(step, answer),
            Refused::MoreTold(answer, text) => {
                self.compare(step, answer)?;
                ("more listeners", text)
            }
            Refused::Undone(text) => ("done and undone", text),
            Refused::ForAnother(text) => ("refused for another reference", text),
        };
        self.log.take();
        self.differing.push(format!("step {}: {what}: {text}", step.number()));
        Ok(())
    }

    fn in_transaction(&self, tx: &Tx<'_>, step: &Step) -> Answer {
        match step.op() {
            "setReadOnly" => {
                // Our switch cannot be taken back, and it only matters at the end. So a switch that
                // the trace takes back before the end is left out.
                let rest = self.steps.iter().skip(self.at);
                let taken_back = rest
                    .take_while(|next| !matches!(next.op(), "commit" | "rollback"))
                    .any(|next| next.op() == "setReadOnly" && !next.flag("value"));
                if step.flag("value") && !taken_back {
                    tx.tx.set_read_only()?;
                }
                done(())
            }
            _ => perform(tx, step),
        }
    }

    /// The recorded schemas and the storage IDs as `schemas` steps list them.
    fn schemas(&self, tables: SchemaTables) -> Outcome<(Value, Value)> {
        let recorded = RecordedSchemas::decode(tables)?;
        let mut schemas = Vec::new();
        for schema in recorded.schemas() {
            let id = schema.id.to_string();
            let compressed = recorded.tables().schemas.get(&schema.index);
            let xml = inflate(compressed.map(|document| &**document).unwrap_or_default())?;
            schemas.push(json!({
                "index": schema.index.get(),
                "schema": self.header.schema_name(&id),
                "id": id,
                "xmlSha256": hex::encode(&Sha256::digest(&xml)),
            }));
        }
        let mut storage_ids = Map::new();
        for (item, storage_id) in recorded.schemas().iter().flat_map(|schema| schema.items.iter()) {
            storage_ids.insert(storage_id.to_string(), json!(item.to_string()));
        }
        Ok((schemas.into(), storage_ids.into()))
    }

    /// Compares answer and events of a step with what it recorded.
    fn compare(&self, step: &Step, answer: Answer) -> Outcome {
        let heard = self.log.take();
        if step.flag("partial") {
            return match answer {
                Err(refusal) => same_text("error", refusal.kind, step.text("error")?),
                Ok(answer) => Err(fail(format!("found {answer}, expected an error"))),
            };
        }
        match (answer, step.get("expect"), step.get("error")) {
            (Ok(found), Some(expected), _) => {
                same_text("answer", &found.to_string(), &expected.to_string())?;
            }
            (Err(refusal), _, Some(kind)) if kind == refusal.kind => {
                let found = refusal.detail;
                for (member, expected) in
                    step.get("detail").and_then(Value::as_object).into_iter().flatten()
                {
                    let found = found.get(member).unwrap_or(&Value::Null);
                    same_text(member, &found.to_string(), &expected.to_string())?;
                }
            }
            (Ok(found), _, Some(kind)) => {
                return Err(fail(format!("found {found}, expected the error {kind}")));
            }
            (Err(refusal), expected, kind) => {
                let expected = kind.or(expected).unwrap_or(&Value::Null);
                let (kind, text) = (refusal.kind, refusal.text);
                return Err(fail(format!("found the error {kind} ({text}), expected {expected}")));
            }
            (Ok(_), None, None) => return Err(fail("the step has no answer")),
        }
        let unordered = step.flag("unordered");
        let expected = step.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
        let expected = Value::from(events::in_order(expected, unordered));
        let heard = Value::from(events::in_order(heard, unordered));
        same_text("events", &heard.to_string(), &expected.to_string())
    }

    fn compare_schemas(&mut self, step: &Step, found: (Value, Value)) -> Outcome {
        let (schemas, storage_ids) = found;
        let mut answer = json!({ "schemas": schemas });
        if storage_ids != self.storage_ids {
            answer["storageIds"] = storage_ids.clone();
            self.storage_ids = storage_ids;
        }
        let expected = step.get("expect").cloned().unwrap_or_default();
        same_text("schemas", &answer.to_string(), &expected.to_string())
    }

    /// Compares the final store with the recorded pairs, to show the first difference.
    fn compare_store(&self, dir: &Path, name: &str) -> Outcome {
        if files::find(dir, &format!("{name}.kv.xml")).is_none() {
            return Ok(());
        }
        let recorded = MemoryStore::new();
        let mut recorded = recorded.begin(&TxOptions::writing())?;
        xml::load(&mut *recorded, &files::bytes(dir, &format!("{name}.kv.xml"))?[..])?;
        let found = self.store.begin(&TxOptions::reading())?;
        let (found, recorded) = (digest::pairs(&*found)?, digest::pairs(&*recorded)?);
        for (found, recorded) in found.iter().zip(&recorded) {
            same_text("pair", found, recorded)?;
        }
        same("number of pairs", found.len(), recorded.len())
    }
}

fn is_stale(step: &Step) -> bool {
    step.get("error").is_some_and(|kind| kind == "stale-transaction")
}

fn compare_digest(step: &Step, found: StateDigest) -> Outcome {
    same_text("sha256", &found.sha256, step.text("sha256")?)?;
    same("pairs", found.pairs_in_digest as i64, step.integer("pairs")?)
}
