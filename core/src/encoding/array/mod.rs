//! Arrays.
//!
//! Each primitive type has its own array format ([`primitive`]). All
//! other arrays are written element by element, and `00` ends them. If elements may start with
//! `00`, `01` comes before each element.

mod base64;
mod byte_array;
pub(super) mod primitive;

use std::borrow::Cow;
use std::sync::Arc;

use super::dynamic::check_part;
use super::null_byte::{NOT_NULL, NULL, starts_null};
use super::text;
use super::{
    Encodable, Encoding, EncodingError, EncodingId, EncodingKind, FieldType, Primitive, Reader,
    Result, SchemaForm, TypedEncoding, Value,
};
use crate::bytes::invalid;
pub use byte_array::ByteArray;

const END: u8 = 0x00;
const MARKER: u8 = 0x01;

/// Takes the array out of a dynamic value.
type BorrowArray<T> = fn(&Value) -> Option<Cow<'_, Box<[T]>>>;

/// How arrays of a primitive type are written.
#[doc(hidden)]
#[derive(Debug)]
pub struct ArrayHooks<T: Clone + 'static> {
    pub(crate) element: Primitive,
    pub(crate) prefix_ff: bool,
    pub(crate) write: fn(&[T], &mut Vec<u8>),
    pub(crate) read: fn(&mut Reader<'_>) -> Result<Box<[T]>>,
    pub(crate) skip: fn(&mut Reader<'_>) -> Result<()>,
    pub(crate) to_text: fn(&[T]) -> String,
    pub(crate) from_text: fn(&str) -> Result<Box<[T]>>,
    pub(crate) into_value: fn(Box<[T]>) -> Value,
    pub(crate) borrow_value: BorrowArray<T>,
}

const fn prefix_ff<T: FieldType>() -> bool {
    // The hooks of a primitive type know the first byte; other arrays begin with an element or the
    // end.
    match T::ARRAY {
        Some(hooks) => hooks.prefix_ff,
        None => !T::HAS_PREFIX_00 && T::HAS_PREFIX_FF,
    }
}

fn write_objects<T: FieldType>(items: &[T], out: &mut Vec<u8>) -> Result<()> {
    for item in items {
        // An element that can begin with `00` could be taken for the end of the array.
        if T::HAS_PREFIX_00 {
            out.push(MARKER);
        }
        item.encode_to(out)?;
    }
    out.push(END);
    Ok(())
}

/// Whether another element follows. Reads the marker before it, or the end of the array.
fn next_object(marked: bool, reader: &mut Reader<'_>) -> Result<bool> {
    match reader.peek().ok_or(EncodingError::Truncated)? {
        END => reader.byte().map(|_| false),
        MARKER if marked => reader.byte().map(|_| true),
        other if marked => invalid(format!(
            "0x{other:02x} where 0x00 or 0x01 must stand before an array's element"
        )),
        // Without markers, an element begins here. It never begins with the byte that ends the
        // array.
        _ => Ok(true),
    }
}

/// Calls `read` for each element up to the end of the array.
fn for_objects(
    marked: bool,
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<()>,
) -> Result<()> {
    while next_object(marked, reader)? {
        let before = reader.rest().len();
        read(reader)?;
        // A faulty encoding that reads nothing would make this loop endless.
        if reader.rest().len() == before {
            return invalid("the encoding of the array's elements reads no bytes");
        }
    }
    Ok(())
}

fn read_objects<T: FieldType>(reader: &mut Reader<'_>) -> Result<Box<[T]>> {
    let mut items = Vec::new();
    for_objects(T::HAS_PREFIX_00, reader, |reader| {
        items.push(T::decode_from(reader)?);
        Ok(())
    })?;
    Ok(items.into())
}

fn skip_objects<T: FieldType>(reader: &mut Reader<'_>) -> Result<()> {
    for_objects(T::HAS_PREFIX_00, reader, T::skip_encoded)
}

fn objects_to_text<T: FieldType>(items: &[T]) -> String {
    let encoding = T::encoding();
    // Null has no text, so it becomes the word `null` in the list.
    text::join_items(items.iter().map(|item| encoding.to_text(&item.to_value()).ok()))
}

fn objects_from_text<T: FieldType>(text: &str) -> Result<Box<[T]>> {
    let encoding = T::encoding();
    let parse = |item: Option<String>| match item {
        Some(item) => T::from_value(&encoding.from_text(&item)?),
        None => T::from_value(&Value::Null),
    };
    text::split_items(text)?.into_iter().map(parse).collect()
}

/// Arrays of everything a field can have. Elements must not be null unless their type is an
/// `Option`.
impl<T: FieldType> Encodable for Box<[T]> {
    const PREFIX_00: bool = true;
    const PREFIX_FF: bool = prefix_ff::<T>();
    const SCHEMA_FORM: SchemaForm = match T::SCHEMA_FORM {
        // The dimensions grow with each array, but the constants stay those of the innermost
        // elements.
        SchemaForm::Enum { identifiers, dimensions, renamed, .. } => {
            SchemaForm::Enum { identifiers, dimensions: dimensions + 1, initial: None, renamed }
        }
        // Other arrays are simple fields with the ID of their encoding.
        _ => SchemaForm::Plain,
    };
    const KIND: EncodingKind<'static> = match T::ARRAY {
        Some(hooks) => EncodingKind::PrimitiveArray(hooks.element),
        None => EncodingKind::Plain,
    };

    fn encoding_id() -> EncodingId {
        const {
            assert!(
                T::HAS_ARRAYS,
                "there are no arrays of nullable primitives: use arrays of the primitive type"
            )
        };
        let element = T::encoding_id();
        // The alternative is never used: 256 dimensions would need 256 nested types.
        element.array().unwrap_or(element)
    }

    fn nullable_encoding() -> Arc<dyn Encoding> {
        match &T::ARRAY {
            // An array of a primitive type is not written element by element, so it has its own
            // encoding.
            Some(_) => Arc::new(TypedEncoding::<Self>::nullable()),
            None => match ArrayEncoding::new(T::encoding()) {
                Ok(encoding) => Arc::new(encoding),
                // There is no array of such elements by ID, but the type can still be written.
                Err(_) => Arc::new(TypedEncoding::<Self>::nullable()),
            },
        }
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        match &T::ARRAY {
            Some(hooks) => {
                (hooks.write)(self, out);
                Ok(())
            }
            None => write_objects(self, out),
        }
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        match &T::ARRAY {
            Some(hooks) => (hooks.read)(reader),
            None => read_objects(reader),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        match &T::ARRAY {
            Some(hooks) => (hooks.skip)(reader),
            None => skip_objects::<T>(reader),
        }
    }

    fn to_text(&self) -> String {
        match &T::ARRAY {
            Some(hooks) => (hooks.to_text)(self),
            None => objects_to_text(self),
        }
    }

    fn from_text(text: &str) -> Result<Self> {
        match &T::ARRAY {
            Some(hooks) => (hooks.from_text)(text),
            None => objects_from_text(text),
        }
    }

    fn into_value(self) -> Value {
        match &T::ARRAY {
            // A primitive array has its own kind of value, which takes less memory.
            Some(hooks) => (hooks.into_value)(self),
            None => Value::Array(self.iter().map(T::to_value).collect()),
        }
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match (&T::ARRAY, value) {
            (Some(hooks), _) => (hooks.borrow_value)(value),
            (None, Value::Array(items)) => items
                .iter()
                .map(|item| T::from_value(item).ok())
                .collect::<Option<_>>()
                .map(Cow::Owned),
            _ => None,
        }
    }
}

/// The encoding of arrays of another encoding's values, and of null.
#[derive(Debug)]
pub struct ArrayEncoding {
    id: Option<EncodingId>,
    element: Arc<dyn Encoding>,
}

impl ArrayEncoding {
    /// Arrays of the values of `element`. Their ID is the ID of `element` with `[]` appended, if it
    /// has one.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if there are too many dimensions, or if `element` is a primitive
    /// type, with or without null: arrays of these are built in or do not exist.
    pub fn new(element: Arc<dyn Encoding>) -> Result<Self> {
        // Java writes these arrays in a compact form, which has its own encodings.
        if let EncodingKind::Primitive(_) | EncodingKind::Wrapper(_) = element.kind() {
            return invalid(format!(
                "there are no arrays of {}: its values are primitive",
                element.name()
            ));
        }
        if element
            .id()
            .is_some_and(|id| id.as_str() == concat!("urn:fdc:permazen.io:2020:", "Void"))
        {
            // All elements would be null, and Java has no such arrays.
            return invalid("there are no arrays of Void");
        }
        let id = element.id().map(EncodingId::array).transpose()?;
        Ok(ArrayEncoding { id, element })
    }

    /// The encoding of the elements.
    pub fn element(&self) -> &Arc<dyn Encoding> {
        &self.element
    }

    fn prefixed(&self) -> bool {
        // An element that can begin with `ff` could be taken for null, unless `01` comes before
        // each.
        !self.element.has_prefix_00() && self.element.has_prefix_ff()
    }
}

impl Encoding for ArrayEncoding {
    fn id(&self) -> Option<&EncodingId> {
        self.id.as_ref()
    }

    fn name(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => Cow::Borrowed(id.alias()),
            None => Cow::Owned(format!("{}[]", self.element.name())),
        }
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Array(&self.element)
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let items = match value {
            Value::Null => {
                out.push(NULL);
                return Ok(());
            }
            Value::Array(items) => items,
            // Arrays of primitive types have their own encodings.
            other => return Err((self as &dyn Encoding).refuse(other)),
        };
        // An element that is refused must leave no bytes of the array.
        let start = out.len();
        if self.prefixed() {
            out.push(NOT_NULL);
        }
        for item in items {
            if self.element.has_prefix_00() {
                out.push(MARKER);
            }
            self.element.encode(item, out).inspect_err(|_| out.truncate(start))?;
        }
        out.push(END);
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        if starts_null(self.prefixed(), reader)? {
            return Ok(Value::Null);
        }
        let mut items = Vec::new();
        for_objects(self.element.has_prefix_00(), reader, |reader| {
            items.push(self.element.decode(reader)?);
            Ok(())
        })?;
        Ok(Value::Array(items.into()))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if starts_null(self.prefixed(), reader)? {
            return Ok(());
        }
        for_objects(self.element.has_prefix_00(), reader, |reader| self.element.skip(reader))
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        let Value::Array(items) = value else { return Err((self as &dyn Encoding).refuse(value)) };
        let texts: Vec<Option<String>> = items
            .iter()
            .map(
                |item| if item.is_null() { Ok(None) } else { self.element.to_text(item).map(Some) },
            )
            .collect::<Result<_>>()?;
        Ok(text::join_items(texts))
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        let parse = |item: Option<String>| match item {
            Some(item) => self.element.from_text(&item),
            None if self.element.supports_null() => Ok(Value::Null),
            None => Err((self.element.as_ref()).refuse(&Value::Null)),
        };
        text::split_items(text)?.into_iter().map(parse).collect::<Result<_>>().map(Value::Array)
    }

    fn supports_null(&self) -> bool {
        true
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        Some(&[NULL])
    }

    fn has_prefix_00(&self) -> bool {
        !self.prefixed()
    }

    fn has_prefix_ff(&self) -> bool {
        true
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        if !starts_null(self.prefixed(), &mut reader)? {
            for_objects(self.element.has_prefix_00(), &mut reader, |reader| {
                check_part(self.element.as_ref(), reader)
            })?;
        }
        reader.finish()
    }
}
