//! The values of a path.

use std::collections::HashSet;

use permazen::__internal::layout;
use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::encoding::{long, uint};

use super::fail::Result;
use super::reader::{Lookup, Reader};
use super::subject::{Flow, Subject};
use crate::check::{Access, CheckedPath, Read};
use crate::syntax::Special;

/// The bytes that are stored where a value should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Got<'b> {
    /// An encoded value. Whether it can be decoded is not known.
    Value(&'b [u8]),
    /// Bytes that are no value, and why.
    Damaged(&'b [u8], &'static str),
}

/// The function that is called with the last object of a path, and how its field is read.
type Leaf<'l> = dyn FnMut(&Subject<'_>, Option<&Access>) -> Result<Flow> + 'l;

/// Follows a path to the objects at its end. Objects that do not exist or are damaged are left out.
/// An object that is followed on is followed once, so the work is that of reading each object once
/// a hop.
pub(crate) fn walk(
    reader: &Reader<'_>,
    path: &CheckedPath,
    subject: &Subject<'_>,
    leaf: &mut Leaf<'_>,
) -> Result<Flow> {
    // Where each step has one value at most, only one way leads to an object.
    let mut met = path.many.then(|| Met::new(Ends::EachTime));
    walk_with(reader, path, subject, met.as_mut(), leaf)
}

/// Objects that were met. Without them, the number of ways could grow with each hop.
struct Met {
    /// Each with the number of hops that lead to it.
    objects: HashSet<(usize, ObjId)>,
    ends: Ends,
}

/// How often an object at the end of a path is met.
#[derive(PartialEq, Eq)]
enum Ends {
    Once,
    /// Each time that an object before it leads there.
    EachTime,
}

impl Met {
    fn new(ends: Ends) -> Self {
        Met { objects: HashSet::new(), ends }
    }

    /// Whether an object to which `hops` hops of a path lead need not be followed.
    fn is_done(&mut self, path: &CheckedPath, hops: usize, object: ObjId) -> bool {
        // The end of a path with `#schema` or `#id` is the object itself, one hop further on.
        let is_end = hops + usize::from(path.special.is_none()) == path.hops.len();
        let is_counted = !is_end || self.ends == Ends::Once;
        // At the end of a path, each way counts where its values are listed.
        is_counted && !self.objects.insert((hops, object))
    }
}

/// The same. `met` says which of the ways that lead to an object with as many hops are followed.
fn walk_with(
    reader: &Reader<'_>,
    path: &CheckedPath,
    subject: &Subject<'_>,
    met: Option<&mut Met>,
    leaf: &mut Leaf<'_>,
) -> Result<Flow> {
    let damaged = subject.known_version() == Some(Lookup::Damaged);
    match &path.always {
        // The version makes no difference.
        // A damaged object must not be read with the access of a version that it may not have.
        Some(access) if !damaged && path.hops.len() == 1 && path.special.is_none() => {
            leaf(subject, Some(access))
        }
        // A path without hops is about the object itself, which needs no reading yet.
        _ if path.hops.is_empty() => leaf(subject, None),
        _ => walk_from(reader, path, 0, subject, met, leaf),
    }
}

/// Follows a path from its hop at this position.
fn walk_from(
    reader: &Reader<'_>,
    path: &CheckedPath,
    at: usize,
    subject: &Subject<'_>,
    mut met: Option<&mut Met>,
    leaf: &mut Leaf<'_>,
) -> Result<Flow> {
    // `always` is about the first hop: the objects after it have versions of their own.
    let always = path.always.as_ref().filter(|_| at == 0);
    let access = match (always, path.hops.get(at)) {
        // The version makes no difference, so no get is spent on it.
        (Some(access), _) if subject.known_version().is_none() => access,
        (_, Some(hop)) => match subject.version(reader)? {
            Lookup::Of(version) => match hop.get(version) {
                Some(access) => access,
                None => return Ok(Flow::More),
            },
            // What does not exist or is damaged has no fields to follow.
            Lookup::Missing | Lookup::Damaged => return Ok(Flow::More),
        },
        // All references are followed: something is read of the object itself.
        (_, None) => {
            return match subject.version(reader)? {
                Lookup::Missing => Ok(Flow::More),
                Lookup::Damaged | Lookup::Of(_) => leaf(subject, None),
            };
        }
    };
    // The last hop is the consumer's: it reads the field as it needs.
    if at + 1 == path.hops.len() && path.special.is_none() {
        return leaf(subject, Some(access));
    }
    field_values(reader, subject, access, &mut |got| match got {
        Got::Value(reference) => match ObjId::from_slice(reference) {
            Ok(target) => {
                if met.as_deref_mut().is_some_and(|met| met.is_done(path, at + 1, target)) {
                    return Ok(Flow::More);
                }
                walk_from(reader, path, at + 1, &Subject::of(target), met.as_deref_mut(), leaf)
            }
            // A null or damaged reference leads nowhere.
            Err(_) => Ok(Flow::More),
        },
        Got::Damaged(..) => Ok(Flow::More),
    })
}

