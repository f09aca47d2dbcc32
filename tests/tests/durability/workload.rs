//! The work of the processes that are killed: numbered commits of random operations on objects.
//!
//! The operations depend only on a seed and the commit's number. So the expected content after any
//! commit can be computed again. The database and the model both skip what is impossible, such as
//! changing an object that does not exist.

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Error, Migrate, Result, Transaction, TransactionConfig};
use permazen::schema::SchemaModel;

use crate::random::Random;

/// How many objects of each type there can be.
pub(crate) const SLOTS: u8 = 10;

/// An object type of which there are several objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Person,
    Account,
}

/// One operation. Objects are named by their slots.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create(Kind, u8),
    Delete(Kind, u8),
    Migrate(Kind, u8),
    Name(u8, String),
    Age(u8, i32),
    Nick(u8, String),
    Boss(u8, Option<u8>),
    Main(u8, Option<u8>),
    Visits(u8, i64),
    Befriend(u8, u8),
    Unfriend(u8, u8),
    Tag(u8, u32, String),
    Untag(u8, u32),
    Owner(u8, Option<u8>),
    Guarantor(u8, Option<u8>),
    Balance(u8, i64),
    Photo(u8, Option<(u32, i8)>),
    Share(u8, u8, i64),
    Unshare(u8, u8),
}

/// A sequence of commits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) seed: u64,
    /// Workloads with different numbers share no objects, so they can run side by side.
    pub(crate) partition: u8,
    /// Whether commits are large, so that the file grows with each.
    pub(crate) large: bool,
}

impl Workload {
    /// The version of the schema a commit uses.
    pub(crate) fn version(self, number: u64) -> u8 {
        if (number / 8).is_multiple_of(2) { 1 } else { 2 }
    }

    /// The steps of a commit.
    pub(crate) fn steps(self, number: u64) -> Vec<Step> {
        let mut random = Random::new(self.seed ^ (u64::from(self.partition) << 56), number);
        let count = 1 + random.below(14);
        let mut steps: Vec<Step> = (0..count).map(|_| self.step(&mut random)).collect();
        if self.large {
            let slot = random.below(SLOTS.into()) as u8;
            let photo = (200_000 + random.below(400_000) as u32, random.next() as i8);
            steps.extend([Step::Create(Kind::Account, slot), Step::Photo(slot, Some(photo))]);
        }
        steps
    }

    fn step(self, random: &mut Random) -> Step {
        let slot = |random: &mut Random| random.below(SLOTS.into()) as u8;
        let target =
            |random: &mut Random| (random.below(6) > 0).then(|| random.below(SLOTS.into()) as u8);
        let kind =
            |random: &mut Random| if random.below(2) == 0 { Kind::Person } else { Kind::Account };
        let word = |random: &mut Random| {
            let text = ["Ann", "", "Zoë", "a b", "中文", "x\u{0}y"][random.below(6) as usize];
            text.repeat(1 + random.below(3) as usize)
        };
        let r = random;
        match r.below(32) {
            0..=6 => Step::Create(kind(r), slot(r)),
            7 | 8 => Step::Delete(kind(r), slot(r)),
            9 | 10 => Step::Migrate(kind(r), slot(r)),
            11 | 12 => Step::Name(slot(r), word(r)),
            13 => Step::Age(slot(r), r.below(5) as i32 - 2),
            14 => Step::Nick(slot(r), word(r)),
            15 => Step::Boss(slot(r), target(r)),
            16 => Step::Main(slot(r), target(r)),
            // Adding 0 would do nothing, so it would succeed where every other step fails. So at
            // least 1 is added.
            17 => Step::Visits(slot(r), r.below(9) as i64 + 1),
            18 | 19 => Step::Befriend(slot(r), slot(r)),
            20 => Step::Unfriend(slot(r), slot(r)),
            21 | 22 => Step::Tag(slot(r), r.below(9) as u32, word(r)),
            23 => Step::Untag(slot(r), r.below(9) as u32),
            24 => Step::Owner(slot(r), target(r)),
            25 => Step::Guarantor(slot(r), target(r)),
            26 => Step::Balance(slot(r), r.below(5) as i64 * 1_000_000_007 - 9),
            27..=29 => {
                let most = match r.below(8) {
                    0 => 30_000,
                    1 => 5000,
                    _ => 200,
                };
                Step::Photo(
                    slot(r),
                    (r.below(9) > 0).then(|| (r.below(most) as u32, r.next() as i8)),
                )
            }
            30 => Step::Share(slot(r), slot(r), r.below(4) as i64),
            _ => Step::Unshare(slot(r), slot(r)),
        }
    }

    /// Makes commit `number` in `tx`, which uses the schema of its version.
    pub(crate) fn perform(self, tx: &Transaction, number: u64) -> Result<()> {
        let log = self.log();
        tx.create_with_id(log)?;
        tx.set(log, "last", &Value::Long(number as i64), Migrate::Yes)?;
        tx.adjust_counter(log, "commits", 1, Migrate::Yes)?;
        for step in self.steps(number) {
            self.apply(tx, &step)?;
        }
        Ok(())
    }

    /// The object that holds the number of the last commit.
    pub(crate) fn log(self) -> ObjId {
        id(50, self.partition, 0)
    }

    pub(crate) fn id(self, kind: Kind, slot: u8) -> ObjId {
        id(if kind == Kind::Person { 10 } else { 30 }, self.partition, slot)
    }

