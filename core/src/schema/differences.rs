//! The differences between two schema models, in words: those of Java, as lines, or as one line.

use std::cmp::Ordering;
use std::fmt;

use super::model::{
    CompositeIndex, Field, FieldKind, ObjectType, Reference, SchemaModel, Simple, SimpleKind,
    SubField,
};
use crate::encoding::string::compare as utf16_cmp;
use crate::id::StorageId;

/// A difference between two schemas, and its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The difference.
    pub text: String,
    /// The differences inside it.
    pub details: Vec<Difference>,
}

/// How many differences [`Differences::one_line`] names.
const NAMED: usize = 4;

/// The differences between two schemas. They display as indented lines, or as `no differences`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences(Vec<Difference>);

impl Differences {
    /// The differences in order.
    pub fn list(&self) -> &[Difference] {
        &self.0
    }

    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first differences in one line, each with its place. Empty if there are none.
    pub(crate) fn one_line(&self) -> String {
        let mut found = Vec::new();
        for difference in &self.0 {
            collect(difference, "", &mut found);
        }
        let more = found.len().saturating_sub(NAMED);
        found.truncate(NAMED);
        let mut text = found.join("; ");
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        text
    }

    fn add(&mut self, text: impl Into<String>) {
        self.0.push(Difference { text: text.into(), details: Vec::new() });
    }

    fn add_changed(&mut self, what: &str, details: Differences) {
        self.0.push(Difference { text: format!("changed {what}"), details: details.0 });
    }

    fn changed<T: PartialEq>(&mut self, what: &str, old: T, new: T, show: impl Fn(T) -> String) {
        if old != new {
            self.add(format!("changed {what} from {} to {}", show(old), show(new)));
        }
    }
}

/// Adds the texts of a difference and its details to `found`, each after the place it is in.
fn collect(difference: &Difference, place: &str, found: &mut Vec<String>) {
    // A place is named without the word "changed": `object type "T"`.
    let own = difference.text.strip_prefix("changed ").unwrap_or(&difference.text);
    if difference.details.is_empty() {
        let text = &difference.text;
        found.push(if place.is_empty() { text.clone() } else { format!("{place}: {text}") });
        return;
    }
    let place = if place.is_empty() { own.to_owned() } else { format!("{place}, {own}") };
    for detail in &difference.details {
        collect(detail, &place, found);
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn lines(
            differences: &[Difference],
            depth: usize,
            first: &mut bool,
            f: &mut fmt::Formatter<'_>,
        ) -> fmt::Result {
            for difference in differences {
                let newline = if std::mem::take(first) { "" } else { "\n" };
                write!(f, "{newline}{:1$}-> {2}", "", 2 * depth, difference.text)?;
                lines(&difference.details, depth + 1, first, f)?;
            }
            Ok(())
        }
        if self.is_empty() {
            return f.write_str("no differences");
        }
        lines(&self.0, 0, &mut true, f)
    }
}

impl SchemaModel {
    /// How this schema differs from an older one.
    ///
    /// As in Java, a field whose kind changed is reported only as removed, and a new order of enum
    /// constants is reported without details. [`SchemaComparison`](super::SchemaComparison) says
    /// more, and also what the change means for stored objects.
    #[doc(hidden)]
    pub fn differences_from(&self, old: &SchemaModel) -> Differences {
        let mut found = Differences::default();
        for (old, new) in pair_up(old.object_types(), self.object_types(), |t| t.name()) {
            let what = |t: &ObjectType| format!("object type {:?}", Quoted(t.name()));
            match (old, new) {
                (Some(old), None) => found.add(format!("removed {}", what(old))),
                (None, Some(new)) => found.add(format!("added {}", what(new))),
                (Some(old), Some(new)) => {
                    let details = type_differences(old, new);
                    if !details.is_empty() {
                        found.add_changed(&what(new), details);
                    }
                }
                (None, None) => {}
            }
        }
        found
    }
}

/// Merges two lists that are sorted by name: each name once, with the item of each list that has
/// it.
pub(super) fn pair_up<'a, T>(
    old: &'a [T],
    new: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => utf16_cmp(name(a), name(b)),
        };
        pairs.push((
            if order.is_le() { old.next() } else { None },
            if order.is_ge() { new.next() } else { None },
        ));
    }
}

fn type_differences(old: &ObjectType, new: &ObjectType) -> Differences {
    let mut found = Differences::default();
    storage_id(&mut found, old.storage_id(), new.storage_id());
    for (old, new) in pair_up(old.fields(), new.fields(), Field::name) {
        match (old, new) {
            // As in Java, a field of another kind is told as removed only.
            (Some(old), Some(new)) if old.kind().item_kind() == new.kind().item_kind() => {
                let details = field_differences(old, new);
                if !details.is_empty() {
                    found.add_changed(&describe_field(old), details);
                }
            }
            (Some(old), _) => found.add(format!("removed {}", describe_field(old))),
            (None, Some(new)) => found.add(format!("added {}", describe_field(new))),
            (None, None) => {}
        }
    }
    for (old, new) in pair_up(old.indexes(), new.indexes(), CompositeIndex::name) {
        let what = |index: &CompositeIndex| format!("composite index {:?}", Quoted(index.name()));
        match (old, new) {
            (Some(old), None) => found.add(format!("removed {}", what(old))),
            (None, Some(new)) => found.add(format!("added {}", what(new))),
            (Some(old), Some(new)) => {
                let mut details = Differences::default();
                storage_id(&mut details, old.storage_id(), new.storage_id());
                details.changed("indexed fields", old.fields(), new.fields(), list);
                if !details.is_empty() {
                    found.add_changed(&what(new), details);
                }
            }
            (None, None) => {}
        }
    }
    found
}

