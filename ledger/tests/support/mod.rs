//! Code that several test programs of this crate need.
#![allow(dead_code, reason = "not each test program uses all of it")]

pub(crate) mod children;
pub(crate) mod clock;
pub(crate) mod faults;
pub(crate) mod hosts;
pub(crate) mod page;
