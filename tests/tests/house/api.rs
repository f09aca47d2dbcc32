//! The public items of the library crates are those listed in `tests/tests/house/api/`. So they
//! only change on purpose.
//!
//! `PERMAZEN_API=write cargo test -p permazen-tests --test house api` writes the lists again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use permazen_tests::sources::{Crate, Names};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

use super::forgotten::Tree;
use super::root;

/// One crate while its public items are listed.
struct Api {
    sources: Crate,
    files: BTreeMap<Names, syn::File>,
    /// The types and traits found, by where they are declared: the path they are public under.
    public: BTreeMap<(Names, String), String>,
    lines: BTreeSet<String>,
    /// The parts that a line names: the path of its item, the module, and the tokens.
    signatures: Vec<(String, Names, TokenStream)>,
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
        let mut api = Api {
            sources,
            files,
            public: BTreeMap::new(),
            lines: BTreeSet::new(),
            signatures: Vec::new(),
        };
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
            // A function may have the name of a module that is private.
            if !self.is_public_module(&declared) {
                return;
            }
            self.module(&declared, &items, &format!("{path}::{known_as}"));
            return;
        }
        let found = items.iter().filter(|item| name_of(item).is_some_and(|of| of == name));
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            // Made by a macro: its name is all there is to see.
            self.line(format!("{path}::{known_as}"));
            let made = (declared.clone(), name.to_string());
            self.public.entry(made).or_insert(format!("{path}::{known_as}"));
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
            Item::Fn(function) => {
                self.line(format!("{path}: {}", text(&function.sig)));
                self.signs(&path, module, &function.sig);
            }
            Item::Const(constant) => {
                self.line(format!("{path}: const {}", text(&constant.ty)));
                self.signs(&path, module, &constant.ty);
            }
            Item::Type(alias) => {
                self.line(format!("{path}{} = {}", text(&alias.generics), text(&alias.ty)));
                self.signs(&path, module, &alias.ty);
            }
            Item::Struct(declared) => {
                self.line(format!("{path}: struct{}", text(&declared.generics)));
                self.signs(&path, module, &declared.generics);
                self.signs(&path, module, &declared.generics.where_clause);
                for (at, field) in declared.fields.iter().enumerate() {
                    if is_public(&field.vis, &field.attrs) {
                        let name = field.ident.as_ref().map_or(at.to_string(), ToString::to_string);
                        self.line(format!("{path}.{name}: {}", text(&field.ty)));
                        self.signs(&format!("{path}.{name}"), module, &field.ty);
                    }
                }
            }
            Item::Enum(declared) => {
                self.line(format!("{path}: enum{}", text(&declared.generics)));
                self.signs(&path, module, &declared.generics);
                for variant in declared.variants.iter().filter(|of| !is_hidden(&of.attrs)) {
                    let mut variant = variant.clone();
                    if let syn::Fields::Named(fields) = &mut variant.fields
                        && fields.named.iter().any(|field| is_hidden(&field.attrs))
                    {
                        let shown = std::mem::take(&mut fields.named).into_iter();
                        fields.named = shown.filter(|field| !is_hidden(&field.attrs)).collect();
                    }
                    variant.fields.iter_mut().for_each(|field| field.attrs.clear());
                    self.signs(&path, module, &variant.fields);
                    variant.attrs.clear();
                    self.line(format!("{path}::{}", text(&variant)));
                }
            }
            Item::Trait(declared) => {
                let above = text(&declared.supertraits);
                self.line(format!("{path}: trait{} : {above}", text(&declared.generics)));
                self.signs(&path, module, &declared.generics);
                self.signs(&path, module, &declared.generics.where_clause);
                self.signs(&path, module, &declared.supertraits);
                for item in &declared.items {
                    match item {
                        TraitItem::Fn(method) if !is_hidden(&method.attrs) => {
                            let given = if method.default.is_some() { " (given)" } else { "" };
                            self.line(format!("{path}: {}{given}", text(&method.sig)));
                            self.signs(&path, module, &method.sig);
                        }
                        TraitItem::Const(constant) if !is_hidden(&constant.attrs) => {
                            self.line(format!(
                                "{path}::{}: {}",
                                constant.ident,
                                text(&constant.ty)
                            ));
                            self.signs(&path, module, &constant.ty);
                        }
                        TraitItem::Type(of) if !is_hidden(&of.attrs) => {
                            self.line(format!("{path}::{}: type", of.ident));
                            self.signs(&path, module, &of.bounds);
                        }
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
                if is_test_only(&implementation.attrs) || is_hidden(&implementation.attrs) {
                    continue;
                }
                if let Some((of_trait, _)) = &implementation.trait_ {
                    // A trait that is hidden is not shown with the type either.
                    if self.hidden_type(&files, module, &names(of_trait)).is_some() {
                        continue;
                    }
                    let generics = text(&implementation.generics);
                    let (of_trait, of) = (text(of_trait), text(&of.path));
                    self.line(format!("{path}: impl{generics} {of_trait} for {of}"));
                    self.signs(&path, module, &implementation.generics);
                    self.signs(&path, module, &implementation.generics.where_clause);
                    self.signs(&path, module, &implementation.trait_.as_ref().map(|(of, _)| of));
                    for item in &implementation.items {
                        if let ImplItem::Type(of) = item {
                            self.signs(&path, module, &of.ty);
                        }
                    }
                    continue;
                }
                for item in &implementation.items {
                    match item {
                        ImplItem::Fn(method) if is_public(&method.vis, &method.attrs) => {
                            let of = text(&of.path);
                            self.line(format!("{path}: [{of}] {}", text(&method.sig)));
                            let path = format!("{path}::{}", method.sig.ident);
                            self.signs(&path, module, &method.sig);
                            self.signs(&path, module, &implementation.generics);
                        }
                        ImplItem::Const(constant) if is_public(&constant.vis, &constant.attrs) => {
                            let ty = text(&constant.ty);
                            self.line(format!("{path}::{}: const {ty}", constant.ident));
                            self.signs(&path, module, &constant.ty);
                        }
                        _ => {}
                    }
                }
            }
        }
        self.files = files;
    }

    /// The types and traits that are shown, each once, by their paths.
    fn types(&self) -> BTreeSet<&str> {
        let shown = self.public.iter().filter(|((_, name), _)| is_type(name));
        shown.map(|(_, path)| path.as_str()).collect()
    }

    /// The type or trait of the crate that a path in a module names, if it is not shown.
    fn hidden_type(
        &self,
        files: &BTreeMap<Names, syn::File>,
        module: &Names,
        path: &[String],
    ) -> Option<String> {
        let own = path.first().map(|name| (module.clone(), name.clone()))?;
        if self.public.contains_key(&own) {
            return None;
        }
        let mut full = path.to_vec();
        let file = self.sources.0.get(module)?;
        if let Some((import, _)) = file.imports.iter().find(|(_, known_as)| *known_as == path[0]) {
            full = [&import[..], &path[1..]].concat();
        }
        let name = full.last().filter(|name| is_type(name))?.clone();
        let declared = self.sources.declaring(module, &full)?;
        if self.public.contains_key(&(declared.clone(), name.clone())) {
            return None;
        }
        let item = files.get(&declared)?.items.iter().find(|item| {
            matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Trait(_) | Item::Type(_))
                && name_of(item).is_some_and(|of| of == name)
        });
        // A private name for a type is shown as that type.
        let is_alias =
            matches!(item, Some(Item::Type(of)) if !matches!(of.vis, Visibility::Public(_)));
        (!is_alias && self.sources.0[&declared].declares.contains(&name)).then_some(name)
    }

    /// Items that are shown and name types or traits that are not.
    fn naming_hidden(&self) -> BTreeSet<String> {
        let mut wrong = BTreeSet::new();
        for (path, module, tokens) in &self.signatures {
            let mut found = Vec::new();
            paths(tokens.clone(), &mut found);
            let hidden = found.iter().filter_map(|of| self.hidden_type(&self.files, module, of));
            wrong.extend(hidden.map(|name| format!("{path} names {name}")));
        }
        wrong
    }

    /// Notes what a line of an item names.
    fn signs(&mut self, path: &str, module: &Names, tokens: &impl ToTokens) {
        self.signatures.push((path.to_owned(), module.clone(), tokens.to_token_stream()));
    }

    /// The public path of the type that a module knows under this path, if it is public.
    fn public_path(&self, module: &Names, path: &syn::Path) -> Option<String> {
        let names = names(path);
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

    /// Whether a module is public by its declaration.
    fn is_public_module(&self, module: &Names) -> bool {
        let Some((name, above)) = module.split_last() else { return true };
        let items = self.files.get(above).map_or(&[][..], |file| &file.items);
        items.iter().any(|item| match item {
            Item::Mod(inner) => inner.ident == name && matches!(inner.vis, Visibility::Public(_)),
            _ => false,
        })
    }

    fn line(&mut self, line: String) {
        self.lines.insert(line);
    }
}

