//! A database to ask, and asking it.

use std::ops::ControlFlow;
use std::sync::Arc;

use permazen::encoding::{EncodingId, EncodingRegistry, Value};
use permazen::kv::counting::{CountingStore, Operations};
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::schema::{
    CompositeIndex, Field, ObjectType, SchemaModel, SchemaRemoval, Simple, UnknownEncodings,
};
use permazen::{ObjId, StorageId};
use permazen_query::{
    Catalog, Cell, Column, Limits, Mistake, ObjectRow, Parameters, QueryError, Ran, Row, Rows,
    check, parse, plan, run,
};

pub(crate) type Store = CountingStore<MemoryStore>;

/// A store with objects.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) db: Database,
}

/// The output of a statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    pub(crate) objects: Vec<ObjectRow>,
    pub(crate) ran: Ran,
    pub(crate) operations: Operations,
    /// After this many rows no more are wanted.
    pub(crate) most: Option<usize>,
}

impl Rows for Answer {
    fn columns(&mut self, columns: &[Column]) -> ControlFlow<()> {
        self.columns = columns.to_vec();
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: &Row) -> ControlFlow<()> {
        self.rows.push(row.clone());
        self.flow(self.rows.len())
    }

    fn object(&mut self, object: &ObjectRow) -> ControlFlow<()> {
        self.objects.push(object.clone());
        self.flow(self.objects.len())
    }
}

impl Answer {
    fn flow(&self, count: usize) -> ControlFlow<()> {
        if self.most == Some(count) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The rows, each as its cells with blanks between them.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |row: &Row| row.cells.iter().map(shown).collect::<Vec<_>>().join(" ");
        self.rows.iter().map(line).collect()
    }

    /// The rows with commas between them.
    pub(crate) fn line(&self) -> String {
        self.lines().join(", ")
    }

    pub(crate) fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Absent => "-".to_owned(),
        cell => cell.shown(),
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let store = CountingStore::new(MemoryStore::new());
        let encodings = Arc::new(EncodingRegistry::new());
        let db = Database::with_encodings(Arc::new(store.clone()), encodings)
            .unknown_encodings(UnknownEncodings::Carry);
        Fixture { store, db }
    }

    /// Runs `body` in a transaction with a schema, and commits.
    pub(crate) fn with<R>(&self, model: SchemaModel, body: impl FnOnce(&Transaction) -> R) -> R {
        let config = TransactionConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never);
        let tx = self.db.begin(&config).unwrap();
        let result = body(&tx);
        tx.commit().unwrap();
        result
    }

    pub(crate) fn reading(&self) -> Transaction {
        let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
        self.db.begin(&config.read_only()).unwrap()
    }

    pub(crate) fn try_ask_with(
        &self,
        statement: &str,
        parameters: &Parameters,
        limits: &Limits,
        most: Option<usize>,
    ) -> Result<Answer, QueryError> {
        let tx = self.reading();
        let statement = parse(statement)?;
        let checked = check(&statement, &Catalog::of(&tx), parameters)?;
        let mut answer = Answer { most, ..Answer::default() };
        let before = self.store.counter().read();
        answer.ran = run(&tx, &checked, limits, &mut answer)?;
        answer.operations = self.store.counter().read() - before;
        Ok(answer)
    }

    pub(crate) fn ask(&self, statement: &str) -> Answer {
        self.try_ask_with(statement, &Parameters::new(), &Limits::default(), None)
            .unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// The plan of a statement, line by line.
    pub(crate) fn plan(&self, statement: &str) -> String {
        let tx = self.reading();
        let checked = check(&parse(statement).unwrap(), &Catalog::of(&tx), &Parameters::new());
        plan(&tx, &checked.unwrap_or_else(|error| panic!("{statement}: {error}")))
            .unwrap()
            .to_string()
    }

    pub(crate) fn mistake(&self, statement: &str) -> Mistake {
        let tx = self.reading();
        let parsed = parse(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        match check(&parsed, &Catalog::of(&tx), &Parameters::new()) {
            Ok(_) => panic!("{statement} has no mistake"),
            Err(mistake) => mistake,
        }
    }
}

pub(crate) fn encoding(name: &str) -> Simple {
    let id: EncodingId = format!("urn:fdc:permazen.io:2020:{name}").parse().unwrap();
    Simple::of(id)
}

fn reference(to: &str) -> Simple {
    Simple::reference().to([to])
}

/// The first schema: people and pets.
pub(crate) fn first() -> SchemaModel {
    let person = ObjectType::new("Person")
        .field(Field::new("name", encoding("String").indexed()))
        .field(Field::new("age", encoding("int")))
        .field(Field::set("tags", encoding("String").indexed()))
        .field(Field::map("scores", encoding("String"), encoding("int").indexed()))
        .field(Field::list("friends", reference("Person")))
        .field(Field::new("boss", reference("Person")))
        .field(Field::counter("visits"));
    SchemaModel::new().object_type(person).object_type(pet())
}

fn pet() -> ObjectType {
    ObjectType::new("Pet")
        .field(Field::new("name", encoding("String").indexed()))
        .field(Field::new("owner", reference("Person")))
}

/// The second schema: ages can be null and have an index, people have a birthday and no visits.
pub(crate) fn second() -> SchemaModel {
    let person = ObjectType::new("Person")
        .field(Field::new("name", encoding("String").indexed()))
        .field(Field::new("age", encoding("Integer").indexed()))
        .field(Field::set("tags", encoding("String").indexed()))
        .field(Field::map("scores", encoding("String"), encoding("int").indexed()))
        .field(Field::list("friends", reference("Person")))
        .field(Field::new("boss", reference("Person").allow_deleted(true)))
        .field(Field::new("born", encoding("LocalDate")))
        .composite_index(CompositeIndex::new("nameAge", ["name", "age"]));
    SchemaModel::new().object_type(person).object_type(pet())
}

/// The ID of an object of a type with this number at its end.
pub(crate) fn id(tx: &Transaction, type_name: &str, number: u8) -> ObjId {
    let storage_id: StorageId = tx.type_storage_id(type_name).unwrap();
    let mut bytes = ObjId::min(storage_id).to_bytes();
    bytes[7] = number;
    ObjId::from_bytes(bytes).unwrap()
}

/// Some fields of a person.
struct Person<'p> {
    number: u8,
    name: &'p str,
    age: Value,
    tags: &'p [&'p str],
    scores: &'p [(&'p str, i32)],
    friends: &'p [u8],
    boss: Option<u8>,
}

