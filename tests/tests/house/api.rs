//! The public items of the library crates are those listed in `tests/tests/house/api/`. So they only
//! change on purpose.
//!
//! `PERMAZEN_API=write cargo test -p permazen-tests --test house api` writes the lists again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use permazen_tests::sources::{Crate, Names};
use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

/// One crate while its public items are listed.
struct Api {
    sources: Crate,
    files: BTreeMap<Names, syn::File>,
    /// The types and traits found, by where they are declared: the path they are public under.
    public: BTreeMap<(Names, String), String>,
    lines: BTreeSet<String>,
}

impl Api {
    fn of(name: &str, src: &Path) -> Api {
        let sources = Crate::read(src);
        let read = |module: &Names| {
            let path = src.join(module.join("/"));
            let doors = [path.join("lib.rs"), path.join("mod.rs"), path.with_extension("rs")];
            let file = doors.iter().find(|file| file.is_file()).expect("a file of this module");
            let text = std::fs::read_to_string(file).expect("a source file");
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        };
        let files = sources.0.keys().map(|module| (module.clone(), read(module))).collect();
        let mut api = Api { sources, files, public: BTreeMap::new(), lines: BTreeSet::new() };
        let root = api.files[&Names::new()].items.clone();
        api.module(&Names::new(), &root, name);
        api.implementations();
        api
    }

    /// Lists the public items of a module under a public path.
    fn module(&mut self, module: &Names, items: &[Item], path: &str) {
        for item in items {
            match item {
                Item::Mod(inner) if is_public(&inner.vis, &inner.attrs) => {
                    let path = format!("{path}::{}", inner.ident);
                    let below = [&module[..], &[inner.ident.to_string()]].concat();
                    match &inner.content {
                        Some((_, items)) => self.module(module, items, &path),
                        None => {
                            let items = self.files[&below].items.clone();
                            self.module(&below, &items, &path);
                        }
                    }
                }
                Item::Use(passed_on) if is_public(&passed_on.vis, &passed_on.attrs) => {
                    self.passed_on(module, &[], &passed_on.tree, path);
                }
                item => self.item(module, item, None, path),
            }
        }
    }

