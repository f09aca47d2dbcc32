//! What several test programs of this crate need.
#![allow(dead_code, unused_imports, reason = "not each test program uses all of it")]

pub(crate) mod children;
pub(crate) mod hosts;
