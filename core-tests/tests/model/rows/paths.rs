//! Section 11: reference paths.

use std::collections::BTreeSet;

use permazen::model::{Many, One, Path};
use permazen::{Any, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default)]
#[permazen(inverse(followers = Self::NEXT))]
struct Node {
    next: Option<Ref<Node>>,
    links: BTreeSet<Ref<Node>>,
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    lost: Option<Ref<Node>>,
    anything: Option<Ref<Any>>,
}

#[derive(PermazenObject, Default)]
struct Other {
    next: Option<Ref<Node>>,
    n: i32,
}

fn nodes() -> Permazen {
    open2::<Node, Other>(&store())
}

fn linked(links: &[Ref<Node>]) -> Node {
    Node { links: links.iter().copied().collect(), ..Node::default() }
}

#[test]
fn m11_2_05_a_path_is_singular_if_it_only_goes_forward_through_single_references() {
    nodes()
        .write(|tx| {
            let end = tx.create_default::<Node>()?;
            let start = tx.create(Node { next: Some(end.to_ref()), ..Node::default() })?;
            let empty: Path<Node, Node, One> = Path::of::<Node>();
            assert_eq!(start.follow(&empty)?, Some(start));
            let next: Path<Node, Node, One> = empty.to(Node::NEXT);
            assert_eq!(start.follow(&next)?, Some(end));
            assert_eq!(end.follow(&next)?, None);
            let back: Path<Node, Node, Many> = empty.from(Node::NEXT);
            assert_eq!(end.follow(&back)?.to_vec()?, [start]);
            let links: Path<Node, Node, Many> = empty.to(Node::LINKS);
            assert!(start.follow(&links)?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m11_4_01_and_02_starts_of_other_types_are_dropped_and_results_are_sorted_and_each_once() {
    nodes()
        .write(|tx| {
            let (a, b) = (tx.create_default::<Node>()?, tx.create_default::<Node>()?);
            let both = [a.to_ref(), b.to_ref()];
            let one = tx.create(linked(&both))?;
            let two = tx.create(linked(&both))?;
            let path = Path::of::<Node>().to(Node::LINKS);
            let found = path.follow(tx, [two, one])?.to_vec()?;
            let mut expected = vec![a, b];
            expected.sort();
            assert_eq!(found, expected);
            // An object of another type with an equal field is no start of a step from a node.
            let other = tx.create(Other { next: Some(a.to_ref()), n: 1 })?;
            let start = tx.create(Node { next: Some(b.to_ref()), ..Node::default() })?;
            let any = Path::of::<Any>().to(Node::NEXT);
            let starts = [other.to_ref().any(), start.to_ref().any()];
            assert_eq!(any.follow(tx, starts)?.to_vec()?, [b]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m11_4_03_an_inverted_path_leads_back() {
    nodes()
        .write(|tx| {
            let end = tx.create_default::<Node>()?;
            let middle = tx.create(Node { next: Some(end.to_ref()), ..Node::default() })?;
            let start = tx.create(linked(&[middle.to_ref()]))?;
            let path = Path::of::<Node>().to(Node::LINKS).to(Node::NEXT);
            assert_eq!(start.follow(&path)?.to_vec()?, [end]);
            assert_eq!(path.invert(tx, [end])?.to_vec()?, [start]);
            assert_eq!(path.inverted().follow(tx, [end])?.to_vec()?, [start]);
            assert!(path.invert(tx, [start])?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m11_4_04_a_step_from_an_object_that_does_not_exist() {
    nodes()
        .write(|tx| {
            let gone = tx.create_default::<Node>()?;
            let holder = tx.create(Node { lost: Some(gone.to_ref()), ..Node::default() })?;
            gone.delete()?;
            let lost = Path::of::<Node>().to(Node::LOST);
            assert_deleted(holder.follow(&lost.to(Node::NEXT)), gone.id());
            // Collections of such an object are empty.
            assert!(holder.follow(&lost.to(Node::LINKS))?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m11_4_07_a_step_back_reads_no_object() {
    nodes()
        .write(|tx| {
            let gone = tx.create_default::<Node>()?;
            let holder = tx.create(Node { lost: Some(gone.to_ref()), ..Node::default() })?;
            gone.delete()?;
            let back = Path::of::<Node>().from(Node::LOST);
            assert_eq!(gone.follow(&back)?.to_vec()?, [holder]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m11_5_01_methods_for_the_way_back() {
    nodes()
        .write(|tx| {
            let end = tx.create_default::<Node>()?;
            let next = || Some(end.to_ref());
            let start = tx.create(Node { next: next(), ..Node::default() })?;
            // An object of another type with such a field does not follow it.
            tx.create(Other { next: next(), n: 1 })?;
            assert_eq!(end.followers()?.to_vec()?, [start]);
            Ok(())
        })
        .unwrap();
}
