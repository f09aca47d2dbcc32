//! Compares docs/src/attributes.md with the attributes that the macros know.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::errors::Errors;
use crate::object_model::Role;
use crate::{enums, hooks, kind_model, parse_object};

/// The names in the first column of the tables of a section.
fn on_page(heading: &str) -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/attributes.md");
    let page = std::fs::read_to_string(page).expect("the page is in the repository");
    let section = page.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let section = section.unwrap_or_else(|| panic!("there is no section {heading}"));
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).map(str::to_owned).collect()
}

/// The names that the message about an unknown attribute lists.
fn listed(errors: TokenStream) -> BTreeSet<String> {
    let text = errors.to_string();
    let (_, known) = text.split_once("known are ").expect("an unknown attribute is an error");
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn told(errors: Errors) -> BTreeSet<String> {
    listed(errors.into_compile_errors().expect("there is a mistake"))
}

fn of_struct(input: TokenStream, role: Role) -> BTreeSet<String> {
    told(parse_object::parse(&parsed(input), role).1)
}

fn parsed(input: TokenStream) -> DeriveInput {
    syn::parse2(input).expect("a struct or enum")
}

#[test]
fn attributes_of_structs_and_fields() {
    let known = of_struct(
        quote!(
            #[permazen(nonsense)]
            struct A {}
        ),
        Role::Model,
    );
    assert_eq!(on_page("Structs: `PermazenObject`"), known);
    let known = of_struct(
        quote!(
            #[permazen(nonsense)]
            struct A {}
        ),
        Role::Mixin,
    );
    assert_eq!(on_page("Mix-ins: `PermazenFields`"), known);
    let known = quote! {
        #[permazen(composite(name = "c", fields(a, b), nonsense))]
        struct A { a: i32, b: i32 }
    };
    assert_eq!(on_page("Composite indexes: `composite`"), of_struct(known, Role::Model));
    let known = of_struct(
        quote!(
            struct A {
                #[permazen(nonsense)]
                a: i32,
            }
        ),
        Role::Model,
    );
    assert_eq!(on_page("Fields"), known);
    let known = quote!(
        struct A {
            #[permazen(element(nonsense))]
            a: Vec<i32>,
        }
    );
    let known = of_struct(known, Role::Model);
    assert_eq!(on_page("Sub-fields: `element`, `key`, `value`"), known);
    let known = quote!(
        struct A {
            #[permazen(cascade(nonsense = "a"))]
            a: Option<Ref<A>>,
        }
    );
    assert_eq!(on_page("Cascades: `cascade`"), of_struct(known, Role::Model));
}

#[test]
fn attributes_of_enums_and_kinds() {
    let known = enums::parse(&parsed(quote!(
        #[permazen(nonsense)]
        enum A {
            B,
        }
    )))
    .1;
    assert_eq!(on_page("Enums: `PermazenEnum`"), told(known));
    let known = enums::parse(&parsed(quote!(
        enum A {
            #[permazen(nonsense)]
            B,
        }
    )))
    .1;
    assert_eq!(on_page("Variants"), told(known));
    let known = quote!(
        #[permazen(nonsense)]
        enum A<'t> {
            B(Obj<'t, B>),
        }
    );
    assert_eq!(on_page("Kinds: `PermazenKind`"), told(kind_model::parse(&parsed(known)).1));
}

#[test]
fn attributes_of_hooks() {
    let expanded =
        |attribute, block| listed(hooks::expand(&attribute, syn::parse2(block).expect("a block")));
    assert_eq!(on_page("Hooks: `permazen::hooks`"), expanded(quote!(nonsense), quote!(impl A {})));
    let block =
        quote!(impl A { #[on_change(nonsense)] fn f(this: Obj<'_, Self>) -> Result<()> {} });
    // The block itself follows the message.
    let known = expanded(quote!(), block);
    assert_eq!(on_page("Changes: `on_change`"), known);
    let events = hooks::EVENTS.map(str::to_owned);
    assert_eq!(on_page("Functions of a block of hooks"), BTreeSet::from(events));
}
