//! The source files of a crate, and what they import and declare.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "only tests use it")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The names of a path, without the `::`.
pub type Names = Vec<String>;

/// One file of a crate.
#[derive(Debug, Default)]
pub struct Module {
    /// Whether this is the file of a folder, which re-exports items of the files in it.
    pub is_door: bool,
    /// The names that the file declares at its top level.
    pub declares: BTreeSet<String>,
    /// The items that the file imports or re-exports: the path, and the name it has here.
    pub imports: Vec<(Names, String)>,
    /// The paths it uses itself, as they are written.
    pub uses: BTreeSet<Names>,
    /// The modules in it that only tests have.
    only_for_tests: Vec<String>,
}

/// The files of a crate by their paths as modules.
#[derive(Debug)]
pub struct Crate(pub BTreeMap<Names, Module>);

impl Crate {
    /// Reads the sources below a folder, except programs.
    pub fn read(src: &Path) -> Crate {
        let mut modules = BTreeMap::new();
        let mut folders = vec![(src.to_path_buf(), Names::new())];
        while let Some((folder, path)) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder of sources") {
                let file = entry.expect("its entry").path();
                let stem = file.file_stem().expect("a name").to_string_lossy().into_owned();
                if file.is_dir() && stem != "bin" {
                    folders.push((file, [&path[..], &[stem]].concat()));
                } else if file.extension().is_some_and(|of| of == "rs") && !stem.ends_with("tests")
                {
                    let is_door = stem == "mod" || stem == "lib";
                    let path = if is_door { path.clone() } else { [&path[..], &[stem]].concat() };
                    let text = std::fs::read_to_string(&file).expect("a source file");
                    modules.insert(path, Module::of(&text, is_door));
                }
            }
        }
        let only_for_tests: Vec<Names> = modules
            .iter()
            .flat_map(|(path, module): (&Names, &Module)| {
                module
                    .only_for_tests
                    .iter()
                    .map(|name| [&path[..], std::slice::from_ref(name)].concat())
            })
            .collect();
        modules.retain(|path, _| !only_for_tests.iter().any(|test| path.starts_with(test)));
        Crate(modules)
    }

    /// The file that declares what a path in a module names, through all re-exports. `None` if the
    /// path leads out of the crate.
    pub fn declaring(&self, module: &Names, path: &[String]) -> Option<Names> {
        self.follow_in(module, path, &mut BTreeSet::new())
    }

    /// The same. `seen`: the names that were resolved on the way to here.
    fn follow_in(
        &self,
        module: &Names,
        path: &[String],
        seen: &mut BTreeSet<Names>,
    ) -> Option<Names> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        if supers > 0 {
            let (above, rest) = (module.len().checked_sub(supers)?, path.get(supers..)?);
            return self.follow(&[module.get(..above)?, rest].concat(), seen);
        }
        let first = path.first()?;
        match first.as_str() {
            "crate" => self.follow(path.get(1..)?, seen),
            "self" => self.follow(&[&module[..], path.get(1..)?].concat(), seen),
            _ => {
                let inside = [&module[..], path].concat();
                let file = self.0.get(module)?;
                let is_known = self.0.contains_key(inside.get(..=module.len())?)
                    || file.declares.contains(first)
                    || file.imports.iter().any(|(_, name)| name == first || name == "*");
                if is_known { self.follow(&inside, seen) } else { None }
            }
        }
    }

    /// The same for a path from the root of the crate.
    fn follow(&self, path: &[String], seen: &mut BTreeSet<Names>) -> Option<Names> {
        let mut module = Names::new();
        for (at, name) in path.iter().enumerate() {
            let below = [&module[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&below) {
                module = below;
                continue;
            }
            let Some(file) = self.0.get(&module) else { break };
            if file.declares.contains(name) {
                break;
            }
            if !seen.insert(below) {
                return None;
            }
            let rest = path.get(at + 1..).unwrap_or_default();
            for (import, known_as) in &file.imports {
                if known_as == name {
                    return self.follow_in(&module, &[&import[..], rest].concat(), seen);
                }
                if known_as == "*" {
                    let path = [&import[..], std::slice::from_ref(name), rest].concat();
                    let found = self.follow_in(&module, &path, seen);
                    if let Some(found) = found.filter(|found| self.0[found].declares.contains(name))
                    {
                        return Some(found);
                    }
                }
            }
            break;
        }
        Some(module)
    }

    /// Which other files each file needs.
    pub fn arrows(&self) -> BTreeMap<&Names, BTreeSet<Names>> {
        let of = |(path, module): (&_, &Module)| {
            let passed_on: &[_] = if module.is_door { &[] } else { &module.imports };
            let used = module.uses.iter().chain(passed_on.iter().map(|(used, _)| used));
            let needed =
                used.filter_map(|used| self.declaring(path, used).filter(|found| found != path));
            needed.collect()
        };
        self.0.iter().map(|entry| (entry.0, of(entry))).collect()
    }

    /// The sets of files that need each other, directly or through others.
    pub fn circles(&self) -> BTreeSet<BTreeSet<String>> {
        let arrows = self.arrows();
        let reached = |from: &Names| {
            let mut reached = BTreeSet::new();
            let mut ahead = vec![from];
            while let Some(module) = ahead.pop() {
                for next in arrows.get(module).into_iter().flatten() {
                    if reached.insert(next) {
                        ahead.push(next);
                    }
                }
            }
            reached
        };
        let all: BTreeMap<_, _> = self.0.keys().map(|module| (module, reached(module))).collect();
        let in_circle = all.iter().filter(|(module, reached)| reached.contains(*module));
        let circle = in_circle.map(|(module, reached)| {
            let back = reached.iter().filter(|other| all[**other].contains(*module));
            back.map(|other| other.join("::")).collect()
        });
        circle.collect()
    }
}

