//! Which objects a cascade finds.

use std::collections::{BTreeMap, BTreeSet};

use permazen::{Obj, ObjId, Ref, Tx};
use proptest::prelude::*;

use super::{Follower, Node, node, open};

/// The names of nodes, in order.
fn names(tx: &Tx, ids: &[ObjId]) -> permazen::Result<String> {
    let mut names = ids
        .iter()
        .map(|id| tx.get::<Node>(Ref::new(*id))?.name())
        .collect::<permazen::Result<Vec<_>>>()?;
    names.sort();
    Ok(names.concat())
}

#[test]
fn cascades_of_a_tree_are_those_of_the_specification() {
    open()
        .write(|tx| {
            let a = tx.create(node("A", None))?;
            let b = tx.create(node("B", Some(a.to_ref())))?;
            let c = tx.create(node("C", Some(a.to_ref())))?;
            let d = tx.create(node("D", Some(c.to_ref())))?;
            // Another type with the same field, through which no cascade leads.
            tx.create(Follower { parent: Some(c.to_ref()), ..Follower::default() })?;
            let found = |of: Obj<'_, Node>, name: &str| names(tx, &of.cascade(name).ids()?);
            assert_eq!(found(c, "ancestors")?, "AC");
            assert_eq!(found(c, "descendants")?, "CD");
            assert_eq!(found(c, "tree")?, "ABCD");
            assert_eq!(found(c, "unknown")?, "C");
            assert_eq!(names(tx, &a.cascade("tree").limit(1).ids()?)?, "ABC");
            assert_eq!(names(tx, &a.cascade("tree").limit(0).ids()?)?, "A");
            // Two cascades together.
            assert_eq!(names(tx, &b.cascade("ancestors").and("descendants").ids()?)?, "ABCD");
            assert_eq!(d.cascade("ancestors").ids()?, [d.id(), c.id(), a.id()]);
            assert_eq!(d.any().cascade("ancestors").ids()?.len(), 3);
            // Back through the keys of a map of another type.
            let follower = tx.create(Follower::default())?;
            follower.notes()?.insert(b.to_ref(), "leaf")?;
            assert!(b.cascade("tree").limit(1).ids()?.contains(&follower.id()));
            Ok(())
        })
        .unwrap();
}

#[test]
fn only_objects_before_the_limit_must_exist() {
    open()
        .write(|tx| {
            let gone = tx.create(node("gone", None))?;
            let here = tx.create(Node { hop: Some(gone.to_ref()), ..node("here", None) })?;
            gone.delete()?;
            assert_eq!(here.cascade("hops").limit(1).ids()?, [here.id(), gone.id()]);
            let error = here.cascade("hops").ids().unwrap_err().to_string();
            assert!(error.contains(&gone.id().to_string()), "{error}");
            Ok(())
        })
        .unwrap();
}

/// Each node's parent and links, by number.
type Graph = Vec<(Option<usize>, Vec<usize>)>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cascade_finds_what_a_naive_walk_finds(
        graph in proptest::collection::vec(
            (proptest::option::of(0..7_usize), proptest::collection::vec(0..7_usize, 0..3)), 7),
        start in 0..7_usize,
        limit in 0..4_usize,
        chosen in 1..8_u8,
    ) {
        let graph: Graph = graph;
        open().write(|tx| {
            let nodes: Vec<_> = (0..7).map(|_| tx.create(node("", None))).collect::<Result<_, _>>()?;
            let at: BTreeMap<ObjId, usize> = nodes.iter().enumerate().map(|(at, it)| (it.id(), at)).collect();
            for (object, (parent, links)) in nodes.iter().zip(&graph) {
                object.set_parent(parent.map(|at| nodes[at].to_ref()))?;
                for link in links {
                    object.links()?.push(nodes[*link].to_ref())?;
                }
            }
            let all = ["ancestors", "descendants", "links"];
            let names: Vec<_> = (0..3).filter(|bit| chosen & (1 << bit) != 0).map(|bit| all[bit]).collect();
            let mut naive = BTreeSet::from([start]);
            let mut last = naive.clone();
            for _ in 0..limit {
                let mut next = BTreeSet::new();
                for from in &last {
                    for name in &names {
                        match *name {
                            "ancestors" => next.extend(graph[*from].0),
                            "links" => next.extend(graph[*from].1.iter().copied()),
                            _ => next.extend((0..7).filter(|other| graph[*other].0 == Some(*from))),
                        }
                    }
                }
                naive.extend(next.iter().copied());
                last = next;
            }
            let mut cascade = nodes[start].cascade(names[0]);
            for name in &names[1..] {
                cascade = cascade.and(*name);
            }
            let found: Vec<_> = cascade.limit(limit).ids()?.iter().map(|id| at[id]).collect();
            assert_eq!(found.len(), naive.len(), "each once");
            assert_eq!(BTreeSet::from_iter(found), naive);
            Ok(())
        }).unwrap();
    }
}
