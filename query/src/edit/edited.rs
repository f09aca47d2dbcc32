//! The changes of a statement.

use std::fmt;

use permazen::ObjId;

use crate::text::json_string;

/// The changes of a statement. They display as a sentence without a full stop: `2 objects set`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The objects that were created.
    pub created: Vec<ObjId>,
    /// How many objects `set` has changed, or found to be as they should be.
    pub set: u64,
    /// How many objects that match were deleted.
    pub deleted: u64,
    /// How many other objects were deleted with them.
    pub deleted_with: u64,
    /// How many references became null because their target was deleted. Those of one object that
    /// are in the same field and have the same target count once.
    pub nullified: u64,
    /// How many references were removed from collections because their target was deleted, counted
    /// in the same way.
    pub removed: u64,
    /// How many objects were moved to another schema.
    pub moved: u64,
    /// How many of these have lost something by that, which `lossy` allows.
    pub lossy: u64,
    /// The losses of the first 1,000 of these, each as a sentence without a full stop.
    pub losses: Vec<String>,
    /// Whether it was stopped ([`Limits::stop`](crate::Limits::stop)). Nothing was changed then.
    pub stopped: bool,
    /// If all objects of a type were read for lack of an index: why, as a sentence without a full
    /// stop.
    pub scanned_without_index: Option<String>,
}

impl Edited {
    /// The changes as JSON: an object with the fields of this one that are not empty.
    pub fn json(&self) -> String {
        let mut parts = Vec::new();
        if !self.created.is_empty() {
            let ids: Vec<_> = self.created.iter().map(|id| format!("\"{id}\"")).collect();
            parts.push(format!("\"created\":[{}]", ids.join(",")));
        }
        let counts = [
            ("set", self.set),
            ("deleted", self.deleted),
            ("deletedWith", self.deleted_with),
            ("nullified", self.nullified),
            ("removed", self.removed),
            ("moved", self.moved),
            ("lossy", self.lossy),
        ];
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        parts.extend(counts.map(|(name, count)| format!("\"{name}\":{count}")));
        if !self.losses.is_empty() {
            let losses: Vec<_> =
                self.losses.iter().map(|loss| json_string(&(&**loss).into())).collect();
            parts.push(format!("\"losses\":[{}]", losses.join(",")));
        }
        if self.stopped {
            parts.push("\"stopped\":true".to_owned());
        }
        format!("{{{}}}", parts.join(","))
    }
}

/// `1 object`, `2 objects`
pub(super) fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Edited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stopped {
            return f.write_str("stopped, and nothing was changed");
        }
        let mut parts = Vec::new();
        if let [created] = self.created[..] {
            parts.push(format!("@{created} created"));
        } else if !self.created.is_empty() {
            parts.push(format!("{} created", counted(self.created.len() as u64, "object")));
        }
        if self.set > 0 {
            parts.push(format!("{} set", counted(self.set, "object")));
        }
        if self.deleted > 0 {
            parts.push(format!("{} deleted", counted(self.deleted, "object")));
        }
        if self.deleted_with > 0 {
            parts.push(format!("{} deleted with them", counted(self.deleted_with, "other object")));
        }
        if self.nullified > 0 {
            parts.push(format!("{} made null", counted(self.nullified, "reference")));
        }
        if self.removed > 0 {
            parts.push(format!("{} removed", counted(self.removed, "reference")));
        }
        if self.moved > 0 {
            parts.push(format!("{} moved", counted(self.moved, "object")));
        }
        if self.lossy > 0 {
            parts.push(format!("{} of them have lost something", self.lossy));
        }
        match parts.is_empty() {
            true => f.write_str("nothing to change"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}
