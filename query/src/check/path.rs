//! Paths whose names are resolved.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use permazen::__internal::encoding::{
    EncodingKind, ObjIdEncoding, Primitive, StringEncoding, UnsignedIntEncoding,
};
use permazen::__internal::schema::ResolvedKind;
use permazen::StorageId;
use permazen::encoding::{Encoding, EncodingRegistry, Value, ids};
use permazen::schema::ResolvedField;

use super::versions::Versions;
use crate::syntax::Special;

/// The path from an object to the value that a condition, order or column reads.
///
/// It has any number of values, each of one of its `kinds`. It has none if a field on the way is
/// not there, or a reference leads to no object.
#[derive(Debug, Clone)]
pub(crate) struct CheckedPath {
    /// As it is written.
    pub(crate) text: String,
    /// The fields to read, one after the other. The values of each but the last are references,
    /// which are followed. Without any, there is something special.
    pub(crate) hops: Vec<Versions<Access>>,
    /// The part of the object at the end that is read, if it is no field.
    pub(crate) special: Option<Special>,
    /// The kinds of values at the end, the kinds of newer schemas first.
    pub(crate) kinds: Vec<ValueKind>,
    /// Whether there can be several values.
    pub(crate) many: bool,
    /// How the first field is read, if that is the same in all versions of all types at the
    /// beginning.
    pub(crate) always: Option<Access>,
}

/// How a field of an object is read.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// The field.
    pub(crate) field: Arc<ResolvedField>,
    /// Whether the object's version has the field. Otherwise the field reads as its default.
    pub(crate) stored: bool,
    /// The part of it that is read.
    pub(crate) read: Read,
    /// The kind of its values, as a position in [`CheckedPath::kinds`]. Has no meaning for a field
    /// that is followed, and for a whole collection.
    pub(crate) kind: usize,
}

/// The part of a field that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read {
    /// The value of a simple field.
    Simple,
    /// The value of a counter.
    Counter,
    /// The elements of a set or list.
    Elements,
    /// The keys of a map.
    Keys,
    /// The values of a map.
    Values,
    /// The value of a map for an encoded key.
    AtKey(Vec<u8>),
    /// The element of a list at a position.
    AtPosition(u32),
    /// A whole collection.
    Whole,
}

impl Read {
    /// Whether it can give several values.
    pub(crate) fn is_many(&self) -> bool {
        matches!(self, Read::Elements | Read::Keys | Read::Values)
    }
}

impl Access {
    /// Whether both read the same.
    pub(crate) fn is_same(&self, other: &Access) -> bool {
        self.field.storage_id == other.field.storage_id
            && (self.stored, self.kind) == (other.stored, other.kind)
            && self.read == other.read
    }

    /// The field or sub-field whose encoding the values have. `None` for a counter or a whole
    /// collection.
    pub(crate) fn of(&self) -> Option<&Arc<ResolvedField>> {
        match (&self.read, &self.field.kind) {
            (Read::Simple, ResolvedKind::Simple(_)) => Some(&self.field),
            (Read::Elements, ResolvedKind::Set { element } | ResolvedKind::List { element })
            | (Read::AtPosition(_), ResolvedKind::List { element }) => Some(element),
            (Read::Keys, ResolvedKind::Map { key, .. }) => Some(key),
            (Read::Values | Read::AtKey(_), ResolvedKind::Map { value, .. }) => Some(value),
            _ => None,
        }
    }
}

/// A kind of values that a path can have.
#[derive(Debug, Clone)]
pub(crate) struct ValueKind {
    /// Their encoding.
    pub(crate) encoding: Arc<dyn Encoding>,
    /// The encoded form of null, if there is null.
    pub(crate) null: Option<Vec<u8>>,
    /// Where they come from.
    pub(crate) origin: Origin,
    /// For references, the storage IDs of the types to which they can refer; `None` for all.
    pub(crate) allowed: Option<BTreeSet<StorageId>>,
    /// The position of the first kind with whose values these compare. Values of different families
    /// are sorted by family.
    pub(crate) family: u32,
}

/// Where values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Values of a simple field, elements, keys.
    Stored,
    /// Counts, as values of type `long`.
    Counter,
    /// A property of every object.
    Special(Special),
}

