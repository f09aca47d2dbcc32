//! Random queries on random objects of random schemas, compared with a naive evaluation in memory.
//!
//! `PERMAZEN_QUERIES` is the number of databases, each of which gets 40 queries.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod costs;
mod naive;
mod statements;
mod values;
mod world;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use permazen::StorageId;
use permazen::kv::counting::Operations;
use permazen::object::Transaction;
use permazen_query::syntax::{
    Find, Name, Order, Part, Path, Query, Statement, StatementKind, Using,
};
use permazen_query::{
    Catalog, Cell, Checked, Column, Limits, ObjectRow, Parameters, Plan, QueryError, Row, Rows,
    check, matches, parse, plan, run,
};
use rand::SeedableRng;
use rand::rngs::StdRng;

use naive::{NaiveCell, Refused};
use world::World;

const QUERIES: u32 = 40;

#[derive(Default)]
struct Collected(Vec<Vec<Cell>>);

impl Rows for Collected {
    fn columns(&mut self, _: &[Column]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: &Row) -> ControlFlow<()> {
        self.0.push(row.cells.clone());
        ControlFlow::Continue(())
    }

    fn object(&mut self, _: &ObjectRow) -> ControlFlow<()> {
        panic!("find gives rows")
    }
}

/// The statement with this `using`.
fn using(find: &Find, using: Option<Using>) -> Statement {
    let query = Query { using, ..find.query.clone() };
    let kind = StatementKind::Find(Find { query, columns: find.columns.clone() });
    let statement = Statement { span: Default::default(), kind };
    let again = parse(&statement.to_string()).unwrap();
    assert_eq!(again, statement);
    again
}

struct Run<'w> {
    world: &'w World,
    /// The parts of plans that were seen.
    seen: &'w RefCell<BTreeSet<String>>,
    tx: Transaction,
    catalog: Catalog,
    small: Limits,
}

impl Run<'_> {
    fn rows(&self, checked: &Checked, limits: &Limits) -> (Vec<Vec<NaiveCell>>, Operations) {
        let before = self.world.store.counter().read();
        let mut rows = Collected::default();
        let ran = run(&self.tx, checked, limits, &mut rows).unwrap();
        assert_eq!((ran.damaged, ran.rows), (0, rows.0.len() as u64));
        let done = self.world.store.counter().read() - before;
        let cells = |row: Vec<Cell>| row.iter().map(NaiveCell::of).collect();
        (rows.0.into_iter().map(cells).collect(), done)
    }

    /// The rows of a statement without `order by` that gives the objects as an index has them: the
    /// first of those that it finds without a limit, which are the right objects.
    fn as_found(&self, find: &Find, way: Option<Using>, plan: &Plan) -> Vec<Vec<NaiveCell>> {
        let mut all = find.clone();
        all.query.limit = None;
        let statement = using(&all, way);
        let checked = check(&statement, &self.catalog, &Parameters::new()).unwrap();
        let (mut found, _) = self.rows(&checked, &Limits::default());
        let expected = self.world.find(&all).unwrap();
        let in_any_order = |rows: &[Vec<NaiveCell>]| {
            let mut rows: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows
        };
        assert_eq!(in_any_order(&found), in_any_order(&expected), "{statement}\n{plan}");
        if let Some(order) = self.order_of(plan) {
            all.query.order = order;
            assert_eq!(found, self.world.find(&all).unwrap(), "{statement}\n{plan}");
        }
        found.truncate(naive::most(find));
        found
    }

    /// The order of the only index that a plan reads, if that has all objects.
    fn order_of(&self, plan: &Plan) -> Option<Vec<Order>> {
        let plan: serde_json::Value = serde_json::from_str(&plan.json()).unwrap();
        let parts = plan["parts"][0]["parts"].as_array().unwrap();
        let [entries, order] = parts.as_slice() else { return None };
        if entries["what"] != "entries" || order["what"] != "order" {
            return None;
        }
        let indexes = self.catalog.types().iter().flat_map(|entry| entry.indexes());
        let is_read = |id: StorageId| entries["storageId"] == u64::from(id.get());
        let index = indexes.into_iter().find(|index| is_read(index.storage_id)).unwrap();
        let by = |name: &str| Order {
            path: Path { span: Default::default(), parts: vec![Part::Name(Name::of(name))] },
            descending: false,
        };
        Some(index.fields.iter().map(|field| by(&field.name)).collect())
    }

    /// Compares a statement with what its plan says how it can be written, so that indexes serve
    /// it.
    fn other_way(&self, statement: &str, checked: &Checked, plan: &Plan) {
        let said = plan.scanned_without_index().into_iter().flat_map(|said| said.split("; "));
        for other in said.filter_map(|said| said.strip_prefix("with indexes: ")) {
            let find = permazen_query::parse(&format!("find {other}")).expect(other);
            let other_way = check(&find, &self.catalog, &Parameters::new()).expect(other);
            let ids = |checked| {
                let mut ids = matches(&self.tx, checked, &Limits::default()).unwrap();
                ids.sort();
                ids
            };
            assert_eq!(ids(&other_way), ids(checked), "{statement} as {other}");
            self.seen.borrow_mut().insert("other way".to_owned());
        }
    }

    /// Runs a statement in every way and compares. Returns `false` if it has a mistake.
    fn compare(&self, find: &Find) -> bool {
        let statement = using(find, None);
        let checked = match check(&statement, &self.catalog, &Parameters::new()) {
            Ok(checked) => checked,
            Err(_) => return false,
        };
        let expected = match self.world.find(find) {
            Ok(rows) => rows,
            Err(Refused(why)) => panic!("{statement} is accepted, but {why}"),
        };
        let mut ways = vec![None, Some(Using::None(Default::default()))];
        for entry in self.catalog.types() {
            for index in entry.indexes() {
                let mut names = vec![Name::of(&*entry.name)];
                names.extend(index.name.split('.').map(Name::of));
                ways.push(Some(Using::Index(names)));
            }
        }
        for way in ways {
            let statement = using(find, way.clone());
            let checked = match way {
                None => checked.clone(),
                Some(_) => match check(&statement, &self.catalog, &Parameters::new()) {
                    Ok(checked) => checked,
                    // The index serves nothing of the query.
                    Err(_) => continue,
                },
            };
            let plan = match plan(&self.tx, &checked) {
                Ok(plan) => plan,
                // An index that lacks objects cannot give the order.
                Err(QueryError::Mistake(_)) => continue,
                Err(error) => panic!("{statement}: {error}"),
            };
            let (found, done) = self.rows(&checked, &Limits::default());
            let as_found = find.query.order.is_empty() && is_as_found(&plan);
            let expected = match as_found {
                true => self.as_found(find, way.clone(), &plan),
                false => expected.clone(),
            };
            assert!(
                found == expected,
                "{statement}\n{plan}\nfound    {found:?}\nexpected {expected:?}\n{:?}",
                self.world
            );
            costs::check(self, &statement, &plan, done);
            if find.query.limit.is_none() {
                self.other_way(&statement.to_string(), &checked, &plan);
            }
            note(&serde_json::from_str(&plan.json()).unwrap(), &mut self.seen.borrow_mut());
            let (found, _) = self.rows(&checked, &self.small);
            assert!(found == expected, "{statement} with temporary files\n{plan}");
        }
        true
    }
}

