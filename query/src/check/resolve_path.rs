//! Resolving paths.

use std::collections::BTreeSet;

use permazen::__internal::schema::ResolvedKind;
use permazen::StorageId;
use permazen::schema::{ResolvedField, SchemaIndex};

use super::checker::{Checker, Result};
use super::names::{FieldAt, missing, ticked};
use super::path::{Access, CheckedPath, Read, ValueKind, set_families};
use super::versions::Versions;
use crate::mistake::{Mistake, is_bare_id, needs_at};
use crate::syntax::{Literal, LiteralKind, Name, Part, Path, Span, Special};
use crate::text::{self, MOST_DIGITS, Mismatch, whole};

/// The use of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathFor {
    /// A condition, which looks at each value. A set or list stands for its elements.
    Values,
    /// A column, which shows what is there. A collection is shown as a whole.
    Column,
}

/// A field that is named, but not read yet.
struct Pending {
    versions: Versions<(FieldAt, Option<Read>)>,
    /// Where its name stands, with what comes after it.
    span: Span,
    text: String,
}

impl Pending {
    fn of(versions: Versions<FieldAt>, span: Span, text: String) -> Self {
        let versions = versions.iter().map(|(version, at)| (version, (at.clone(), None)));
        Pending { versions: versions.collect(), span, text }
    }

    /// How the field is read in each version where it can be. `bare` says how a collection is read
    /// of which no part is named.
    fn read(&self, bare: impl Fn(&ResolvedField) -> Option<Read>) -> Versions<Access> {
        let access = |(at, read): &(FieldAt, Option<Read>)| {
            let read = match (&at.field.kind, read) {
                (_, Some(read)) => read.clone(),
                (ResolvedKind::Simple(_), None) => Read::Simple,
                (ResolvedKind::Counter, None) => Read::Counter,
                (_, None) => bare(&at.field)?,
            };
            Some(Access { field: at.field.clone(), stored: at.stored, read, kind: 0 })
        };
        self.versions
            .iter()
            .filter_map(|(version, field)| Some((version, access(field)?)))
            .collect()
    }

    /// The part of the field that is named after it, if it is there in any version.
    fn sub_field(&mut self, name: &Name) -> bool {
        let read = |field: &ResolvedField| {
            let part = field.sub_fields().find(|part| name.is(&part.name, part.storage_id))?;
            Some(match (&field.kind, &*part.name) {
                (ResolvedKind::Map { .. }, "key") => Read::Keys,
                (ResolvedKind::Map { .. }, _) => Read::Values,
                _ => Read::Elements,
            })
        };
        self.part(|field, _| read(field))
    }

    /// Reads a part of the field in the versions where there is one. Returns `false` if there is
    /// none.
    fn part(&mut self, read: impl Fn(&ResolvedField, Version) -> Option<Read>) -> bool {
        let part = |version, (at, before): &(FieldAt, Option<Read>)| match before {
            None => read(&at.field, version),
            // A part is named already, and it has no parts itself.
            Some(_) => None,
        };
        // The name may mean a field of the next object instead, so nothing is changed here then.
        if !self.versions.iter().any(|(version, field)| part(version, field).is_some()) {
            return false;
        }
        self.versions = self
            .versions
            .iter()
            .filter_map(|(version, field)| {
                Some((version, (field.0.clone(), Some(part(version, field)?))))
            })
            .collect();
        true
    }

    fn any(&self, is: impl Fn(&ResolvedField) -> bool) -> bool {
        self.versions.iter().any(|(_, (at, read))| read.is_none() && is(&at.field))
    }
}

type Version = (StorageId, SchemaIndex);

/// The elements of a set or list; a map has two parts, one of which must be named.
fn elements(field: &ResolvedField) -> Option<Read> {
    match field.kind {
        ResolvedKind::Set { .. } | ResolvedKind::List { .. } => Some(Read::Elements),
        _ => None,
    }
}

fn is_map(field: &ResolvedField) -> bool {
    matches!(field.kind, ResolvedKind::Map { .. })
}

