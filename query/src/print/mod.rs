//! From statements to text. Parsing the text gives the same statement.

mod objects;
mod statement;
mod value;

use std::fmt::{Formatter, Result};

/// Writes items with commas between them.
fn list<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut Formatter<'_>, &T) -> Result,
) -> Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}
