//! A history on both sides: every answer and, after every transaction, every pair is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use permazen::kv::TxOptions;
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::schema::{SchemaModel, SchemaRemoval};
use permazen_tests::digest::{self, Lines};
use permazen_tests::outcome::{Outcome, Stop, fail};
use permazen_tests::trace::event_log::EventLog;
use permazen_tests::trace::objects::{Context, Tx, configuration};
use permazen_tests::trace::operations::{done, perform};
use permazen_tests::trace::refusal::{Answer, Refusal};
use permazen_tests::trace::step::{Header, Step};
use serde_json::{Value as Json, json};

use crate::defects;
use crate::driver::Driver;
use crate::history::{Author, History, Part, Round};
use crate::stores::Store;
use crate::values::Values;

/// Counts of the work.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    pub histories: usize,
    /// How many of these have a schema that Java records and then cannot read. They are left out
    /// completely.
    pub skipped: usize,
    pub transactions: usize,
    pub commits: usize,
    pub hand_overs: usize,
    /// Steps by name: how many were performed, and how many of these were refused.
    pub steps: BTreeMap<String, (usize, usize)>,
    /// Steps left out, by the reason.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Stores that Java's checker has checked.
    pub checked: usize,
}

impl Counts {
    /// Adds the work of another thread.
    pub fn add(&mut self, other: Counts) {
        let Counts {
            histories,
            skipped,
            transactions,
            commits,
            hand_overs,
            steps,
            left_out,
            checked,
        } = other;
        self.histories += histories;
        self.skipped += skipped;
        self.transactions += transactions;
        self.commits += commits;
        self.hand_overs += hand_overs;
        self.checked += checked;
        for (name, (all, refused)) in steps {
            let sum = self.steps.entry(name).or_default();
            sum.0 += all;
            sum.1 += refused;
        }
        for (reason, count) in left_out {
            *self.left_out.entry(reason).or_default() += count;
        }
    }
}

/// The two sides.
pub struct Play<'p> {
    pub java: &'p mut Driver,
    pub values: &'p Values,
    pub counts: &'p mut Counts,
    /// The steps of this history so far.
    pub done: History,
    header: Arc<Header>,
    dir: &'p Path,
    files: usize,
}

/// Performs the history. The error names the first difference. `done` has the steps up to that
/// point.
pub fn play(
    java: &mut Driver,
    values: &Values,
    counts: &mut Counts,
    author: &mut dyn Author,
) -> (History, Outcome) {
    let schemas = author.schemas().to_vec();
    let done =
        History { schemas: schemas.clone(), first_kind: author.first_kind(), rounds: Vec::new() };
    let header = Header { schemas: schemas.into_iter().collect(), ..Header::default() };
    let dir = match tempfile::tempdir() {
        Ok(dir) => dir,
        Err(error) => return (done, Err(error.into())),
    };
    let header = Arc::new(header);
    let mut play = Play { java, values, counts, done, header, dir: dir.path(), files: 0 };
    let outcome = play.run(author);
    (play.done, outcome)
}