/// Whether the objects come as an index has them.
fn is_as_found(plan: &Plan) -> bool {
    let plan: serde_json::Value = serde_json::from_str(&plan.json()).unwrap();
    let parts = plan["parts"][0]["parts"].as_array();
    parts.is_some_and(|parts| parts.iter().any(|part| part["what"] == "order"))
}

/// Notes what the parts of a plan are.
fn note(plan: &serde_json::Value, seen: &mut BTreeSet<String>) {
    let reverse = if plan["reverse"] == true { " reverse" } else { "" };
    seen.insert(format!("{}{reverse}", plan["what"].as_str().unwrap()));
    plan["parts"].as_array().into_iter().flatten().for_each(|part| note(part, seen));
}

fn databases() -> u32 {
    std::env::var("PERMAZEN_QUERIES").map_or(40, |count| count.parse().unwrap())
}

#[test]
fn same_rows_in_the_same_order_in_every_way() {
    let first: u64 = std::env::var("PERMAZEN_QUERY").map_or(0, |seed| seed.parse().unwrap());
    let (mut valid, mut all) = (0, 0);
    let seen = RefCell::default();
    for seed in first..first + u64::from(databases()) {
        let mut random = StdRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        let tx = world.reading();
        let mut small = Limits::default();
        small.sort_memory = 100;
        let run = Run { catalog: Catalog::of(&tx), world: &world, seen: &seen, tx, small };
        for _ in 0..QUERIES {
            all += 1;
            let find = statements::find(&world, &mut random);
            valid += u32::from(run.compare(&find));
        }
    }
    assert!(valid * 2 > all, "only {valid} of {all} statements mean something");
    let seen = seen.into_inner();
    for what in [
        "anyOf",
        "combined",
        "completed",
        "entries",
        "filter",
        "follow",
        "ids",
        "index",
        "limit",
        "note",
        "nothing",
        "object",
        "order",
        "order reverse",
        "other way",
        "path",
        "query",
        "scan",
        "scan reverse",
        "shared",
        "sort",
        "sortIds",
        "sorted",
        "step",
    ] {
        assert!(seen.contains(what), "no plan has {what}: {seen:?}");
    }
}
