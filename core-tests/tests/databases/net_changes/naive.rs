//! Changes as lines, from the changes themselves and from all objects before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::__internal::object::{NetChange, NetContent, NetField, NetObject};
use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::kv::Hex;
use permazen::object::{Migrate, ObjectData, Transaction};
use permazen::schema::{ResolvedField, ResolvedType};

/// The content of all objects.
pub(crate) type Content = BTreeMap<ObjId, ObjectData>;

pub(crate) fn content(tx: &Transaction) -> Content {
    let ids: Vec<ObjId> = tx.all_objects().unwrap().iter().collect::<Result<_, _>>().unwrap();
    ids.into_iter().map(|id| (id, tx.load(id, Migrate::No).unwrap())).collect()
}

fn hex(bytes: &[u8]) -> String {
    Hex(bytes).to_string()
}

fn all(values: &[Box<[u8]>]) -> String {
    values.iter().map(|value| hex(value)).collect::<Vec<_>>().join(",")
}

fn optional(value: Option<&[u8]>) -> String {
    value.map_or("-".to_owned(), hex)
}

fn head(
    id: ObjId,
    before: Option<&Arc<ResolvedType>>,
    after: Option<&Arc<ResolvedType>>,
) -> String {
    let schema = |of: Option<&Arc<ResolvedType>>| of.map(|of| of.schema.get());
    format!("{id} {:?} -> {:?}", schema(before), schema(after))
}

fn field_head(before: Option<&ResolvedField>, after: Option<&ResolvedField>) -> String {
    let name = |field: Option<&ResolvedField>| {
        field.map_or("-".to_owned(), |field| format!("{}#{}", field.name, field.storage_id))
    };
    format!("  {} -> {}", name(before), name(after))
}

/// The lines of changes.
pub(crate) fn lines(changes: &[NetChange]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes {
        match change {
            NetChange::Object(object) => object_lines(object, &mut lines),
            NetChange::Pair(pair) => lines.push(format!(
                "pair {} {} -> {}",
                hex(&pair.key),
                optional(pair.old.as_deref()),
                optional(pair.new.as_deref())
            )),
            other => panic!("{other:?}"),
        }
    }
    lines
}

fn object_lines(object: &NetObject, lines: &mut Vec<String>) {
    lines.push(head(object.id, object.before.as_ref(), object.after.as_ref()));
    for NetField { before, after, content, .. } in &object.fields {
        let content = match content {
            NetContent::Simple { old, new } => {
                format!("{} -> {}", optional(old.as_deref()), optional(new.as_deref()))
            }
            NetContent::Counter { old, new } => {
                assert_eq!(content.counted(), Some(new.wrapping_sub(*old)));
                format!("{old} -> {new}")
            }
            NetContent::Set { removed, added } => {
                format!("removed {} added {}", all(removed), all(added))
            }
            NetContent::List { old, new } => format!("{} -> {}", all(old), all(new)),
            NetContent::Map { entries } => {
                let entries = entries.iter().map(|it| {
                    let (old, new) = (optional(it.old.as_deref()), optional(it.new.as_deref()));
                    format!("{}={old}->{new}", hex(&it.key))
                });
                entries.collect::<Vec<_>>().join(",")
            }
            other => panic!("{other:?}"),
        };
        lines.push(format!("{} {content}", field_head(before.as_deref(), after.as_deref())));
    }
}

/// The same lines, from all objects before and after.
pub(crate) fn expected(before: &Content, after: &Content) -> Vec<String> {
    let ids: BTreeSet<&ObjId> = before.keys().chain(after.keys()).collect();
    let mut lines = Vec::new();
    for id in ids {
        let (old, new) = (before.get(id), after.get(id));
        let (was, is) = (old.map(ObjectData::object_type), new.map(ObjectData::object_type));
        let names: BTreeSet<&str> = [was, is]
            .into_iter()
            .flatten()
            .flat_map(|of| of.fields.iter().map(|field| &*field.name))
            .collect();
        let mut fields = Vec::new();
        for name in names {
            let of = |object_type: Option<&Arc<ResolvedType>>| object_type?.field(name).cloned();
            let (a, b) = (of(was), of(is));
            let is_like = |a: &ResolvedField, b: &ResolvedField| {
                std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
            };
            match (&a, &b) {
                (Some(a), Some(b)) if !is_like(a, b) => {
                    // By storage ID, as they are stored.
                    let mut two = vec![
                        (a.storage_id, field_line(Some(a), None, old, None)),
                        (b.storage_id, field_line(None, Some(b), None, new)),
                    ];
                    two.sort();
                    fields.extend(two.into_iter().filter_map(|(_, line)| line));
                }
                _ => fields.extend(field_line(
                    a.as_deref(),
                    b.as_deref(),
                    old.filter(|_| a.is_some()),
                    new.filter(|_| b.is_some()),
                )),
            }
        }
        let is_same = was.zip(is).is_some_and(|(was, is)| was.schema == is.schema);
        if !is_same || !fields.is_empty() {
            lines.push(head(*id, was, is));
            lines.extend(fields);
        }
    }
    lines
}

