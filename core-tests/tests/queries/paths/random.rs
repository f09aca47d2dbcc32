//! Paths on random graphs, compared with walking plain copies of the objects.

use std::collections::{BTreeMap, BTreeSet};

use permazen::model::Path;
use permazen::{ObjId, Ref, Tx};
use proptest::prelude::*;

use super::{Elephant, Giraffe, animals};

/// The friend of a giraffe, the entries of its map, and its queue.
type Neighbours = (Option<usize>, Vec<(usize, usize)>, Vec<Option<usize>>);

/// A graph of elephants and giraffes by their numbers.
#[derive(Debug, Clone)]
struct Graph {
    /// Of each elephant: parent and enemies. Odd enemies are giraffes.
    elephants: Vec<(Option<usize>, Vec<usize>)>,
    giraffes: Vec<Neighbours>,
}

fn graph() -> impl Strategy<Value = Graph> {
    let n = 0..6_usize;
    let elephant = (proptest::option::of(n.clone()), proptest::collection::vec(0..12_usize, 0..4));
    let giraffe = (
        proptest::option::of(n.clone()),
        proptest::collection::vec((n.clone(), n.clone()), 0..4),
        proptest::collection::vec(proptest::option::of(n), 0..4),
    );
    let elephants = proptest::collection::vec(elephant, 6);
    let giraffes = proptest::collection::vec(giraffe, 6);
    (elephants, giraffes).prop_map(|(elephants, giraffes)| Graph { elephants, giraffes })
}

/// The references of one field, as pairs of IDs.
type Edges = BTreeSet<(ObjId, ObjId)>;

/// Stores a graph. Returns the references of each field.
fn store(tx: &Tx, graph: &Graph) -> permazen::Result<BTreeMap<&'static str, Edges>> {
    let elephants = (0..6).map(|_| tx.create(Elephant::default()));
    let elephants: Vec<_> = elephants.collect::<Result<_, _>>()?;
    let giraffes = (0..6).map(|_| tx.create(Giraffe::default()));
    let giraffes: Vec<_> = giraffes.collect::<Result<_, _>>()?;
    let mut edges: BTreeMap<&'static str, Edges> = BTreeMap::new();
    let mut note = |field, from, to| {
        edges.entry(field).or_default().insert((from, to));
    };
    for (object, (parent, enemies)) in elephants.iter().zip(&graph.elephants) {
        if let Some(parent) = parent {
            object.set_parent(elephants[*parent])?;
            note("parent", object.id(), elephants[*parent].id());
        }
        for enemy in enemies {
            let enemy = match enemy % 2 {
                0 => elephants[enemy / 2].id(),
                _ => giraffes[enemy / 2].id(),
            };
            object.enemies()?.add(Ref::new(enemy))?;
            note("enemies", object.id(), enemy);
        }
    }
    for (object, (friend, map, queue)) in giraffes.iter().zip(&graph.giraffes) {
        if let Some(friend) = friend {
            object.set_friend(giraffes[*friend])?;
            note("friend", object.id(), giraffes[*friend].id());
        }
        let map: BTreeMap<_, _> = map.iter().copied().collect();
        for (key, value) in map {
            object.m()?.insert(elephants[key].to_ref(), giraffes[value].to_ref())?;
            note("key", object.id(), elephants[key].id());
            note("value", object.id(), giraffes[value].id());
        }
        for element in queue {
            object.queue()?.push(element.map(|at| elephants[at].to_ref()))?;
            if let Some(at) = element {
                note("queue", object.id(), elephants[*at].id());
            }
        }
    }
    Ok(edges)
}

