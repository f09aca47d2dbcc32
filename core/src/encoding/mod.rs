//! Encodings turn values into sortable bytes and back.
//!
//! An *encoding* writes every value that a database stores, in keys and in values. Each encoded
//! value tells where it ends. The unsigned order of the bytes is the order of the values. The bytes
//! are those of Permazen for Java.
//!
//! - A type implements [`Encodable`] to be stored. The typed layer accepts each [`FieldType`] in a
//!   field: an `Encodable` type or an `Option` of one.
//! - An [`Encoding`] is chosen at run time and works on [`Value`]s. An [`EncodingRegistry`] finds
//!   it by its [`EncodingId`].
//! - [`uint`], [`long`] and [`string`] are the codes that all others are made of.
//!
//! # Writing an encoding
//!
//! Choose a URN for the encoding. Write the value so that the bytes tell where they end and sort as
//! you want. Say whether they may start with `00` or `ff`. This example is a semantic version,
//! which sorts by its three numbers:
//!
//! ```
//! use permazen::encoding::{Encodable, EncodingError, EncodingId, EncodingRegistry, FieldType, Reader, Result, Value, uint};
//!
//! const VERSION: EncodingId = EncodingId::literal("urn:fdc:example.com:2026:version");
//!
//! #[derive(Debug, Clone, PartialEq)]
//! struct Version(u32, u32, u32);
//!
//! impl Encodable for Version {
//!     const PREFIX_FF: bool = false; // unsigned numbers never start with ff
//!
//!     fn encoding_id() -> EncodingId {
//!         VERSION
//!     }
//!
//!     fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
//!         for part in [self.0, self.1, self.2] {
//!             uint::write(uint::check(part.into())?, out);
//!         }
//!         Ok(())
//!     }
//!
//!     fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
//!         Ok(Version(uint::read(reader)?, uint::read(reader)?, uint::read(reader)?))
//!     }
//!
//!     fn to_text(&self) -> String {
//!         format!("{}.{}.{}", self.0, self.1, self.2)
//!     }
//!
//!     fn from_text(text: &str) -> Result<Self> {
//!         let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
//!         match parts.as_deref() {
//!             Some(&[major, minor, patch]) => Ok(Version(major, minor, patch)),
//!             _ => Err(EncodingError::Invalid(format!("invalid version {text:?}"))),
//!         }
//!     }
//! }
//!
//! // Typed: in fields of type `Version` and `Option<Version>`, in collections and arrays.
//! let mut bytes = Vec::new();
//! Some(Version(1, 22, 300)).encode_to(&mut bytes)?;
//! assert_eq!(bytes, [1, 22, 0xfb, 49]);
//! assert_eq!(Version::decode_all(&bytes)?, Version(1, 22, 300));
//!
//! // Dynamic: found by its id, alone and in arrays.
//! let registry = EncodingRegistry::new();
//! registry.add::<Version>()?;
//! let encoding = registry.find_alias("urn:fdc:example.com:2026:version[]")?.expect("just registered");
//! let value = encoding.from_text(r#"[ "1.22.300", null ]"#)?;
//! assert_eq!(encoding.encode_all(&value)?, [1, 1, 22, 0xfb, 49, 1, 0xff, 0]);
//! assert_eq!(value.get::<Box<[Option<Version>]>>()?.as_ref(), [Some(Version(1, 22, 300)), None]);
//! # Ok::<(), EncodingError>(())
//! ```
#![deny(clippy::indexing_slicing)]

pub(crate) mod array;
mod as_text;
mod convert;
pub(crate) mod dynamic;
pub(crate) mod enumeration;
pub(crate) mod exact_conversion;
pub(crate) mod exactness;
mod float;
pub(crate) mod internal;
mod interop;
pub(crate) mod java;
pub mod long;
mod net;
mod null_byte;
pub(crate) mod null_safe;
pub mod number;
mod primitive;
pub(crate) mod reference;
pub(crate) mod registry;
pub mod string;
mod text;
pub mod textual;
pub mod time;
pub(crate) mod tuple;
pub(crate) mod typed;
mod unsigned;
mod uuid;
mod value;

pub use crate::bytes::{EncodingError, Reader, Result, uint};
pub(crate) use array::ArrayEncoding;
#[doc(hidden)]
pub use array::ArrayHooks;
pub use array::ByteArray;
pub use as_text::AsText;
pub use dynamic::Encoding;
pub(crate) use dynamic::{EncodingKind, Primitive};
pub(crate) use enumeration::{EnumArrayEncoding, EnumEncoding};
pub(crate) use exact_conversion::Conversion;
pub(crate) use exactness::Exactness;
pub(crate) use null_byte::{NOT_NULL, NULL};
pub(crate) use reference::ReferenceEncoding;
pub(crate) use registry::UnknownEncoding;
pub use registry::{EncodingId, EncodingRegistry, Void, ids};
pub use string::JavaString;
pub(crate) use string::encoding::StringEncoding;
pub(crate) use text::join_items;
pub use typed::{Encodable, FieldType};
pub(crate) use typed::{SchemaForm, TypedEncoding};
pub use uuid::Uuid;
pub use value::{CustomValue, EnumValue, JavaChar, Value};
