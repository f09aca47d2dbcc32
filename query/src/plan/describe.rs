//! Plans in words, and as JSON.

use permazen::__internal::object::IndexKind;
use permazen::StorageId;
use permazen::schema::ResolvedType;

use super::choose::schemas;
use super::physical::{
    IndexScan, Ordering, QueryPlan, SetPlan, Source, TypeScan, comes_by_id, repeats,
};
use super::reads::{Reads, reads};
use super::shown::shown;
use super::spans;
use crate::check::{CheckedCondition, CheckedIndex, CheckedPath, Way};
use crate::text::{escaped, json_string};

/// A part of a plan: a line, what it says as data, and its parts.
#[derive(Debug, Clone)]
pub(super) struct Node {
    what: &'static str,
    line: String,
    data: Vec<(&'static str, Data)>,
    parts: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Data {
    Text(String),
    Number(u64),
    Yes,
    List(Vec<String>),
}

impl Node {
    fn new(what: &'static str, line: impl Into<String>) -> Self {
        Node { what, line: line.into(), data: Vec::new(), parts: Vec::new() }
    }

    fn text(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.data.push((name, Data::Text(text.into())));
        self
    }

    fn number(mut self, name: &'static str, number: u64) -> Self {
        self.data.push((name, Data::Number(number)));
        self
    }

    fn yes(mut self, name: &'static str, is: bool) -> Self {
        if is {
            self.data.push((name, Data::Yes));
        }
        self
    }

    fn list(mut self, name: &'static str, list: Vec<String>) -> Self {
        self.data.push((name, Data::List(list)));
        self
    }

    pub(super) fn lines(&self) -> String {
        let mut lines = Vec::new();
        self.append(0, &mut lines);
        lines.join("\n")
    }

    fn append(&self, depth: usize, lines: &mut Vec<String>) {
        // Names and values in a line are escaped already, but for those that come as they are.
        lines.push(format!("{}{}", "  ".repeat(depth), escaped(&self.line)));
        self.parts.iter().for_each(|part| part.append(depth + 1, lines));
    }

    pub(super) fn json(&self) -> String {
        let text = |text: &str| json_string(&text.into());
        let mut fields =
            vec![format!("\"what\":\"{}\"", self.what), format!("\"line\":{}", text(&self.line))];
        for (name, data) in &self.data {
            let data = match data {
                Data::Text(one) => text(one),
                Data::Number(number) => number.to_string(),
                Data::Yes => "true".to_owned(),
                Data::List(list) => {
                    format!("[{}]", list.iter().map(|one| text(one)).collect::<Vec<_>>().join(","))
                }
            };
            fields.push(format!("\"{name}\":{data}"));
        }
        if !self.parts.is_empty() {
            let parts: Vec<_> = self.parts.iter().map(Node::json).collect();
            fields.push(format!("\"parts\":[{}]", parts.join(",")));
        }
        format!("{{{}}}", fields.join(","))
    }
}

/// The plan of a statement with a query. `columns` is what it reads of each object; all if it is
/// `None`.
pub(super) fn statement(text: &str, plan: &QueryPlan, columns: Option<&[&CheckedPath]>) -> Node {
    let mut node = Node::new("statement", text);
    node.parts = query_parts(plan, columns);
    node
}

fn query_parts(plan: &QueryPlan, columns: Option<&[&CheckedPath]>) -> Vec<Node> {
    let by_index = matches!(plan.order, Ordering::ByIndex { .. } | Ordering::AsFound);
    let keys = match &plan.order {
        Ordering::Sorted(keys) => Some(keys),
        Ordering::ById | Ordering::ByIdFromEnd | Ordering::AsFound | Ordering::ByIndex { .. } => {
            None
        }
    };
    // Objects are read in the order of the source, or after their IDs are sorted.
    // This must say what `Query::objects` does: the plan is what a user reads to judge the cost.
    let as_given =
        by_index || comes_by_id(&plan.source) || keys.is_some() && !repeats(&plan.source);
    // A scan keeps the shown values of small objects.
    let keeps = keys.is_some() && matches!(plan.source, Source::Type(_)) && plan.limit.is_none();
    let keys_only = keys.is_some() && !keeps;
    let by = keys.into_iter().flatten().map(|by| &by.path);
    let at_first: Option<Vec<&CheckedPath>> = match columns {
        // The shown values are read after the sort, so only the sort keys are read at first.
        _ if keys_only => Some(by.collect()),
        Some(columns) => Some(by.chain(columns.iter().copied()).collect()),
        None => None,
    };
    let of_object = reads_at_first(plan, at_first.as_deref(), as_given);
    let mut parts = vec![source(&plan.source, plan, &of_object)];
    if !as_given {
        parts.push(Node::new("sortIds", "sort the IDs, each once"));
    }
    if let Some(filter) = &plan.filter {
        let line = format!("filter: {}", shown(filter));
        parts.push(Node::new("filter", line).text("condition", shown(filter)));
    }
    // A scan reads the pairs of the objects already.
    let from_end = matches!(plan.order, Ordering::ByIdFromEnd);
    let is_read = matches!(plan.source, Source::Type(_)) && of_object.reads_fields() && !from_end;
    if !is_read && !of_object.is_nothing() {
        parts.push(per_object("each object", &of_object, "object"));
    }
    let mut follows = of_object.follows;
    if let Some(keys) = keys {
        let by: Vec<_> = keys
            .iter()
            .map(|by| format!("{}{}", by.path.text, if by.descending { " desc" } else { "" }))
            .collect();
        let most = plan.limit.map_or(String::new(), |most| format!(", keeping {most}"));
        parts.push(Node::new("sort", format!("sort by {}{most}", by.join(", "))).list("by", by));
        // The filter was met before the sort, so it is not read again.
        let sorted = all_reads(None, columns, &[]);
        follows |= sorted.follows;
        let whose = match keeps {
            true => "each object after the sort, if it has more than 256 bytes",
            false => "each object after the sort",
        };
        if !sorted.is_nothing() {
            parts.push(per_object(whose, &sorted, "sorted"));
        }
    }
    if follows {
        parts.push(Node::new("follow", "each reference that is followed: 2 gets or more"));
    }
    if let Some(limit) = plan.limit {
        parts.push(Node::new("limit", format!("at most {limit}")).number("limit", limit));
    }
    for note in plan.notes.iter().chain(&plan.no_index) {
        parts.push(Node::new("note", format!("note: {note}")));
    }
    parts
}

/// The parts of an object that are read for a condition and some paths; all of it if there are no
/// paths.
fn all_reads(
    filter: Option<&CheckedCondition>,
    paths: Option<&[&CheckedPath]>,
    covered: &[StorageId],
) -> Reads {
    let mut reads = reads(filter, paths.unwrap_or_default().iter().copied(), covered);
    reads.whole = paths.is_none();
    reads
}

/// The parts that are read of each object that the source gives. If an index has several parts, the
/// most of them.
fn reads_at_first(plan: &QueryPlan, paths: Option<&[&CheckedPath]>, as_given: bool) -> Reads {
    let filter = plan.filter.as_ref();
    match &plan.source {
        Source::Index(scan) if as_given => {
            // The parts of an index can cover different fields, so the plan shows the most that is
            // read.
            let parts = scan.parts.iter();
            let of_part = parts.map(|part| all_reads(filter, paths, &part.shape.fields));
            of_part.max_by_key(|reads| reads.fields).unwrap_or_default()
        }
        _ => all_reads(filter, paths, &[]),
    }
}

/// The parts that are read of each object.
fn per_object(whose: &str, reads: &Reads, what: &'static str) -> Node {
    // A single seek is cheaper than several gets, whatever the number of fields is.
    if reads.in_one_go() {
        let line = format!("{whose}: 1 seek and a step for each pair");
        return Node::new(what, line).number("seeks", 1).yes("steps", true);
    }
    let gets = u64::from(reads.version) + reads.fields as u64;
    if reads.collections {
        let line = format!("{whose}: at most {gets} gets and seeks, and a step for each element");
        return Node::new(what, line).number("gets", gets).yes("steps", true);
    }
    let s = if gets == 1 { "" } else { "s" };
    Node::new(what, format!("{whose}: {gets} get{s}")).number("gets", gets)
}

fn source(source: &Source, plan: &QueryPlan, reads: &Reads) -> Node {
    match source {
        Source::Nothing => Node::new("nothing", "no object can match: nothing is read"),
        Source::Ids(ids) => {
            let s = if ids.len() == 1 { "" } else { "s" };
            Node::new("ids", format!("{} ID{s}: a get for each", ids.len()))
                .number("ids", ids.len() as u64)
        }
        Source::Type(scan) => match plan.order {
            Ordering::ByIdFromEnd => type_scan(scan, false, true),
            _ => type_scan(scan, reads.reads_fields(), false),
        },
        Source::Index(scan) => {
            let reverse = matches!(plan.order, Ordering::ByIndex { reverse: true });
            let mut node = index_scan(scan);
            if matches!(plan.order, Ordering::ByIndex { .. } | Ordering::AsFound) {
                let line = if reverse { "in its order, from the end" } else { "in its order" };
                node.parts.push(Node::new("order", line).yes("reverse", reverse));
            }
            node
        }
        Source::AnyOf(scans) => {
            let mut node = Node::new("anyOf", "any of");
            node.parts = scans.iter().map(index_scan).collect();
            node
        }
        Source::Set(set) => set_node(set),
    }
}

fn type_scan(scan: &TypeScan, reads_pairs: bool, from_end: bool) -> Node {
    let name = escaped(&scan.name);
    let which = if scan.is_part { "the objects in a range of IDs" } else { "all objects" };
    let line = match reads_pairs {
        true => format!("scan {which} of {name}: 1 seek and a step for each pair"),
        false => {
            let direction = if from_end { ", from the end" } else { "" };
            format!("scan the IDs of {which} of {name}{direction}: a step for each object")
        }
    };
    let node = Node::new("scan", line).text("type", &*scan.name);
    node.yes("pairs", reads_pairs).yes("reverse", from_end)
}

fn index_scan(scan: &IndexScan) -> Node {
    let line = format!("index {}", escaped(&scan.name));
    let mut node = Node::new("index", line).text("index", &*scan.name);
    for part in &scan.parts {
        let ranges = part.spans.len() as u64;
        let bounds = match part.bounds.as_slice() {
            [] => "all entries".to_owned(),
            bounds => format!("entries ({})", bounds.join(", ")),
        };
        let s = if ranges == 1 { "" } else { "s" };
        let line = format!(
            "storage ID {}: {bounds}: {ranges} seek{s} and a step for each entry",
            part.shape.storage_id
        );
        node.parts.push(
            Node::new("entries", line)
                .number("storageId", u64::from(part.shape.storage_id.get()))
                .list("bounds", part.bounds.clone())
                .number("seeks", ranges)
                .yes("shared", part.shared),
        );
        if part.shared {
            let line = "entries of other types are passed over";
            node.parts.push(Node::new("shared", line));
        }
    }
    if !scan.completed.is_empty() {
        let line = format!(
            "the objects of {} are not in it: each of them is read",
            schemas(&scan.completed)
        );
        let numbers = scan.completed.iter().map(ToString::to_string).collect();
        node.parts.push(Node::new("completed", line).list("schemas", numbers));
    }
    node
}

fn set_node(set: &SetPlan) -> Node {
    match set {
        SetPlan::Type(scan) => type_scan(scan, false, false),
        SetPlan::Id(id) => Node::new("ids", format!("@{id}: a get")).number("ids", 1),
        SetPlan::Query(plan) => {
            let mut node = Node::new("query", "the objects that meet a condition");
            // A set gives only IDs, so no column is read.
            node.parts = query_parts(plan, Some(&[]));
            node
        }
        SetPlan::Steps(from, steps) => {
            let mut node = Node::new("path", "what is reached from");
            node.parts.push(set_node(from));
            for step in steps {
                let way = match &step.way {
                    Way::Forward(_) => "gets and seeks for each object, a get for each target",
                    Way::Back(indexes) if indexes.len() == 1 => {
                        "a seek in an index for each object"
                    }
                    Way::Back(_) => "seeks in indexes for each object",
                };
                let line = format!("{}: {way}", step.text);
                node.parts.push(Node::new("step", line).text("step", &*step.text));
            }
            node
        }
        SetPlan::Combined(first, rest) => {
            let mut node = Node::new("combined", "sets, read together in the order of the IDs");
            node.parts.push(set_node(first));
            for (operator, operand) in rest {
                let mut part = Node::new(operator.word(), operator.word());
                part.parts.push(set_node(operand));
                node.parts.push(part);
            }
            node
        }
    }
}

/// The plan of `index`.
pub(super) fn index(index: &CheckedIndex) -> Node {
    let bounds: Vec<_> = index
        .bounds
        .iter()
        .zip(&index.values)
        .map(|(matcher, (_, encoding))| spans::shown_values(matcher, &**encoding))
        .collect();
    let entries = match bounds.as_slice() {
        [] => "all entries".to_owned(),
        bounds => format!("entries ({})", bounds.join(", ")),
    };
    let direction = if index.reverse { ", from the end" } else { "" };
    let line = format!("index {}: {entries}{direction}: 1 seek and a step for each", index.text);
    let mut node = Node::new("index", line)
        .text("index", &*index.text)
        .number("storageId", u64::from(index.storage_id.get()))
        .list("bounds", bounds)
        .yes("reverse", index.reverse);
    // With one type of keys the encoding is known, so the object need not be asked for its version.
    if index.kind == IndexKind::MapValue && index.map_keys.len() > 1 {
        node.parts.push(Node::new("object", "each object: 1 get").number("gets", 1));
    }
    if let Some(limit) = index.limit {
        node.parts.push(Node::new("limit", format!("at most {limit}")).number("limit", limit));
    }
    node
}

/// The plan of `create`.
pub(super) fn create(object_type: &ResolvedType) -> Node {
    let line = format!("create an object of {} in schema {}", object_type.name, object_type.schema);
    Node::new("create", line)
}