/// Where a list of steps leads: `>field` forwards, `<field` backwards.
fn walk(
    edges: &BTreeMap<&str, Edges>,
    starts: &BTreeSet<ObjId>,
    steps: &[&str],
) -> BTreeSet<ObjId> {
    let none = Edges::new();
    let mut reached = starts.clone();
    for step in steps {
        let (back, field) = (step.starts_with('<'), &step[1..]);
        let edges = edges.get(field).unwrap_or(&none);
        let pairs = edges.iter().map(|(from, to)| if back { (to, from) } else { (from, to) });
        reached = pairs.filter(|(from, _)| reached.contains(from)).map(|(_, to)| *to).collect();
    }
    reached
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_finds_what_walking_the_graph_finds(graph in graph(), chosen in 0..64_u32) {
        animals().write(|tx| {
            let edges = store(tx, &graph)?;
            let elephants: Vec<_> = tx.all::<Elephant>()?.to_vec()?;
            let giraffes: Vec<_> = tx.all::<Giraffe>()?.to_vec()?;
            let some = |at: &usize| chosen & (1 << at) != 0;
            let from_e: Vec<_> = (0..6).filter(some).map(|at| elephants[at]).collect();
            let from_g: Vec<_> = (0..6).filter(some).map(|at| giraffes[at]).collect();
            macro_rules! same {
                ($starts:ident of $all:ident, $path:expr, $steps:expr) => {{
                    let path = $path;
                    let starts: BTreeSet<_> = $starts.iter().map(|start| start.id()).collect();
                    let found: Vec<_> =
                        path.follow(tx, $starts.iter().copied())?.ids().iter().collect::<Result<_, _>>()?;
                    let naive: Vec<_> = walk(&edges, &starts, &$steps).into_iter().collect();
                    assert_eq!(found, naive, "{:?}", $steps);
                    // From each end, the way back leads to the beginnings.
                    let turned = |step: &&str| match step.strip_prefix('>') {
                        Some(field) => format!("<{field}"),
                        None => step.replace('<', ">"),
                    };
                    let back: Vec<String> = $steps.iter().rev().map(turned).collect();
                    let back: Vec<&str> = back.iter().map(String::as_str).collect();
                    let inverted: Vec<_> = path
                        .invert(tx, found.iter().map(|id| Ref::new(*id)))?
                        .ids()
                        .iter()
                        .collect::<Result<_, _>>()?;
                    let naive = walk(&edges, &found.into_iter().collect(), &back);
                    // Only objects of the type with which the path begins.
                    let begins = |id: &ObjId| $all.iter().any(|object| object.id() == *id);
                    let naive: Vec<_> = naive.into_iter().filter(begins).collect();
                    assert_eq!(inverted, naive, "back {:?}", $steps);
                }};
            }
            let e = Path::of::<Elephant>();
            let g = Path::of::<Giraffe>();
            same!(from_e of elephants, e.to(Elephant::PARENT), [">parent"]);
            same!(from_e of elephants, e.from(Elephant::PARENT), ["<parent"]);
            same!(from_e of elephants, e.to(Elephant::PARENT).from(Elephant::PARENT), [">parent", "<parent"]);
            same!(from_e of elephants, e.from(Elephant::ENEMIES), ["<enemies"]);
            same!(from_e of elephants, e.from(Giraffe::M.key()).to(Giraffe::M.value()), ["<key", ">value"]);
            same!(from_e of elephants, e.from(Giraffe::QUEUE).to(Giraffe::QUEUE), ["<queue", ">queue"]);
            same!(from_g of giraffes, g.to(Giraffe::FRIEND).to(Giraffe::FRIEND), [">friend", ">friend"]);
            same!(from_g of giraffes, g.from(Giraffe::M.value()).to(Giraffe::QUEUE), ["<value", ">queue"]);
            same!(from_g of giraffes, g.to(Giraffe::QUEUE).from(Elephant::PARENT), [">queue", "<parent"]);
            // Through enemies of any type, only those of the type of the next step.
            let found = e.to(Elephant::ENEMIES).to(Giraffe::FRIEND).follow(tx, from_e.iter().copied())?;
            let starts = from_e.iter().map(|start| start.id()).collect();
            let enemies = walk(&edges, &starts, &[">enemies"]);
            let giraffes: BTreeSet<_> = giraffes.iter().map(|it| it.id()).collect();
            let naive = walk(&edges, &(&enemies & &giraffes), &[">friend"]);
            assert_eq!(found.ids().iter().collect::<Result<BTreeSet<_>, _>>()?, naive);
            Ok(())
        }).unwrap();
    }
}
