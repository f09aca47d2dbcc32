//! The purpose of an XML file, by its first element.

use std::io::Read;
use std::path::Path;

use permazen::__internal::open::open_to_read;

/// The command that reads this file, in words; `None` if its first element is `expected`, or one
/// that the shell does not know.
pub(crate) fn other_reader(path: &Path, expected: &str) -> Option<&'static str> {
    match root(path)?.as_str() {
        root if root == expected => None,
        "database" => Some("this is object XML: `load` reads it into a database"),
        "entries" => Some("these are pairs as XML: `kv load` reads them into a database"),
        "Schema" => Some("this is the XML of a schema: `schema add` reads it into a database"),
        _ => None,
    }
}

/// The name of the first element.
fn root(path: &Path) -> Option<String> {
    // Opening a named pipe would wait for a program that writes to it.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut begin = Vec::new();
    open_to_read(path).ok()?.take(4096).read_to_end(&mut begin).ok()?;
    let text = String::from_utf8_lossy(&begin);
    let mut rest = &*text;
    loop {
        rest = rest.get(rest.find('<')? + 1..)?;
        if rest.starts_with("!--") {
            rest = rest.get(rest.find("-->")?..)?;
        } else if !rest.starts_with(['?', '!']) {
            let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
            return rest.get(..end).map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, name) in [
            ("<database>", Some("database")),
            ("\u{feff}<?xml version=\"1.0\"?>\n<!-- <a> -->\n<entries/>", Some("entries")),
            ("<Schema a=\"b\">", Some("Schema")),
            ("", None),
            ("text", None),
            ("<!-- <a>", None),
        ] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(root(file.path()).as_deref(), name, "{text}");
        }
    }
}
