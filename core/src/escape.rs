//! Makes text of a database safe to show: names, values, paths and messages may have characters
//! that control a terminal.
//!
//! ```
//! use permazen::__internal::escape::Escaped;
//!
//! assert_eq!(Escaped("P\u{9b}31m").to_string(), r"P\u{9b}31m");
//! ```

use std::fmt::{self, Write};
use std::ops::Range;
use std::path::Path;

/// Whether a character could change how the text around it is shown: a control character, a
/// character that sets the direction of writing or ends a line or a paragraph, or an invisible
/// character. Names and values of a database may contain any of them.
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, marks of direction, Mongolian vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero width, direction, line and paragraph separators.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            // Joiners, invisible operators, isolates.
            | '\u{2060}'..='\u{206f}'
            // Invisible fillers.
            | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            // Format characters of scripts that set text in two dimensions.
            | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags.
            | '\u{e0000}'..='\u{e0fff}')
}

/// Passes text on. Writes `\u{9b}` for each character that [`needs_escape`], and the rest as it is.
///
/// ```
/// use std::fmt::Write;
///
/// let mut shown = String::new();
/// permazen::__internal::escape::Escaping(&mut shown).write_str("a\u{202e}b")?;
/// assert_eq!(shown, r"a\u{202e}b");
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Debug)]
pub struct Escaping<W>(pub W);

impl<W: fmt::Write> fmt::Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| needs_escape(c)) {
            let (before, after) = rest.split_at(at);
            write!(self.0, "{before}{}", c.escape_unicode())?;
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_str(rest)
    }
}

/// Shows its content, with each character escaped that [`needs_escape`].
#[derive(Debug, Clone, Copy)]
pub struct Escaped<T>(pub T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// A path as text: `\xff` for each byte that is not UTF-8, and `\\` for a backslash (on Windows,
/// backslashes separate directories and stay as they are). So two different paths never look the
/// same. Characters that [`needs_escape`] stay as they are.
///
/// ```
/// use std::path::Path;
///
/// # if cfg!(unix) {
/// assert_eq!(permazen::__internal::escape::path_text(Path::new(r"a\b")), r"a\\b");
/// # }
/// ```
pub fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        if cfg!(windows) {
            text.push_str(chunk.valid());
        } else {
            text.push_str(&chunk.valid().replace('\\', r"\\"));
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The message of a program that takes no password in an argument.
pub const PASSWORD_REFUSED: &str = "a password in an argument can be seen by others, and is refused: leave it out, and \
     name it in PGPASSWORD or ~/.pgpass, or in ETCD_PASSWORD";

/// The hints about passwords in errors of stores on servers, and the same for a program that takes
/// none in a URL.
const PASSWORDS: [[&str; 2]; 3] = [
    ["://user:password@", "://user@"],
    ["in the URL, in PGPASSWORD", "in PGPASSWORD"],
    ["in the URL or in ETCD_PASSWORD", "in ETCD_PASSWORD"],
];

/// An error of a store, for the user of a program that takes no password in an argument: others
/// could see it. A program of its own may have one in a URL, so the stores propose that.
///
/// ```
/// use permazen::__internal::escape::without_password_in_url;
///
/// let said = "name it in the URL, in PGPASSWORD or in ~/.pgpass";
/// assert_eq!(without_password_in_url(said), "name it in PGPASSWORD or in ~/.pgpass");
/// let said = "the password in the URL or in ETCD_PASSWORD";
/// assert_eq!(without_password_in_url(said), "the password in ETCD_PASSWORD");
/// let said = "expected etcd://user:password@host:port/prefix";
/// assert_eq!(without_password_in_url(said), "expected etcd://user@host:port/prefix");
/// ```
pub fn without_password_in_url(error: &str) -> String {
    PASSWORDS.iter().fold(error.to_owned(), |text, [said, shown]| text.replace(said, shown))
}

/// Where the first password is in a text with URLs of the form `scheme://user:password@server`. It
/// must not be shown.
///
/// ```
/// use permazen::__internal::escape::password_in;
///
/// assert_eq!(password_in(b"postgres://me:secret@server/db"), Some(14..20));
/// assert_eq!(password_in(b"postgres://me@server:5432/db"), None);
/// ```
pub fn password_in(text: &[u8]) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.windows(3).position(|three| three == b"://") {
        let start = from + at + 3;
        let rest = text.get(start..)?;
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#') || byte.is_ascii_whitespace();
        let server = rest.get(..rest.iter().position(ends).unwrap_or(rest.len()))?;
        // A password may have an `@` that should have been written as `%40`: take the last one.
        if let Some(end) = server.iter().rposition(|byte| *byte == b'@')
            && let Some(colon) = server.get(..end)?.iter().position(|byte| *byte == b':')
        {
            return Some(start + colon + 1..start + end);
        }
        from = start;
    }
    None
}