/// Whether this is the name of a type or trait, and not of a constant.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.len() == 1 || name.contains(char::is_lowercase))
}

fn names(path: &syn::Path) -> Names {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The paths in tokens, each as its names.
fn paths(tokens: TokenStream, found: &mut Vec<Names>) {
    let mut path = Names::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    found.push(std::mem::take(&mut path));
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            // The name of an associated type: `Iterator<Item = u8>`.
            TokenTree::Punct(punct) if punct.as_char() == '=' => path.clear(),
            other => {
                found.push(std::mem::take(&mut path));
                colons = 0;
                if let TokenTree::Group(group) = other {
                    paths(group.stream(), found);
                }
            }
        }
    }
    found.push(path);
    found.retain(|path| !path.is_empty());
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

/// The crates that have a list, with the folders of their sources.
const CRATES: [(&str, &str); 7] = [
    ("permazen_kv", "kv/src"),
    ("permazen_kv_postgres", "kv-postgres/src"),
    ("permazen_kv_etcd", "kv-etcd/src"),
    ("permazen", "core/src"),
    ("permazen_jsck", "jsck/src"),
    ("permazen_query", "query/src"),
    ("permazen_ledger", "ledger/src"),
];

#[test]
fn the_public_items_are_those_listed() {
    let root = root();
    let mut differences = String::new();
    for (name, src) in CRATES {
        let now = Api::of(name, &root.join(src)).lines;
        let list: PathBuf = root.join(format!("tests/tests/house/api/{name}.txt"));
        if std::env::var_os("PERMAZEN_API").is_some_and(|value| value == "write") {
            let text = now.iter().map(|line| format!("{line}\n")).collect::<String>();
            std::fs::write(&list, text).expect("the list");
            continue;
        }
        let listed = std::fs::read_to_string(&list).expect("the list");
        let listed: BTreeSet<_> = listed.lines().map(ToString::to_string).collect();
        assert!(now.len() > 10, "{name} has more items than that");
        differences.extend(listed.difference(&now).map(|line| format!("gone: {line}\n")));
        differences.extend(now.difference(&listed).map(|line| format!("new: {line}\n")));
    }
    assert!(
        differences.is_empty(),
        "public items have changed; if that is meant, run again with PERMAZEN_API=write:\n{differences}"
    );
}