impl Checker<'_> {
    /// A path that begins at objects of these types.
    pub(super) fn path(
        &self,
        types: &[StorageId],
        path: &Path,
        path_for: PathFor,
    ) -> Result<CheckedPath> {
        let mut at = types.to_vec();
        let mut hops = Vec::new();
        let mut pending: Option<Pending> = None;
        let mut special = None;
        for part in &path.parts {
            if let Some(special) = special {
                // `id`, `type` and `schema` are no objects.
                return Err(after_special(path, special));
            }
            let span = part_span(part, path);
            if let Some(field) = &mut pending {
                // A part of the field comes before a field of the objects to which it leads.
                let done = match part {
                    Part::Name(name) => field.sub_field(name),
                    Part::Key(key) => {
                        self.key(field, key)?;
                        true
                    }
                    Part::Special(_) => false,
                };
                if done {
                    field.span = field.span.to(span);
                    continue;
                }
                let hop = self.followed(field, part, span)?;
                at = self.targets(&hop);
                hops.push(hop);
                pending = None;
            }
            match part {
                Part::Name(name) => {
                    let text = ticked(name.text.as_deref().unwrap_or_default());
                    pending = Some(Pending::of(self.fields(&at, name)?, name.span, text));
                }
                Part::Special(word) => special = Some(*word),
                Part::Key(_) => return Err(Mistake::new(span, "an object has no elements")),
            }
        }
        let text = path.to_string();
        if let Some(field) = pending {
            let bare = |field: &ResolvedField| match path_for {
                // A condition looks at single values, and a map has two kinds of them.
                PathFor::Values => elements(field),
                PathFor::Column => Some(Read::Whole),
            };
            let last = field.read(bare);
            // Only a map has no way to be read here.
            if last.is_empty() {
                return Err(map_part(&field));
            }
            hops.push(last);
        }
        Ok(finished(text, hops, special, self.count_versions(types)))
    }

    /// How many versions these types have.
    pub(super) fn count_versions(&self, types: &[StorageId]) -> usize {
        self.entries(types).map(|entry| entry.versions.len()).sum()
    }

    /// Reads a pending field for a key or at a position, in the versions that can.
    fn key(&self, pending: &mut Pending, key: &Literal) -> Result<()> {
        let key = &*self.given(key)?;
        let mut refused: Option<Mistake> = None;
        let mut reads: Vec<(Version, Read)> = Vec::new();
        for (version, (at, read)) in pending.versions.newest_first() {
            let read = match (&at.field.kind, read) {
                (ResolvedKind::Map { key: field, .. }, None) => encoded_for(key, field)
                    .map(Read::AtKey)
                    .map_err(|mismatch| mismatch_at(key, &mismatch)),
                (ResolvedKind::List { .. }, None) => {
                    // No list is long enough to have this position.
                    let none = permazen::__internal::object::MAX_LIST_LEN;
                    position(key).map(|position| Read::AtPosition(position.unwrap_or(none)))
                }
                // The field is no collection in this version. Another version can have the key.
                _ => continue,
            };
            match read {
                Ok(read) => reads.push((version, read)),
                // The value need only fit one version. The newest one's mistake is told if it fits
                // none.
                Err(mistake) => drop(refused.get_or_insert(mistake)),
            }
        }
        let found = pending.part(|_, version| {
            let mut reads = reads.iter();
            reads.find(|(of, _)| *of == version).map(|(_, read)| read.clone())
        });
        match (found, refused) {
            (true, _) => Ok(()),
            (false, Some(mistake)) => Err(mistake),
            (false, None) => {
                let what = format!("{} has no values for keys or positions", pending.text);
                Err(Mistake::new(key.span, what))
            }
        }
    }

    /// A pending field whose references are followed, because of the part after it.
    fn followed(&self, pending: &Pending, part: &Part, span: Span) -> Result<Versions<Access>> {
        let mut hop = pending.read(elements);
        hop.retain(|_, access| access.of().is_some_and(|field| field.is_reference()));
        // Versions in which the field is no reference lead nowhere. One that does lead is enough.
        if !hop.is_empty() {
            return Ok(hop);
        }
        if pending.any(is_map) {
            return Err(map_part(pending));
        }
        if let Part::Name(name) = part
            && pending.any(|field| field.sub_fields().next().is_some())
        {
            return Err(missing(name, "part", ["element", "key", "value"]));
        }
        let what = format!("{} is no reference, so nothing can be read through it", pending.text);
        Err(Mistake::new(span, what))
    }

    /// The types to which the references of a hop can lead, ascending.
    pub(super) fn targets(&self, hop: &Versions<Access>) -> Vec<StorageId> {
        let mut types = BTreeSet::new();
        for (_, access) in hop.iter() {
            let simple = access.of().and_then(|field| field.simple());
            let Some(reference) = simple.and_then(|simple| simple.reference.as_ref()) else {
                continue;
            };
            match &reference.allowed {
                Some(allowed) => types.extend(allowed.iter().copied()),
                None => types.extend(self.catalog.types().iter().map(|entry| entry.storage_id)),
            }
        }
        let mut types: Vec<_> = types.into_iter().collect();
        types.retain(|id| self.catalog.type_with_id(*id).is_some());
        types
    }
}

