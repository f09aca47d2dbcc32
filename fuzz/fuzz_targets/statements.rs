//! Statements on a small database with two schemas and objects in both: checked, planned, run, and
//! undone if they fail. The number of their reads stays in proportion to their length, and the
//! checker finds nothing after any edits.
//!
//! If the first byte is odd, each other byte stands for a word, so that most statements mean
//! something.
#![no_main]

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use permazen::kv::counting::{Counter, CountingStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Direction, KeySpan};
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::schema::{
    DeleteAction, Field, ObjectType, SchemaModel, SchemaRemoval, Simple, UnknownEncodings,
};
use permazen::{ObjId, StorageId};
use permazen_query::syntax::Statement;
use permazen_query::text::is_hidden;
use permazen_query::{
    Catalog, ChangeCounts, Changes, Checked, Column, Limits, NewIds, ObjectRow, Parameters, Row,
    Rows, check, edit, parse, parse_script, plan, preview, run,
};

const WORDS: [&str; 96] = [
    "find ",
    "show ",
    "count ",
    "index ",
    "create ",
    "set ",
    "delete ",
    "migrate ",
    "explain ",
    "explain run ",
    "export ",
    "all ",
    "Person ",
    "Pet ",
    "Person.",
    "Pet.",
    "name ",
    "age ",
    "tags ",
    "scores ",
    "friends ",
    "boss ",
    "mail ",
    "visits ",
    "owner ",
    "vet ",
    "next ",
    "kind ",
    "nameAge ",
    "friends.",
    "boss.",
    "owner.",
    "next.",
    "->friends",
    "->boss",
    "<-Person.boss",
    "<-Pet.owner",
    "<-Person.friends",
    "where ",
    "and ",
    "or ",
    "not ",
    "in ",
    "has ",
    "starts ",
    "is null ",
    "is not null ",
    "= ",
    "!= ",
    "< ",
    "<= ",
    "> ",
    ">= ",
    "..",
    "order by ",
    "desc ",
    "limit ",
    "columns ",
    "using ",
    "none ",
    "reverse ",
    "union ",
    "intersect ",
    "minus ",
    "to ",
    "add ",
    "remove ",
    "insert ",
    "at ",
    "put ",
    "+= ",
    "-= ",
    "null ",
    "true ",
    "1 ",
    "-3 ",
    "2147483647 ",
    "1.5 ",
    "\"a\" ",
    "\"b\" ",
    "\"\\u{9b}\" ",
    "RED ",
    "x'00ff' ",
    "@1000000000000001 ",
    "@1000000000000002 ",
    "@1100000000000001 ",
    "@1000000000000009 ",
    "(",
    ") ",
    "{",
    "} ",
    "[",
    "] ",
    ", ",
    ": ",
    "; ",
];

fn of(encoding: &str) -> Simple {
    Simple::of(format!("urn:fdc:permazen.io:2020:{encoding}").parse().expect("an encoding"))
}

fn model(age: &str, new: bool) -> SchemaModel {
    let to = |types: &str, action| Simple::reference().to([types]).on_delete(action);
    let person = ObjectType::new("Person")
        .field(Field::new("name", of("String").indexed()))
        .field(Field::new("age", of(age).indexed()))
        .field(Field::set("tags", of("String").indexed()))
        .field(Field::map("scores", of("String").indexed(), of("int").indexed()))
        .field(Field::list("friends", to("Person", DeleteAction::Remove)))
        .field(Field::new("boss", to("Person", DeleteAction::Nullify)));
    let person = match new {
        false => person.field(Field::counter("visits")),
        true => person.field(Field::new("mail", of("String"))),
    };
    let pet = ObjectType::new("Pet")
        .field(Field::new("name", of("String")))
        .field(Field::new("kind", Simple::enumeration(["RED", "GREEN"]).indexed()))
        .field(Field::new("owner", to("Person", DeleteAction::Delete)))
        .field(Field::new("vet", to("Person", DeleteAction::Exception)))
        .field(Field::new("next", to("Pet", DeleteAction::Exception)));
    SchemaModel::new()
        .object_type(person.with_storage_id(StorageId::new(16)).index("nameAge", ["name", "age"]))
        .object_type(pet.with_storage_id(StorageId::new(17)))
}

fn config() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never)
}

fn id(object_type: u8, number: u8) -> ObjId {
    ObjId::from_bytes([object_type, 0, 0, 0, 0, 0, 0, number]).expect("an ID")
}