impl Module {
    fn of(text: &str, is_door: bool) -> Module {
        let tokens: TokenStream = text.parse().expect("Rust");
        let mut module = Module { is_door, ..Module::default() };
        module.add(tokens, Depth { modules: 0, top: true });
        module
    }

    /// Adds what tokens declare, import and use.
    fn add(&mut self, tokens: TokenStream, depth: Depth) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let ident = match token {
                TokenTree::Group(group) if is_cfg_test(group) => {
                    // Code for tests alone does not count.
                    let ends = |token: &TokenTree| match token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        token => is_punct(token, ';'),
                    };
                    let len = tokens[at..].iter().take_while(|token| !ends(token)).count();
                    let skipped = &tokens[at..at + len];
                    if let [.., TokenTree::Ident(word), TokenTree::Ident(name)] = skipped
                        && word == "mod"
                    {
                        self.only_for_tests.push(name.to_string());
                    }
                    at += len + 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.add(group.stream(), Depth { top: false, ..depth });
                    continue;
                }
                TokenTree::Ident(ident) => ident.to_string(),
                TokenTree::Punct(_) | TokenTree::Literal(_) => continue,
            };
            let next = tokens.get(at);
            match ident.as_str() {
                // A visibility uses nothing.
                "pub" if matches!(next, Some(TokenTree::Group(_))) => at += 1,
                "use" => {
                    let passed_on = self.is_door && is_visible(&tokens[..at - 1]);
                    let len = tokens[at..].iter().take_while(|t| !is_punct(t, ';')).count();
                    let imports = flattened(&tokens[at..at + len]);
                    let imports = imports.into_iter().map(|(path, name)| (depth.raise(path), name));
                    let imports: Vec<_> = imports.collect();
                    if !passed_on && self.is_door {
                        self.uses.extend(imports.iter().map(|(path, _)| path.clone()));
                    }
                    self.imports.extend(imports);
                    at += len;
                }
                "mod" => {
                    if let [TokenTree::Ident(name), TokenTree::Group(group), ..] = &tokens[at..] {
                        self.declares.insert(name.to_string());
                        self.add(group.stream(), Depth { modules: depth.modules + 1, top: false });
                        at += 2;
                    }
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    if let Some(TokenTree::Ident(name)) = next {
                        if depth.top {
                            self.declares.insert(name.to_string());
                        }
                        at += 1;
                    }
                }
                "macro_rules" => {
                    if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                        self.declares.insert(name.to_string());
                    }
                }
                // The program that is written is no part of this one.
                "quote" | "quote_spanned" | "parse_quote"
                    if next.is_some_and(|t| is_punct(t, '!')) =>
                {
                    at += 2;
                }
                _ => {
                    let is_rest = is_rest(&tokens[..at - 1]);
                    let mut path = vec![ident];
                    while let [colon, _, TokenTree::Ident(name), ..] = &tokens[at..]
                        && is_punct(colon, ':')
                    {
                        path.push(name.to_string());
                        at += 3;
                    }
                    if !is_rest && (path.len() > 1 || is_item(&path[0], tokens.get(at))) {
                        self.uses.insert(depth.raise(path));
                    }
                }
            }
        }
    }
}

/// Where in a file tokens are.
#[derive(Debug, Clone, Copy)]
struct Depth {
    /// In how many modules within the file.
    modules: usize,
    /// Whether they are in no item, and in no module within the file.
    top: bool,
}

impl Depth {
    /// A path that is used here, as the module of the file would write it.
    fn raise(self, path: Names) -> Names {
        let supers = path.iter().take_while(|name| *name == "super").count();
        match supers {
            0 => path,
            supers if supers > self.modules => path[self.modules..].to_vec(),
            supers => [&["self".to_owned()], &path[supers..]].concat(),
        }
    }
}

