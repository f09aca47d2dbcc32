//! Derive macros of the Permazen object database.
//!
//! `#[derive(PermazenObject)]` makes a plain struct an object type. `#[derive(PermazenEnum)]` makes
//! an enum without fields a field type. Both take the same three steps: they parse the attributes,
//! check the model as a whole, and generate code. They report all mistakes at once, each at the
//! token that must change. The generated code uses only public items of the `permazen` crate.
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

/// Makes a struct an object type of a Permazen database.
///
/// Every field of the struct is a field of the object type, unless it is marked `skip`:
///
/// | Rust type | field |
/// |---|---|
/// | `bool`, `i8` … `i64`, `f32`, `f64`, `String`, … | simple, never null |
/// | `Option<T>` of these | simple, may be null (for primitive types, the encoding is not that of the bare type) |
/// | `Option<E>` with `#[derive(PermazenEnum)] enum E` | enum; a bare `E` is required: null is refused |
/// | `Option<Ref<M>>`, `Option<Ref<Any>>` | reference, to one model or to any object; always indexed; a bare `Ref<M>` is required |
/// | `Counter` | counter |
/// | `Vec<T>`, `BTreeSet<T>`, `BTreeMap<K, V>` | list, set, map of simple values |
/// | `Box<[T]>` | array, as a single value |
///
/// Names follow the conventions of Permazen for Java, so that both can use the same database. The
/// type has the name of the struct; a field `last_seen` is named `lastSeen`.
///
/// On the struct, `#[permazen(...)]` takes:
///
/// - `name = "…"`, `storage_id = n`, `singleton`;
/// - `rename_all = "camelCase" | "snake_case" | "PascalCase" | "SCREAMING_SNAKE_CASE" | "none"`;
/// - `composite(name = "…", fields(a, b), unique, exclude(…), storage_id = n)`, which may be
///   repeated. If a field is in two of them, allow `clippy::duplicated_attributes`, which takes
///   that for a mistake;
/// - `default_allow_deleted`, `default_upgrade = "…"`, `accessors = "…"`;
/// - `crate = "path::to::permazen"`.
///
/// On a field, it takes:
///
/// - `rename = "…"`, `storage_id = n`, `skip`, `indexed`, `unique`, `exclude(…)`;
/// - `encoding = "urn:…"`, `with = Type`, `upgrade = "attempt" | "require" | "reset"`;
/// - on references, `inverse_delete = "exception" | "ignore" | "nullify" | "remove" | "delete"`,
///   `forward_delete`, `allow_deleted`, `cascade(forward = ["…"], inverse = ["…"])`;
/// - on collections, `element(…)`, or `key(…)` and `value(…)`, with the attributes of the sub-field
///   inside;
/// - `list`, `set`, `map`, `array` or `reference` if the type does not show the kind of the field;
/// - `simple` for a field with a single value whose type is the program's own and is named
///   `Counter`.
///
/// If a struct or enum has mistakes, its accessors and implementations are generated without
/// content. The compiler then reports the mistakes, and no errors that only follow from them.
///
/// A `#[deprecated]` field makes its constant and accessors deprecated.
///
/// If the type of a field has changed, an object's value is converted when the object is first used
/// with the new models. `upgrade` says what happens if a value cannot be converted: with
/// `"attempt"`, the default, the field gets its default value; with `"require"`, the use fails.
/// With `"reset"`, nothing is converted and the field gets its default value.
///
/// **`unique`, `exclude`, `singleton` and `cascade` have no effect yet**: they are checked and kept
/// in the model, but objects with equal unique values are not refused.
///
/// The macro generates typed field constants (`Person::NAME`), accessors for handles
/// (`person.name()?`, `person.set_name("Ann")?`) and the implementation of `permazen::Model`. The
/// accessors are in the type `PersonFields`. If the program has its own `PersonFields`, choose
/// another name with `accessors = "…"`.
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

/// Makes an enum without fields a field type. Its identifiers are recorded in the schema, in order.
///
/// A variant `HipHop` has the identifier `HIP_HOP`. To change that, write `#[permazen(rename =
/// "…")]` on the variant or `#[permazen(rename_all = "none")]` on the enum. `#[permazen(crate =
/// "path::to::permazen")]` names the crate if it is not `::permazen`.
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