fn field_line(
    before: Option<&ResolvedField>,
    after: Option<&ResolvedField>,
    old: Option<&ObjectData>,
    new: Option<&ObjectData>,
) -> Option<String> {
    let field = after.or(before)?;
    let same = before.map(|it| it.storage_id) == after.map(|it| it.storage_id);
    let pairs = |field: Option<&ResolvedField>, data: Option<&ObjectData>| {
        let pairs = field.zip(data).map(|(field, data)| {
            data.pairs(field).map(|(a, b)| (a.to_vec(), b.to_vec())).collect::<Vec<_>>()
        });
        pairs.unwrap_or_default()
    };
    let (a, b) = (pairs(before, old), pairs(after, new));
    let content = match &field.kind {
        ResolvedKind::Simple(_) => {
            if a.is_empty() && b.is_empty() || same && a == b {
                return None;
            }
            let value = |field: Option<&ResolvedField>, data: Option<&ObjectData>| {
                field.zip(data).map(|(field, data)| data.simple(field).unwrap().to_vec())
            };
            let (a, b) = (value(before, old), value(after, new));
            format!("{} -> {}", optional(a.as_deref()), optional(b.as_deref()))
        }
        ResolvedKind::Counter => {
            let count = |field: Option<&ResolvedField>, data: Option<&ObjectData>| {
                field.zip(data).map_or(0, |(field, data)| data.counter(field).unwrap())
            };
            let (a, b) = (count(before, old), count(after, new));
            if a == b {
                return None;
            }
            format!("{a} -> {b}")
        }
        ResolvedKind::List { .. } => {
            if a == b {
                return None;
            }
            let join = |pairs: &[(Vec<u8>, Vec<u8>)]| {
                pairs.iter().map(|(_, value)| hex(value)).collect::<Vec<_>>().join(",")
            };
            format!("{} -> {}", join(&a), join(&b))
        }
        ResolvedKind::Set { .. } => {
            let keys = |pairs: &[(Vec<u8>, Vec<u8>)], others: &[(Vec<u8>, Vec<u8>)]| {
                let differs =
                    |key: &Vec<u8>| !same || !others.iter().any(|(other, _)| other == key);
                let keys = pairs.iter().map(|(key, _)| key).filter(|key| differs(key));
                keys.map(|key| hex(key)).collect::<Vec<_>>().join(",")
            };
            let (removed, added) = (keys(&a, &b), keys(&b, &a));
            if removed.is_empty() && added.is_empty() {
                return None;
            }
            format!("removed {removed} added {added}")
        }
        ResolvedKind::Map { .. } => {
            let (a, b): (BTreeMap<_, _>, BTreeMap<_, _>) =
                (a.into_iter().collect(), b.into_iter().collect());
            let line = |key: &[u8], old: Option<&Vec<u8>>, new: Option<&Vec<u8>>| {
                let [old, new] = [old, new].map(|value| optional(value.map(|value| &value[..])));
                format!("{}={old}->{new}", hex(key))
            };
            let mut lines = Vec::new();
            if same {
                let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
                let differing = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
                lines.extend(differing.map(|key| line(key, a.get(key), b.get(key))));
            } else {
                lines.extend(a.iter().map(|(key, old)| line(key, Some(old), None)));
                lines.extend(b.iter().map(|(key, new)| line(key, None, Some(new))));
            }
            if lines.is_empty() {
                return None;
            }
            lines.join(",")
        }
    };
    Some(format!("{} {content}", field_head(before, after)))
}
