//! Queries of indexes, and walks along references, that fit the existing objects.

use permazen::__internal::schema::{BundleItem, ResolvedPart, SubFieldRole};
use permazen::ObjId;
use permazen_tests::outcome::Outcome;
use permazen_tests::trace::objects::Tx;
use permazen_tests::trace::operations::perform;
use permazen_tests::trace::step::Step;
use serde_json::{Value as Json, json};

use crate::random::Random;
use permazen_tests::trace::references::options;

/// A query of some index, or of something that is no index.
pub fn index(tx: &Tx<'_>, random: &mut Random) -> Outcome<Json> {
    let bundle = tx.tx.bundle();
    let items: Vec<&BundleItem> = bundle
        .items()
        .iter()
        .map(|item| &**item)
        .filter(|item| kind(item, &mut Random::new(0)).is_some())
        .collect();
    let Some(item) = random.of(&items) else {
        return Ok(json!({ "op": "index", "kind": "simple", "sid": 1, "view": "entries" }));
    };
    let kinds = ["simple", "list", "mapValue", "composite2", "composite3", "composite4"];
    let kind = match kind(item, random) {
        Some(kind) if !random.chance(3) => kind,
        _ => kinds[random.below(kinds.len())],
    };
    let mut query =
        json!({ "op": "index", "kind": kind, "sid": item.storage_id.get(), "view": "entries" });
    let rows = match perform(tx, &Step::new(query.clone())?) {
        Ok(Json::Array(rows)) => rows,
        // It is refused, or will be.
        _ => return Ok(query),
    };
    let rows: Vec<Vec<Json>> = rows.iter().filter_map(|row| row.as_array().cloned()).collect();
    let Some(columns) = rows.first().map(Vec::len) else { return Ok(query) };
    let some = |column: usize, random: &mut Random| -> Json {
        random.of(&rows).and_then(|row| row.get(column)).cloned().unwrap_or_default()
    };
    let reverse = random.chance(30);
    query["reverse"] = json!(reverse);
    if random.chance(10) {
        query["limit"] = json!(1 + random.below(3));
    }
    let view = random.below(10);
    if view == 9 {
        let row = random.of(&rows).cloned().unwrap_or_default();
        let mut key: Vec<Json> = row.into_iter().take(columns - 1).collect();
        if random.chance(30) {
            let column = random.below(key.len());
            key[column] = some(column, random);
        }
        query["view"] = json!("get");
        query["key"] = json!(key);
        return Ok(query);
    }
    if random.chance(50) {
        let mut bounds = vec![Json::Null; columns];
        for (column, bounds) in bounds.iter_mut().enumerate() {
            if random.chance(100 / columns) {
                *bounds = json!({});
                if random.chance(60) {
                    bounds["min"] = json!([some(column, random), random.chance(50)]);
                }
                if random.chance(60) {
                    // When Java walks backwards from an included upper bound, it loses entries
                    // (D26).
                    let inclusive = !reverse && random.chance(50);
                    bounds["max"] = json!([some(column, random), inclusive]);
                }
            }
        }
        query["bounds"] = json!(bounds);
    }
    match view {
        0..4 => {}
        4..7 => query["view"] = json!("map"),
        _ => {
            query["view"] = json!("distinct");
            query["columns"] = json!(1 + random.below(columns));
        }
    }
    Ok(query)
}

/// The kind of index that an item has, or would have.
fn kind(item: &BundleItem, random: &mut Random) -> Option<&'static str> {
    match &item.representative()?.part {
        ResolvedPart::Index(index) => {
            Some(["composite2", "composite3", "composite4"][index.fields.len().clamp(2, 4) - 2])
        }
        ResolvedPart::Field(field) if field.simple().is_some() => {
            Some(match field.parent.as_ref().map(|parent| parent.role) {
                Some(SubFieldRole::ListElement) if random.chance(70) => "list",
                Some(SubFieldRole::MapValue) if random.chance(70) => "mapValue",
                _ => "simple",
            })
        }
        _ => None,
    }
}

/// A walk along references, from some objects or to some.
pub fn path(tx: &Tx<'_>, objects: &[ObjId], random: &mut Random) -> Outcome<Json> {
    let bundle = tx.tx.bundle();
    let references: Vec<i64> = bundle
        .items()
        .iter()
        .filter(|item| match item.representative().map(|last| &last.part) {
            Some(ResolvedPart::Field(field)) => options(field).is_some(),
            _ => false,
        })
        .map(|item| i64::from(item.storage_id.get()))
        .collect();
    let first = random.of(objects).copied();
    let own: Vec<i64> = match first {
        Some(id) => {
            let object_type = tx.tx.object_type(id)?;
            let fields = object_type.all_fields().filter(|field| options(field).is_some());
            fields.map(|field| i64::from(field.storage_id.get())).collect()
        }
        None => Vec::new(),
    };
    let inverse = random.chance(50);
    let mut path = Vec::new();
    for at in 0..random.below(3) {
        // A walk forward needs objects that have the field. A walk backward takes any objects.
        let from = if at == 0 && !inverse { &own } else { &references };
        if let Some(step) = random.of(from) {
            path.push(if random.chance(50) { *step } else { -step });
        }
    }
    let mut ids: Vec<String> = first.iter().map(ObjId::to_string).collect();
    if random.chance(30) {
        ids.extend(random.of(objects).map(ObjId::to_string));
    }
    let (op, start) = if inverse { ("invert", "targets") } else { ("follow", "start") };
    let mut step = json!({ "op": op, start: ids, "path": path });
    if random.chance(30) {
        let names: Vec<String> = tx.tx.schema().types.iter().map(|t| t.name.to_string()).collect();
        let filters: Vec<Json> = (0..=path.len())
            .map(|_| {
                if random.chance(60) {
                    return Json::Null;
                }
                json!(names.iter().filter(|_| random.chance(60)).collect::<Vec<_>>())
            })
            .collect();
        step["types"] = json!(filters);
    }
    Ok(step)
}
