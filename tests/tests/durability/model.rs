//! The same commits on plain maps, and the content of a database as such maps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Migrate, Result, Transaction};

use crate::workload::{Kind, Step, Workload};

/// A person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Person {
    version: u8,
    name: Option<String>,
    age: i32,
    nick: Option<String>,
    boss: Option<u8>,
    main: Option<u8>,
    visits: i64,
    friends: BTreeSet<u8>,
    tags: Vec<String>,
}

/// An account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Account {
    version: u8,
    owner: Option<u8>,
    guarantor: Option<u8>,
    balance: i64,
    photo: Option<(u32, i8)>,
    shares: BTreeMap<u8, i64>,
}

/// The expected content of the objects of one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// The number of the last commit.
    pub(crate) last: u64,
    commits: i64,
    persons: BTreeMap<u8, Person>,
    accounts: BTreeMap<u8, Account>,
}

impl Model {
    /// The expected content after the commits up to `last`.
    pub(crate) fn after(workload: Workload, last: u64) -> Model {
        let mut model = Model::default();
        (1..=last).for_each(|number| model.perform(workload, number));
        model
    }

    /// How many objects there are, without the one that holds the number of the last commit.
    pub(crate) fn objects(&self) -> usize {
        self.persons.len() + self.accounts.len()
    }

    /// Makes commit `number`, which must be the next.
    pub(crate) fn perform(&mut self, workload: Workload, number: u64) {
        assert_eq!(number, self.last + 1);
        self.last = number;
        self.commits += 1;
        for step in workload.steps(number) {
            self.apply(&step, workload.version(number));
        }
    }

    /// Does a step. Returns false if it is impossible.
    pub(crate) fn apply(&mut self, step: &Step, version: u8) -> bool {
        self.change(step, version).is_some()
    }

    fn person(&mut self, slot: u8) -> Option<&mut Person> {
        self.persons.get_mut(&slot)
    }

    fn account(&mut self, slot: u8) -> Option<&mut Account> {
        self.accounts.get_mut(&slot)
    }

    /// Whether a reference can be set to this.
    fn there(&self, kind: Kind, slot: Option<u8>) -> Option<()> {
        let there = slot.is_none_or(|slot| match kind {
            Kind::Person => self.persons.contains_key(&slot),
            Kind::Account => self.accounts.contains_key(&slot),
        });
        there.then_some(())
    }

    fn change(&mut self, step: &Step, version: u8) -> Option<()> {
        match *step {
            Step::Create(Kind::Person, n) => {
                self.persons.entry(n).or_insert_with(|| Person { version, ..Person::default() });
            }
            Step::Create(Kind::Account, n) => {
                self.accounts.entry(n).or_insert_with(|| Account { version, ..Account::default() });
            }
            Step::Delete(kind, n) => *self = self.delete(kind, n)?,
            Step::Migrate(Kind::Person, n) => {
                let person = self.person(n)?;
                person.version = version;
                if version == 1 {
                    person.nick = None;
                }
            }
            Step::Migrate(Kind::Account, n) => self.account(n)?.version = version,
            Step::Name(n, ref name) => self.person(n)?.name = Some(name.clone()),
            Step::Age(n, age) => self.person(n)?.age = age,
            Step::Nick(n, ref nick) => {
                let person = self.person(n).filter(|person| person.version == 2)?;
                person.nick = Some(nick.clone());
            }
            Step::Boss(n, boss) => {
                self.there(Kind::Person, boss)?;
                self.person(n)?.boss = boss;
            }
            Step::Main(n, main) => {
                self.there(Kind::Account, main)?;
                self.person(n)?.main = main;
            }
            Step::Visits(n, by) => self.person(n)?.visits += by,
            Step::Befriend(n, friend) => {
                self.there(Kind::Person, Some(friend))?;
                self.person(n)?.friends.insert(friend);
            }
            Step::Unfriend(n, friend) => {
                self.person(n)?.friends.remove(&friend);
            }
            Step::Tag(n, at, ref tag) => {
                let tags = &mut self.person(n)?.tags;
                tags.insert(at as usize % (tags.len() + 1), tag.clone());
            }
            Step::Untag(n, at) => {
                let tags = &mut self.person(n)?.tags;
                let at = Some(at as usize).filter(|at| *at < tags.len())?;
                tags.remove(at);
            }
            Step::Owner(n, owner) => {
                self.there(Kind::Person, owner)?;
                self.account(n)?.owner = owner;
            }
            Step::Guarantor(n, person_slot) => {
                self.there(Kind::Person, person_slot)?;
                self.account(n)?.guarantor = person_slot;
            }
            Step::Balance(n, balance) => self.account(n)?.balance = balance,
            Step::Photo(n, photo) => {
                // Without bytes, their value does not matter.
                let photo = photo.map(|(len, byte)| (len, if len == 0 { 0 } else { byte }));
                self.account(n)?.photo = photo;
            }
            Step::Share(n, person_slot, part) => {
                self.there(Kind::Person, Some(person_slot))?;
                self.account(n)?.shares.insert(person_slot, part);
            }
            Step::Unshare(n, person_slot) => {
                self.account(n)?.shares.remove(&person_slot);
            }
        }
        Some(())
    }

