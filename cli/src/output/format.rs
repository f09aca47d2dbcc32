//! The formats.

use clap::ValueEnum;

/// How to show what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns, for people
    Table,
    /// One field a line, for people
    Lines,
    /// One JSON object a line
    Json,
    /// Comma separated values
    Csv,
    /// Objects as Permazen's XML
    Xml,
    /// Values as they are, with tabs between them
    Raw,
}

impl Format {
    /// The option that chooses it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Format::Table => "--format table",
            Format::Lines => "--format lines",
            Format::Json => "--json",
            Format::Csv => "--format csv",
            Format::Xml => "--format xml",
            Format::Raw => "--raw",
        }
    }
}
