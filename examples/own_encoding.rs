//! A type of one's own as an indexed field: `cargo run --bin own_encoding`.
#![allow(clippy::print_stdout, reason = "an example that shows something")]

use std::sync::Arc;

use permazen::encoding::{
    Encodable, EncodingError, EncodingId, EncodingRegistry, Reader, Result, uint,
};
use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, PermazenObject};

/// The name under which schemas know the encoding. No other encoding may ever have it.
const VERSION: EncodingId = EncodingId::literal("urn:fdc:example.com:2026:version");

/// A version such as 1.22.3. It sorts by its numbers: 1.9 comes before 1.22.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

impl Encodable for Version {
    // The first byte is the first byte of an unsigned number: 00 to fe. These answers decide how
    // null and arrays are written, so they are part of the format for ever.
    const PREFIX_00: bool = true;
    const PREFIX_FF: bool = false;
    // The order of the bytes is the order that people expect.
    const SORTS_NATURALLY: bool = true;

    fn encoding_id() -> EncodingId {
        VERSION
    }

    /// Three numbers. Each ends by itself, and they sort as numbers do.
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        for part in [self.0, self.1, self.2] {
            uint::write(uint::check(part.into())?, out);
        }
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Version(uint::read(reader)?, uint::read(reader)?, uint::read(reader)?))
    }

    /// Skips a value without building it. Without this method, the value is read and dropped.
    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        (0..3).try_for_each(|_| uint::skip(reader))
    }

    /// For tools, and for conversion from and to other encodings.
    fn to_text(&self) -> String {
        format!("{}.{}.{}", self.0, self.1, self.2)
    }

    fn from_text(text: &str) -> Result<Self> {
        let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        match parts.as_deref() {
            Some(&[major, minor, patch]) => Ok(Version(major, minor, patch)),
            _ => Err(EncodingError::Invalid(format!("invalid version {text:?}"))),
        }
    }
}

#[derive(PermazenObject, Debug, Default)]
struct Release {
    #[permazen(indexed)]
    version: Version,
    // The library adds null and arrays.
    replaces: Option<Version>,
    compatible_with: Option<Box<[Option<Version>]>>,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // A database with such fields needs a registry that has the encoding.
    let encodings = EncodingRegistry::new();
    encodings.add::<Version>()?;
    let db = Permazen::builder(MemoryStore::new())
        .encodings(Arc::new(encodings))
        .model::<Release>()
        .build()?;

    db.write(|tx| {
        let first = Version(1, 9, 0);
        tx.create(Release { version: first, ..Release::default() })?;
        tx.create(Release {
            version: Version(1, 22, 3),
            replaces: Some(first),
            compatible_with: Some([Some(first), None].into()),
        })?;
        tx.create(Release { version: Version(2, 0, 0), ..Release::default() })?;
        Ok(())
    })?;

    let found = db.read(|tx| {
        let ones = tx.index(Release::VERSION)?.range(Version(1, 0, 0)..Version(2, 0, 0))?;
        ones.iter()
            .map(|entry| entry.map(|(version, _)| version))
            .collect::<permazen::Result<Vec<_>>>()
    })?;
    println!("{found:?}");
    assert_eq!(found, [Version(1, 9, 0), Version(1, 22, 3)]);
    Ok(())
}
