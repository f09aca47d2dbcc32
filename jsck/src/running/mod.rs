//! Reading a store in parts, with several threads.

pub(crate) mod parts;
pub(crate) mod queue;
pub(crate) mod workers;
