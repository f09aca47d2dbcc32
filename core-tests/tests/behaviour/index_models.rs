//! Index views with random restrictions, in both directions, compared with a filter over all rows.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{IndexEntry, IndexView, Migrate, Transaction};
use permazen::schema::{SchemaIndex, SchemaModel};
use proptest::prelude::*;

use crate::support::*;

/// Two types that share all fields and indexes.
fn schema() -> String {
    let body = |name: &str, id: u32| {
        format!(
            r#"<ObjectType name="{name}" storageId="{id}">
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:Integer" storageId="11" indexed="true"/>
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12" indexed="true"/>
  <SimpleField name="d" encoding="urn:fdc:permazen.io:2020:boolean" storageId="13" indexed="true"/>
  <ListField name="list" storageId="22"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="23" indexed="true"/></ListField>
  <MapField name="map" storageId="24"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="25" indexed="true"/>
    <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="26" indexed="true"/></MapField>
  <CompositeIndex name="is" storageId="30"><Field name="i"/><Field name="s"/></CompositeIndex>
  <CompositeIndex name="dis" storageId="31"><Field name="d"/><Field name="i"/><Field name="s"/></CompositeIndex>
</ObjectType>"#
        )
    };
    format!("<Schema>{}{}</Schema>", body("A", 1), body("B", 200))
}

#[derive(Debug, Clone)]
struct Object {
    b: bool,
    n: u8,
    i: Option<i32>,
    s: Value,
    d: bool,
    list: Vec<Value>,
    map: Vec<(i32, Value)>,
}

impl Object {
    fn id(&self) -> ObjId {
        let kind = if self.b { "c8" } else { "01" };
        id(&format!("{kind}0000000000{:02x}{:02x}", self.n % 3, self.n))
    }
}

/// Strings that are prefixes of each other, that end in characters with extreme codes, or are null.
fn words() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        text(""),
        text("a"),
        text("ab"),
        text("a\u{0}"),
        text("a\u{1}"),
        text("\u{ff}"),
        text("\u{fffd}"),
        text("b"),
    ])
}

fn objects() -> impl Strategy<Value = Vec<Object>> {
    let numbers =
        prop::option::of(prop::sample::select(vec![i32::MIN, -200, -1, 0, 1, 120, i32::MAX]));
    let list = prop::collection::vec(words(), 0..4);
    let map = prop::collection::vec((-2i32..3, words()), 0..3);
    let object = (any::<bool>(), any::<u8>(), numbers, words(), any::<bool>(), list, map);
    prop::collection::vec(
        object.prop_map(|(b, n, i, s, d, list, map)| Object { b, n, i, s, d, list, map }),
        0..25,
    )
}

/// Bounds for one column. The numbers pick from the existing values.
type PlannedBounds = (u8, u8, u8, u8);

#[derive(Debug, Clone)]
struct Plan {
    index: usize,
    bounds: Vec<Option<PlannedBounds>>,
    types: Option<(bool, bool)>,
    /// Whether objects of the first schema, of the second, and of a schema without objects are
    /// wanted.
    schemas: Option<(bool, bool, bool)>,
    columns: Option<usize>,
    /// Bounds of tuples and how many columns they have.
    tuples: Option<(PlannedBounds, usize, usize)>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let bounds =
        prop::collection::vec(prop::option::of((any::<u8>(), 0u8..4, any::<u8>(), 0u8..4)), 4);
    let tuples = ((any::<u8>(), 0u8..4, any::<u8>(), 0u8..4), 1usize..4, 1usize..4);
    (
        0usize..7,
        bounds,
        prop::option::of(any::<(bool, bool)>()),
        prop::option::of(any::<(bool, bool, bool)>()),
        prop::option::of(1usize..4),
        prop::option::of(tuples),
    )
        .prop_map(|(index, bounds, types, schemas, columns, tuples)| Plan {
            index,
            bounds,
            types,
            schemas,
            columns,
            tuples,
        })
}

/// Columns compare in the order of their encoding: null, false < true, IDs, numbers. `Value` has
/// the same order.
fn inside(value: &Value, lower: &Bound<Value>, upper: &Bound<Value>) -> bool {
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => value.cmp(lower) != Ordering::Less,
        Bound::Excluded(lower) => value.cmp(lower) == Ordering::Greater,
    };
    above
        && match upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => value.cmp(upper) != Ordering::Greater,
            Bound::Excluded(upper) => value.cmp(upper) == Ordering::Less,
        }
}

