//! Declarations that the strictest lints accept. The modules are public, since `missing_docs` is
//! about public items.

pub mod everything;
pub mod inverse;
pub mod strict_hooks;