    /// Does one step. Returns false if it is impossible.
    pub(crate) fn apply(self, tx: &Transaction, step: &Step) -> Result<bool> {
        match self.change(tx, step) {
            Ok(()) => Ok(true),
            Err(
                Error::DeletedObject { .. }
                | Error::ReferencedObject { .. }
                | Error::UnknownField { .. }
                | Error::OutOfRange { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn change(self, tx: &Transaction, step: &Step) -> Result<()> {
        let person = |slot: u8| self.id(Kind::Person, slot);
        let account = |slot: u8| self.id(Kind::Account, slot);
        let to =
            |kind, slot: Option<u8>| slot.map_or(Value::Null, |n| Value::Ref(self.id(kind, n)));
        let set = |id, field, value: Value| tx.set(id, field, &value, Migrate::No);
        match step {
            Step::Create(kind, n) => tx.create_with_id(self.id(*kind, *n)).map(drop),
            Step::Delete(kind, n) => tx.delete(self.id(*kind, *n)).map(drop),
            Step::Migrate(kind, n) => tx.migrate(self.id(*kind, *n)).map(drop),
            Step::Name(n, name) => set(person(*n), "name", Value::from(&**name)),
            Step::Age(n, age) => set(person(*n), "age", Value::Int(*age)),
            Step::Nick(n, nick) => set(person(*n), "nick", Value::from(&**nick)),
            Step::Boss(n, boss) => set(person(*n), "boss", to(Kind::Person, *boss)),
            Step::Main(n, main) => set(person(*n), "main", to(Kind::Account, *main)),
            Step::Visits(n, by) => tx.adjust_counter(person(*n), "visits", *by, Migrate::No),
            Step::Befriend(n, friend) => {
                let friends = tx.set_view(person(*n), "friends", Migrate::No)?;
                friends.add(&Value::Ref(person(*friend))).map(drop)
            }
            Step::Unfriend(n, friend) => {
                let friends = tx.set_view(person(*n), "friends", Migrate::No)?;
                friends.remove(&Value::Ref(person(*friend))).map(drop)
            }
            Step::Tag(n, at, tag) => {
                let tags = tx.list_view(person(*n), "tags", Migrate::No)?;
                tags.insert(*at % (tags.len()? + 1), &Value::from(&**tag))
            }
            Step::Untag(n, at) => {
                tx.list_view(person(*n), "tags", Migrate::No)?.remove(*at).map(drop)
            }
            Step::Owner(n, owner) => set(account(*n), "owner", to(Kind::Person, *owner)),
            Step::Guarantor(n, person_slot) => {
                set(account(*n), "guarantor", to(Kind::Person, *person_slot))
            }
            Step::Balance(n, balance) => set(account(*n), "balance", Value::Long(*balance)),
            Step::Photo(n, photo) => {
                let bytes = |(len, byte)| Value::Bytes(vec![byte; len as usize].into());
                set(account(*n), "photo", photo.map_or(Value::Null, bytes))
            }
            Step::Share(n, person_slot, part) => {
                let shares = tx.map_view(account(*n), "shares", Migrate::No)?;
                shares.put(&Value::Ref(person(*person_slot)), &Value::Long(*part)).map(drop)
            }
            Step::Unshare(n, person_slot) => {
                let shares = tx.map_view(account(*n), "shares", Migrate::No)?;
                shares.remove(&Value::Ref(person(*person_slot))).map(drop)
            }
        }
    }
}

fn id(storage_id: u8, partition: u8, slot: u8) -> ObjId {
    ObjId::from_bytes([storage_id, partition, 0, 0, 0, 0, 0, slot]).unwrap()
}

/// How transactions begin that use a version of the schema.
pub(crate) fn config(version: u8) -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(schema(version).as_bytes()).unwrap()).unwrap()
}

/// The two versions differ in a field, in indexes and in what deletions do.
pub(crate) fn schema(version: u8) -> String {
    let first = version == 1;
    let indexed = |in_first: bool| if in_first == first { r#" indexed="true""# } else { "" };
    let (of_first, of_second) = (indexed(true), indexed(false));
    let owner = if first { "DELETE" } else { "NULLIFY" };
    let nick = if first {
        ""
    } else {
        r#"<SimpleField name="nick" encoding="urn:fdc:permazen.io:2020:String" storageId="22" indexed="true"/>"#
    };
    format!(
        r#"<Schema>
<ObjectType name="Person" storageId="10">
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" storageId="11"{of_first}/>
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="12"/>
  <ReferenceField name="boss" storageId="13" inverseDelete="NULLIFY"/>
  <CounterField name="visits" storageId="14"/>
  <SetField name="friends" storageId="15"><ReferenceField storageId="16" inverseDelete="REMOVE"/></SetField>
  <ListField name="tags" storageId="17"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="18" indexed="true"/></ListField>
  <ReferenceField name="main" storageId="21" inverseDelete="DELETE"/>{nick}
  <CompositeIndex name="byAgeName" storageId="19"><Field name="age"/><Field name="name"/></CompositeIndex>
</ObjectType>
<ObjectType name="Account" storageId="30">
  <ReferenceField name="owner" storageId="31" inverseDelete="{owner}"/>
  <SimpleField name="balance" encoding="urn:fdc:permazen.io:2020:long" storageId="32"{of_second}/>
  <SimpleField name="photo" encoding="urn:fdc:permazen.io:2020:byte[]" storageId="33"/>
  <MapField name="shares" storageId="34"><ReferenceField storageId="35" inverseDelete="REMOVE"/><SimpleField encoding="urn:fdc:permazen.io:2020:long" storageId="36"{of_first}/></MapField>
  <ReferenceField name="guarantor" storageId="37" inverseDelete="EXCEPTION"/>
</ObjectType>
<ObjectType name="Log" storageId="50">
  <SimpleField name="last" encoding="urn:fdc:permazen.io:2020:long" storageId="51"/>
  <CounterField name="commits" storageId="52"/>
</ObjectType>
</Schema>"#
    )
}
