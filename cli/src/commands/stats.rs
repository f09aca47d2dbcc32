//! `stats`: how large everything is.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use permazen::ObjId;
use permazen::kv::{Direction, KeySpan};
use permazen::layout::{self, KeyKind};
use permazen::schema::{ResolvedPart, SchemaBundle, read_usable_schemas};
use permazen_query::Cell;

use super::kv::read_pairs;
use super::list::{self, number, text};
use super::progress::Progress;
use super::{Context, Place};
use crate::failure::{Answer, Failure};

/// Say how many pairs and bytes there are: of meta-data, and of each type, field and index.
///
/// Reads every pair once. Bytes are those of keys and values; what the store adds to them is not
/// counted.
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// List so many of the largest objects instead
    #[arg(long, value_name = "N")]
    largest: Option<usize>,
}

/// What a pair belongs to, in the order in which it is listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    MetaData(&'static str),
    /// A type by its name, and the name of a field; none for the pair of the object itself.
    Object(String, Option<String>),
    Index(String),
    Unknown,
}

/// How much there is of something.
#[derive(Debug, Default, Clone)]
struct Size {
    pairs: u64,
    key_bytes: u64,
    value_bytes: u64,
    /// The bytes of the largest pair.
    largest: u64,
}

impl Size {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let (key, value) = (key.len() as u64, value.len() as u64);
        self.pairs += 1;
        self.key_bytes += key;
        self.value_bytes += value;
        self.largest = self.largest.max(key + value);
    }

    fn include(&mut self, other: &Size) {
        self.pairs += other.pairs;
        self.key_bytes += other.key_bytes;
        self.value_bytes += other.value_bytes;
        self.largest = self.largest.max(other.largest);
    }

    fn bytes(&self) -> u64 {
        self.key_bytes + self.value_bytes
    }
}

/// The sizes that a scan has found so far.
struct Sizes<'b> {
    schemas: &'b SchemaBundle,
    parts: BTreeMap<Part, Size>,
    /// How many of the largest objects are kept.
    kept: usize,
    /// The object whose pairs are being read.
    current: Option<(ObjId, Size)>,
    /// The largest objects, the largest first.
    objects: Vec<(ObjId, Size)>,
}

impl Sizes<'_> {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let (part, object) = part(key, self.schemas);
        if self.current.as_ref().map(|(id, _)| *id) != object {
            self.end_object();
            self.current = object.map(|id| (id, Size::default()));
        }
        if let Some((_, size)) = &mut self.current {
            size.add(key, value);
        }
        self.parts.entry(part).or_default().add(key, value);
    }

    fn end_object(&mut self) {
        let Some(ended) = self.current.take() else { return };
        let at = self.objects.partition_point(|(_, size)| size.bytes() >= ended.1.bytes());
        if at < self.kept {
            self.objects.insert(at, ended);
            self.objects.truncate(self.kept);
        }
    }
}

/// What a pair belongs to, and its object if it is one of its own.
fn part(key: &[u8], schemas: &SchemaBundle) -> (Part, Option<ObjId>) {
    let meta = |name| (Part::MetaData(name), None);
    let storage_id = match layout::parse_key(key) {
        KeyKind::FormatVersion => return meta("format version"),
        KeyKind::Schema(_) => return meta("schema table"),
        KeyKind::StorageId(_) => return meta("storage ID table"),
        KeyKind::ObjectSchema(..) => return meta("object schema index"),
        KeyKind::UserMetaData => return meta("user meta-data"),
        KeyKind::UnknownMetaData => return meta("unknown meta-data"),
        KeyKind::Malformed => return (Part::Unknown, None),
        KeyKind::Data(storage_id, _) => storage_id,
    };
    if let Some(name) = schemas.type_name(storage_id) {
        let id = key.first_chunk().and_then(|bytes| ObjId::from_bytes(*bytes).ok());
        let Some(id) = id else { return (Part::Unknown, None) };
        let rest = key.get(ObjId::LEN..).unwrap_or_default();
        let named = |field| name_of(field, schemas).unwrap_or_else(|| format!("#{field}"));
        let field = layout::split_field_key(rest).map(|(field, _)| named(field));
        return (Part::Object(name.to_string(), field), Some(id));
    }
    match name_of(storage_id, schemas) {
        Some(name) => (Part::Index(name), None),
        None => (Part::Unknown, None),
    }
}

/// The name of a field, sub-field or composite index. Types can share it.
fn name_of(id: permazen::StorageId, schemas: &SchemaBundle) -> Option<String> {
    let item = schemas.item(id)?;
    let found = item.representative()?;
    match &found.part {
        ResolvedPart::Field(field) => Some(field.full_name.to_string()),
        ResolvedPart::Index(index) => Some(index.name.to_string()),
        _ => None,
    }
}

impl Stats {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let Context { session, out, .. } = context;
        let (parts, objects) = read_pairs(session, |kv| {
            let usable = read_usable_schemas(kv, session.database().encodings())?;
            let mut sizes = Sizes {
                schemas: &usable.schemas,
                parts: BTreeMap::new(),
                kept: self.largest.unwrap_or(0),
                current: None,
                objects: Vec::new(),
            };
            let progress = Progress::of("pairs");
            kv.visit(KeySpan::FULL, Direction::Forward, &mut |key, value| {
                sizes.add(key, value);
                progress.add(1);
                match session.interrupt.check() {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            session.interrupt.check()?;
            sizes.end_object();
            Ok((sizes.parts, sizes.objects))
        })?;
        if self.largest.is_some() {
            let rows = objects
                .into_iter()
                .map(|(id, size)| vec![Cell::Id(id), number(size.pairs), number(size.bytes())]);
            list::show(&["object", "#pairs", "#bytes"], out, rows)?;
            return Ok(Answer::Yes);
        }
        let columns =
            ["part", "name", "#pairs", "#key_bytes", "#value_bytes", "#average", "#largest"];
        list::show(&columns, out, rows(&parts))?;
        Ok(Answer::Yes)
    }

    pub(crate) fn place(&self) -> Place {
        Place::Alone { edits: false }
    }
}

/// A row for each part, for each type as a whole, and for everything.
fn rows(parts: &BTreeMap<Part, Size>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut types: BTreeMap<&str, Size> = BTreeMap::new();
    let mut all = Size::default();
    for (part, size) in parts {
        all.include(size);
        if let Part::Object(name, _) = part {
            types.entry(name).or_default().include(size);
        }
    }
    rows.push(row("all", "", &all));
    let mut last = None;
    for (part, size) in parts {
        match part {
            Part::MetaData(name) => rows.push(row("meta-data", name, size)),
            Part::Object(name, field) => {
                if last != Some(name) {
                    last = Some(name);
                    rows.extend(types.get(&**name).map(|size| row("type", name, size)));
                }
                match field {
                    Some(field) => rows.push(row("field", &format!("{name}.{field}"), size)),
                    None => rows.push(row("objects", name, size)),
                }
            }
            Part::Index(name) => rows.push(row("index", name, size)),
            Part::Unknown => rows.push(row("unknown", "", size)),
        }
    }
    rows
}

fn row(part: &str, name: &str, size: &Size) -> Vec<Cell> {
    vec![
        text(part),
        text(name),
        number(size.pairs),
        number(size.key_bytes),
        number(size.value_bytes),
        number(size.bytes().checked_div(size.pairs).unwrap_or(0)),
        number(size.largest),
    ]
}
