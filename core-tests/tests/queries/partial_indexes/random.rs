//! Random objects of three versions of a program, compared with what is found by loading all.

use permazen::encoding::FieldType;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::{ByValue, EncodeAs, Index};
use proptest::prelude::*;

use super::*;

/// The next version: another index is new, and one more constant.
mod later {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(in super::super) enum State {
        Open,
        Done,
        Dropped,
        Late,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    #[permazen(composite(name = "stateRank", fields(state, rank)))]
    #[permazen(composite(name = "byRank", fields(title, rank)))]
    pub(in super::super) struct Task {
        #[permazen(indexed)]
        pub(in super::super) title: String,
        #[permazen(indexed)]
        pub(in super::super) state: Option<State>,
        #[permazen(indexed)]
        pub(in super::super) rank: i32,
        pub(in super::super) parent: Option<Ref<Task>>,
        #[permazen(element(indexed))]
        pub(in super::super) tags: BTreeSet<String>,
        #[permazen(element(indexed))]
        pub(in super::super) steps: Vec<String>,
        #[permazen(key(indexed), value(indexed))]
        pub(in super::super) marks: BTreeMap<String, i32>,
        #[permazen(value(indexed))]
        pub(in super::super) hours: BTreeMap<i32, i32>,
        #[permazen(element(indexed))]
        pub(in super::super) past: BTreeSet<State>,
    }
}

pub(super) use later::{State, Task};

/// An object as it is created, by which version, and whether it then moves.
#[derive(Debug, Clone)]
struct Plan {
    version: u8,
    moves: bool,
    title: String,
    state: Option<u8>,
    rank: i32,
    tags: BTreeSet<String>,
    steps: Vec<String>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let text = || "[a-c]{0,2}";
    let tags = prop::collection::btree_set(text(), 0..3);
    let steps = prop::collection::vec(text(), 0..3);
    (0..3_u8, any::<bool>(), text(), prop::option::of(0..4_u8), -2..3, tags, steps).prop_map(
        |(version, moves, title, state, rank, tags, steps)| Plan {
            version,
            moves,
            title,
            state,
            rank,
            tags,
            steps,
        },
    )
}

fn create(store: &Arc<dyn KvDatabase>, plans: &[Plan]) {
    let db = before(store);
    db.write(|tx| {
        for plan in plans.iter().filter(|plan| plan.version == 0) {
            let state = [before::State::Open, before::State::Done];
            tx.create(before::Task {
                title: plan.title.clone(),
                state: plan.state.map(|at| state[usize::from(at) % 2]),
                rank: plan.rank,
                tags: plan.tags.clone(),
                steps: plan.steps.clone(),
                ..Default::default()
            })?;
        }
        Ok(())
    })
    .unwrap();
    let db = now(store);
    db.write(|tx| {
        for plan in plans.iter().filter(|plan| plan.version == 1) {
            let state = [now::State::Open, now::State::Done, now::State::Dropped];
            tx.create(now::Task {
                title: plan.title.clone(),
                state: plan.state.map(|at| state[usize::from(at) % 3]),
                rank: plan.rank,
                tags: plan.tags.clone(),
                steps: plan.steps.clone(),
                ..Default::default()
            })?;
        }
        Ok(())
    })
    .unwrap();
    let db = open::<Task>(store);
    db.write(|tx| {
        for plan in plans.iter().filter(|plan| plan.version == 2) {
            let state = [State::Open, State::Done, State::Dropped, State::Late];
            tx.create(Task {
                title: plan.title.clone(),
                state: plan.state.map(|at| state[usize::from(at)]),
                rank: plan.rank,
                tags: plan.tags.clone(),
                steps: plan.steps.clone(),
                ..Default::default()
            })?;
        }
        Ok(())
    })
    .unwrap();
}

/// An index has these entries: as a whole, backward, in part and for one value.
fn same<V>(index: &Index<'_, Task, ByValue<V>>, mut expected: Vec<(V, permazen::ObjId)>, bound: V)
where
    V: Ord + Clone + std::fmt::Debug + FieldType + EncodeAs<V>,
{
    expected.sort();
    let rows = |index: &Index<'_, Task, ByValue<V>>| {
        let rows: Result<Vec<_>> =
            index.iter().map(|row| row.map(|row| (row.0, row.1.id()))).collect();
        rows.unwrap()
    };
    assert_eq!(rows(index), expected);
    let backward: Result<Vec<_>> =
        index.iter().rev().map(|row| row.map(|row| (row.0, row.1.id()))).collect();
    assert!(backward.unwrap().into_iter().rev().eq(expected.iter().cloned()));
    assert_eq!(index.count().unwrap(), expected.len());
    let part = index.range(bound.clone()..).unwrap();
    let above: Vec<_> = expected.iter().filter(|(value, _)| *value >= bound).cloned().collect();
    assert_eq!(rows(&part), above);
    let mut values: Vec<V> = expected.iter().map(|(value, _)| value.clone()).collect();
    values.dedup();
    let found: Result<Vec<V>> = index.values().collect();
    assert_eq!(found.unwrap(), values);
    for value in values {
        let ids: Vec<_> =
            expected.iter().filter(|(other, _)| *other == value).map(|(_, id)| *id).collect();
        let set = index.get(value).unwrap();
        assert_eq!(set.ids().to_vec().unwrap(), ids);
        assert!(ids.iter().all(|id| set.contains(Ref::new(*id)).unwrap()));
    }
}

/// Null is above all other values.
fn place(state: Option<State>) -> (bool, Option<State>) {
    (state.is_none(), state)
}

fn compare(store: &Arc<dyn KvDatabase>, plans: &[Plan]) {
    create(store, plans);
    let db = open::<Task>(store);
    // The objects that are there, by loading all: in a transaction that moves the objects that must
    // move, and is dropped.
    let all: Vec<(permazen::ObjId, Task)> = {
        let tx = db.begin().unwrap();
        let tasks = tx.all::<Task>().unwrap();
        tasks
            .iter()
            .map(|task| (task.as_ref().unwrap().id(), task.unwrap().load().unwrap()))
            .collect()
    };
    assert_eq!(all.len(), plans.len());
    let checks = |tx: &Tx| {
        let titles = all.iter().map(|(id, task)| (task.title.clone(), *id)).collect();
        same(&tx.index(Task::TITLE.complete_by_scan()).unwrap(), titles, "b".to_owned());
        let ranks = all.iter().map(|(id, task)| (task.rank, *id)).collect();
        same(&tx.index(Task::RANK.complete_by_scan()).unwrap(), ranks, 0);
        let tags = |(id, task): &(permazen::ObjId, Task)| {
            let id = *id;
            task.tags.clone().into_iter().map(move |tag| (tag, id)).collect::<Vec<_>>()
        };
        let tags = all.iter().flat_map(tags).collect();
        same(&tx.index(Task::TAGS.complete_by_scan()).unwrap(), tags, "a".to_owned());
        let steps = |(id, task): &(permazen::ObjId, Task)| {
            let (id, steps) = (*id, task.steps.iter().cloned());
            steps
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(move |step| (step, id))
                .collect::<Vec<_>>()
        };
        let steps = all.iter().flat_map(steps).collect();
        same(&tx.index(Task::STEPS.complete_by_scan()).unwrap(), steps, "ab".to_owned());
        // Always complete.
        let mut states: Vec<_> = all.iter().map(|(id, task)| (place(task.state), *id)).collect();
        states.sort();
        let found = tx.index(Task::STATE).unwrap();
        let rows: Result<Vec<_>> =
            found.iter().map(|row| row.map(|row| (place(row.0), row.1.id()))).collect();
        assert_eq!(rows.unwrap(), states);
        let mut rows: Vec<_> =
            all.iter().map(|(id, task)| ((place(task.state), task.rank), *id)).collect();
        rows.sort();
        let found = tx.index(Task::STATE_RANK).unwrap();
        let backward: Result<Vec<_>> = found
            .iter()
            .rev()
            .map(|row| row.map(|((state, rank), task)| ((place(state), rank), task.id())))
            .collect();
        assert!(backward.unwrap().into_iter().rev().eq(rows));
        // Complete or refused.
        let own = tx.schema().id;
        let elsewhere = tx
            .all::<Task>()
            .unwrap()
            .iter()
            .filter(|task| task.as_ref().unwrap().any().schema_id().unwrap() != own)
            .count();
        match tx.index(Task::RANK) {
            Ok(index) => assert_eq!((index.count().unwrap(), elsewhere), (all.len(), 0)),
            Err(Error::PartialIndex { missing, .. }) => assert_eq!(missing, elsewhere),
            Err(error) => panic!("{error:?}"),
        }
        let indexed = tx.index(Task::RANK.allow_partial()).unwrap().count().unwrap();
        assert_eq!(indexed, all.len() - elsewhere);
        queries::compare(tx, &all);
    };
    db.read(|tx| {
        checks(tx);
        Ok(())
    })
    .unwrap();
    db.write(|tx| {
        for (at, task) in tx.all::<Task>()?.iter().enumerate() {
            if plans[at].moves {
                task?.migrate()?;
            }
        }
        checks(tx);
        Ok(())
    })
    .unwrap();
    check(store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn completed_indexes_have_what_loading_all_finds(
        plans in prop::collection::vec(plan(), 0..12), kind in 0..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn KvDatabase> = match kind {
            0 => Arc::new(LmdbStore::builder().create(true).open(dir.path()).unwrap()),
            1 => Arc::new(OptimisticDatabase::new(MemoryStore::new())),
            _ => store(),
        };
        compare(&store, &plans);
    }
}