    fn passed_on(&mut self, module: &Names, before: &[String], tree: &UseTree, path: &str) {
        match tree {
            UseTree::Path(segment) => {
                let before = [before, &[segment.ident.to_string()]].concat();
                self.passed_on(module, &before, &segment.tree, path);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.passed_on(module, before, tree, path));
            }
            UseTree::Name(name) => self.named(module, before, &name.ident.to_string(), None, path),
            UseTree::Rename(name) => {
                let known_as = name.rename.to_string();
                self.named(module, before, &name.ident.to_string(), Some(&known_as), path);
            }
            UseTree::Glob(_) => self.line(format!("{path}: everything in {}", before.join("::"))),
        }
    }

    /// Lists one item that a module passes on.
    fn named(
        &mut self,
        module: &Names,
        before: &[String],
        name: &str,
        known_as: Option<&str>,
        path: &str,
    ) {
        let full = [before, &[name.to_string()]].concat();
        let known_as = known_as.unwrap_or(name);
        let Some(declared) = self.sources.declaring(module, &full) else {
            self.line(format!("{path}::{known_as} = {}", full.join("::")));
            return;
        };
        let items = self.files[&declared].items.clone();
        let is_module = declared.last().is_some_and(|last| last == name)
            && !self.sources.0[&declared].declares.contains(name);
        if is_module {
            self.module(&declared, &items, &format!("{path}::{known_as}"));
            return;
        }
        let found = items.iter().filter(|item| name_of(item).is_some_and(|of| of == name));
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            // Made by a macro: its name is all there is to see.
            self.line(format!("{path}::{known_as}"));
        }
        found.into_iter().for_each(|item| self.item(&declared, item, Some(known_as), path));
    }

    /// Lists an item if it is public, with what is public in it.
    fn item(&mut self, module: &Names, item: &Item, known_as: Option<&str>, path: &str) {
        let (Some(name), Some((vis, attributes))) = (name_of(item), visibility(item)) else {
            return;
        };
        if !is_public(vis, attributes) {
            return;
        }
        let path = format!("{path}::{}", known_as.unwrap_or(&name));
        match item {
            Item::Fn(function) => self.line(format!("{path}: {}", text(&function.sig))),
            Item::Const(constant) => self.line(format!("{path}: const {}", text(&constant.ty))),
            Item::Type(alias) => {
                self.line(format!("{path}{} = {}", text(&alias.generics), text(&alias.ty)));
            }
            Item::Struct(declared) => {
                self.line(format!("{path}: struct{}", text(&declared.generics)));
                for (at, field) in declared.fields.iter().enumerate() {
                    if is_public(&field.vis, &field.attrs) {
                        let name = field.ident.as_ref().map_or(at.to_string(), ToString::to_string);
                        self.line(format!("{path}.{name}: {}", text(&field.ty)));
                    }
                }
            }
            Item::Enum(declared) => {
                self.line(format!("{path}: enum{}", text(&declared.generics)));
                for variant in &declared.variants {
                    let mut variant = variant.clone();
                    variant.attrs.clear();
                    variant.fields.iter_mut().for_each(|field| field.attrs.clear());
                    self.line(format!("{path}::{}", text(&variant)));
                }
            }
            Item::Trait(declared) => {
                let above = text(&declared.supertraits);
                self.line(format!("{path}: trait{} : {above}", text(&declared.generics)));
                for item in &declared.items {
                    match item {
                        TraitItem::Fn(method) if !is_hidden(&method.attrs) => {
                            let given = if method.default.is_some() { " (given)" } else { "" };
                            self.line(format!("{path}: {}{given}", text(&method.sig)));
                        }
                        TraitItem::Const(constant) => {
                            self.line(format!("{path}::{}: {}", constant.ident, text(&constant.ty)))
                        }
                        TraitItem::Type(of) => self.line(format!("{path}::{}: type", of.ident)),
                        _ => {}
                    }
                }
            }
            _ => return,
        }
        self.public.insert((module.clone(), name), path);
    }

    /// Lists the methods of the public types, and the traits they have.
    fn implementations(&mut self) {
        let files = std::mem::take(&mut self.files);
        for (module, file) in &files {
            for item in &file.items {
                let Item::Impl(implementation) = item else { continue };
                let syn::Type::Path(of) = &*implementation.self_ty else { continue };
                let Some(path) = self.public_path(module, &of.path) else { continue };
                if is_test_only(&implementation.attrs) {
                    continue;
                }
                if let Some((of_trait, _)) = &implementation.trait_ {
                    let generics = text(&implementation.generics);
                    let (of_trait, of) = (text(of_trait), text(&of.path));
                    self.line(format!("{path}: impl{generics} {of_trait} for {of}"));
                    continue;
                }
                for item in &implementation.items {
                    match item {
                        ImplItem::Fn(method) if is_public(&method.vis, &method.attrs) => {
                            let of = text(&of.path);
                            self.line(format!("{path}: [{of}] {}", text(&method.sig)));
                        }
                        ImplItem::Const(constant) if is_public(&constant.vis, &constant.attrs) => {
                            let ty = text(&constant.ty);
                            self.line(format!("{path}::{}: const {ty}", constant.ident));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// The public path of the type that a module knows under this path, if it is public.
    fn public_path(&self, module: &Names, path: &syn::Path) -> Option<String> {
        let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let name = names.last()?;
        let own = (module.clone(), name.clone());
        if names.len() == 1 && self.public.contains_key(&own) {
            return self.public.get(&own).cloned();
        }
        let file = self.sources.0.get(module)?;
        let imported =
            file.imports.iter().find(|(_, known_as)| known_as == names.first().unwrap_or(name));
        let full = match imported {
            Some((import, _)) => [&import[..], names.get(1..)?].concat(),
            None => names.clone(),
        };
        let declared = self.sources.declaring(module, &full)?;
        self.public.get(&(declared, full.last()?.clone())).cloned()
    }

    fn line(&mut self, line: String) {
        self.lines.insert(line);
    }
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| text(attribute).contains("doc (hidden)"))
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| text(attribute).contains("cfg (test)"))
}

fn is_public(vis: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(vis, Visibility::Public(_)) && !is_hidden(attributes) && !is_test_only(attributes)
}

fn visibility(item: &Item) -> Option<(&Visibility, &[Attribute])> {
    Some(match item {
        Item::Fn(item) => (&item.vis, &item.attrs),
        Item::Const(item) => (&item.vis, &item.attrs),
        Item::Type(item) => (&item.vis, &item.attrs),
        Item::Struct(item) => (&item.vis, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.attrs),
        Item::Trait(item) => (&item.vis, &item.attrs),
        _ => return None,
    })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Const(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

#[test]
fn the_public_items_are_those_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut differences = String::new();
    for (name, src) in [
        ("permazen_kv", "kv/src"),
        ("permazen", "core/src"),
        ("permazen_jsck", "jsck/src"),
        ("permazen_query", "query/src"),
        ("permazen_ledger", "ledger/src"),
    ] {
        let now = Api::of(name, &root.join(src)).lines;
        let list: PathBuf = root.join(format!("tests/tests/house/api/{name}.txt"));
        if std::env::var_os("PERMAZEN_API").is_some_and(|value| value == "write") {
            let text = now.iter().map(|line| format!("{line}\n")).collect::<String>();
            std::fs::write(&list, text).expect("the list");
            continue;
        }
        let listed = std::fs::read_to_string(&list).expect("the list");
        let listed: BTreeSet<_> = listed.lines().map(ToString::to_string).collect();
        assert!(now.len() > 20, "{name} has more items than that");
        differences.extend(listed.difference(&now).map(|line| format!("gone: {line}\n")));
        differences.extend(now.difference(&listed).map(|line| format!("new: {line}\n")));
    }
    assert!(
        differences.is_empty(),
        "public items have changed; if that is meant, run again with PERMAZEN_API=write:\n{differences}"
    );
}
