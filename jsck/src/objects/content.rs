//! Checks the content of objects: values, counters, elements, map entries.

use std::borrow::Cow;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::layout::{
    append_index_key, content_key, index_key, list_position, prefix_end,
};
use permazen::__internal::schema::{ResolvedKind, ResolvedSimple, SchemaBundle};
use permazen::encoding::{Reader, uint};
use permazen::kv::KvRead;
use permazen::schema::{ResolvedField, ResolvedType};
use permazen::{ObjId, StorageId};

use crate::entries::required::RequiredEntries;
use crate::objects::known::Known;
use crate::report::finding::{Class, Finding};
use crate::report::output::{Checked, Output};

/// One pair of an object's content.
pub(crate) struct ContentPair<'p> {
    pub(crate) id: ObjId,
    pub(crate) object_type: &'p ResolvedType,
    pub(crate) field: &'p ResolvedField,
    /// The whole key.
    pub(crate) key: &'p [u8],
    /// The bytes after object ID and field storage ID in the key.
    pub(crate) tail: &'p [u8],
    pub(crate) value: &'p [u8],
}

impl ContentPair<'_> {
    fn finding(&self, class: Class, detail: impl Into<String>) -> Finding {
        self.finding_in(self.field, class, detail)
    }

    fn finding_in(
        &self,
        field: &ResolvedField,
        class: Class,
        detail: impl Into<String>,
    ) -> Finding {
        let unsettled = if class.is_about_unusable_value() { self.indexes() } else { Vec::new() };
        Finding::new(class, self.key, detail)
            .value(self.value)
            .object(self.id)
            .item(format!("{}.{}", self.object_type.name, field.full_name))
            .unsettles(unsettled)
    }

    /// The indexes whose entries follow from this pair.
    fn indexes(&self) -> Vec<Option<StorageId>> {
        let field = self.field;
        if matches!(field.kind, ResolvedKind::Simple(_)) {
            // With bytes after the field's key, it is another pair, which no reader finds.
            if !self.tail.is_empty() {
                return Vec::new();
            }
            let own = field.is_indexed().then_some(field.storage_id);
            let composite = self.object_type.indexes_of(field).map(|index| index.storage_id);
            return own.into_iter().chain(composite).map(Some).collect();
        }
        // Without its key or its value, an entry of a map has neither.
        let indexed = field.sub_fields().filter(|sub_field| sub_field.is_indexed());
        indexed.map(|sub_field| Some(sub_field.storage_id)).collect()
    }

    fn not_canonical(&self, field: &ResolvedField, what: &str) -> Finding {
        let detail = format!("not the encoder's form of the {what}");
        self.finding_in(field, Class::NonCanonicalValue, detail)
    }

    /// The key of another pair of the same content.
    fn with_tail(&self, tail: &[u8]) -> Vec<u8> {
        content_key(self.id, self.field.storage_id, tail)
    }
}

/// Checks content and collects the index entries that it requires.
pub(crate) struct Content<'a, 'o> {
    pub(crate) kv: &'a dyn KvRead,
    pub(crate) bundle: &'a SchemaBundle,
    pub(crate) known: &'a Known,
    pub(crate) required: &'a mut dyn RequiredEntries,
    /// A buffer in which the keys of entries are built.
    pub(crate) entry: &'a mut Vec<u8>,
    pub(crate) out: &'a mut Output<'o>,
}

/// The state of a list before an element, as the check has seen it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Elements {
    /// How many good elements there were.
    pub(crate) count: u32,
    /// Whether the last one was not under its right position.
    moved: bool,
}

impl Elements {
    /// The state after this many elements at their right positions.
    pub(crate) fn before(count: u32) -> Self {
        Elements { count, moved: false }
    }
}

/// Whether encoded bytes can be used.
enum Judged<'v> {
    Good,
    /// They are a value, but its canonical form is this.
    Rewrite(Vec<u8>),
    Bad(Class, Cow<'v, str>),
}