impl Play<'_> {
    fn run(&mut self, author: &mut dyn Author) -> Outcome {
        self.counts.histories += 1;
        if !self.name_schemas()? {
            self.counts.skipped += 1;
            return Ok(());
        }
        let mut store = Store::open(self.done.first_kind, &self.next_file())?;
        let mut database = Database::new(Arc::clone(store.kv()));
        while let Some(part) = author.part() {
            match part {
                Part::Open(open) => {
                    self.transaction(&database, Step::new(open)?, author)?;
                    self.compare_pairs(&store)?;
                }
                Part::HandOver(kind) => {
                    self.done.rounds.push(Round::HandOver(kind));
                    drop(database);
                    store = self.hand_over(store, kind)?;
                    database = Database::new(Arc::clone(store.kv()));
                    self.compare_pairs(&store)?;
                }
            }
        }
        Ok(())
    }

    /// Tells Java the schemas. Both sides give them the same IDs. Returns false if Java could not
    /// work with one.
    fn name_schemas(&mut self) -> Outcome<bool> {
        self.java.must(json!({ "op": "reset" }))?;
        let mut ids = BTreeMap::new();
        for (name, xml) in &self.done.schemas {
            let ours = SchemaModel::from_xml(xml.as_bytes())?.schema_id().to_string();
            let step = json!({ "op": "schema", "name": name, "xml": xml });
            let theirs = self.java.ask(std::slice::from_ref(&step))?.remove(0);
            if theirs["message"].as_str().is_some_and(|text| text.contains("trailing garbage")) {
                return Ok(false);
            }
            if theirs["expect"] != ours {
                return Err(fail(format!("id of schema {name}: ours {ours}, Java's {theirs}")));
            }
            ids.insert(name.clone(), ours);
        }
        let schemas = self.header.schemas.clone();
        self.header = Arc::new(Header { schemas, schema_ids: ids, ..Header::default() });
        Ok(true)
    }

    fn next_file(&mut self) -> std::path::PathBuf {
        self.files += 1;
        self.dir.join(format!("store{}", self.files))
    }

    fn transaction(&mut self, database: &Database, open: Step, author: &mut dyn Author) -> Outcome {
        self.counts.transactions += 1;
        let mut sent = vec![open.members()];
        let opened =
            configuration(&self.header, &open).and_then(|config| Ok(database.begin(&config)?));
        let mut answers = Vec::new();
        match opened {
            Err(refusal) => {
                answers.push(Err(refusal));
                let round = Round::Transaction {
                    open: open.members(),
                    steps: Vec::new(),
                    end: json!({ "op": "rollback" }),
                };
                self.done.rounds.push(round);
            }
            Ok(transaction) => {
                answers.push(Ok(json!({ "schemaIndex": transaction.schema().index.get() })));
                let end = self.steps(transaction, author, &mut sent, &mut answers)?;
                let steps = sent[1..].to_vec();
                sent.push(end.clone());
                self.done.rounds.push(Round::Transaction { open: open.members(), steps, end });
            }
        }
        let theirs = self.java.ask(&sent)?;
        for ((step, ours), theirs) in sent.iter().zip(answers).zip(theirs) {
            let op = step["op"].as_str().unwrap_or_default().to_owned();
            let entry = self.counts.steps.entry(op).or_default();
            entry.0 += 1;
            entry.1 += usize::from(ours.is_err());
            compare(step, ours, &theirs)?;
        }
        Ok(())
    }

    /// The steps of a transaction up to its end, which is returned.
    fn steps(
        &mut self,
        transaction: Transaction,
        author: &mut dyn Author,
        sent: &mut Vec<Json>,
        answers: &mut Vec<Answer>,
    ) -> Outcome<Json> {
        let context = Arc::new(Context {
            header: Arc::clone(&self.header),
            log: EventLog::default(),
            listeners: Mutex::new(BTreeMap::new()),
        });
        let mut broken = false;
        loop {
            let tx = Tx::new(&transaction, &context);
            let mut step = author.step(&tx)?;
            if broken {
                step = Step::new(json!({ "op": "rollback" }))?;
            }
            match step.op() {
                "commit" => {
                    self.counts.commits += 1;
                    answers.push(transaction.commit().map_err(Refusal::from).and_then(done));
                    return Ok(step.members());
                }
                "rollback" => {
                    answers.push(transaction.rollback().map_err(Refusal::from).and_then(done));
                    return Ok(step.members());
                }
                _ => {}
            }
            if let Some(reason) = defects::defect(&tx, self.values, &step)? {
                *self.counts.left_out.entry(reason).or_default() += 1;
                continue;
            }
            let answer = perform(&tx, &step);
            broken = answer.as_ref().is_err_and(|refusal| is_partial(&step, refusal));
            sent.push(step.members());
            answers.push(answer);
        }
    }

    /// Java continues with our file, then we continue with the file that Java writes.
    fn hand_over(&mut self, store: Store, kind: crate::stores::Kind) -> Outcome<Store> {
        self.counts.hand_overs += 1;
        let checked = can_be_checked(&store)?;
        let from = store.kind;
        let ours = store.close()?;
        self.java.must(json!({ "op": "load", "kind": from.name(), "path": ours }))?;
        if checked {
            self.counts.checked += 1;
            let found = self.java.must(json!({ "op": "check" }))?;
            if found != json!([]) {
                let text = format!("Java's checker, on our {}: {found}", from.name());
                return Err(fail(text));
            }
        }
        let theirs = self.next_file();
        self.java.must(json!({ "op": "save", "kind": kind.name(), "path": theirs }))?;
        let store = Store::open(kind, &theirs)?;
        let kv = store.kv().begin(&TxOptions::reading())?;
        let mut found = Vec::new();
        permazen_jsck::check(&*kv, &Default::default(), &mut |finding| {
            found.push(finding.to_string());
        })?;
        if !found.is_empty() {
            return Err(fail(format!("our checker, on Java's {}: {found:#?}", kind.name())));
        }
        drop(kv);
        Ok(store)
    }

    fn our_pairs(&self, store: &Store) -> Outcome<Vec<String>> {
        digest::pairs(&*store.kv().begin(&TxOptions::reading())?)
    }

    fn compare_pairs(&mut self, store: &Store) -> Outcome {
        let ours = self.our_pairs(store)?;
        let mut digest = Lines::default();
        ours.iter().for_each(|line| digest.add(line));
        if self.java.must(json!({ "op": "digest" }))? == digest.finish() {
            return Ok(());
        }
        let theirs: Vec<String> =
            serde_json::from_value(self.java.must(json!({ "op": "pairs" }))?)?;
        let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) =
            (ours.into_iter().collect(), theirs.into_iter().collect());
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> String {
            let lines: Vec<&str> = a.difference(b).take(5).map(String::as_str).collect();
            lines.join(", ")
        };
        let text = "the stores differ after a transaction";
        Err(fail(format!(
            "{text}; only ours: [{}]; only Java's: [{}]",
            only(&ours, &theirs),
            only(&theirs, &ours)
        )))
    }
}

