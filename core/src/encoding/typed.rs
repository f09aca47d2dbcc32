//! Encodings of Rust types, chosen at compile time.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::array::ArrayHooks;
use super::dynamic::wrong_type;
use super::null_byte::{NOT_NULL, NULL, starts_null};
use super::{
    CustomValue, Encoding, EncodingError, EncodingId, EncodingKind, Reader, Result, Value,
};
use crate::bytes::invalid;

/// A type with its own encoding. This is the only trait to implement to store your own type.
///
/// The methods write and read values without null. Null is added as [`NULLABLE`](Self::NULLABLE)
/// says: the byte `ff` is null, and `01` comes before other values if they may start with `ff`. The
/// [module documentation](super) has an example.
///
/// The database relies on these rules:
/// - [`read_from`](Self::read_from) returns what [`write_to`](Self::write_to) wrote, and reads
///   exactly its bytes;
/// - a value takes at least one byte, and its bytes are not the beginning of another value's bytes;
/// - equal values have equal bytes; indexes sort values by the unsigned order of their bytes;
/// - [`from_text`](Self::from_text) returns what [`to_text`](Self::to_text) printed;
/// - ID, bytes and constants never change once data is stored.
pub trait Encodable: Clone + fmt::Debug + Send + Sync + 'static {
    /// Whether a written value may start with the byte `00`. If in doubt, true.
    const PREFIX_00: bool = true;

    /// Whether a written value may start with the byte `ff`. If in doubt, true.
    const PREFIX_FF: bool = true;

    /// The number of bytes of every value, if all have the same length.
    const FIXED_WIDTH: Option<usize> = None;

    /// Whether the bytes sort as users of the type expect.
    const SORTS_NATURALLY: bool = false;

    /// Whether null is a value of this encoding.
    ///
    /// If so, a field of the type itself must have a value, and a field of an `Option` of it may be
    /// null. Both have the same encoding and bytes. If not, there is no `Option` of the type, and
    /// fields need a [`default_value`](Self::default_value).
    const NULLABLE: bool = true;

    /// The ID of the encoding.
    fn encoding_id() -> EncodingId;

    /// Appends the value.
    ///
    /// # Errors
    /// If the format cannot hold the value. The caller then discards the written bytes.
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Reads a value.
    ///
    /// # Errors
    /// If the bytes are not a value.
    fn read_from(reader: &mut Reader<'_>) -> Result<Self>;

    /// Skips a value.
    ///
    /// # Errors
    /// If the end of the value cannot be found.
    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        Self::read_from(reader).map(drop)
    }

    /// The value as text. All its characters must be allowed in XML.
    fn to_text(&self) -> String;

    /// The value with this text form.
    ///
    /// # Errors
    /// If no value has this text form.
    fn from_text(text: &str) -> Result<Self>;

    /// The value of a field if nothing is stored for it and null is not a value.
    fn default_value() -> Option<Self> {
        None
    }

    /// The value in dynamic form.
    #[doc(hidden)]
    fn into_value(self) -> Value {
        let mut bytes = Vec::new();
        match self.encode_to(&mut bytes) {
            Ok(()) => Value::Custom(CustomValue::new(Self::encoding_id(), bytes)),
            Err(_) => unstorable::<Self>(),
        }
    }

    /// The value of a dynamic value that is of exactly this type.
    #[doc(hidden)]
    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            // A value of another encoding can have the same bytes and mean something else.
            Value::Custom(custom) if *custom.encoding() == Self::encoding_id() => {
                let mut reader = Reader::new(custom.bytes());
                let value = Self::decode_from(&mut reader).ok()?;
                // Bytes that are left over do not belong to this type.
                reader.is_empty().then_some(Cow::Owned(value))
            }
            _ => None,
        }
    }

    /// The value of a dynamic value of a smaller primitive type.
    #[doc(hidden)]
    fn widen(_value: &Value) -> Option<Self> {
        None
    }

    /// The ID of the encoding with null, if it differs.
    #[doc(hidden)]
    fn nullable_id() -> Option<EncodingId> {
        Self::NULLABLE.then(Self::encoding_id)
    }

    /// The kind of the encoding without null.
    #[doc(hidden)]
    const KIND: EncodingKind<'static> = EncodingKind::Plain;

    /// The form of fields of the type in a schema.
    #[doc(hidden)]
    const SCHEMA_FORM: SchemaForm = SchemaForm::Plain;

    /// How arrays of the type are written; `None` if they are arrays of objects.
    #[doc(hidden)]
    const ARRAY: Option<ArrayHooks<Self>> = None;

    /// The encoding with null.
    #[doc(hidden)]
    fn nullable_encoding() -> Arc<dyn Encoding> {
        Arc::new(TypedEncoding::<Self>::nullable())
    }

    /// Reads a value. Returns whether its bytes are those that writing it gives; `None` if reading
    /// cannot tell.
    #[doc(hidden)]
    fn is_canonical(_reader: &mut Reader<'_>) -> Option<Result<bool>> {
        None
    }
}

