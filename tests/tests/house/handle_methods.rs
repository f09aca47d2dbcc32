//! The derive refuses fields whose accessors the methods of a handle would hide. Its list of these
//! methods is that of the public API.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{Item, Type};

fn read(path: &str) -> String {
    let root = super::root();
    std::fs::read_to_string(root.join(path)).expect("a file of the workspace")
}

/// The strings in the constant of this name of the derive.
fn refused_by_the_derive(constant: &str) -> BTreeSet<String> {
    let file = syn::parse_file(&read("derive/src/reserved.rs")).expect("Rust");
    let list = file.items.iter().find_map(|item| match item {
        Item::Const(item) if item.ident == constant => Some(item.expr.to_token_stream()),
        _ => None,
    });
    let literals = list.expect("the constant").to_string();
    let names = literals.split('"').skip(1).step_by(2).map(str::to_owned);
    names.collect()
}

/// The public methods of a type with `self`, as the list of the API has them.
fn methods_of(type_path: &str) -> BTreeSet<String> {
    let api = read("tests/tests/house/api/permazen.txt");
    let lines = api.lines().filter_map(|line| line.strip_prefix(&format!("{type_path}: [")));
    let methods = lines.filter_map(|line| {
        let signature = line.split_once("] fn ")?.1;
        let takes_self = signature.split_once('(')?.1.split([',', ')']).next()?.contains("self");
        let name = signature.split([' ', '(', '<']).next()?;
        takes_self.then(|| name.to_owned())
    });
    methods.collect()
}

#[test]
fn the_derive_refuses_accessors_with_the_names_of_methods_of_a_handle() {
    let methods = methods_of("permazen::Obj");
    assert!(methods.contains("load") && methods.contains("set"), "{methods:?}");
    assert_eq!(refused_by_the_derive("OF_HANDLES"), methods);
}

/// A handle derefs to the accessors alone, so nothing else can hide them.
#[test]
fn a_handle_derefs_to_the_accessors() {
    let file = syn::parse_file(&read("core/src/model/obj.rs")).expect("Rust");
    let target = file.items.iter().find_map(|item| match item {
        Item::Impl(item) => {
            let (of, _) = item.trait_.as_ref()?;
            let is_deref = of.segments.last()?.ident == "Deref";
            item.items.iter().find_map(|inner| match inner {
                syn::ImplItem::Type(target) if is_deref => Some(target.ty.clone()),
                _ => None,
            })
        }
        _ => None,
    });
    let target: Type = target.expect("the target of `Deref`");
    assert_eq!(target.to_token_stream().to_string(), "M :: Fields < 't >");
    assert_eq!(methods_of("permazen::model::Accessors"), BTreeSet::new());
}