impl Content<'_, '_> {
    /// The bytes to use as the value of a simple field; `None` for the default value.
    pub(crate) fn simple<'v>(
        &mut self,
        pair: &ContentPair<'v>,
        simple: &ResolvedSimple,
    ) -> Checked<Option<Cow<'v, [u8]>>> {
        if !pair.tail.is_empty() {
            self.out
                .report(pair.finding(Class::TrailingGarbage, "bytes follow the field's key"))?;
            return Ok(None);
        }
        if simple.is_default(pair.value) {
            self.out.report(
                pair.finding(Class::DefaultValueStored, "the default value is never stored"),
            )?;
            return Ok(None);
        }
        match self.judge(pair, pair.field, simple, pair.value, Class::UndecodableValue)? {
            Judged::Good => Ok(Some(Cow::Borrowed(pair.value))),
            Judged::Bad(class, detail) => {
                self.out.report(pair.finding(class, detail))?;
                Ok(None)
            }
            Judged::Rewrite(canonical) => {
                let finding = pair.not_canonical(pair.field, "value");
                // The canonical form is the default value, which is never stored: the pair is
                // removed.
                if simple.is_default(&canonical) {
                    self.out.report(finding)?;
                    return Ok(None);
                }
                self.out.report(finding.put(&canonical))?;
                Ok(Some(Cow::Owned(canonical)))
            }
        }
    }

    pub(crate) fn counter(&mut self, pair: &ContentPair<'_>) -> Checked {
        if !pair.tail.is_empty() {
            return self
                .out
                .report(pair.finding(Class::TrailingGarbage, "bytes follow the counter's key"));
        }
        if let Err(e) = self.kv.decode_counter(pair.value) {
            return self.out.report(pair.finding(
                Class::BadCounterValue,
                format!("{e}; without the pair the counter reads zero"),
            ));
        }
        Ok(())
    }

    pub(crate) fn set_element(
        &mut self,
        pair: &ContentPair<'_>,
        element: &ResolvedField,
    ) -> Checked {
        let Some(simple) = element.simple() else { return Ok(()) };
        match self.judge(pair, element, simple, pair.tail, Class::UndecodableElement)? {
            Judged::Bad(class, detail) => self.out.report(pair.finding_in(element, class, detail)),
            Judged::Rewrite(canonical) => {
                let key = pair.with_tail(&canonical);
                // If the pair does not move, it is removed, and requires no entry.
                if !self.rewrite_key(pair, element, key, &[])? {
                    return Ok(());
                }
                self.call_for(element, &canonical, pair.id, &[])
            }
            Judged::Good => {
                if !pair.value.is_empty() {
                    let finding = pair.finding_in(
                        element,
                        Class::NonEmptyElementValue,
                        "the value of a set element's pair is always empty",
                    );
                    self.out.report(finding.put(&[]))?;
                }
                self.call_for(element, pair.tail, pair.id, &[])
            }
        }
    }

    pub(crate) fn list_element(
        &mut self,
        pair: &ContentPair<'_>,
        element: &ResolvedField,
        so_far: &mut Elements,
    ) -> Checked {
        let Some(simple) = element.simple() else { return Ok(()) };
        let mut reader = Reader::new(pair.tail);
        let found =
            match uint::read(&mut reader) {
                Err(e) => {
                    return self.out.report(pair.finding(
                        Class::BadListIndex,
                        format!("the list index cannot be read: {e}"),
                    ));
                }
                Ok(_) if !reader.is_empty() => {
                    return self.out.report(
                        pair.finding(Class::TrailingGarbage, "bytes follow the list index"),
                    );
                }
                Ok(found) => found,
            };
        let value =
            match self.judge(pair, element, simple, pair.value, Class::UndecodableElement)? {
                Judged::Bad(class, detail) => {
                    return self.out.report(pair.finding_in(element, class, detail));
                }
                Judged::Rewrite(canonical) => {
                    self.out.report(pair.not_canonical(element, "value").put(&canonical))?;
                    Cow::Owned(canonical)
                }
                Judged::Good => Cow::Borrowed(pair.value),
            };
        let index = list_position(so_far.count);
        let moved = pair.tail != index;
        if moved {
            self.renumber(pair, element, so_far, found, &index, &value)?;
        }
        self.call_for(element, &value, pair.id, &index)?;
        *so_far = Elements { count: so_far.count + 1, moved };
        Ok(())
    }

    /// Reports that an element has to move to another position, and notes the move.
    fn renumber(
        &mut self,
        pair: &ContentPair<'_>,
        element: &ResolvedField,
        so_far: &Elements,
        found: u32,
        index: &[u8],
        value: &[u8],
    ) -> Checked {
        let count = so_far.count;
        let new_key = pair.with_tail(index);
        // An earlier element has moved to this key, so the pair there stays: only the new pair is
        // added.
        if found < count && pair.tail == list_position(found) {
            self.out.move_to(pair.key, new_key, value)?;
            return Ok(());
        }
        let too_long = pair.tail != list_position(found);
        let class = if too_long || self.is_stray(pair, element, so_far, found, value)? {
            Class::BadListIndex
        } else {
            Class::ListGap
        };
        let longer = if too_long { ", written longer than necessary," } else { "" };
        let detail = format!("list index {found}{longer} where {count} is next");
        let finding = pair.finding(class, detail);
        self.out.report_move(finding, new_key, value)
    }

    /// Whether the position of an element is wrong, rather than that elements before it are
    /// missing. This is so if it is the last element, all elements before it are under their right
    /// positions, several would be missing, and the index of the field has no entry for its
    /// position.
    fn is_stray(
        &self,
        pair: &ContentPair<'_>,
        element: &ResolvedField,
        so_far: &Elements,
        found: u32,
        value: &[u8],
    ) -> Checked<bool> {
        let several = found.checked_sub(so_far.count).is_some_and(|missing| missing > 1);
        if !several || so_far.count == 0 || so_far.moved {
            return Ok(false);
        }
        let after = [pair.key, &[0]].concat();
        if self.kv.at_least(&after, prefix_end(&pair.with_tail(&[])).as_deref())?.is_some() {
            return Ok(false);
        }
        let entry = index_key(&element.key, value, pair.id, pair.tail);
        Ok(!element.is_indexed() || self.kv.get(&entry)?.is_none())
    }

    pub(crate) fn map_entry(
        &mut self,
        pair: &ContentPair<'_>,
        key: &ResolvedField,
        value: &ResolvedField,
    ) -> Checked {
        let (Some(simple_key), Some(simple_value)) = (key.simple(), value.simple()) else {
            return Ok(());
        };
        let mut canonical = [None, None];
        let parts = [(key, simple_key, pair.tail), (value, simple_value, pair.value)];
        for (new, (field, simple, bytes)) in canonical.iter_mut().zip(parts) {
            match self.judge(pair, field, simple, bytes, Class::UndecodableElement)? {
                Judged::Bad(class, detail) => {
                    return self.out.report(pair.finding_in(field, class, detail));
                }
                Judged::Rewrite(canonical) => *new = Some(canonical),
                Judged::Good => {}
            }
        }
        let [new_key, new_value] = canonical;
        let entry_value = new_value.as_deref().unwrap_or(pair.value);
        let entry_key = match &new_key {
            Some(canonical) => {
                let moved = pair.with_tail(canonical);
                if !self.rewrite_key(pair, key, moved, entry_value)? {
                    return Ok(());
                }
                &canonical[..]
            }
            None => {
                if let Some(canonical) = &new_value {
                    self.out.report(pair.not_canonical(value, "value").put(canonical))?;
                }
                pair.tail
            }
        };
        self.call_for(key, entry_key, pair.id, &[])?;
        self.call_for(value, entry_value, pair.id, entry_key)
    }

    /// Moves a pair whose key is not in its canonical form to the canonical key. If there is a pair
    /// under that key already, readers find that one, so the pair with the wrong key is removed.
    /// Returns whether it moved.
    fn rewrite_key(
        &mut self,
        pair: &ContentPair<'_>,
        field: &ResolvedField,
        key: Vec<u8>,
        value: &[u8],
    ) -> Checked<bool> {
        let finding = pair.not_canonical(field, "key");
        let free = !self.out.taken.contains(&key) && self.kv.get(&key)?.is_none();
        if free {
            self.out.report_move(finding, key, value)?;
        } else {
            self.out.report(finding)?;
        }
        Ok(free)
    }

    fn call_for(
        &mut self,
        field: &ResolvedField,
        value: &[u8],
        id: ObjId,
        suffix: &[u8],
    ) -> Checked {
        if field.is_indexed() {
            self.entry.clear();
            append_index_key(&field.key, value, id, suffix, self.entry);
            self.required.add(self.entry)?;
        }
        Ok(())
    }

    fn judge(
        &mut self,
        pair: &ContentPair<'_>,
        field: &ResolvedField,
        simple: &ResolvedSimple,
        bytes: &[u8],
        undecodable: Class,
    ) -> Checked<Judged<'static>> {
        let encoding = &*simple.encoding;
        // The bytes are not in canonical form: find out what is wrong with them.
        if encoding.check_canonical(bytes).is_err() {
            let mut reader = Reader::new(bytes);
            let value = match encoding.decode(&mut reader) {
                Err(e) => {
                    let detail = format!("no value of {}: {e}", encoding.name());
                    return Ok(Judged::Bad(undecodable, detail.into()));
                }
                // It begins with `ff`, which means null. But it is as long as an object ID, so it
                // was meant as an object ID rather than as null with surplus bytes.
                Ok(_) if simple.reference.is_some() && bytes.len() == ObjId::LEN => {
                    let detail = "starts with ff, as no object ID does";
                    return Ok(Judged::Bad(undecodable, detail.into()));
                }
                Ok(_) if !reader.is_empty() => {
                    return Ok(Judged::Bad(
                        Class::TrailingGarbage,
                        format!("{} bytes follow the value", reader.rest().len()).into(),
                    ));
                }
                Ok(value) => value,
            };
            let mut canonical = Vec::new();
            return Ok(match encoding.encode(&value, &mut canonical) {
                Ok(()) if canonical != bytes => Judged::Rewrite(canonical),
                Ok(()) => Judged::Good,
                Err(e) => Judged::Bad(
                    undecodable,
                    format!("a value {} cannot hold: {e}", encoding.name()).into(),
                ),
            });
        }
        let Some(reference) = &simple.reference else { return Ok(Judged::Good) };
        debug_assert!(matches!(encoding.kind(), EncodingKind::Reference(_)));
        let Ok(target) = ObjId::from_slice(bytes) else { return Ok(Judged::Good) };
        // Whether the target exists is judged as it will be after the repair.
        if !reference.allow_deleted && !self.known.contains(self.kv, self.bundle, target)? {
            return Ok(Judged::Bad(
                Class::DanglingReference,
                format!("refers to object {target}, which does not exist").into(),
            ));
        }
        if !reference.allows(target.storage_id()) {
            let detail = format!("refers to object {target}, whose type the field does not allow");
            let finding = pair.finding_in(field, Class::DisallowedReference, detail);
            self.out.report(finding.unrepairable())?;
        }
        Ok(Judged::Good)
    }
}
