//! The advice of a store about the settings of its server.

use std::fmt;

/// A problem that a store has found in the settings of its server when it was opened, and what to
/// do about it.
///
/// ```
/// use permazen_kv::{Warning, WarningKind};
///
/// let warning = Warning::new(WarningKind::Data, "a server that stops loses commits: set fsync to on");
/// assert!(warning.kind() == WarningKind::Data && warning.text().contains("fsync"));
/// assert_eq!(warning.to_string(), warning.text());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    kind: WarningKind,
    text: String,
}

/// The subject of a [`Warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// Committed data can be lost, or damage stays unnoticed.
    Data,
    /// Nothing is lost, but the store is slower than it could be.
    Speed,
}

impl WarningKind {
    /// Its name in lower case, for programs: `data` or `speed`.
    ///
    /// ```
    /// assert_eq!(permazen_kv::WarningKind::Speed.name(), "speed");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            WarningKind::Data => "data",
            WarningKind::Speed => "speed",
        }
    }
}

impl Warning {
    /// A warning with this text, which says what happens, by which setting, and what to set.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Warning { kind, text: text.into() }
    }

    /// Its subject.
    pub fn kind(&self) -> WarningKind {
        self.kind
    }

    /// The effect, the setting that causes it, and the value to set.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
