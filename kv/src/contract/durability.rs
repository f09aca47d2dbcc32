//! The guarantee of a commit that has returned.

/// The guarantee of a commit that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// On the disk: committed data survives a crash of the system.
    #[default]
    Full,
    /// A crash of the system may undo the last commits. It never undoes a part of a commit, nor a
    /// commit that is older than one that remains. A crash of the process undoes nothing.
    ///
    /// LMDB makes one flush in place of two, and may lose only the very last commit. SQLite flushes
    /// from time to time, and may lose all commits since.
    MayLoseLastCommits,
    /// A crash of the system may destroy the database. A crash of the process undoes nothing. For
    /// data that can be made again.
    MayLoseEverything,
}
