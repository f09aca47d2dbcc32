//! Derive macros of the permazen object database.
//!
//! `#[derive(PermazenObject)]` turns a plain struct into an object type, `#[derive(PermazenEnum)]` a field-less
//! enum into a field type. Both run the same three steps: parse the attributes, check the model as a whole
//! (every mistake is reported at once, at the token that has to change), write the code. What is written uses
//! the public interface of the `permazen` crate only.
#![deny(missing_docs)]

mod attributes;
mod check;
mod declared;
mod enums;
mod errors;
mod exclude;
mod expand;
mod names;
mod object;
mod stub;
mod types;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an object type of a permazen database.
///
/// Every field of the struct is a field of the object type unless it is marked `skip`:
///
/// | Rust type | field |
/// |---|---|
/// | `bool`, `i8` … `i64`, `f32`, `f64`, `String`, … | simple, never null |
/// | `Option<T>` of these | simple, nullable (for primitives another encoding than the bare type) |
/// | `Option<E>` with `#[derive(PermazenEnum)] enum E` | enum; `E` alone is required, and refused where it is null |
/// | `Option<Ref<M>>`, `Option<Ref<Any>>` | reference, to one model or to anything; always indexed; `Ref<M>` alone is required |
/// | `Counter` | counter |
/// | `Vec<T>`, `BTreeSet<T>`, `BTreeMap<K, V>` | list, set, map of simple values |
/// | `Box<[T]>` | array, as one value |
///
/// Names follow the habits of Permazen for Java, so that the same database serves both: the type is named like
/// the struct, a field `last_seen` is named `lastSeen`.
///
/// On the struct, `#[permazen(...)]` takes `name = "…"`, `storage_id = n`, `singleton`,
/// `rename_all = "camelCase" | "snake_case" | "PascalCase" | "SCREAMING_SNAKE_CASE" | "none"`,
/// `composite(name = "…", fields(a, b), unique, exclude(…), storage_id = n)` (repeatable; where a field is in two of them,
/// `clippy::duplicated_attributes` takes that for a mistake and has to be allowed),
/// `default_allow_deleted`, `default_upgrade = "…"`, `accessors = "…"` and `crate = "path::to::permazen"`.
///
/// On a field it takes `rename = "…"`, `storage_id = n`, `skip`, `indexed`, `unique`, `exclude(…)`,
/// `encoding = "urn:…"`, `with = Type`, `upgrade = "attempt" | "require" | "reset"`; on references
/// `inverse_delete = "exception" | "ignore" | "nullify" | "remove" | "delete"`, `forward_delete`,
/// `allow_deleted`, `cascade(forward = ["…"], inverse = ["…"])`; on collections `element(…)`, or `key(…)` and
/// `value(…)`, with the attributes of the sub-field inside; and `list`, `set`, `map`, `array`, `reference` where
/// the kind cannot be seen from the type. `simple` makes one value of a field whose type is of the program and is called
/// `Counter`.
///
/// A struct or enum with mistakes gets accessors and implementations without content, so that the compiler reports the
/// mistakes and nothing that follows from them.
///
/// A field that is `#[deprecated]` makes its constant and accessors deprecated.
///
/// When the type of a field has changed, an object's value is converted as the object is first used with the new
/// models: where it can be (`upgrade = "attempt"`, unless said otherwise), or else the use fails (`"require"`); or
/// the field starts at its default (`"reset"`).
///
/// **`unique`, `exclude`, `singleton` and `cascade` have no effect yet**: they are checked and kept in the model, but
/// objects with equal unique values are not refused.
///
/// Generated are the typed field constants (`Person::NAME`), the accessors reached from a handle
/// (`person.name()?`, `person.set_name("Ann")?`, in the type `PersonFields`, or the one named by
/// `accessors = "…"` where the program has a `PersonFields` of its own) and the implementation of `permazen::Model`.
#[proc_macro_derive(PermazenObject, attributes(permazen))]
pub fn derive_permazen_object(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = object::parse(&input);
    match errors.into_compile_errors() {
        None => expand::expand(&model),
        Some(errors) => stub::object(&model, &input.generics, errors),
    }
    .into()
}

/// Makes a field-less enum a field type: its identifiers are recorded in the schema, in order.
///
/// A variant `HipHop` has the identifier `HIP_HOP`; `#[permazen(rename = "…")]` on the variant or
/// `#[permazen(rename_all = "none")]` on the enum change that. `#[permazen(crate = "path::to::permazen")]` names
/// the crate where it is not `::permazen`.
#[proc_macro_derive(PermazenEnum, attributes(permazen))]
pub fn derive_permazen_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = enums::parse(&input);
    match errors.into_compile_errors() {
        None => enums::expand(&model),
        Some(errors) => stub::enumeration(&model, &input.generics, errors),
    }
    .into()
}