/// A type for a simple field, an element of a collection, or a key or value of a map: an
/// [`Encodable`] type or an `Option` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a field",
    label = "no encoding for this type",
    note = "an enum needs `#[derive(PermazenEnum)]`",
    note = "instead of a struct, store a `Ref` to an object (`#[derive(PermazenObject)]` on the struct), or store its fields \
            in this object (`#[permazen(flatten)]`, and `#[derive(PermazenFields)]` on the struct)",
    note = "types of the crates bigdecimal, chrono, ipnet, jiff, num-bigint, regex, rust_decimal, time, url and uuid need \
            the feature of `permazen` that is named as the crate",
    note = "for other types, `#[permazen(with = Type)]` converts to a type that can be stored (`SystemTime` to \
            `permazen::encoding::time::Instant`, say); with `Display` and `FromStr`, `with = AsText<…>` stores the text; or implement \
            `permazen::encoding::Encodable`"
)]
pub trait FieldType: Clone + fmt::Debug + Send + Sync + 'static {
    /// Whether a value of the *type* may be null. The encoding may have null even if the type does
    /// not.
    const IS_OPTION: bool;

    /// Whether an encoded value may start with `00`.
    const HAS_PREFIX_00: bool;

    /// Whether an encoded value may start with `ff`.
    const HAS_PREFIX_FF: bool;

    /// The ID of the encoding.
    fn encoding_id() -> EncodingId;

    /// The encoding.
    fn encoding() -> Arc<dyn Encoding>;

    /// Appends the encoded form.
    ///
    /// # Errors
    /// If the format cannot hold the value. `out` is then unchanged.
    fn encode_to(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Reads a value. Numbers are read without allocation.
    ///
    /// # Errors
    /// If the bytes are not a value; [`EncodingError::NullValue`] if they are null and the type is
    /// not an `Option`.
    fn decode_from(reader: &mut Reader<'_>) -> Result<Self>;

    /// Skips a value.
    ///
    /// # Errors
    /// If the end of the value cannot be found.
    fn skip_encoded(reader: &mut Reader<'_>) -> Result<()>;

    /// The value of a field if nothing is stored for it; `None` if that is null and the type is not
    /// an `Option`.
    fn field_default() -> Option<Self>;

    /// The value in dynamic form.
    fn to_value(&self) -> Value;

    /// The value of a dynamic value.
    ///
    /// # Errors
    /// If that has another type; [`EncodingError::NullValue`] if it is null and the type is not an
    /// `Option`.
    fn from_value(value: &Value) -> Result<Self>;

    /// Reads a value that takes up all of `bytes`.
    ///
    /// # Errors
    /// The errors of [`decode_from`](Self::decode_from); [`EncodingError::Invalid`] if bytes are
    /// left over.
    #[inline]
    fn decode_all(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode_from(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    #[doc(hidden)]
    const SCHEMA_FORM: SchemaForm;

    #[doc(hidden)]
    const ARRAY: Option<ArrayHooks<Self>>;

    #[doc(hidden)]
    const HAS_ARRAYS: bool;
}

/// The form of fields of a type in a schema. The kind of a field follows from its Rust type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaForm {
    /// A simple field. The schema has the ID of its encoding.
    Plain,
    /// An enum field, or an array of enums.
    Enum {
        /// The identifiers in order.
        identifiers: &'static [&'static str],
        /// The dimensions of the array; 0 for an enum.
        dimensions: u8,
        /// The constant that an object has which lacks the field.
        initial: Option<u32>,
        /// Constants that had another name: the name now, and the name before.
        renamed: &'static [(&'static str, &'static str)],
    },
    /// A reference to objects of these types; `None` means every type.
    Reference(Option<&'static [&'static str]>),
}

#[diagnostic::do_not_recommend]
impl<T: Encodable> FieldType for T {
    const IS_OPTION: bool = false;
    const HAS_PREFIX_00: bool = T::PREFIX_00 && !(T::NULLABLE && T::PREFIX_FF);
    const HAS_PREFIX_FF: bool = T::PREFIX_FF || T::NULLABLE;
    const SCHEMA_FORM: SchemaForm = T::SCHEMA_FORM;
    const ARRAY: Option<ArrayHooks<Self>> = T::ARRAY;
    const HAS_ARRAYS: bool = true;

    fn encoding_id() -> EncodingId {
        <T as Encodable>::encoding_id()
    }

    fn encoding() -> Arc<dyn Encoding> {
        if T::NULLABLE { T::nullable_encoding() } else { Arc::new(TypedEncoding::<T>::not_null()) }
    }

    #[inline]
    fn encode_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        // The mark is needed even without null here: the bytes must be those of the nullable
        // encoding.
        if T::NULLABLE && T::PREFIX_FF {
            out.push(NOT_NULL);
        }
        self.write_to(out).inspect_err(|_| out.truncate(start))
    }

    #[inline]
    fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        // The encoding has null even if the type has not, and another program may have stored it.
        if T::NULLABLE && starts_null(T::PREFIX_FF, reader)? {
            return Err(EncodingError::NullValue(format!(
                "{}, which is required; set it, or declare the field as Option",
                Self::encoding_id().alias()
            )));
        }
        T::read_from(reader)
    }

    fn skip_encoded(reader: &mut Reader<'_>) -> Result<()> {
        if T::NULLABLE && starts_null(T::PREFIX_FF, reader)? {
            Ok(())
        } else {
            T::skip_over(reader)
        }
    }

    fn field_default() -> Option<Self> {
        T::default_value()
    }

    fn to_value(&self) -> Value {
        self.clone().into_value()
    }

    fn from_value(value: &Value) -> Result<Self> {
        match T::borrow_value(value) {
            // A smaller type is tried last, since the exact type is the usual case.
            Some(value) => Ok(value.into_owned()),
            None => T::widen(value).ok_or_else(|| wrong_type(Self::encoding_id().alias(), value)),
        }
    }
}

