//! The encodings that a database knows by ID, and these IDs.

mod builtin;
mod encoding_id;
pub mod ids;
mod unknown;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{ArrayEncoding, Encodable, Encoding, FieldType, Result};
use crate::bytes::invalid;
pub use builtin::Void;
pub use encoding_id::EncodingId;
pub use unknown::UnknownEncoding;

/// The encodings known by ID: the built-in ones, those that a program adds, and all arrays of them.
///
/// ```
/// use permazen::encoding::{EncodingId, EncodingRegistry, Value};
/// let registry = EncodingRegistry::new();
/// let encoding = registry.get(&EncodingId::from_alias("String[]")?).expect("built in");
/// let value = Value::Array([Value::from("a"), Value::Null].into());
/// assert_eq!(encoding.encode_all(&value)?, b"\x01a\0\x01\xff\0");
/// # Ok::<(), permazen::encoding::EncodingError>(())
/// ```
#[derive(Debug)]
pub struct EncodingRegistry {
    encodings: RwLock<HashMap<EncodingId, Arc<dyn Encoding>>>,
}

impl EncodingRegistry {
    /// A registry with the built-in encodings.
    pub fn new() -> Self {
        let encodings = builtin::all();
        let by_id = encodings
            .into_iter()
            .filter_map(|encoding| encoding.id().cloned().map(|id| (id, encoding)));
        EncodingRegistry { encodings: RwLock::new(by_id.collect()) }
    }

    /// Adds the encoding of a type. Returns whether it is new.
    ///
    /// # Errors
    /// The errors of [`add_encoding`](Self::add_encoding).
    pub fn add<T: Encodable>(&self) -> Result<bool> {
        self.add_encoding(<T as FieldType>::encoding())
    }

    /// Adds an encoding. Returns whether it is new: false if the registry already has the same one.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](super::EncodingError::Invalid) if the encoding has no ID, if
    /// another encoding has its ID, or if its ID names arrays: these are made from the encoding of
    /// their elements.
    pub fn add_encoding(&self, encoding: Arc<dyn Encoding>) -> Result<bool> {
        let Some(id) = encoding.id().cloned() else {
            return invalid(format!(
                "{} has no encoding id to be registered under",
                encoding.name()
            ));
        };
        if id.dimensions() > 0 {
            return invalid(format!("{id} names arrays: register the encoding of their elements"));
        }
        let mut encodings = self.encodings.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(present) = encodings.get(&id) {
            // Encodings cannot be compared. Those with the same `Debug` text count as the same.
            let same = Arc::ptr_eq(present, &encoding)
                || format!("{present:?}") == format!("{encoding:?}");
            return if same {
                Ok(false)
            } else {
                invalid(format!("another encoding is registered as {id}"))
            };
        }
        encodings.insert(id, encoding);
        Ok(true)
    }

    /// The encoding with this ID. `None` if it is not known; for arrays, if the encoding of the
    /// elements is not known.
    ///
    /// Arrays of primitive types with null, such as `Integer[]`, do not exist: they give `None`.
    pub fn get(&self, id: &EncodingId) -> Option<Arc<dyn Encoding>> {
        self.find(id).ok().flatten()
    }

    /// Does the same as [`get`](Self::get), but returns an error if such an array cannot exist.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](super::EncodingError::Invalid) for arrays of primitive types with
    /// null.
    pub fn find(&self, id: &EncodingId) -> Result<Option<Arc<dyn Encoding>>> {
        let known = |id: &EncodingId| {
            self.encodings.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
        };
        // Remove `[]` until the encoding is known, then make the arrays again from the inside out.
        let mut wanted = Vec::new();
        let mut current = id.clone();
        let mut encoding = loop {
            if let Some(encoding) = known(&current) {
                break encoding;
            }
            let Some(element) = current.element() else { return Ok(None) };
            wanted.push(current);
            current = element;
        };
        for id in wanted.into_iter().rev() {
            encoding = Arc::new(ArrayEncoding::new(encoding)?);
            let mut encodings = self.encodings.write().unwrap_or_else(PoisonError::into_inner);
            encodings.insert(id, encoding.clone());
        }
        Ok(Some(encoding))
    }

    /// The encoding with this alias or ID.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](super::EncodingError::Invalid) if the text is neither an alias
    /// nor an ID, and for arrays of primitive types with null.
    pub fn find_alias(&self, alias: &str) -> Result<Option<Arc<dyn Encoding>>> {
        self.find(&EncodingId::from_alias(alias)?)
    }

    /// The known IDs, in order. Arrays are included only if they were asked for before.
    pub fn ids(&self) -> Vec<EncodingId> {
        let mut ids: Vec<_> =
            self.encodings.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        ids.sort_unstable();
        ids
    }
}

impl Default for EncodingRegistry {
    fn default() -> Self {
        Self::new()
    }
}
