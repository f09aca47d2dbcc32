//! Changes, counted by type.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use permazen::__internal::object::{NetChange, NetChanges};
use permazen::object::Result;

use crate::text::{escaped, json_string};

/// How many objects of each type a transaction has changed so far. It displays as a line: `Person:
/// 2 created, 1 changed; Pet: 1 deleted`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// By the name of the type.
    pub types: BTreeMap<Arc<str>, TypeChanges>,
    /// How many pairs were changed that are neither content of an object nor an index entry.
    pub pairs: u64,
}

/// How many objects of a type were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeChanges {
    /// New objects.
    pub created: u64,
    /// Objects with other content, in the same schema.
    pub changed: u64,
    /// Objects that were moved to another schema.
    pub moved: u64,
    /// Objects that are gone.
    pub deleted: u64,
}

impl TypeChanges {
    fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("created", self.created),
            ("changed", self.changed),
            ("moved", self.moved),
            ("deleted", self.deleted),
        ]
    }
}

impl ChangeCounts {
    /// Counts changes. Cost: that of [`NetChanges`].
    ///
    /// # Errors
    /// If the store fails.
    #[doc(hidden)]
    pub fn of(changes: NetChanges<'_>) -> Result<Self> {
        let mut counts = ChangeCounts::default();
        for change in changes {
            match change? {
                NetChange::Object(object) => {
                    let Some(object_type) = object.object_type() else { continue };
                    let of = counts.types.entry(Arc::clone(&object_type.name)).or_default();
                    let count = if object.is_created() {
                        &mut of.created
                    } else if object.is_deleted() {
                        &mut of.deleted
                    } else if object.is_moved() {
                        &mut of.moved
                    } else {
                        &mut of.changed
                    };
                    *count += 1;
                }
                NetChange::Pair(_) => counts.pairs += 1,
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.pairs == 0
    }

    /// The counts as JSON: an object with `types`, which has an object with the counts that are not
    /// 0 for each name of a type, and `pairs`.
    pub fn json(&self) -> String {
        let of = |(name, counts): (&Arc<str>, &TypeChanges)| {
            let named = counts.named();
            let counts = named.iter().filter(|(_, count)| *count > 0);
            let counts: Vec<_> =
                counts.map(|(what, count)| format!("\"{what}\":{count}")).collect();
            format!("{}:{{{}}}", json_string(&(&**name).into()), counts.join(","))
        };
        let types: Vec<_> = self.types.iter().map(of).collect();
        format!("{{\"types\":{{{}}},\"pairs\":{}}}", types.join(","), self.pairs)
    }
}

impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |(name, counts): (&Arc<str>, &TypeChanges)| {
            let named = counts.named();
            let counts = named.iter().filter(|(_, count)| *count > 0);
            let counts: Vec<_> = counts.map(|(what, count)| format!("{count} {what}")).collect();
            format!("{}: {}", escaped(name), counts.join(", "))
        };
        let mut parts: Vec<_> = self.types.iter().map(of).collect();
        if self.pairs > 0 {
            parts.push(format!("pairs that belong to no object: {}", self.pairs));
        }
        if parts.is_empty() {
            return f.write_str("no changes");
        }
        f.write_str(&parts.join("; "))
    }
}
