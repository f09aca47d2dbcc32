//! The remaining errors of this crate and of its stores as errors of the typed layer; those of the
//! object layer, of schemas and of stores are in `mod.rs`.

use permazen_kv::MergeError;
use permazen_kv::xml::XmlError;

use super::Error;
use crate::object_xml::ObjectXmlError;
use crate::schema::ParseSchemaIdError;
use crate::schema_file::SchemaFileError;

macro_rules! other_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Error::other(error)
            }
        })*
    };
}

other_errors!(ObjectXmlError, ParseSchemaIdError, SchemaFileError, XmlError);

impl From<MergeError> for Error {
    /// The branch is dropped.
    fn from(failed: MergeError) -> Self {
        failed.error.into()
    }
}
