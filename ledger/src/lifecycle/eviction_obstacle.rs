//! Why a page is not evicted.

use std::fmt;

/// Why a page is not [evicted](crate::Repository::evict).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvictionObstacle {
    /// A process has it open, or has not recorded yet that it is closed.
    IsOpen,
    /// It has tags, which no remote has.
    HasTags,
    /// It has commits, and no remote.
    HasNoRemote,
    /// It is being attached to its remote. [`PageRemote::attach`](crate::PageRemote::attach)
    /// continues that.
    IsBeingAttached,
    /// It has branches other than `main`, which no remote has.
    HasBranches,
    /// A branch of it was reset, squashed or removed, which no remote records.
    WasReset,
    /// Commits or pieces of it are not at its remote.
    IsUnsynced,
}

impl fmt::Display for EvictionObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EvictionObstacle::IsOpen => "a process has it open",
            EvictionObstacle::HasTags => "it has tags",
            EvictionObstacle::HasNoRemote => "it has commits and no remote",
            EvictionObstacle::IsBeingAttached => "it is being attached to its remote",
            EvictionObstacle::HasBranches => "it has branches other than main",
            EvictionObstacle::WasReset => "a branch of it was reset, squashed or removed",
            EvictionObstacle::IsUnsynced => "commits or pieces of it are not at its remote",
        })
    }
}
