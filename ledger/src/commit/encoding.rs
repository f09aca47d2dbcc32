//! The bytes of a commit.

use super::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result, row};
use crate::ids::CommitId;

/// The most bytes that author and message have together.
pub(crate) const MAX_AUTHOR_AND_MESSAGE_LEN: usize = 4_096;

/// Commits that are made here have smaller generations, so that a generation and a number of resets
/// fit into one `u64`.
pub(crate) const GENERATIONS: u64 = 1 << 40;

const VERSION: u8 = 1;
const CHANGE: u8 = 1;
const CONFLICTS: u8 = 2;

/// A commit: a state of a page, and its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// When it was made.
    pub time: CommitTime,
    /// One more than the largest generation of its parents. The first commit has 0.
    pub generation: u64,
    /// The root of the tree of the page.
    pub root: Digest,
    /// The root of the tree of conflicts, if there are any.
    pub conflicts: Option<Digest>,
    /// The kind of commit.
    pub origin: Origin,
}

/// The kind of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A change that a program made.
    Change {
        /// The state that was changed.
        parent: CommitId,
        /// Random bytes, so that equal changes are different commits.
        salt: [u8; 16],
        /// The device on which it was made; zeros if that is not said.
        device: [u8; 16],
        /// The author; may be empty.
        author: String,
        /// The message; may be empty.
        message: String,
    },
    /// A merge of two commits, the one with the smaller ID first. It is a function of these and of
    /// its contents.
    Merge {
        /// The parents.
        parents: [CommitId; 2],
    },
}

impl Commit {
    /// The parents: one or two.
    pub fn parents(&self) -> &[CommitId] {
        match &self.origin {
            Origin::Change { parent, .. } => std::slice::from_ref(parent),
            Origin::Merge { parents } => parents,
        }
    }

    /// The bytes. Two different commits never have the same.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let is_change = matches!(self.origin, Origin::Change { .. });
        let flags = u8::from(is_change) * CHANGE + u8::from(self.conflicts.is_some()) * CONFLICTS;
        let mut bytes = vec![VERSION, flags];
        bytes.extend_from_slice(&self.time.0.to_be_bytes());
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(&self.root.0);
        if let Some(conflicts) = &self.conflicts {
            bytes.extend_from_slice(&conflicts.0);
        }
        #[allow(clippy::cast_possible_truncation, reason = "1 or 2")]
        let parents = self.parents().len() as u8;
        bytes.push(parents);
        for parent in self.parents() {
            bytes.extend_from_slice(&parent.0.0);
        }
        if let Origin::Change { salt, device, author, message, .. } = &self.origin {
            bytes.extend_from_slice(salt);
            bytes.extend_from_slice(device);
            for text in [author, message] {
                #[allow(clippy::cast_possible_truncation, reason = "both have at most 4,096 bytes")]
                let len = text.len() as u16;
                bytes.extend_from_slice(&len.to_be_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        bytes
    }

    /// The ID of the commit with these bytes.
    pub(crate) fn id(bytes: &[u8]) -> CommitId {
        CommitId(Kind::Commit.digest(bytes))
    }

    /// The commit of this page with these bytes and this ID.
    ///
    /// # Errors
    /// If they are not the bytes of this commit, or a later version has written them.
    pub(crate) fn checked(page: u64, id: &CommitId, bytes: &[u8]) -> Result<Self> {
        let found = Commit::id(bytes);
        if found != *id {
            let error = LedgerError::other_digest(Kind::Commit, &id.0, &found.0);
            return Err(error.needed(|by| by.page = page));
        }
        Commit::parse(bytes).map_err(|refused| match refused {
            Refused::Wrong(found) => {
                LedgerError::refused(Kind::Commit, &id.0, found).needed(|by| by.page = page)
            }
            Refused::Unknown { what, found, known } => {
                LedgerError::unknown((page, row(Kind::Commit, &id.0)), what, found, known)
            }
        })
    }

    /// The commit with these bytes, or why they are refused.
    pub(crate) fn parse(bytes: &[u8]) -> std::result::Result<Self, Refused> {
        match *bytes {
            [] | [VERSION] => Err(Refused::Wrong(TOO_SHORT)),
            // A later version may have more flags. That is no damage.
            [VERSION, flags, ..] if flags & !(CHANGE | CONFLICTS) != 0 => {
                Err(Refused::Unknown { what: "commit flags", found: flags, known: "0 to 3" })
            }
            [VERSION, flags, ref rest @ ..] => {
                Commit::parse_rest(flags, Rest(rest)).map_err(Refused::Wrong)
            }
            [found, ..] => Err(Refused::Unknown { what: "commit version", found, known: "1" }),
        }
    }

    /// The commit with these bytes after its flags, or the mistake in them.
    fn parse_rest(flags: u8, mut rest: Rest<'_>) -> std::result::Result<Self, &'static str> {
        let time = u64::from_be_bytes(rest.array()?);
        let generation = u64::from_be_bytes(rest.array()?);
        if time == 0
            || time >= CommitTime::LIMIT
            || generation == 0
            || generation >= CommitTime::LIMIT
        {
            return Err("a time or a generation that is 0, or 2⁶³ or more");
        }
        let root = Digest(rest.array()?);
        let conflicts = match flags & CONFLICTS {
            0 => None,
            _ => Some(Digest(rest.array()?)),
        };
        // The flag says that there are conflicts. Without this rule, one commit would have two
        // forms.
        if conflicts == Some(crate::node::view::Node::empty().0) {
            return Err("a tree of conflicts without entries");
        }
        let origin = match (rest.array()?, flags & CHANGE) {
            ([1], CHANGE) => Origin::Change {
                parent: CommitId(Digest(rest.array()?)),
                salt: rest.array()?,
                device: rest.array()?,
                author: rest.text()?,
                message: rest.text()?,
            },
            ([2], 0) => {
                let mut parent = || rest.array().map(|id| CommitId(Digest(id)));
                Origin::Merge { parents: [parent()?, parent()?] }
            }
            // The flag and the number of parents say the same, and must agree.
            _ => return Err("a change does not have one parent, or a merge not two"),
        };
        match &origin {
            Origin::Change { author, message, .. } => {
                if author.len() + message.len() > MAX_AUTHOR_AND_MESSAGE_LEN {
                    return Err("author and message of more than 4,096 bytes");
                }
            }
            Origin::Merge { parents: [first, second] } => {
                if first >= second || *first == CommitId::FIRST {
                    return Err("a merge of the first commit, or parents that do not ascend");
                }
            }
        }
        // Further bytes would change the ID, and mean nothing.
        if !rest.0.is_empty() {
            return Err("bytes after its end");
        }
        Ok(Commit { time: CommitTime(time), generation, root, conflicts, origin })
    }
}

/// Why a commit cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The mistake in them.
    Wrong(&'static str),
    /// A later version has written them.
    Unknown { what: &'static str, found: u8, known: &'static str },
}

const TOO_SHORT: &str = "it ends too early";

/// Bytes that are not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn array<const N: usize>(&mut self) -> std::result::Result<[u8; N], &'static str> {
        let (array, rest) = self.0.split_first_chunk().ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(*array)
    }

    fn text(&mut self) -> std::result::Result<String, &'static str> {
        let len = u16::from_be_bytes(self.array()?);
        let (text, rest) = self.0.split_at_checked(len.into()).ok_or(TOO_SHORT)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| "text that is not UTF-8")
    }
}
