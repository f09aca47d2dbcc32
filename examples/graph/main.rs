//! A few objects that refer to each other, as JSON and back: exported from one database, and
//! imported into another, where they get new IDs.
//!
//! Try it with `cargo run -p permazen-examples --bin graph`.
#![allow(unreachable_pub, reason = "a test runs it too")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::{ObjId, Permazen, PermazenEnum, PermazenObject, Ref, Tx};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Easy,
    Hard,
}

/// A step of a recipe. The cascade `recipe` leads from a recipe to all that belongs to it.
#[derive(PermazenObject, Debug, Default, PartialEq)]
struct Step {
    text: String,
    minutes: f64,
    #[permazen(cascade(forward = ["recipe"]))]
    next: Option<Ref<Step>>,
    #[permazen(key(cascade(forward = ["recipe"])))]
    needs: BTreeMap<Ref<Ingredient>, i64>,
}

#[derive(PermazenObject, Debug, Default, PartialEq)]
struct Ingredient {
    #[permazen(indexed)]
    name: String,
}

#[derive(PermazenObject, Debug, Default, PartialEq)]
struct Recipe {
    #[permazen(indexed)]
    title: String,
    level: Option<Level>,
    tags: BTreeSet<String>,
    #[permazen(cascade(forward = ["recipe"]))]
    first: Option<Ref<Step>>,
    /// The recipes refer to each other in a circle.
    #[permazen(cascade(forward = ["recipe"]))]
    goes_with: Option<Ref<Recipe>>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    run(&mut io::stdout().lock())
}

/// Runs the program.
pub fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let kitchen = open()?;
    let pancakes = kitchen.write(fill)?;

    // Everything that belongs to a recipe.
    let graph = kitchen.read(|tx| {
        let recipe = tx.get(pancakes)?;
        tx.export_graph(recipe.cascade("recipe").ids()?)
    })?;
    let json = serde_json::to_string_pretty(&graph)?;
    writeln!(out, "{json}")?;

    // Into another database. The objects get new IDs there, and refer to each other as before.
    let other = open()?;
    let graph: Graph = serde_json::from_str(&json)?;
    let ids = other.write(|tx| tx.import_graph(&graph, Import::new().new_ids()))?;
    writeln!(out, "imported {} objects", ids.len())?;
    other.read(|tx| {
        let recipe = tx.find(Recipe::TITLE, "pancakes")?.ok_or("no pancakes");
        let recipe = recipe.map_err(permazen::Error::other)?;
        let again = tx.export_graph(recipe.cascade("recipe").ids()?)?;
        let is_same = with_ids(&graph, &ids) == sorted(again);
        let flour = tx.find(Ingredient::NAME, "flour")?;
        let flour = flour.map(|it| it.referrers(Step::NEEDS.key())).transpose()?;
        let steps = flour.map(|steps| steps.count()).transpose()?.unwrap_or(0);
        let written = writeln!(out, "the same objects: {is_same}; steps with flour: {steps}");
        written.map_err(permazen::Error::other)
    })?;

    // A second time with the same IDs: only on request, because the objects exist.
    let refused = kitchen.write(|tx| tx.import_graph(&graph, Import::new()));
    if let Err(refused) = refused {
        writeln!(out, "refused: {refused}")?;
    }
    kitchen.write(|tx| tx.import_graph(&graph, Import::new().replacing()))?;
    let count = kitchen.read(|tx| tx.everything()?.count())?;
    writeln!(out, "replaced; there are {count} objects")?;
    Ok(())
}

fn open() -> permazen::Result<Permazen> {
    Permazen::builder(MemoryStore::new())
        .model::<Recipe>()
        .model::<Step>()
        .model::<Ingredient>()
        .build()
}

fn fill(tx: &Tx) -> permazen::Result<Ref<Recipe>> {
    let flour = tx.create(Ingredient { name: "flour".into() })?;
    let fry = tx.create(Step {
        text: "fry until \"golden\"".into(),
        minutes: 12.0,
        next: None,
        needs: BTreeMap::new(),
    })?;
    let mix = tx.create(Step {
        text: "mix".into(),
        minutes: 2.5,
        next: Some(fry.to_ref()),
        needs: [(flour.to_ref(), 250)].into(),
    })?;
    let pancakes = tx.create(Recipe {
        title: "pancakes".into(),
        level: Some(Level::Easy),
        tags: ["quick".into(), "sweet".into()].into(),
        first: Some(mix.to_ref()),
        goes_with: None,
    })?;
    let compote = tx.create(Recipe {
        title: "compote".into(),
        level: Some(Level::Hard),
        tags: BTreeSet::new(),
        first: None,
        goes_with: Some(pancakes.to_ref()),
    })?;
    pancakes.set_goes_with(compote)?;
    Ok(pancakes.to_ref())
}

/// A graph after each ID was exchanged, in the text where it occurs.
fn with_ids(graph: &Graph, ids: &BTreeMap<ObjId, ObjId>) -> Option<Graph> {
    let mut json = serde_json::to_string(graph).ok()?;
    for (old, new) in ids {
        json = json.replace(&old.to_string(), &new.to_string());
    }
    serde_json::from_str(&json).ok().and_then(sorted)
}

/// A graph with its objects by ID.
fn sorted(mut graph: Graph) -> Option<Graph> {
    graph.objects.sort_by_key(|object| object.id);
    Some(graph)
}
