//! The preview of a `delete`, as lines and as JSON.

use std::fmt;

use super::edited::counted;
use super::listed::Listed;
use super::preview::{Preview, PreviewObject, PreviewReference};
use crate::text::{escaped, json_string};

impl PreviewObject {
    fn json(&self) -> String {
        let name = json_string(&(&*self.type_name).into());
        format!("{{\"id\":\"{}\",\"type\":{name}}}", self.id)
    }
}

/// `Person @1000000000000001`
impl fmt::Display for PreviewObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} @{}", escaped(&self.type_name), self.id)
    }
}

impl PreviewReference {
    fn json(&self) -> String {
        let field = json_string(&(&*self.field).into());
        let (holder, target) = (self.holder.json(), self.target.json());
        format!("{{\"holder\":{holder},\"field\":{field},\"target\":{target}}}")
    }
}

/// `Person @1000000000000001 boss -> Person @1000000000000002`
impl fmt::Display for PreviewReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.holder, escaped(&self.field), self.target)
    }
}

impl Preview {
    /// The preview as JSON: an object with `deleted`, `deletedWith`, `nullified`, `removed` and
    /// `refused`, each with its `count` and the `first` 1,000; and `stopped`, if it was stopped.
    pub fn json(&self) -> String {
        fn listed<T>(name: &str, listed: &Listed<T>, json: impl Fn(&T) -> String) -> String {
            let first: Vec<_> = listed.first.iter().map(json).collect();
            format!("\"{name}\":{{\"count\":{},\"first\":[{}]}}", listed.count, first.join(","))
        }
        if self.stopped {
            return "{\"stopped\":true}".to_owned();
        }
        let parts = [
            listed("deleted", &self.deleted, PreviewObject::json),
            listed("deletedWith", &self.deleted_with, PreviewObject::json),
            listed("nullified", &self.nullified, PreviewReference::json),
            listed("removed", &self.removed, PreviewReference::json),
            listed("refused", &self.refused, PreviewReference::json),
        ];
        format!("{{{}}}", parts.join(","))
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stopped {
            return f.write_str("stopped");
        }
        let refused = self.refused.count;
        if refused > 0 {
            let forbid = if refused == 1 { "forbids" } else { "forbid" };
            let head = format!("is refused: {} {forbid} it", counted(refused, "reference"));
            section(f, &head, &self.refused, true)?;
        }
        let would = if refused > 0 { "would otherwise" } else { "would" };
        let head = |count, one: &str, what: &str| format!("{would} {what} {}", counted(count, one));
        let count = self.deleted.count;
        section(f, &head(count, "object", "delete"), &self.deleted, refused == 0)?;
        let others = &self.deleted_with;
        if others.count > 0 {
            let what = format!("{} with them", head(others.count, "other object", "delete"));
            section(f, &what, others, false)?;
        }
        if self.nullified.count > 0 {
            let what = format!("{} null", head(self.nullified.count, "reference", "make"));
            section(f, &what, &self.nullified, false)?;
        }
        if self.removed.count > 0 {
            let what = head(self.removed.count, "reference", "remove");
            section(f, &what, &self.removed, false)?;
        }
        Ok(())
    }
}

fn section<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    head: &str,
    listed: &Listed<T>,
    is_first: bool,
) -> fmt::Result {
    write!(f, "{}{head}", if is_first { "" } else { "\n" })?;
    for item in &listed.first {
        write!(f, "\n  {item}")?;
    }
    let more = listed.count.saturating_sub(listed.first.len() as u64);
    if more > 0 {
        write!(f, "\n  and {more} more")?;
    }
    Ok(())
}
