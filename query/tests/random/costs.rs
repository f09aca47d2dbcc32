//! Whether a statement has cost what its plan says.

use permazen::StorageId;
use permazen::kv::counting::Operations;
use permazen_query::syntax::{ObjectsKind, Statement, StatementKind};
use permazen_query::{Limits, Parameters, Plan, check as checked, parse, run as run_statement};
use serde_json::Value;

use crate::world::{Data, World};
use crate::{Collected, Run};

/// The most that a statement may cost.
#[derive(Debug, Default)]
struct Most {
    gets: u64,
    seeks: u64,
    steps: u64,
    /// How many objects are read.
    objects: u64,
}

fn parts(node: &Value) -> &[Value] {
    node["parts"].as_array().map_or(&[], Vec::as_slice)
}

fn number(node: &Value, name: &str) -> u64 {
    node[name].as_u64().unwrap_or_default()
}

fn is(node: &Value, what: &str) -> bool {
    node["what"] == what
}

/// Compares the operations that were counted with the plan, if it is the plan of a query on one
/// type without references that are followed.
pub(crate) fn check(run: &Run<'_>, statement: &Statement, plan: &Plan, done: Operations) {
    assert_eq!(done.writes(), 0, "{statement}");
    let json: Value = serde_json::from_str(&plan.json()).unwrap();
    let Some(of) = only_type(run.world, statement) else { return };
    let follows = parts(&json).iter().any(|part| is(part, "follow"));
    // To plan it, one seek for each version.
    let mut most = Most { seeks: run.world.versions.len() as u64, ..Most::default() };
    let source = &parts(&json)[0];
    match source["what"].as_str().unwrap() {
        "nothing" => {}
        "ids" => {
            most.objects = number(source, "ids");
            most.gets = most.objects;
        }
        "scan" => {
            most.objects =
                run.world.objects.values().filter(|object| object.of == of).count() as u64;
            if source["pairs"] == Value::Bool(true) {
                let pairs = pairs(run.world, of, u64::MAX);
                most.steps += pairs;
                most.seeks += 1 + pairs / 16;
            } else {
                most.steps += most.objects;
                most.seeks += run.world.versions.len() as u64;
            }
        }
        "index" => index(run, of, source, &mut most),
        "anyOf" => parts(source).iter().for_each(|part| index(run, of, part, &mut most)),
        other => panic!("a query on one type reads {other}"),
    }
    if follows {
        return;
    }
    for part in parts(&json) {
        if is(part, "object") || is(part, "sorted") {
            let (gets, seeks) = (number(part, "gets"), number(part, "seeks"));
            most.gets += most.objects * gets;
            most.seeks += most.objects * (gets + seeks);
            if part["steps"] == Value::Bool(true) {
                let pairs = pairs(run.world, of, most.objects);
                most.steps += pairs;
                most.seeks += pairs / 16;
            }
        }
    }
    let within = done.gets <= most.gets && done.seeks <= most.seeks && done.steps <= most.steps;
    assert!(within, "{statement}\n{plan}\n{most:?}\n{done:?}");
}

/// The type of which a query is, if it is on one.
fn only_type(world: &World, statement: &Statement) -> Option<usize> {
    let StatementKind::Find(find) = &statement.kind else { return None };
    let mut objects = &find.query.objects;
    while let ObjectsKind::Where(from, _) = &objects.kind {
        objects = from;
    }
    let ObjectsKind::Type(name) = &objects.kind else { return None };
    world.names.iter().position(|known| Some(known) == name.text.as_ref())
}

fn index(run: &Run<'_>, of: usize, node: &Value, most: &mut Most) {
    for part in parts(node) {
        if is(part, "entries") {
            most.seeks += number(part, "seeks");
            let entries = entries(run, part);
            most.steps += entries;
            most.objects += entries;
        }
        if is(part, "completed") {
            let schemas: Vec<u32> = part["schemas"]
                .as_array()
                .unwrap()
                .iter()
                .map(|schema| schema.as_str().unwrap().parse().unwrap())
                .collect();
            let is_there = |version: usize| schemas.contains(&run.world.schemas[version]);
            let of_type = run.world.objects.values().filter(|object| object.of == of);
            let count = of_type.filter(|object| is_there(object.version)).count() as u64;
            let pairs = pairs(run.world, of, u64::MAX);
            most.objects += count;
            most.gets += 2 * count;
            most.steps += count + pairs;
            most.seeks += schemas.len() as u64 + 2 * count + pairs / 16;
        }
    }
}

/// How many entries there are within the bounds that a plan tells.
fn entries(run: &Run<'_>, part: &Value) -> u64 {
    let id = StorageId::new(number(part, "storageId") as u32).unwrap();
    let bounds: Vec<_> =
        part["bounds"].as_array().unwrap().iter().map(|bound| bound.as_str().unwrap()).collect();
    let text = format!("index #{id} ({})", bounds.join(", "));
    let statement = parse(&text)
        .ok()
        .and_then(|statement| checked(&statement, &run.catalog, &Parameters::new()).ok());
    let all = parse(&format!("index #{id}")).unwrap();
    let statement =
        statement.unwrap_or_else(|| checked(&all, &run.catalog, &Parameters::new()).unwrap());
    let mut rows = Collected::default();
    run_statement(&run.tx, &statement, &Limits::default(), &mut rows).unwrap();
    rows.0.len() as u64
}

/// How many pairs this many objects of a type have at most.
fn pairs(world: &World, of: usize, objects: u64) -> u64 {
    let count = |data: &Data| match data {
        Data::Simple(_) | Data::Counter(_) => 1,
        Data::Set(values) | Data::List(values) => values.len(),
        Data::Map(pairs) => pairs.len(),
    };
    let of_type = world.objects.values().filter(|object| object.of == of);
    let mut counts: Vec<usize> =
        of_type.map(|object| 1 + object.fields.values().map(count).sum::<usize>()).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    // The pair after an object can be read too.
    let taken = usize::try_from(objects).unwrap_or(usize::MAX);
    counts.into_iter().take(taken).map(|count| count as u64 + 1).sum()
}
