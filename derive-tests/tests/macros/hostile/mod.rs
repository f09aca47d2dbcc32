//! Declarations that are hard for a derive macro, under the strictest lints. Generated code must
//! compile among names, attributes and lints that it does not know.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    unused_qualifications,
    clippy::all,
    clippy::pedantic
)]

mod attributes;
mod fragments;
mod generics;
mod hooks;
mod kinds;
mod library_names;
mod locals;
mod long;
mod methods;
mod no_prelude;
mod places;
mod prelude;
mod run;
mod spelling;