impl<T: Encodable> FieldType for Option<T> {
    const IS_OPTION: bool = true;
    const HAS_PREFIX_00: bool = T::PREFIX_00 && !T::PREFIX_FF;
    const HAS_PREFIX_FF: bool = true;
    const SCHEMA_FORM: SchemaForm = T::SCHEMA_FORM;
    const ARRAY: Option<ArrayHooks<Self>> = None;
    const HAS_ARRAYS: bool = T::NULLABLE;

    fn encoding_id() -> EncodingId {
        T::nullable_id().unwrap_or_else(T::encoding_id)
    }

    fn encoding() -> Arc<dyn Encoding> {
        T::nullable_encoding()
    }

    #[inline]
    fn encode_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(value) = self else {
            out.push(NULL);
            return Ok(());
        };
        // A value that is refused must leave no mark behind.
        let start = out.len();
        if T::PREFIX_FF {
            out.push(NOT_NULL);
        }
        value.write_to(out).inspect_err(|_| out.truncate(start))
    }

    #[inline]
    fn decode_from(reader: &mut Reader<'_>) -> Result<Self> {
        if starts_null(T::PREFIX_FF, reader)? { Ok(None) } else { T::read_from(reader).map(Some) }
    }

    fn skip_encoded(reader: &mut Reader<'_>) -> Result<()> {
        if starts_null(T::PREFIX_FF, reader)? { Ok(()) } else { T::skip_over(reader) }
    }

    fn field_default() -> Option<Self> {
        Some(None)
    }

    fn to_value(&self) -> Value {
        self.clone().map_or(Value::Null, T::into_value)
    }

    fn from_value(value: &Value) -> Result<Self> {
        match T::borrow_value(value) {
            Some(value) => Ok(Some(value.into_owned())),
            None if value.is_null() => Ok(None),
            None => Err(wrong_type(Self::encoding_id().alias(), value)),
        }
    }
}

/// A placeholder for a value that cannot be written. No encoding takes it, so it is refused when it
/// is used.
pub(crate) fn unstorable<T: Encodable>() -> Value {
    Value::Custom(CustomValue::new(T::encoding_id(), []))
}

/// The [`Encoding`] of an [`Encodable`] type, for the registry.
///
/// ```
/// use permazen::encoding::{Encoding, EncodingRegistry, Value};
/// use permazen::__internal::encoding::TypedEncoding;
/// # use permazen::encoding::*;
/// let encoding: &dyn Encoding = &TypedEncoding::<String>::nullable();
/// assert_eq!(encoding.encode_all(&Value::from("abc"))?, b"abc\0");
/// assert_eq!(encoding.encode_all(&Value::Null)?, b"\xff");
/// # Ok::<(), EncodingError>(())
/// ```
pub struct TypedEncoding<T> {
    id: Option<EncodingId>,
    nullable: bool,
    default: Option<Box<[u8]>>,
    type_: PhantomData<fn() -> T>,
}

