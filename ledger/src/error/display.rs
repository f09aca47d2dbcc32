//! Formats parts of error messages.

use permazen_kv::Hex;

use crate::digest::{Digest, Kind};
use crate::ids::CommitId;

/// The page with this number, or the repository.
pub(super) fn of(page: u64) -> String {
    match page {
        0 => "the repository".to_owned(),
        page => format!("page {page}"),
    }
}

/// " in page 7", or nothing for the repository.
pub(super) fn within(page: u64) -> String {
    match page {
        0 => String::new(),
        page => format!(" in page {page}"),
    }
}

/// The key of the row of a piece or commit in hexadecimal, without the prefix of the page.
pub(crate) fn row(kind: Kind, digest: &Digest) -> String {
    let first = if kind == Kind::Commit { "22" } else { "23" };
    format!("{first}{digest}")
}

/// At most 32 bytes of a key in hexadecimal.
pub(super) fn start(key: &[u8]) -> String {
    match key.get(..32) {
        Some(start) if key.len() > 32 => format!("{}…", Hex(start)),
        _ => Hex(key).to_string(),
    }
}

/// The commits of a merge.
pub(super) fn merged(page: u64, commits: &[CommitId]) -> String {
    let what = match commits {
        [] => "heads".to_owned(),
        commits => {
            let ids: Vec<_> = commits.iter().map(ToString::to_string).collect();
            format!("commits {}", ids.join(" and "))
        }
    };
    match page {
        0 => what,
        page => format!("{what} of page {page}"),
    }
}

/// Onto which commit a branch can be squashed instead.
pub(super) fn instead(onto: &Option<CommitId>) -> String {
    onto.map_or_else(String::new, |onto| format!("; squash onto commit {onto} instead"))
}