    /// The content after a deletion; `None` if the deletion is refused, because an account that is
    /// left has a guarantor that is gone.
    fn delete(&self, kind: Kind, slot: u8) -> Option<Model> {
        let mut left = self.clone();
        let mut todo = VecDeque::from([(kind, slot)]);
        while let Some((kind, slot)) = todo.pop_front() {
            match kind {
                Kind::Person => left.delete_person(slot, &mut todo),
                Kind::Account => left.delete_account(slot, &mut todo),
            }
        }
        let is_gone =
            |slot: u8| self.persons.contains_key(&slot) && !left.persons.contains_key(&slot);
        let forbids = |account: &Account| account.guarantor.is_some_and(is_gone);
        (!left.accounts.values().any(forbids)).then_some(left)
    }

    fn delete_person(&mut self, slot: u8, todo: &mut VecDeque<(Kind, u8)>) {
        let gone = Some(slot);
        if self.persons.remove(&slot).is_none() {
            return;
        }
        for person in self.persons.values_mut() {
            person.boss = person.boss.filter(|boss| *boss != slot);
            person.friends.remove(&slot);
        }
        for (number, account) in &mut self.accounts {
            account.shares.remove(&slot);
            if account.owner == gone && account.version == 1 {
                todo.push_back((Kind::Account, *number));
            } else if account.owner == gone {
                account.owner = None;
            }
        }
    }

    fn delete_account(&mut self, slot: u8, todo: &mut VecDeque<(Kind, u8)>) {
        if self.accounts.remove(&slot).is_some() {
            let holders = self.persons.iter().filter(|(_, person)| person.main == Some(slot));
            todo.extend(holders.map(|(number, _)| (Kind::Person, *number)));
        }
    }

    /// Reads the objects of a workload from the database.
    pub(crate) fn read(tx: &Transaction, workload: Workload) -> Result<Model> {
        let mut model = Model::default();
        if tx.exists(workload.log())? {
            let last = tx.get(workload.log(), "last", Migrate::No)?;
            model.last = last.get::<i64>().unwrap() as u64;
            model.commits = tx.counter(workload.log(), "commits", Migrate::No)?;
        }
        for id in tx.all_objects()?.iter() {
            let id = id?;
            let bytes = id.to_bytes();
            match (bytes[0], bytes[1] == workload.partition) {
                (10, true) => drop(model.persons.insert(bytes[7], read_person(tx, id)?)),
                (30, true) => drop(model.accounts.insert(bytes[7], read_account(tx, id)?)),
                _ => {}
            }
        }
        Ok(model)
    }
}

fn read_person(tx: &Transaction, id: ObjId) -> Result<Person> {
    let has_nick = tx.object_type(id)?.field("nick").is_some();
    let get = |field| tx.get(id, field, Migrate::No);
    let friends = tx.set_view(id, "friends", Migrate::No)?.to_vec()?;
    let tags = tx.list_view(id, "tags", Migrate::No)?.to_vec()?;
    Ok(Person {
        version: if has_nick { 2 } else { 1 },
        name: text(&get("name")?),
        age: get("age")?.get().unwrap(),
        nick: if has_nick { text(&get("nick")?) } else { None },
        boss: slot(&get("boss")?),
        main: slot(&get("main")?),
        visits: tx.counter(id, "visits", Migrate::No)?,
        friends: friends.iter().filter_map(slot).collect(),
        tags: tags.iter().filter_map(text).collect(),
    })
}

fn read_account(tx: &Transaction, id: ObjId) -> Result<Account> {
    let get = |field| tx.get(id, field, Migrate::No);
    let indexed = tx.object_type(id)?.field("balance").is_some_and(|field| field.is_indexed());
    let shares = tx.map_view(id, "shares", Migrate::No)?.to_vec()?;
    let photo = match get("photo")? {
        Value::Bytes(bytes) => {
            let byte = bytes.first().copied().unwrap_or(0);
            assert!(bytes.iter().all(|other| *other == byte), "photo of {id} is mixed");
            Some((bytes.len() as u32, byte))
        }
        _ => None,
    };
    Ok(Account {
        version: if indexed { 2 } else { 1 },
        owner: slot(&get("owner")?),
        guarantor: slot(&get("guarantor")?),
        balance: get("balance")?.get().unwrap(),
        photo,
        shares: shares
            .iter()
            .map(|(person_slot, part)| (slot(person_slot).unwrap(), part.get().unwrap()))
            .collect(),
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn slot(value: &Value) -> Option<u8> {
    match value {
        Value::Ref(id) => Some(id.to_bytes()[7]),
        _ => None,
    }
}