/// A bound stands for all rows that begin with it.
fn in_tuples(row: &[Value], lower: &Bound<Vec<Value>>, upper: &Bound<Vec<Value>>) -> bool {
    let compare = |tuple: &[Value]| row[..tuple.len()].cmp(tuple);
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => compare(lower).is_ge(),
        Bound::Excluded(lower) => compare(lower).is_gt(),
    };
    above
        && match upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => compare(upper).is_le(),
            Bound::Excluded(upper) => compare(upper).is_lt(),
        }
}

const INDEXES: [u32; 7] = [11, 12, 23, 25, 26, 30, 31];

/// All rows of an index, sorted.
fn all_rows(objects: &[(ObjId, Object)], index: usize) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (id, object) in objects {
        let id = || Value::Ref(*id);
        let i = || object.i.map_or(Value::Null, int);
        let s = || object.s.clone();
        match INDEXES[index] {
            11 => rows.push(vec![i(), id()]),
            12 => rows.push(vec![s(), id()]),
            23 => {
                rows.extend((0..).zip(&object.list).map(|(at, v)| vec![v.clone(), id(), int(at)]))
            }
            25 => rows.extend(object.map.iter().map(|(key, _)| vec![int(*key), id()])),
            26 => rows.extend(object.map.iter().map(|(key, v)| vec![v.clone(), id(), int(*key)])),
            30 => rows.push(vec![i(), s(), id()]),
            _ => rows.push(vec![Value::Bool(object.d), i(), s(), id()]),
        }
    }
    rows.sort();
    rows
}

fn fill(tx: &Transaction, object: &Object) {
    let id = create(tx, object.id());
    set(tx, id, "i", object.i.map_or(Value::Null, int));
    set(tx, id, "s", object.s.clone());
    set(tx, id, "d", Value::Bool(object.d));
    tx.list_view(id, "list", Migrate::No).unwrap().extend(&object.list).unwrap();
    let map = tx.map_view(id, "map", Migrate::No).unwrap();
    for (key, value) in &object.map {
        map.put(&int(*key), value).unwrap();
    }
}

fn decoded(entry: permazen::object::Result<IndexEntry<'_>>) -> Vec<Value> {
    entry.unwrap().to_values().unwrap()
}