/// Whether these are the brackets of `#[cfg(test)]`, or of a `cfg` that needs `test` and more.
fn is_cfg_test(group: &Group) -> bool {
    let text = group.stream().to_string().replace(' ', "");
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Whether what comes after these tokens is a field, a method or the rest of a path.
fn is_rest(before: &[TokenTree]) -> bool {
    match before {
        [.., first, second] if is_punct(second, ':') => is_punct(first, ':'),
        // Not `..end`.
        [.., first, second] if is_punct(second, '.') => !is_punct(first, '.'),
        [only] => is_punct(only, '.'),
        _ => false,
    }
}

/// Whether a name alone can be that of a type, a constant, a function or a macro.
fn is_item(name: &str, next: Option<&TokenTree>) -> bool {
    name.starts_with(char::is_uppercase)
        || match next {
            Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
            Some(token) => is_punct(token, '!'),
            None => false,
        }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Whether the item after these tokens is `pub`, or `pub(…)`.
fn is_visible(before: &[TokenTree]) -> bool {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "pub");
    match before {
        [.., first, TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            is_pub(first)
        }
        [.., last] => is_pub(last),
        [] => false,
    }
}

/// The single paths of `a::{b, c as d}`, each with its new name.
fn flattened(tokens: &[TokenTree]) -> Vec<(Names, String)> {
    let mut all = Vec::new();
    for tree in tokens.split(|token| is_punct(token, ',')) {
        let mut path = Names::new();
        let mut renamed = None;
        for (at, token) in tree.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    renamed = tree.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                token if is_punct(token, '*') => renamed = Some("*".to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    for (rest, name) in flattened(&inner) {
                        all.push(([&path[..], &rest].concat(), name));
                    }
                    path.clear();
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if let Some(last) = path.last().cloned() {
            all.push((path, renamed.unwrap_or(last)));
        }
    }
    // `a::{self}` is a name for `a`.
    for (path, name) in &mut all {
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
            *name = path.last().cloned().unwrap_or_default();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that `a::user` needs, if this is its text.
    fn needed(text: &str) -> Vec<String> {
        let files = [
            ("", "mod a; mod b; pub use b::Thing; use permazen_kv as kv; struct Root;"),
            ("a", "mod child; mod user; use crate::b::helper; pub use child::Child;"),
            ("a::child", "pub struct Child; pub fn of_child() {}"),
            (
                "b",
                "mod deep; pub use deep::Thing; pub fn helper() {} pub mod inner { pub struct I; }",
            ),
            ("b::deep", "pub struct Thing;"),
            ("a::user", text),
            ("a::user::own", "pub fn done() {}"),
        ];
        let names = |path: &str| -> Names {
            path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let modules = files
            .map(|(path, text)| (names(path), Module::of(text, ["", "a", "b"].contains(&path))));
        let sources = Crate(modules.into());
        let arrows = sources.arrows();
        arrows[&names("a::user")].iter().map(|to| to.join("::")).collect()
    }

    #[test]
    fn every_form_of_a_path_is_seen() {
        for (text, files) in [
            ("use super::child::Child;", "a::child"),
            ("use super::{Child as C};", "a::child"),
            ("use crate::Thing;", "b::deep"),
            ("use super::*; fn f(_: Child) {}", "a a::child"),
            // In an expression, through an import, and through one of the module above.
            ("use super::child; fn f() { child::of_child() }", "a::child"),
            ("use crate::b; fn f() { b::helper(); }", "b"),
            ("use crate::b; fn f(_: b::Thing) {}", "b b::deep"),
            ("fn f() { super::helper() }", "b"),
            ("fn f() { let _ = <super::Child as Default>::default(); }", "a::child"),
            ("fn f() { use super::child::{Child, of_child}; }", "a::child"),
            ("fn f(_: crate::b::inner::I) {}", "b"),
            // A module within the file has one level more.
            ("mod within { use super::super::Child; use super::f; }", "a::child"),
            // A child of the module.
            ("mod own; fn f() { own::done() }", "a::user::own"),
            ("mod own; use own::done;", "a::user::own"),
            ("fn f(_: crate::Root) {}", ""),
        ] {
            assert_eq!(needed(text).join(" "), files, "{text}");
        }
    }

    #[test]
    fn other_crates_fields_tests_and_written_code_are_not_seen() {
        for text in [
            "use std::fmt; fn f(_: fmt::Error) {}",
            "fn f(_: crate::kv::Store) {}",
            "fn f(this: &T) { this.helper(); this.child.b() }",
            "#[cfg(test)] mod tests { use super::super::Child; }",
            "#[cfg(all(test, unix))] fn f(_: super::Child) {}",
            "fn f() { quote!(super::child::Child) }",
            "pub(in crate::a) fn f() {}",
            "pub(super) struct Child; fn f(_: Child) {}",
        ] {
            assert_eq!(needed(text), [""; 0], "{text}");
        }
    }
}
