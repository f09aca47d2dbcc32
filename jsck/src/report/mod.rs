//! Reports of a check: findings with their fixes, keys in words, and the changes of a repair.

pub(crate) mod changes;
pub(crate) mod finding;
pub(crate) mod kept_objects;
pub(crate) mod output;
