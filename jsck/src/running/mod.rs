//! Reading a store in parts, with several threads.

pub(crate) mod finding_queue;
pub(crate) mod parts;
pub(crate) mod workers;