/// The values of a field of an object. Of a whole collection there are none.
pub(crate) fn field_values(
    reader: &Reader<'_>,
    subject: &Subject<'_>,
    access: &Access,
    value: &mut dyn FnMut(Got<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let field = &access.field;
    match &access.read {
        Read::Simple => {
            let default = field.simple().and_then(|simple| simple.default.as_deref());
            // A version without the field has its default, and no pair is read for it.
            if !access.stored {
                return default.map_or(Ok(Flow::More), |bytes| value(Got::Value(bytes)));
            }
            // A simple field with its default is not stored, in the same way as Java does it.
            subject.value(reader, field, &[], |stored| match stored.or(default) {
                Some(bytes) => value(Got::Value(bytes)),
                None => Ok(Flow::More),
            })?
        }
        Read::Counter => {
            let mut count = Vec::with_capacity(9);
            if !access.stored {
                long::write(0, &mut count);
                return value(Got::Value(&count));
            }
            subject.value(reader, field, &[], |stored| match stored {
                // A counter that was never changed is not stored, and counts as 0.
                None => {
                    long::write(0, &mut count);
                    value(Got::Value(&count))
                }
                // Stores choose how they keep a counter, so only the store can read it.
                Some(bytes) => match reader.kv.decode_counter(bytes) {
                    Ok(number) => {
                        long::write(number, &mut count);
                        value(Got::Value(&count))
                    }
                    Err(_) => value(Got::Damaged(bytes, "a counter has 8 bytes")),
                },
            })?
        }
        // A collection that the version lacks is empty.
        _ if !access.stored => Ok(Flow::More),
        Read::Elements => {
            // The key of a set's pair is the element, and the value is empty.
            let is_set = matches!(field.kind, ResolvedKind::Set { .. });
            subject.each_pair(reader, field, &mut |rest, element| match is_set {
                true => value(Got::Value(rest)),
                false => value(list_element(rest, element)),
            })
        }
        Read::Keys => subject.each_pair(reader, field, &mut |key, _| value(Got::Value(key))),
        Read::Values => {
            subject.each_pair(reader, field, &mut |_, of_key| value(Got::Value(of_key)))
        }
        // A map without the key has no value, rather than a default.
        Read::AtKey(key) => subject.value(reader, field, key, |stored| match stored {
            Some(bytes) => value(Got::Value(bytes)),
            None => Ok(Flow::More),
        })?,
        Read::AtPosition(position) => {
            // A position beyond the end of the list has no value.
            let key = layout::list_position(*position);
            subject.value(reader, field, &key, |stored| match stored {
                Some(bytes) => value(Got::Value(bytes)),
                None => Ok(Flow::More),
            })?
        }
        Read::Whole => Ok(Flow::More),
    }
}

/// The element of a list, from the rest of the key after its field, and the value of the pair.
pub(crate) fn list_element<'b>(position: &[u8], element: &'b [u8]) -> Got<'b> {
    match layout::parse_list_position(position) {
        Ok(_) => Got::Value(element),
        Err(_) => Got::Damaged(element, "its key has no position in the list"),
    }
}

/// The values of a path, each with its kind. If several ways lead to an object, its values come
/// once.
pub(crate) fn each_value(
    reader: &Reader<'_>,
    path: &CheckedPath,
    subject: &Subject<'_>,
    value: &mut dyn FnMut(usize, Got<'_>) -> Result<Flow>,
) -> Result<Flow> {
    // A condition asks whether there is a value, so a second way to an object adds nothing.
    let mut met = path.many.then(|| Met::new(Ends::Once));
    let met = met.as_mut();
    walk_with(reader, path, subject, met, &mut |subject, access| match (access, path.special) {
        (Some(access), _) => {
            field_values(reader, subject, access, &mut |got| value(access.kind, got))
        }
        (None, Some(special)) => {
            special_value(reader, special, subject, &mut |bytes| value(0, Got::Value(bytes)))
        }
        (None, None) => Ok(Flow::More),
    })
}

/// The encoded form of something that every object has.
fn special_value(
    reader: &Reader<'_>,
    special: Special,
    subject: &Subject<'_>,
    value: &mut dyn FnMut(&[u8]) -> Result<Flow>,
) -> Result<Flow> {
    match special {
        Special::Id => value(subject.id.as_bytes()),
        Special::Type => {
            // A type without a name is damage: empty bytes are no text, so they match nothing.
            let mut bytes = Vec::new();
            if let Some(name) = reader.bundle.type_name(subject.id.storage_id()) {
                permazen::encoding::string::write(name, &mut bytes);
            }
            value(&bytes)
        }
        // The schema is a fact of the stored object, so it must be looked up.
        Special::Schema => match subject.version(reader)? {
            Lookup::Of((_, schema)) => {
                let mut bytes = Vec::new();
                uint::write(schema.get(), &mut bytes);
                value(&bytes)
            }
            Lookup::Missing | Lookup::Damaged => Ok(Flow::More),
        },
    }
}
