//! Beginnings of strings, pages and sets, where an index is completed or not.

use std::fmt::Debug;

use permazen::ObjId;
use permazen::model::{Objs, Page, PageToken};

use super::random::{State, Task};
use super::*;

/// All entries, page by page.
fn paged<E>(read: impl Fn(Option<&PageToken>) -> Result<Page<E>>) -> Vec<E> {
    let (mut entries, mut token) = (Vec::new(), None);
    loop {
        let page = read(token.as_ref()).unwrap();
        entries.extend(page.entries);
        match page.next {
            None => return entries,
            next => {
                assert_ne!(next, token, "a page ends where it began");
                token = next;
            }
        }
    }
}

fn same<R: Ord + Debug>(forward: Vec<R>, backward: Vec<R>, expected: impl Iterator<Item = R>) {
    let mut expected: Vec<R> = expected.collect();
    expected.sort();
    assert_eq!(forward, expected);
    expected.reverse();
    assert_eq!(backward, expected);
}

fn ids(set: &Objs<'_, Task>) -> BTreeSet<ObjId> {
    let found = set.ids().to_vec().unwrap();
    let ids: BTreeSet<ObjId> = found.iter().copied().collect();
    assert_eq!(ids.len(), found.len());
    assert!(set.iter().rev().map(|task| task.unwrap().id()).eq(ids.iter().rev().copied()));
    ids
}

/// Compares with the objects as they would be after moving.
pub(super) fn compare(tx: &Tx, all: &[(ObjId, Task)]) {
    let titles = tx.index(Task::TITLE.complete_by_scan()).unwrap();
    let tags = tx.index(Task::TAGS.complete_by_scan()).unwrap();
    let steps = tx.index(Task::STEPS.complete_by_scan()).unwrap();
    let states = tx.index(Task::STATE).unwrap();
    let by_title = tx.index(Task::BY_RANK.complete_by_scan()).unwrap();

    for text in ["", "a", "ab", "c"] {
        let view = titles.starts_with(text).unwrap();
        let row = |(title, task): (String, permazen::Obj<'_, Task>)| (title, task.id());
        let begins = || all.iter().filter(|(_, task)| task.title.starts_with(text));
        same(
            paged(|token| Ok(view.page(2, token)?.map(row))),
            paged(|token| Ok(view.page_back(3, token)?.map(row))),
            begins().map(|(id, task)| (task.title.clone(), *id)),
        );
        let view = by_title.starts_with(text).unwrap();
        let row = |(values, task): ((String, i32), permazen::Obj<'_, Task>)| (values, task.id());
        same(
            paged(|token| Ok(view.page(1, token)?.map(row))),
            view.iter().rev().map(|found| found.map(row)).collect::<Result<_>>().unwrap(),
            begins().map(|(id, task)| ((task.title.clone(), task.rank), *id)),
        );
        let found = tx.find(Task::TITLE.complete_by_scan(), text).unwrap().map(|task| task.id());
        let titled = all.iter().filter(|(_, task)| task.title == text).map(|(id, _)| *id);
        assert_eq!(found, titled.min());
        for rank in -2..3 {
            let found = tx.find_ref(Task::BY_RANK.complete_by_scan(), (text, rank)).unwrap();
            let ranked =
                all.iter().filter(|(_, task)| (&task.title[..], task.rank) == (text, rank));
            assert_eq!(found.map(Ref::id), ranked.map(|(id, _)| *id).min());
        }
    }

    // Entries of several indexes are merged.
    let place = |state: Option<State>| (state.is_none(), state);
    let row = |(state, task): (Option<State>, permazen::Obj<'_, Task>)| (place(state), task.id());
    same(
        paged(|token| Ok(states.page(2, token)?.map(row))),
        paged(|token| Ok(states.page_back(1, token)?.map(row))),
        all.iter().map(|(id, task)| (place(task.state), *id)),
    );

    // The indexed objects, without the others.
    let own = tx.schema().id;
    let here: Vec<_> =
        all.iter().filter(|(id, _)| tx.any(*id).schema_id().unwrap() == own).collect();
    let ranks = tx.index(Task::RANK.allow_partial()).unwrap();
    let row = |(rank, task): (i32, permazen::Obj<'_, Task>)| (rank, task.id());
    same(
        paged(|token| Ok(ranks.page(2, token)?.map(row))),
        paged(|token| Ok(ranks.page_back(2, token)?.map(row))),
        here.iter().map(|(id, task)| (task.rank, *id)),
    );
    for rank in -2..3 {
        let found = tx.find(Task::RANK.allow_partial(), rank).unwrap().map(|task| task.id());
        let ranked = here.iter().filter(|(_, task)| task.rank == rank).map(|(id, _)| *id);
        assert_eq!(found, ranked.min());
    }

    // Sets of several indexes.
    let wanted = |wants: &dyn Fn(&Task) -> bool| -> BTreeSet<ObjId> {
        all.iter().filter(|(_, task)| wants(task)).map(|(id, _)| *id).collect()
    };
    for (one, other) in [("", "a"), ("a", "b"), ("ab", "")] {
        let titled = titles.get(one).unwrap();
        let tagged = tags.get(other).unwrap();
        let stepped = steps.get(other).unwrap();
        let open = states.get(State::Open).unwrap();
        let unset = states.get(None).unwrap();
        assert_eq!(
            ids(&titled.union(&tagged)),
            wanted(&|task| task.title == one || task.tags.contains(other))
        );
        assert_eq!(
            ids(&titled.union(&tagged).intersection(open.union(&unset))),
            wanted(&|task| {
                (task.title == one || task.tags.contains(other))
                    && matches!(task.state, None | Some(State::Open))
            })
        );
        assert_eq!(
            ids(&tx.all::<Task>().unwrap().difference(&stepped).difference(&open)),
            wanted(&|task| {
                !task.steps.iter().any(|step| step == other) && task.state != Some(State::Open)
            })
        );
        let both = titled.union(&stepped);
        let pages = paged(|token| Ok(both.page(2, token)?.map(|task| task.id())));
        assert!(pages.iter().eq(&ids(&both)));
    }
}