/// A path that is resolved but for the kinds of its values. It begins at objects of types that have
/// `versions` versions.
pub(super) fn finished(
    text: String,
    mut hops: Vec<Versions<Access>>,
    special: Option<Special>,
    versions: usize,
) -> CheckedPath {
    let mut kinds: Vec<ValueKind> = Vec::new();
    let mut of_versions = Vec::new();
    match (special, hops.last()) {
        (Some(special), _) => kinds.push(ValueKind::special(special)),
        (None, Some(last)) => {
            for (version, access) in last.newest_first() {
                // A whole collection is shown and never compared, so it has no kind.
                if access.read == Read::Whole {
                    continue;
                }
                let mut kind = ValueKind::of(access.of().map(|field| &**field));
                let at = match kinds.iter().position(|other| other.is_same(&kind)) {
                    Some(at) => at,
                    None => {
                        kinds.push(kind.clone());
                        kinds.len() - 1
                    }
                };
                if let Some(known) = kinds.get_mut(at) {
                    // The types of all versions are allowed.
                    known.allowed = match (known.allowed.take(), kind.allowed.take()) {
                        (Some(one), Some(other)) => Some(&one | &other),
                        _ => None,
                    };
                }
                of_versions.push((version, at));
            }
        }
        (None, None) => {}
    }
    set_families(&mut kinds);
    if let Some(last) = hops.last_mut() {
        last.set(|access, version| {
            let mut known = of_versions.iter();
            access.kind = known.find(|(of, _)| *of == version).map_or(0, |(_, at)| *at);
        });
    }
    let many = hops.iter().any(|hop| hop.iter().any(|(_, access)| access.read.is_many()));
    // Most types have one definition of a field. Then an object can be read without asking for its
    // version.
    let always = hops.first().and_then(|hop| {
        let (_, first) = hop.iter().next()?;
        let same = hop.iter().filter(|(_, access)| first.is_same(access)).count();
        (same == versions).then(|| first.clone())
    });
    CheckedPath { text, hops, special, kinds, many, always }
}

/// The encoded form of a literal for a field or sub-field of a simple kind.
pub(super) fn encoded_for(literal: &Literal, field: &ResolvedField) -> Result<Vec<u8>, Mismatch> {
    match field.simple() {
        Some(simple) => text::encoded(literal, &*simple.encoding),
        None => Ok(Vec::new()),
    }
}

pub(super) fn mismatch_at(literal: &Literal, mismatch: &Mismatch) -> Mistake {
    let mistake = Mistake::new(literal.span, mismatch.to_string());
    match mismatch {
        Mismatch::NoSuchConstant { word, constants } => {
            mistake.near(word, constants.iter().map(String::as_str))
        }
        Mismatch::WrongType { expected, .. } if expected.starts_with("an ID") => {
            match &literal.kind {
                // An ID without its `@` reads as a number or a word.
                LiteralKind::Number(word) | LiteralKind::Word(word) if is_bare_id(word) => {
                    Mistake::new(literal.span, needs_at(word))
                }
                _ => mistake,
            }
        }
        _ => mistake,
    }
}

/// A position in a list; `None` if no list has it.
pub(super) fn position(literal: &Literal) -> Result<Option<u32>> {
    let digits = match &literal.kind {
        LiteralKind::Number(number) => whole(number, MOST_DIGITS).ok(),
        _ => None,
    };
    let is_position = |digits: &String| !digits.starts_with('-');
    let digits = digits
        .filter(is_position)
        .ok_or_else(|| Mistake::new(literal.span, "a position in a list is a number from 0"))?;
    Ok(digits
        .parse()
        .ok()
        .filter(|position| *position < permazen::__internal::object::MAX_LIST_LEN))
}

fn map_part(pending: &Pending) -> Mistake {
    let field = &pending.text;
    let name = field.trim_matches('`');
    let what = format!("{field} is a map: say which part, `{name}.key` or `{name}.value`");
    Mistake::new(pending.span, what)
}

fn after_special(path: &Path, special: Special) -> Mistake {
    let what = format!("nothing can be read of the {} of an object", special.word());
    Mistake::new(path.span, what)
}

fn part_span(part: &Part, path: &Path) -> Span {
    match part {
        Part::Name(name) => name.span,
        Part::Key(key) => key.span,
        Part::Special(_) => path.span,
    }
}