/// Encoding of type `long`, in which counts are compared.
static LONG: LazyLock<Option<Arc<dyn Encoding>>> =
    LazyLock::new(|| EncodingRegistry::new().get(&ids::LONG));

/// The encoding in which counts are compared: that of type `long`.
pub(crate) fn counter_encoding() -> Arc<dyn Encoding> {
    LONG.clone().unwrap_or_else(|| Arc::new(UnsignedIntEncoding))
}

impl ValueKind {
    fn new(encoding: Arc<dyn Encoding>, origin: Origin) -> Self {
        let null = encoding.encode_all(&Value::Null).ok();
        ValueKind { encoding, null, origin, allowed: None, family: 0 }
    }

    /// Values of an encoding.
    pub(crate) fn stored(encoding: Arc<dyn Encoding>) -> Self {
        ValueKind::new(encoding, Origin::Stored)
    }

    /// Values of a field or sub-field of a simple kind; counts if there is none.
    pub(crate) fn of(field: Option<&ResolvedField>) -> Self {
        let Some(simple) = field.and_then(ResolvedField::simple) else {
            return ValueKind::new(counter_encoding(), Origin::Counter);
        };
        let mut kind = ValueKind::new(Arc::clone(&simple.encoding), Origin::Stored);
        if let Some(reference) = &simple.reference {
            kind.allowed = reference.allowed.as_ref().map(|ids| ids.iter().copied().collect());
        }
        kind
    }

    /// Something that every object has.
    pub(crate) fn special(special: Special) -> Self {
        let encoding: Arc<dyn Encoding> = match special {
            Special::Id => Arc::new(ObjIdEncoding),
            Special::Type => Arc::new(StringEncoding::not_null()),
            Special::Schema => Arc::new(UnsignedIntEncoding),
        };
        ValueKind::new(encoding, Origin::Special(special))
    }

    /// Whether the values are the same bytes with the same meaning.
    pub(crate) fn is_same(&self, other: &ValueKind) -> bool {
        self.origin == other.origin && self.encoding.is_same(&*other.encoding)
    }

    /// Whether values of both can be compared by their bytes.
    fn compares_with(&self, other: &ValueKind) -> bool {
        comparable(&*self.encoding, &*other.encoding)
    }

    /// Whether all values are decimal numbers, which are equal in all their scales.
    pub(crate) fn is_decimal(&self) -> bool {
        let id = self.encoding.id().filter(|_| self.origin == Origin::Stored);
        id.is_some_and(|id| *id == ids::BIG_DECIMAL)
    }

    /// Whether all values are numbers.
    pub(crate) fn is_number(&self) -> bool {
        use Primitive::{Boolean, Char};
        match (self.origin, self.encoding.kind()) {
            (Origin::Special(special), _) => special == Special::Schema,
            (_, EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive)) => {
                !matches!(primitive, Boolean | Char)
            }
            _ => {
                let number = [&ids::BIG_INTEGER, &ids::BIG_DECIMAL];
                self.encoding.id().is_some_and(|id| number.contains(&id))
            }
        }
    }
}

fn comparable(one: &dyn Encoding, other: &dyn Encoding) -> bool {
    use EncodingKind::{NullSafe, Primitive as Of, Wrapper};
    use Primitive::{Byte, Int, Long, Short};
    match (one.kind(), other.kind()) {
        (NullSafe(inner), _) if !one.is_same(other) => comparable(&**inner, other),
        (_, NullSafe(inner)) if !one.is_same(other) => comparable(one, &**inner),
        // All whole numbers have the same form.
        (Of(a) | Wrapper(a), Of(b) | Wrapper(b)) => {
            let whole = |primitive| matches!(primitive, Byte | Short | Int | Long);
            a == b || whole(a) && whole(b)
        }
        _ => one.is_same(other),
    }
}

/// Gives each kind its family.
pub(crate) fn set_families(kinds: &mut [ValueKind]) {
    let family = |kind: &ValueKind| {
        (0..).zip(&*kinds).find(|(_, first)| kind.compares_with(first)).map(|(at, _)| at)
    };
    let families: Vec<u32> = (0..).zip(&*kinds).map(|(at, it)| family(it).unwrap_or(at)).collect();
    for (kind, family) in kinds.iter_mut().zip(families) {
        kind.family = family;
    }
}
