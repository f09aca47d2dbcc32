//! `save` and `load`: objects as files.

mod from_json;
mod json;
mod load;
mod save;
mod texts;

pub(crate) use load::Load;
pub(crate) use save::Save;
