//! Random objects of eight versions of a program, changed and moved by all of them: the results of
//! a query are compared with those of loading all.

use std::collections::BTreeMap;

use permazen::encoding::FieldType;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::{ByValue, EncodeAs, Index};
use permazen::schema::{SchemaId, SchemaRemoval};
use permazen::{Obj, ObjId};
use proptest::prelude::*;

use super::*;

/// The content of an object. Constants are numbers, as they are in the version that reads them.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    state: Option<i64>,
    rank: i64,
    set: BTreeSet<i64>,
    list: Vec<i64>,
    hours: BTreeMap<i64, i64>,
}

/// The columns of an entry without the object, and the object.
type Row = (Vec<i64>, ObjId);

/// Null is above all constants.
const NULL: i64 = 1000;

/// The indexes that are queried.
#[derive(Debug, Clone, Copy, PartialEq)]
enum On {
    State,
    StateRank,
    Set,
    List,
    Hours,
    HoursWithKeys,
}

const INDEXES: [On; 6] =
    [On::State, On::StateRank, On::Set, On::List, On::Hours, On::HoursWithKeys];

#[derive(Debug, Clone, Copy)]
enum Mode {
    Refuse,
    Allow,
    Scan,
}

/// A version with these constants, and this name of the field of the state, which had another one.
macro_rules! version {
    ($version:ident, { $($(#[$was:meta])? $constant:ident),* }, $state:ident $STATE:ident $($former:literal)?) => {
        mod $version {
            use super::*;

            #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub(super) enum State {
                $($(#[$was])? $constant),*
            }

            const CONSTANTS: &[State] = &[$(State::$constant),*];

            #[derive(PermazenObject, Debug, Clone)]
            #[permazen(composite(name = "stateRank", fields($state, rank)))]
            pub(super) struct Task {
                #[permazen(indexed $(, was = $former)?)]
                $state: Option<State>,
                rank: i32,
                #[permazen(element(indexed))]
                #[permazen(accessor = "the_set")]
                set: BTreeSet<State>,
                #[permazen(element(indexed))]
                list: Vec<State>,
                #[permazen(value(indexed))]
                hours: BTreeMap<i32, State>,
            }

            pub(super) fn open(store: &Arc<dyn KvDatabase>) -> Permazen {
                let db = Permazen::builder_shared(store.clone()).model::<Task>();
                db.schema_removal(SchemaRemoval::Never).build().unwrap()
            }

            /// An object with such content. Constants that this version lacks become others.
            fn task(content: &Content) -> Task {
                let state = |number: &i64| CONSTANTS[usize::try_from(*number).unwrap() % CONSTANTS.len()];
                let int = |number: &i64| i32::try_from(*number).unwrap();
                let hours = content.hours.iter();
                Task {
                    $state: content.state.as_ref().map(state),
                    rank: int(&content.rank),
                    set: content.set.iter().map(state).collect(),
                    list: content.list.iter().map(state).collect(),
                    hours: hours.map(|(key, value)| (int(key), state(value))).collect(),
                }
            }

            pub(super) fn change(tx: &Tx, id: Option<ObjId>, change: Change, content: &Content) -> Result<()> {
                let Some(id) = id else { return tx.create(task(content)).map(drop) };
                let found = tx.get::<Task>(id)?;
                match change {
                    Change::Create => tx.create(task(content)).map(drop),
                    Change::Delete => found.delete().map(drop),
                    Change::Migrate => found.migrate().map(drop),
                    Change::Store => found.store(&task(content)),
                }
            }

            /// All objects as this version sees them; `None` for those that it cannot load. They do
            /// not move for that.
            pub(super) fn load_all(tx: &Tx) -> BTreeMap<ObjId, Option<Content>> {
                let ids = tx.all::<Task>().unwrap().ids().to_vec().unwrap();
                let mut all = BTreeMap::new();
                let undone: Result<()> = tx.core().atomic(|_| {
                    for &id in &ids {
                        let content = tx.get::<Task>(id).and_then(|task| task.load()).map(|task| Content {
                            state: task.$state.map(|state| state as i64),
                            rank: task.rank.into(),
                            set: task.set.iter().map(|state| *state as i64).collect(),
                            list: task.list.iter().map(|state| *state as i64).collect(),
                            hours: task.hours.iter().map(|(key, state)| (i64::from(*key), *state as i64)).collect(),
                        });
                        all.insert(id, content.ok());
                    }
                    Err(Error::other("undo"))
                });
                undone.unwrap_err();
                all
            }

            /// The entries of an index, or the error of opening it. After the entries comes the
            /// error that ends them, if there is one.
            pub(super) fn rows(tx: &Tx, on: On, mode: Mode) -> Result<(Vec<Row>, Option<Error>)> {
                let number = |state: State| state as i64;
                let or_null = |state: Option<State>| state.map_or(NULL, number);
                let or_none: Vec<_> = CONSTANTS.iter().copied().map(Some).chain([None]).collect();
                match on {
                    On::State => open_index!(tx, mode, Task::$STATE)
                        .map(|index| by_value(&index, or_null, &or_none)),
                    On::Set => open_index!(tx, mode, Task::SET)
                        .map(|index| by_value(&index, number, CONSTANTS)),
                    On::List => open_index!(tx, mode, Task::LIST)
                        .map(|index| by_value(&index, number, CONSTANTS)),
                    On::Hours => open_index!(tx, mode, Task::HOURS.value())
                        .map(|index| by_value(&index, number, CONSTANTS)),
                    On::HoursWithKeys => {
                        let row = |row: (State, Obj<'_, Task>, i32)| {
                            (vec![number(row.0), row.2.into()], row.1.id())
                        };
                        open_index!(tx, mode, Task::HOURS.value().with_keys())
                            .map(|index| both_ways(index.iter(), index.iter().rev(), row))
                    }
                    On::StateRank => {
                        let row = |row: ((Option<State>, i32), Obj<'_, Task>)| {
                            (vec![or_null(row.0.0), row.0.1.into()], row.1.id())
                        };
                        open_index!(tx, mode, Task::STATE_RANK)
                            .map(|index| both_ways(index.iter(), index.iter().rev(), row))
                    }
                }
            }
        }
    };
}

macro_rules! open_index {
    ($tx:expr, $mode:expr, $index:expr) => {
        match $mode {
            Mode::Refuse => $tx.index($index),
            Mode::Allow => $tx.index($index.allow_partial().skip_unknown()),
            Mode::Scan => $tx.index($index.complete_by_scan()),
        }
    };
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Create,
    Delete,
    Migrate,
    Store,
}

version!(first, { Open, Done, Held }, state STATE);
version!(more, { Open, Done, Held, Late }, state STATE);
version!(other_word, { Open, #[permazen(was = "DONE")] Finished, Held }, state STATE);
version!(turned, { Done, Open, Held }, state STATE);
version!(between, { Open, New, Done, Held }, state STATE);
version!(fewer, { Open, Done }, state STATE);
version!(other_name, { Open, Done, Held }, status STATUS "state");
version!(other_both, { Open, #[permazen(was = "DONE")] Finished, Held, Late, Lost }, status STATUS "state");

/// The constants of each version, with their former names, and whether the field is `status`.
const VERSIONS: [(&[&[&str]], bool); 8] = [
    (&[&["Open"], &["Done"], &["Held"]], false),
    (&[&["Open"], &["Done"], &["Held"], &["Late"]], false),
    (&[&["Open"], &["Finished", "Done"], &["Held"]], false),
    (&[&["Done"], &["Open"], &["Held"]], false),
    (&[&["Open"], &["New"], &["Done"], &["Held"]], false),
    (&[&["Open"], &["Done"]], false),
    (&[&["Open"], &["Done"], &["Held"]], true),
    (&[&["Open"], &["Finished", "Done"], &["Held"], &["Late"], &["Lost"]], true),
];

/// Whether a query by version `by` finds objects of version `of`: their constants have the same
/// numbers or are unknown, and their state has the same name or a former one.
fn finds(by: usize, of: usize, on: On) -> bool {
    let ((new, has_other_name), (old, had_other_name)) = (VERSIONS[by], VERSIONS[of]);
    if matches!(on, On::State | On::StateRank) && had_other_name && !has_other_name {
        return false;
    }
    old.iter().enumerate().all(|(number, names)| {
        let name = names[0];
        let same = new.iter().position(|names| names[0] == name);
        match same.or_else(|| new.iter().position(|names| names.contains(&name))) {
            Some(now) => now == number,
            None => number >= new.len(),
        }
    })
}

macro_rules! in_version {
    ($number:expr, $version:ident => $body:expr) => {
        match $number {
            0 => {
                use first as $version;
                $body
            }
            1 => {
                use more as $version;
                $body
            }
            2 => {
                use other_word as $version;
                $body
            }
            3 => {
                use turned as $version;
                $body
            }
            4 => {
                use between as $version;
                $body
            }
            5 => {
                use fewer as $version;
                $body
            }
            6 => {
                use other_name as $version;
                $body
            }
            _ => {
                use other_both as $version;
                $body
            }
        }
    };
}

/// The rows of an iterator, which has the same rows from the back, and the error that ends it.
fn both_ways<R>(
    forward: impl Iterator<Item = Result<R>>,
    backward: impl Iterator<Item = Result<R>>,
    row: impl Fn(R) -> Row,
) -> (Vec<Row>, Option<Error>) {
    let mut rows = Vec::new();
    for found in forward {
        match found {
            Ok(found) => rows.push(row(found)),
            Err(error) => return (rows, Some(error)),
        }
    }
    let backward: Vec<Row> = backward.map(|found| row(found.unwrap())).collect();
    assert!(backward.iter().rev().eq(&rows));
    (rows, None)
}

/// The rows of an index. All other ways to query it agree with them.
fn by_value<M: Model, V>(
    index: &Index<'_, M, ByValue<V>>,
    number: impl Fn(V) -> i64,
    constants: &[V],
) -> (Vec<Row>, Option<Error>)
where
    V: FieldType + EncodeAs<V> + Clone,
{
    let row = |row: (V, Obj<'_, M>)| (vec![number(row.0)], row.1.id());
    let (rows, error) = both_ways(index.iter(), index.iter().rev(), row);
    if error.is_some() {
        return (rows, error);
    }
    assert_eq!(index.count().unwrap(), rows.len());
    assert_eq!(index.first().unwrap().map(row), rows.first().cloned());
    assert_eq!(index.last().unwrap().map(row), rows.last().cloned());
    assert_eq!(index.of_all_types().unwrap().count().unwrap(), rows.len());
    let mut values: Vec<i64> = rows.iter().map(|row| row.0[0]).collect();
    values.dedup();
    let found: Vec<i64> = index.values().map(|value| number(value.unwrap())).collect();
    assert_eq!(found, values);
    let found: Vec<i64> = index.values().rev().map(|value| number(value.unwrap())).collect();
    assert!(found.iter().rev().eq(&values));
    for constant in constants {
        let wanted = number(constant.clone());
        let same = rows.iter().filter(|row| row.0[0] == wanted);
        let ids: Vec<ObjId> = same.map(|row| row.1).collect();
        let found = index.get(constant.clone()).unwrap();
        assert_eq!(found.ids().to_vec().unwrap(), ids);
        assert!(
            rows.iter().all(|row| { found.ids().contains(row.1).unwrap() == ids.contains(&row.1) })
        );
        let above = index.range(constant.clone()..).unwrap();
        let from: Vec<Row> = rows.iter().filter(|row| row.0[0] >= wanted).cloned().collect();
        assert_eq!(both_ways(above.iter(), above.iter().rev(), row).0, from);
        let below = index.range(..constant.clone()).unwrap();
        let to: Vec<Row> = rows.iter().filter(|row| row.0[0] < wanted).cloned().collect();
        assert_eq!(both_ways(below.iter(), below.iter().rev(), row).0, to);
    }
    (rows, None)
}

/// The entries that an object has, in the order of the index.
fn entries(on: On, all: &BTreeMap<ObjId, Content>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (id, content) in all {
        let state = content.state.unwrap_or(NULL);
        let once = |values: BTreeSet<i64>| values.into_iter().map(|value| vec![value]).collect();
        let columns: Vec<Vec<i64>> = match on {
            On::State => vec![vec![state]],
            On::StateRank => vec![vec![state, content.rank]],
            On::Set => once(content.set.clone()),
            On::List => once(content.list.iter().copied().collect()),
            On::Hours => once(content.hours.values().copied().collect()),
            On::HoursWithKeys => {
                content.hours.iter().map(|(key, value)| vec![*value, *key]).collect()
            }
        };
        rows.extend(columns.into_iter().map(|columns| (columns, *id)));
    }
    match on {
        // The object comes before the key.
        On::HoursWithKeys => rows.sort_by_key(|(columns, id)| (columns[0], *id, columns[1])),
        _ => rows.sort(),
    }
    rows
}

/// All queries by a version find what it should find. `homes` has the version of each schema.
fn compare(tx: &Tx, by: usize, homes: &BTreeMap<SchemaId, usize>) {
    let all = in_version!(by, version => version::load_all(tx));
    let home = |id: &ObjId| homes[&tx.any(*id).schema_id().unwrap()];
    let known: BTreeMap<ObjId, Content> =
        all.iter().filter_map(|(id, content)| Some((*id, content.clone()?))).collect();
    let of_known = |rows: &[Row]| -> Vec<Row> {
        rows.iter().filter(|row| known.contains_key(&row.1)).cloned().collect()
    };
    for on in INDEXES {
        let rows = |mode| in_version!(by, version => version::rows(tx, on, mode));
        let expected = entries(on, &known);
        let lacking: Vec<ObjId> =
            all.keys().filter(|id| !finds(by, home(id), on)).copied().collect();
        match rows(Mode::Refuse) {
            Err(Error::PartialIndex { missing, .. }) => assert_eq!(missing, lacking.len()),
            // An entry that the version does not know ends the entries.
            Ok((_, Some(error))) => {
                assert!(matches!(error, Error::Object(object::Error::UnknownValue { .. })));
                assert!(lacking.is_empty() && known.len() < all.len(), "{on:?} {error}");
            }
            Ok((rows, None)) => {
                assert_eq!(lacking, [], "{on:?}");
                assert_eq!(of_known(&rows), expected, "{on:?}");
            }
            Err(error) => panic!("{on:?} {error}"),
        }
        let (allowed, error) = rows(Mode::Allow).unwrap();
        assert!(error.is_none(), "{on:?} {error:?}");
        let indexed: Vec<Row> =
            expected.iter().filter(|row| !lacking.contains(&row.1)).cloned().collect();
        assert_eq!(of_known(&allowed), indexed, "{on:?}");
        let can_scan = lacking.iter().all(|id| known.contains_key(id));
        match rows(Mode::Scan) {
            Ok((rows, None)) => assert_eq!(of_known(&rows), expected, "{on:?}"),
            Ok((_, Some(_))) => assert!(known.len() < all.len()),
            Err(error) => assert!(!can_scan, "{on:?} {error}"),
        }
    }
}

fn content() -> impl Strategy<Value = Content> {
    let state = || 0..5_i64;
    let hours = prop::collection::btree_map(-1..3_i64, state(), 0..3);
    let set = prop::collection::btree_set(state(), 0..3);
    let list = prop::collection::vec(state(), 0..4);
    (prop::option::of(state()), -1..3_i64, set, list, hours)
        .prop_map(|(state, rank, set, list, hours)| Content { state, rank, set, list, hours })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Create),
        1 => Just(Change::Delete),
        2 => Just(Change::Migrate),
        2 => Just(Change::Store),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn queries_of_any_version_find_what_loading_all_finds(
        by in 0..8_usize,
        others in prop::collection::vec(0..8_usize, 1..4),
        changes in prop::collection::vec((any::<usize>(), any::<usize>(), change(), content()), 0..16),
        own_changes in prop::collection::vec((any::<usize>(), change(), content()), 0..4),
        kind in 0..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn KvDatabase> = match kind {
            0 => Arc::new(LmdbStore::builder().create(true).open(dir.path()).unwrap()),
            1 => Arc::new(OptimisticDatabase::new(MemoryStore::new())),
            _ => store(),
        };
        let versions: BTreeSet<usize> = others.iter().copied().chain([by]).collect();
        let open = |&number: &usize| (number, in_version!(number, version => version::open(&store)));
        let databases: BTreeMap<usize, Permazen> = versions.iter().map(open).collect();
        let home = |(&number, db): (&usize, &Permazen)| (db.schema().schema_id(), number);
        let homes: BTreeMap<SchemaId, usize> = databases.iter().map(home).collect();
        let some = |tx: &Tx, at: usize| -> Result<Option<ObjId>> {
            let ids = tx.core().all_objects()?.to_vec()?;
            Ok(ids.get(at % ids.len().max(1)).copied())
        };
        // A change that a version cannot make is refused, and changes nothing.
        for (other, at, change, content) in &changes {
            let number = others[other % others.len()];
            let _ = databases[&number].write(|tx| {
                let id = some(tx, *at)?;
                in_version!(number, version => version::change(tx, id, *change, content))
            });
        }
        databases[&by].read(|tx| { compare(tx, by, &homes); Ok(()) }).unwrap();
        databases[&by].write(|tx| {
            for (at, change, content) in &own_changes {
                let id = some(tx, *at)?;
                let _ = in_version!(by, version => version::change(tx, id, *change, content));
                compare(tx, by, &homes);
            }
            Ok(())
        }).unwrap();
        check(&store);
    }
}