impl Person<'_> {
    fn create(&self, tx: &Transaction) {
        let person = id(tx, "Person", self.number);
        tx.create_with_id(person).unwrap();
        let set = |field: &str, value: &Value| tx.set(person, field, value, Migrate::No).unwrap();
        set("name", &self.name.into());
        set("age", &self.age);
        let tags = tx.set_view(person, "tags", Migrate::No).unwrap();
        for tag in self.tags {
            tags.add(&(*tag).into()).unwrap();
        }
        let scores = tx.map_view(person, "scores", Migrate::No).unwrap();
        for (key, score) in self.scores {
            scores.put(&(*key).into(), &Value::Int(*score)).unwrap();
        }
        let friends = tx.list_view(person, "friends", Migrate::No).unwrap();
        for friend in self.friends {
            friends.push(&Value::Ref(id(tx, "Person", *friend))).unwrap();
        }
        if let Some(boss) = self.boss {
            set("boss", &Value::Ref(id(tx, "Person", boss)));
        }
    }
}

/// People and pets of both schemas.
///
/// | | schema | name | age | tags | scores | friends | boss |
/// |---|---|---|---|---|---|---|---|
/// | 01 | 1 | Ann | 30 | x, y | a 1, b 5 | | |
/// | 02 | 1 | Bob | 20 | x | | 01, 01 | 01 |
/// | 03 | 1 | Bert | 40 | | a 3 | 02 | 02 |
/// | 11 | 2 | Ann | 35 | y, z | a 7 | 01, 03 | 03 |
/// | 12 | 2 | Cid | null | | | | 99, which does not exist |
/// | 13 | 2 | Dora | 20 | x, z | b 5 | 11 | 11 |
///
/// The pets are Rex, whose owner is 02, and Rover, whose owner is 13.
pub(crate) fn people() -> Fixture {
    let fixture = Fixture::new();
    let int = Value::Int;
    fixture.with(first(), |tx| {
        let person = |number, name, age, tags, scores, friends, boss| {
            Person { number, name, age, tags, scores, friends, boss }.create(tx);
        };
        person(1, "Ann", int(30), &["x", "y"], &[("a", 1), ("b", 5)], &[], None);
        person(2, "Bob", int(20), &["x"], &[], &[1, 1], Some(1));
        person(3, "Bert", int(40), &[], &[("a", 3)], &[2], Some(2));
        tx.set_counter(id(tx, "Person", 2), "visits", 7, Migrate::No).unwrap();
        pet_of(tx, 1, "Rex", 2);
    });
    fixture.with(second(), |tx| {
        let person = |number, name, age, tags, scores, friends, boss| {
            Person { number, name, age, tags, scores, friends, boss }.create(tx);
        };
        person(0x11, "Ann", int(35), &["y", "z"], &[("a", 7)], &[1, 3], Some(3));
        person(0x12, "Cid", Value::Null, &[], &[], &[], Some(0x99));
        person(0x13, "Dora", int(20), &["x", "z"], &[("b", 5)], &[0x11], Some(0x11));
        pet_of(tx, 2, "Rover", 0x13);
    });
    fixture
}

fn pet_of(tx: &Transaction, number: u8, name: &str, owner: u8) {
    let pet = id(tx, "Pet", number);
    tx.create_with_id(pet).unwrap();
    tx.set(pet, "name", &name.into(), Migrate::No).unwrap();
    tx.set(pet, "owner", &Value::Ref(id(tx, "Person", owner)), Migrate::No).unwrap();
}
