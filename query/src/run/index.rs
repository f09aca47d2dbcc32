//! `index`: the entries of an index as they are.

use std::sync::Arc;

use permazen::__internal::encoding::UnsignedIntEncoding;
use permazen::__internal::object::IndexKind;
use permazen::encoding::Encoding;
use permazen::kv::{Direction, KeySpan};

use super::cells::{damaged, set_value};
use super::entries::{Cutter, Entry};
use super::fail::Result;
use super::query::Query;
use super::reader::{Lookup, Reader};
use super::subject::{Flow, visit};
use crate::check::{CheckedIndex, Matcher, ValueKind};
use crate::plan::{EntryShape, Span, index_span};
use crate::rows::{Cell, Column, Row, Rows};
use crate::text::quoted_name;

/// Makes rows of entries.
struct IndexRows<'r> {
    reader: &'r Reader<'r>,
    index: &'r CheckedIndex,
    cutter: Cutter<'r>,
    /// The columns whose bounds the span does not express.
    checked: Vec<(usize, &'r Matcher)>,
    /// The encoding of the bytes after the object ID, if all entries have the same.
    suffix: Option<Arc<dyn Encoding>>,
    row: Row,
}

impl Query<'_> {
    /// `index`: a row for each entry. Returns how many.
    pub(super) fn index(&self, index: &CheckedIndex, rows: &mut dyn Rows) -> Result<u64> {
        let columns = columns(index);
        // The limit is compared after each row, so 0 must end here.
        // A consumer that refuses the columns wants no rows.
        if rows.columns(&columns).is_break() || index.limit == Some(0) {
            return Ok(0);
        }
        let encodings = index.values.iter().map(|(_, encoding)| Arc::clone(encoding)).collect();
        let shape = EntryShape::new(index.storage_id, index.kind, Vec::new(), encodings);
        let (span, checked) = index_span(index, &shape);
        // The values of a list's index end with a position, and those of a map's with a key.
        let suffix: Option<Arc<dyn Encoding>> = match (index.kind, index.map_keys.as_slice()) {
            (IndexKind::ListElement, _) => Some(Arc::new(UnsignedIntEncoding)),
            // Maps with different types of keys can share the index, and then the object must be
            // asked.
            (_, [(only, _)]) => Some(Arc::clone(only)),
            _ => None,
        };
        let mut reading = IndexRows {
            reader: self.reader,
            index,
            cutter: Cutter::new(&shape),
            checked,
            suffix,
            row: Row { id: None, cells: vec![Cell::Absent; columns.len()] },
        };
        let direction = if index.reverse { Direction::Reverse } else { Direction::Forward };
        // Bounds that exclude each other leave no range.
        let Some(span) = span else { return Ok(0) };
        let Span { min, max } = &span;
        let mut count = 0;
        visit(self.reader, KeySpan::new(min, max.as_deref()), direction, &mut |key, _| {
            // An unwanted entry does not count towards the limit.
            if !reading.fill(key)? {
                return Ok(Flow::More);
            }
            count += 1;
            let flow = Flow::from(rows.row(&reading.row));
            let enough = index.limit.is_some_and(|limit| count >= limit);
            Ok(if enough { Flow::Enough } else { flow })
        })?;
        Ok(count)
    }
}

/// The indexed values, the object ID, and the bytes after it.
fn columns(index: &CheckedIndex) -> Vec<Column> {
    let values = index.values.iter().map(|(field, encoding)| {
        // A sub-field has a dot in its name.
        let name: Vec<_> = field.split('.').map(quoted_name).collect();
        let numeric = ValueKind::stored(Arc::clone(encoding)).is_number();
        (name.join("."), field.to_string(), numeric)
    });
    let other = |name: &str, numeric| (name.to_owned(), name.to_owned(), numeric);
    let suffix = match index.kind {
        IndexKind::ListElement => Some(other("position", true)),
        IndexKind::MapValue => Some(other("key", false)),
        _ => None,
    };
    Column::all(values.chain([other("id", false)]).chain(suffix))
}

impl IndexRows<'_> {
    /// Makes the row of an entry. Returns `false` if the entry is not wanted.
    fn fill(&mut self, key: &[u8]) -> Result<bool> {
        let Some(entry) = self.cutter.cut(key) else {
            // Nothing of it is known but its bytes.
            self.row.id = None;
            self.row.cells.fill(Cell::Absent);
            // A damaged key is shown rather than left out: this statement shows the index as it is.
            if let Some(first) = self.row.cells.first_mut() {
                damaged(self.reader, key, "this key is no entry of the index", first);
            }
            return Ok(true);
        };
        // Several types can share an index.
        if self.index.object_type.is_some_and(|of| of != entry.id.storage_id()) {
            return Ok(false);
        }
        // Only a range of the first columns is a range of keys, so other bounds are looked at here.
        if self.checked.iter().any(|(column, matcher)| !matcher.accepts(entry.value(*column))) {
            return Ok(false);
        }
        self.row.id = Some(entry.id);
        // Cells are filled in the order of the columns, whose number depends on the kind of index.
        let mut cells = self.row.cells.iter_mut();
        for (column, (_, encoding)) in self.index.values.iter().enumerate() {
            if let Some(cell) = cells.next() {
                set_value(self.reader, entry.value(column), encoding, cell);
            }
        }
        if let Some(cell) = cells.next() {
            *cell = Cell::Id(entry.id);
        }
        if let Some(cell) = cells.next() {
            match &self.suffix {
                Some(encoding) => set_value(self.reader, entry.suffix(), encoding, cell),
                None => of_several(self.reader, self.index, &entry, cell)?,
            }
        }
        Ok(true)
    }
}

/// The key of a map, where the keys of different maps have different encodings. Cost: one get.
fn of_several(
    reader: &Reader<'_>,
    index: &CheckedIndex,
    entry: &Entry<'_>,
    cell: &mut Cell,
) -> Result<()> {
    let found = reader.find(entry.id)?;
    let key = index.map_keys.iter().find(|(_, versions)| match found {
        Lookup::Of(version) => versions.contains(&version),
        Lookup::Missing | Lookup::Damaged => false,
    });
    match key {
        Some((encoding, _)) => set_value(reader, entry.suffix(), encoding, cell),
        None => damaged(reader, entry.suffix(), "its object has no such map", cell),
    }
    Ok(())
}