struct World {
    database: Database,
    counter: Counter,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let store = CountingStore::new(OptimisticDatabase::new(MemoryStore::new()));
    let counter = store.counter();
    let database = Database::new(Arc::new(store)).unknown_encodings(UnknownEncodings::Carry);
    for (age, new) in [("int", false), ("short", true)] {
        let tx = database.begin(&config()).expect("begin");
        tx.add_schema(&model(age, new)).expect("a schema");
        let schema = tx
            .bundle()
            .schemas()
            .iter()
            .map(|schema| (schema.index, schema.id))
            .max()
            .expect("one")
            .1;
        // The IDs are the same each time.
        let people: Vec<ObjId> = (0..3).map(|n| id(16, 1 + n + 3 * u8::from(new))).collect();
        let pet = id(17, 1 + u8::from(new));
        for id in people.iter().chain([&pet]) {
            assert!(tx.create_with_id_in(*id, schema).expect("create"));
        }
        // Each refers to all, so the number of ways grows with each hop.
        let [ann, bob, nobody] = [people[0], people[1], people[2]];
        for statement in [
            format!(
                "set @{ann} to name = \"a\", age = 1, tags = {{\"a\", \"b\"}}, scores = {{\"a\": 1}}"
            ),
            format!("set @{bob} to name = \"b\", age = -3, boss = @{ann}"),
            format!("set all Person to friends = [@{ann}, @{bob}, @{nobody}]"),
            format!("set @{pet} to name = \"a\", kind = RED, owner = @{bob}"),
        ] {
            let checked =
                parse(&statement).map(|it| check(&it, &Catalog::of(&tx), &Parameters::new()));
            let checked = checked.expect("a statement").expect("it means something");
            edit(&tx, &checked, &Limits::default(), &mut NewIds::new()).expect("it is taken");
        }
        tx.commit().expect("commit");
    }
    World { database, counter }
});

/// Looks at everything that is found.
#[derive(Default)]
struct Looks {
    columns: usize,
}

impl Rows for Looks {
    fn columns(&mut self, columns: &[Column]) -> ControlFlow<()> {
        self.columns = columns.len();
        columns.iter().for_each(|column| assert!(!column.name.contains(is_hidden)));
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: &Row) -> ControlFlow<()> {
        assert_eq!(row.cells.len(), self.columns);
        for cell in &row.cells {
            assert!(!cell.shown().contains(is_hidden));
            assert!(!cell.json().contains(is_hidden));
            let _ = (cell.raw(), cell.literal());
        }
        ControlFlow::Continue(())
    }

    fn object(&mut self, object: &ObjectRow) -> ControlFlow<()> {
        for (_, cell) in &object.fields {
            assert!(!cell.shown().contains(is_hidden));
        }
        ControlFlow::Continue(())
    }
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(tx: &Transaction) -> Pairs {
    tx.read_pairs(|kv| {
        let scan = kv.scan(KeySpan::FULL, Direction::Forward)?;
        scan.map(|pair| pair.map(|(key, value)| (key.into(), value.into())).map_err(Into::into))
            .collect()
    })
    .expect("pairs")
}

/// Changes something, or nothing if it fails. Returns whether it has.
fn change(tx: &Transaction, checked: &Checked, ids: &mut NewIds) -> bool {
    let before = pairs(tx);
    preview(tx, checked, &Limits::default()).expect("a preview changes nothing");
    assert_eq!(pairs(tx), before);
    match edit(tx, checked, &Limits::default(), ids) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(pairs(tx), before, "{error}");
            false
        }
    }
}

fn perform(tx: &Transaction, statement: &Statement, ids: &mut NewIds) -> bool {
    let Ok(checked) = check(statement, &Catalog::of(tx), &Parameters::new()) else { return false };
    let planned = plan(tx, &checked).map(|plan| (plan.to_string(), plan.json()));
    if let Ok((lines, json)) = planned {
        assert!(!lines.replace('\n', "").contains(is_hidden) && !json.contains(is_hidden));
    }
    if checked.is_edit() && checked.explained().is_none() {
        return change(tx, &checked, ids);
    }
    let _ = run(tx, &checked, &Limits::default(), &mut Looks::default());
    false
}

fn check_all(tx: &Transaction) {
    let mut options = permazen_jsck::Options::default();
    options.threads = NonZeroUsize::MIN;
    let mut found = Vec::new();
    tx.read_pairs(|kv| {
        permazen_jsck::check(kv, &options, &mut |finding| found.push(finding.to_string()))
            .expect("a check");
        Ok(())
    })
    .expect("pairs");
    assert!(found.is_empty(), "{found:#?}");
    let rows = tx.pending_changes(|changes| Ok(Changes::new(changes).count())).expect("changes");
    let counts = tx.pending_changes(ChangeCounts::of).expect("changes").expect("changes");
    assert_eq!(rows.is_some_and(|rows| rows == 0), counts.is_empty());
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, bytes)) = input.split_first() else { return };
    let text = match kind % 2 {
        1 => bytes.iter().map(|byte| WORDS[usize::from(*byte) % WORDS.len()]).collect(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    let Ok(statements) = parse_script(&text) else { return };
    // A column shows the object at the end of each way, and each of these hops triples their
    // number.
    if text.contains("columns") && text.matches("friends").count() > 5 {
        return;
    }
    let world = &*WORLD;
    let tx = world.database.begin(&config()).expect("begin");
    let mut ids = NewIds::new();
    let mut edits = 0;
    for statement in statements.iter().take(8) {
        world.counter.take();
        let length = statement.to_string().len() as u64;
        edits += u64::from(perform(&tx, statement, &mut ids));
        let reads = world.counter.take().reads();
        // For each object and each part of the statement, everything.
        assert!(reads < 4000 * (length + 20), "{reads} reads for {statement}");
    }
    if edits > 0 {
        check_all(&tx);
    }
    drop(tx);
});