/// The public items of the crate are few enough to be read, and complete: no signature names a type
/// that is hidden.
#[test]
fn the_front_of_permazen_is_narrow() {
    let api = Api::of("permazen", &root().join("core/src"));
    let types = api.types();
    let methods =
        api.lines.iter().filter(|line| line.starts_with("permazen::object::Transaction: ["));
    let methods = methods.count();
    println!("{} types and traits, {methods} methods of object::Transaction", types.len());
    let wrong = api.naming_hidden();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), Vec::from_iter(wrong).join("\n"));
    assert!(types.len() <= 220, "{} types and traits are shown: {types:#?}", types.len());
    assert!(methods <= 43, "object::Transaction shows {methods} methods");
}

/// The words of a page that stand in code, and those of them that its examples declare.
fn words_in_code(page: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let mut code: Vec<&str> = Vec::new();
    for (at, part) in page.split("```").enumerate() {
        match at % 2 {
            0 => code.extend(part.split('`').skip(1).step_by(2)),
            _ => code.push(part),
        }
    }
    let (mut words, mut declared) = (BTreeSet::new(), BTreeSet::new());
    // Text in quotes is no code.
    for text in code.into_iter().flat_map(|text| text.split('"').step_by(2)) {
        let mut before = "";
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            words.insert(word);
            if ["struct", "enum", "trait", "type", "mod"].contains(&before) {
                declared.insert(word);
            }
            before = word;
        }
    }
    (words, declared)
}

/// The names of the types and traits that a file declares as `pub`.
fn declared_in(text: &str) -> impl Iterator<Item = &str> {
    let after = |line: &'static str| text.split(line).skip(1);
    let items = ["\npub struct ", "\npub enum ", "\npub trait ", "\npub type "];
    let names = items.into_iter().flat_map(after);
    names.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next())
}

/// A page of the guide says nothing of hidden items, so a reader finds all that it names.
#[test]
fn the_guide_names_nothing_that_is_hidden() {
    let root = root();
    let mut shown = BTreeSet::new();
    for (name, _) in CRATES {
        let list = root.join(format!("tests/tests/house/api/{name}.txt"));
        for line in std::fs::read_to_string(list).expect("the list").lines() {
            let path = line.split([' ', '<', '(']).next().unwrap_or_default();
            shown.extend(path.split([':', '.']).map(str::to_owned));
        }
    }
    let mut hidden = BTreeSet::new();
    for file in Tree::read(&root.join("core/src")).files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let names = declared_in(&text).filter(|name| !shown.contains(*name));
        hidden.extend(names.map(str::to_owned));
    }
    assert!(hidden.contains("SchemaBundle") && !hidden.contains("ObjId"), "{hidden:?}");
    let guide = std::fs::read_dir(root.join("docs/src")).expect("the guide");
    let guide = guide.map(|page| page.expect("a page").path());
    let pages = guide.filter(|page| page.extension().is_some_and(|of| of == "md"));
    let mut wrong = Vec::new();
    for path in pages.chain([root.join("README.md")]) {
        let page = std::fs::read_to_string(&path).expect("a page");
        let (words, declared) = words_in_code(&page);
        for word in words {
            if (hidden.contains(word) && !declared.contains(word)) || word == "__internal" {
                wrong.push(format!("{} names {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
