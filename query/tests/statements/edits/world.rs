//! A database to edit, and editing it.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase};
use permazen::object::{Database, Migrate, ObjectData, Transaction, TransactionConfig};
use permazen::schema::{
    DeleteAction, Field, ObjectType, SchemaModel, SchemaRemoval, Simple, UnknownEncodings,
};
use permazen::{ObjId, StorageId};
use permazen_query::{
    Catalog, Cell, Checked, Edited, Limits, NewIds, Parameters, QueryError, check, edit, parse,
};

pub(crate) fn of(encoding: &str) -> Simple {
    Simple::of(format!("urn:fdc:permazen.io:2020:{encoding}").parse().unwrap())
}

pub(crate) fn reference(to: &str, action: DeleteAction) -> Simple {
    Simple::reference().to([to]).on_delete(action)
}

fn person(age: &str) -> ObjectType {
    ObjectType::new("Person")
        .field(Field::new("name", of("String").indexed()))
        .field(Field::new("age", of(age).indexed()))
        .field(Field::set("tags", of("String").indexed()))
        .field(Field::map("scores", of("String"), of("int").indexed()))
        .field(Field::list("friends", reference("Person", DeleteAction::Remove)))
        .field(Field::new("boss", reference("Person", DeleteAction::Nullify)))
}

fn pet() -> ObjectType {
    ObjectType::new("Pet")
        .field(Field::new("name", of("String")))
        .field(Field::new("owner", reference("Person", DeleteAction::Delete)))
        .field(Field::new("vet", reference("Person", DeleteAction::Exception)))
        .field(Field::new("next", reference("Pet", DeleteAction::Exception)))
}

/// Numbers of all kinds.
fn sums() -> ObjectType {
    ObjectType::new("Sums")
        .field(Field::new("b", of("byte")))
        .field(Field::new("s", of("short")))
        .field(Field::new("i", of("int")))
        .field(Field::new("l", of("long")))
        .field(Field::new("f", of("float")))
        .field(Field::new("d", of("double")))
        .field(Field::new("n", of("Integer")))
        .field(Field::new("bi", of("BigInteger")))
        .field(Field::new("bd", of("BigDecimal")))
        .field(Field::list("list", of("int").indexed()))
        .field(Field::new("t", of("String")))
        .field(Field::new("day", of("LocalDate")))
        .field(Field::new("e", Simple::enumeration(["RED", "GREEN"])))
}

/// The first schema: people with visits, whose age is an `int`.
pub(crate) fn first() -> SchemaModel {
    let person = person("int").field(Field::counter("visits"));
    SchemaModel::new().object_type(person).object_type(pet()).object_type(sums())
}

/// The second schema: people with a mail address, whose age is a `short`. There are no sums.
pub(crate) fn second() -> SchemaModel {
    let person = person("short").field(Field::new("mail", of("String")));
    SchemaModel::new().object_type(person).object_type(pet())
}

pub(crate) struct World {
    pub(crate) db: Database,
}

pub(crate) fn config() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never)
}

impl World {
    /// A database in which both schemas are recorded.
    pub(crate) fn new() -> Self {
        World::with(Arc::new(MemoryStore::new()), &[first(), second()])
    }

    pub(crate) fn with(store: Arc<dyn KvDatabase>, schemas: &[SchemaModel]) -> Self {
        let db = Database::new(store).unknown_encodings(UnknownEncodings::Carry);
        let tx = db.begin(&config()).unwrap();
        schemas.iter().for_each(|schema| assert!(tx.add_schema(schema).unwrap()));
        tx.commit().unwrap();
        World { db }
    }

    pub(crate) fn begin(&self) -> Session {
        Session { tx: self.db.begin(&config()).unwrap(), parameters: Parameters::new() }
    }
}

/// A transaction in which statements are run.
pub(crate) struct Session {
    pub(crate) tx: Transaction,
    pub(crate) parameters: Parameters,
}

impl Session {
    pub(crate) fn check(&self, statement: &str) -> Result<Checked, QueryError> {
        Ok(check(&parse(statement)?, &Catalog::of(&self.tx), &self.parameters)?)
    }

