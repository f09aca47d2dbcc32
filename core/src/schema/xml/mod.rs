//! Schemas as XML documents (docs/src/schemas.md#models).

mod read;
mod write;

pub(crate) use read::read_schema;
pub use write::XmlForm;

/// The longest schema document that can be read, in bytes.
pub const MAX_XML_BYTES: usize = 64 << 20;