fn check(view: &IndexView<'_>, expected: &[Vec<Value>], plan: &Plan) {
    let forward: Vec<_> = view.entries().map(decoded).collect();
    assert_eq!(forward, expected, "forward, {plan:?}");
    let mut backward: Vec<_> = view.entries().rev().map(decoded).collect();
    backward.reverse();
    assert_eq!(backward, expected, "backward, {plan:?}");
    assert_eq!(view.first().unwrap().map(|entry| decoded(Ok(entry))), expected.first().cloned());
    assert_eq!(view.last().unwrap().map(|entry| decoded(Ok(entry))), expected.last().cloned());
    // from both ends in turn
    let (mut entries, mut front, mut back) = (view.entries(), Vec::new(), Vec::new());
    loop {
        let at_back = (front.len() + back.len()) % 3 == 1;
        match if at_back { entries.next_back() } else { entries.next() } {
            Some(entry) if at_back => back.push(decoded(entry)),
            Some(entry) => front.push(decoded(entry)),
            None => break,
        }
    }
    front.extend(back.into_iter().rev());
    assert_eq!(front, expected, "both ends, {plan:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn views_equal_filtered_rows(
        first in objects(), second in objects(), plans in prop::collection::vec(plans(), 10),
    ) {
        let world = World::new();
        let other = schema().replace(r#"<CompositeIndex name="is""#, r#"<SimpleField name="more" encoding="urn:fdc:permazen.io:2020:int"/><CompositeIndex name="is""#);
        let mut objects: Vec<(ObjId, Object)> = Vec::new();
        let mut of_first = BTreeSet::new();
        let mut old = None;
        for (xml, made) in [(schema(), first), (other, second)] {
            let tx = world.begin(&xml);
            for mut object in made {
                if objects.iter().any(|(id, _)| *id == object.id()) {
                    continue;
                }
                let mut seen = BTreeSet::new();
                object.map.retain(|(key, _)| seen.insert(*key));
                fill(&tx, &object);
                if old.is_none() {
                    of_first.insert(object.id());
                }
                objects.push((object.id(), object));
            }
            old.get_or_insert(tx.schema().id);
            tx.commit().unwrap();
        }
        let tx = world.begin(&schema());
        assert_eq!(Some(tx.schema().id), old);
        prop_assert!(SchemaModel::from_xml(schema().as_bytes()).unwrap().validate().is_ok());
        // Without objects of the second schema, that schema may not exist.
        let first_index = Some(tx.schema().index);
        let second_index = tx.bundle().schemas().iter().map(|schema| schema.index)
            .find(|index| Some(*index) != first_index && !index.is_empty_schema());
        for plan in &plans {
            let mut rows = all_rows(&objects, plan.index);
            let mut view = tx.index(sid(INDEXES[plan.index])).unwrap();
            let width = view.columns();
            let id_column = view.shape().id_column();
            let all = rows.clone();
            for (column, bounds) in plan.bounds.iter().enumerate().take(width) {
                let Some((low, low_kind, high, high_kind)) = *bounds else { continue };
                if all.is_empty() {
                    continue;
                }
                let pick = |n: u8, kind: u8| {
                    let value = all[usize::from(n) % all.len()][column].clone();
                    match kind {
                        0 => Bound::Unbounded,
                        1 => Bound::Excluded(value),
                        _ => Bound::Included(value),
                    }
                };
                let (lower, upper) = (pick(low, low_kind), pick(high, high_kind));
                let restricted = view.with_bounds(column, lower.as_ref(), upper.as_ref());
                match (&lower, &upper) {
                    (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b))
                        if a > b =>
                    {
                        assert_invalid_argument(restricted);
                    }
                    _ => {
                        view = restricted.unwrap();
                        rows.retain(|row| inside(&row[column], &lower, &upper));
                    }
                }
            }
            if let Some(((low, low_kind, high, high_kind), low_len, high_len)) = plan.tuples
                && !all.is_empty()
            {
                let pick = |n: u8, kind: u8, len: usize| {
                    let row = &all[usize::from(n) % all.len()];
                    let tuple = row[..len.min(width)].to_vec();
                    match kind {
                        0 => Bound::Unbounded,
                        1 => Bound::Excluded(tuple),
                        _ => Bound::Included(tuple),
                    }
                };
                let lower = pick(low, low_kind, low_len);
                let upper = pick(high, high_kind, high_len);
                let bounds = (
                    lower.as_ref().map(|tuple| &tuple[..]),
                    upper.as_ref().map(|tuple| &tuple[..]),
                );
                if let Ok(restricted) = view.with_tuple_bounds(bounds.0, bounds.1) {
                    view = restricted;
                } else {
                    prop_assert!(!all.iter().any(|row| in_tuples(row, &lower, &upper)));
                    continue;
                }
                rows.retain(|row| in_tuples(row, &lower, &upper));
            }
            if let Some((a, b)) = plan.types {
                let types = [(a, sid(1)), (b, sid(200))];
                view = view.of_types(types.into_iter().filter(|(on, _)| *on).map(|(_, id)| id));
                rows.retain(|row| matches!(row[id_column], Value::Ref(id)
                    if types.contains(&(true, id.storage_id()))));
            }
            if let Some((first, second, none)) = plan.schemas {
                let wanted =
                    [(first, first_index), (second, second_index), (none, SchemaIndex::new(77))];
                let wanted = wanted.into_iter().filter(|(on, _)| *on);
                view = view.in_schemas(wanted.filter_map(|(_, index)| index));
                rows.retain(|row| matches!(&row[id_column],
                    Value::Ref(id) if if of_first.contains(id) { first } else { second }));
            }
            if let Some(columns) = plan.columns {
                view = view.distinct(columns);
                rows.iter_mut().for_each(|row| row.truncate(columns));
                rows.dedup();
            }
            check(&view, &rows, plan);
            if view.columns() > id_column {
                let ids: BTreeSet<_> = rows.iter().map(|row| row[id_column].clone()).collect();
                let found: Vec<_> = view.id_set().unwrap().iter().map(|id| Value::Ref(id.unwrap())).collect();
                prop_assert_eq!(found, ids.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