    pub(crate) fn try_run(&self, statement: &str) -> Result<Edited, QueryError> {
        edit(&self.tx, &self.check(statement)?, &Limits::default(), &mut NewIds::new())
    }

    /// Runs a statement.
    #[track_caller]
    pub(crate) fn run(&self, statement: &str) -> Edited {
        self.try_run(statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// Runs `create`, and returns the new object.
    #[track_caller]
    pub(crate) fn create(&self, statement: &str) -> ObjId {
        self.run(&format!("create {statement}")).created[0]
    }

    /// Creates an object in the schema with this number.
    #[track_caller]
    pub(crate) fn create_in(&self, schema: u32, statement: &str) -> ObjId {
        let parameters = Parameters::new().creating_in(schema_index(schema));
        let statement = parse(&format!("create {statement}")).unwrap();
        let checked = check(&statement, &Catalog::of(&self.tx), &parameters).unwrap();
        edit(&self.tx, &checked, &Limits::default(), &mut NewIds::new()).unwrap().created[0]
    }

    /// Sees that a statement is refused with an error that has all of these words, and changes
    /// nothing.
    #[track_caller]
    pub(crate) fn refused(&self, statement: &str, words: &[&str]) -> QueryError {
        let before = self.pairs();
        let error = self.try_run(statement).expect_err(statement);
        let text = error.to_string();
        for word in words {
            assert!(text.contains(word), "{statement}: {text:?} lacks {word:?}");
        }
        assert_eq!(self.pairs(), before, "{statement}");
        error
    }

    /// All pairs, with pending changes.
    pub(crate) fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.tx
            .read_pairs(|kv| {
                let pairs = kv.scan(KeySpan::FULL, Direction::Forward)?;
                pairs
                    .map(|pair| pair.map(|(k, v)| (k.into(), v.into())).map_err(Into::into))
                    .collect()
            })
            .unwrap()
    }

    pub(crate) fn assert_clean(&self) {
        let mut findings = Vec::new();
        self.tx
            .read_pairs(|kv| {
                let options = permazen_jsck::Options::default();
                let found =
                    &mut |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
                permazen_jsck::check(kv, &options, found).unwrap();
                Ok(())
            })
            .unwrap();
        assert!(findings.is_empty(), "{findings:#?}");
    }

    /// A field as a literal.
    #[track_caller]
    pub(crate) fn get(&self, id: ObjId, field: &str) -> String {
        let data = self.tx.load(id, Migrate::No).unwrap();
        cell(&data, field).literal()
    }

    pub(crate) fn schema_of(&self, id: ObjId) -> u32 {
        self.tx.object_type(id).unwrap().schema.get()
    }

    pub(crate) fn exists(&self, id: ObjId) -> bool {
        self.tx.exists(id).unwrap()
    }

    pub(crate) fn type_id(&self, name: &str) -> StorageId {
        self.tx.type_storage_id(name).unwrap()
    }
}

pub(crate) fn schema_index(number: u32) -> permazen::schema::SchemaIndex {
    permazen::schema::SchemaIndex::new(number).unwrap()
}

/// A field of an object.
fn cell(data: &ObjectData, name: &str) -> Cell {
    use permazen::__internal::schema::ResolvedKind::{List, Map, Set};
    use permazen::object::FieldValue;
    let field = data.field(name).unwrap();
    let one = |part: &permazen::schema::ResolvedField, value| {
        Cell::Value(value, Arc::clone(&part.simple().unwrap().encoding))
    };
    match (data.decode(name).unwrap(), &field.kind) {
        (FieldValue::Simple(value), _) => one(field, value),
        (FieldValue::Counter(count), _) => Cell::Counter(count),
        (FieldValue::Set(values), Set { element }) => {
            Cell::Set(values.into_iter().map(|value| one(element, value)).collect())
        }
        (FieldValue::List(values), List { element }) => {
            Cell::List(values.into_iter().map(|value| one(element, value)).collect())
        }
        (FieldValue::Map(entries), Map { key, value }) => {
            let entries = entries.into_iter().map(|(k, v)| (one(key, k), one(value, v)));
            Cell::Map(entries.collect())
        }
        other => panic!("{other:?}"),
    }
}