/// Describes a field in a few words: `field "name" type String`, `set field "tags"`.
pub(super) fn describe_field(field: &Field) -> String {
    let name = Quoted(field.name());
    match field.kind() {
        FieldKind::Counter => format!("counter field {name:?}"),
        FieldKind::Set(_) => format!("set field {name:?}"),
        FieldKind::List(_) => format!("list field {name:?}"),
        FieldKind::Map { .. } => format!("map field {name:?}"),
        FieldKind::Simple(simple) => match simple.kind() {
            SimpleKind::Plain(id) if id.alias() == id.as_str() => {
                format!("field {name:?} type {:?}", Quoted(id.as_str()))
            }
            SimpleKind::Plain(id) => format!("field {name:?} type {}", id.alias()),
            _ => format!("field {name:?}"),
        },
    }
}

fn field_differences(old: &Field, new: &Field) -> Differences {
    let mut found = Differences::default();
    match (old.kind(), new.kind()) {
        // Java compares nothing about counters, not even the storage ID.
        (FieldKind::Counter, FieldKind::Counter) => {}
        (FieldKind::Simple(a), FieldKind::Simple(b)) => {
            storage_id(&mut found, old.storage_id(), new.storage_id());
            simple_differences(&mut found, a, b);
        }
        _ => {
            storage_id(&mut found, old.storage_id(), new.storage_id());
            for ((name, a), (_, b)) in old.sub_fields().zip(new.sub_fields()) {
                let details = sub_field_differences(a, b);
                if !details.is_empty() {
                    found.add_changed(&format!("{name} field"), details);
                }
            }
        }
    }
    found
}

fn sub_field_differences(old: &SubField, new: &SubField) -> Differences {
    let mut found = Differences::default();
    let (a, b) = (old.simple(), new.simple());
    storage_id(&mut found, old.storage_id(), new.storage_id());
    let kind = |simple: &Simple| simple.kind().item_kind();
    found.changed("field kind", kind(a), kind(b), |kind| kind.as_str().to_owned());
    simple_differences(&mut found, a, b);
    found
}

fn simple_differences(found: &mut Differences, old: &Simple, new: &Simple) {
    // Java's order of messages depends on the kind of field.
    let tells_index_first =
        matches!(new.kind(), SimpleKind::Enum { .. } | SimpleKind::EnumArray { .. });
    if tells_index_first {
        index_difference(found, old, new);
    }
    match (old.kind(), new.kind()) {
        (SimpleKind::Plain(a), SimpleKind::Plain(b)) => {
            found.changed("field encoding ID", a, b, |id| format!("{:?}", Quoted(id.as_str())));
        }
        (SimpleKind::Reference(a), SimpleKind::Reference(b)) => {
            reference_differences(found, a, b);
        }
        (SimpleKind::Enum { identifiers: a }, SimpleKind::Enum { identifiers: b }) => {
            identifier_differences(found, a, b);
        }
        (
            SimpleKind::EnumArray { identifiers: a, dimensions: old },
            SimpleKind::EnumArray { identifiers: b, dimensions: new },
        ) => {
            identifier_differences(found, a, b);
            found.changed("number of dimensions", old, new, |n| n.to_string());
        }
        _ => {}
    }
    if !tells_index_first {
        index_difference(found, old, new);
    }
}

fn index_difference(found: &mut Differences, old: &Simple, new: &Simple) {
    match (old.is_indexed(), new.is_indexed()) {
        (true, false) => found.add("removed index on field"),
        (false, true) => found.add("added index on field"),
        _ => {}
    }
}

fn reference_differences(found: &mut Differences, old: &Reference, new: &Reference) {
    let action = |action: super::DeleteAction| action.as_str().to_owned();
    let flag = |flag: bool| flag.to_string();
    found.changed("inverse delete", old.inverse_delete(), new.inverse_delete(), action);
    found.changed("forward delete", old.forward_delete(), new.forward_delete(), flag);
    found.changed("allow deleted objects", old.allow_deleted(), new.allow_deleted(), flag);
    found.changed("object types", old.object_types(), new.object_types(), |types| {
        types.map_or_else(|| "null".to_owned(), list)
    });
}

fn identifier_differences(found: &mut Differences, old: &[String], new: &[String]) {
    if old == new {
        return;
    }
    fn sorted(identifiers: &[String]) -> Vec<(usize, &str)> {
        let mut sorted: Vec<_> = identifiers.iter().map(String::as_str).enumerate().collect();
        sorted.sort_by(|(_, a), (_, b)| utf16_cmp(a, b));
        sorted
    }
    let mut details = Differences::default();
    for pair in pair_up(&sorted(old), &sorted(new), |(_, identifier)| identifier) {
        let (change, (ordinal, identifier)) = match pair {
            (Some(old), None) => ("removed", old),
            (None, Some(new)) => ("added", new),
            _ => continue,
        };
        details.add(format!("{change} {:?} (ordinal {ordinal})", Quoted(identifier)));
    }
    // As in Java, an order that has changed is told without details.
    found.add_changed("enum identifier list", details);
}

fn storage_id(found: &mut Differences, old: Option<StorageId>, new: Option<StorageId>) {
    found.changed("storage ID", old, new, |id| id.map_or(0, StorageId::get).to_string());
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.join(", "))
}

/// A text in quotes. Characters outside ASCII are not escaped.
struct Quoted<'t>(&'t str);

impl fmt::Debug for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