impl<T: Encodable> TypedEncoding<T> {
    /// The encoding with null. Null is the default value.
    pub fn nullable() -> Self {
        let default: Box<[u8]> = Box::new([NULL]);
        TypedEncoding {
            id: T::nullable_id(),
            nullable: true,
            default: Some(default),
            type_: PhantomData,
        }
    }

    /// The encoding without null.
    pub fn not_null() -> Self {
        let mut bytes = Vec::new();
        let default = T::default_value()
            .and_then(|value| value.write_to(&mut bytes).ok().map(|()| bytes.into()));
        // The ID of a type with null names the encoding with null, so this one has none.
        let id = (!T::NULLABLE).then(<T as Encodable>::encoding_id);
        TypedEncoding { id, nullable: false, default, type_: PhantomData }
    }

    fn prefixed(&self) -> bool {
        self.nullable && T::PREFIX_FF
    }

    fn take<'v>(&self, value: &'v Value) -> Result<Cow<'v, T>> {
        T::borrow_value(value)
            // As in Java, only the encoding without null accepts smaller types.
            .or_else(|| if self.nullable { None } else { T::widen(value).map(Cow::Owned) })
            .ok_or_else(|| wrong_type(&self.name(), value))
    }
}

impl<T> fmt::Debug for TypedEncoding<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let null = if self.nullable { " or null" } else { "" };
        let id = self.id.as_ref().map_or("(no id)", EncodingId::alias);
        write!(f, "encoding {id} of {}{null}", std::any::type_name::<T>())
    }
}

impl<T: Encodable> Encoding for TypedEncoding<T> {
    fn id(&self) -> Option<&EncodingId> {
        self.id.as_ref()
    }

    fn name(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => Cow::Borrowed(id.alias()),
            None => Cow::Owned(format!("{} (not null)", <T as Encodable>::encoding_id().alias())),
        }
    }

    fn kind(&self) -> EncodingKind<'_> {
        match T::KIND {
            // The same Rust type is Java's primitive type without null, and its wrapper with it.
            EncodingKind::Primitive(primitive) if self.nullable => EncodingKind::Wrapper(primitive),
            kind => kind,
        }
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        if self.nullable && value.is_null() {
            out.push(NULL);
            return Ok(());
        }
        let value = self.take(value)?;
        let start = out.len();
        if self.prefixed() {
            out.push(NOT_NULL);
        }
        value.write_to(out).inspect_err(|_| out.truncate(start))
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        if self.nullable && starts_null(T::PREFIX_FF, reader)? {
            return Ok(Value::Null);
        }
        T::read_from(reader).map(T::into_value)
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if self.nullable && starts_null(T::PREFIX_FF, reader)? {
            return Ok(());
        }
        T::skip_over(reader)
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        self.take(value).map(|value| value.to_text())
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        T::from_text(text).map(T::into_value)
    }

    fn supports_null(&self) -> bool {
        self.nullable
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        self.default.as_deref()
    }

    fn has_prefix_00(&self) -> bool {
        T::PREFIX_00 && !self.prefixed()
    }

    fn has_prefix_ff(&self) -> bool {
        T::PREFIX_FF || self.nullable
    }

    fn fixed_width(&self) -> Option<usize> {
        // If null is added, only values of one byte keep their width.
        T::FIXED_WIDTH.filter(|&width| !self.nullable || (width == 1 && !T::PREFIX_FF))
    }

    fn sorts_naturally(&self) -> bool {
        T::SORTS_NATURALLY
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        if self.nullable && starts_null(T::PREFIX_FF, &mut reader)? {
            // Null has one form, so nothing more is compared.
            return reader.finish();
        }
        let body = reader.clone();
        let canonical = match T::is_canonical(&mut reader) {
            Some(canonical) => canonical?,
            None => {
                let value = T::read_from(&mut reader)?;
                let mut again = Vec::with_capacity(body.rest().len());
                value.write_to(&mut again)?;
                // The bytes must be the same, and reading must have taken all of them.
                body.rest().get(..again.len()) == Some(&again)
                    && body.rest().len() - again.len() == reader.rest().len()
            }
        };
        reader.finish()?;
        if canonical { Ok(()) } else { invalid("not the canonical form of the value") }
    }
}
