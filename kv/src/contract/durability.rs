//! What a commit has reached when it returns.

/// What a commit has reached when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// The disk: what was committed survives a crash of the system.
    #[default]
    Full,
    /// A crash of the system may undo the last commits, never a part of one and never one that is
    /// older than one that stays. A crash of the process undoes nothing.
    ///
    /// LMDB saves one of two flushes and may lose the very last commit only; SQLite flushes now and
    /// then and may lose all since.
    MayLoseLastCommits,
    /// A crash of the system may destroy the database; a crash of the process undoes nothing. For
    /// data that can be made again.
    MayLoseEverything,
}