/// Whether Java's checker can check a healthy store like this one. Without a schema it has nothing
/// to check. With several schemas it reports healthy objects, or never ends (tools D2). If maps
/// share their values but not their keys, it decodes the keys of one map as those of the other
/// (similar to D31).
fn can_be_checked(store: &Store) -> Outcome<bool> {
    let database = Database::new(Arc::clone(store.kv()));
    let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
    let bundle = database.begin(&config.read_only())?.bundle();
    let shared = bundle.items().iter().any(|item| defects::maps_of(item).len() > 1);
    Ok(bundle.schemas().len() == 1 && !shared)
}

/// Whether Java keeps a part of the failed step. We keep nothing, so the transaction cannot
/// continue. This is documented: an operation happens or does not.
fn is_partial(step: &Step, refusal: &Refusal) -> bool {
    let elsewhere = || refusal.detail.get("id") != step.get("id");
    step.op() == "copy" || step.flag("migrate") || step.op() == "delete" && elsewhere()
}

fn compare(step: &Json, ours: Answer, theirs: &Json) -> Outcome {
    let differ = |ours: String| -> Stop {
        let theirs = match theirs.get("message") {
            Some(text) => format!("{} ({text})", theirs["error"]),
            None => theirs["expect"].to_string(),
        };
        fail(format!("{step}\n    ours:   {ours}\n    Java's: {theirs}"))
    };
    match ours {
        Ok(ours) if theirs.get("expect") == Some(&ours) => Ok(()),
        Ok(ours) => Err(differ(ours.to_string())),
        Err(refusal) => {
            let ours = || differ(format!("{:?} ({})", refusal.kind, refusal.text));
            if theirs["error"] != refusal.kind {
                return Err(ours());
            }
            // In a cascade, another order may lead to another refusal first.
            if step["op"] == "delete" && refusal.detail.get("id") != step.get("id") {
                return Ok(());
            }
            let named = theirs["detail"].as_object().into_iter().flatten();
            for (member, value) in named {
                if refusal.detail.get(member).is_some_and(|found| found != value) {
                    return Err(ours());
                }
            }
            Ok(())
        }
    }
}
