//! The source files of a crate, and what they import and declare.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "only tests use it")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The names of a path, without the `::`.
pub type Names = Vec<String>;

/// One file of a crate.
#[derive(Debug, Default)]
pub struct Module {
    /// Whether this is the file of a folder, which re-exports items of the files in it.
    pub is_door: bool,
    /// What the file declares at its top level.
    pub declares: BTreeSet<String>,
    /// What the file imports or re-exports: the path, and the name it has here.
    pub imports: Vec<(Names, String)>,
    /// The paths it uses itself.
    pub uses: Vec<Names>,
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
                    modules.insert(path, Module::read(&file, is_door));
                }
            }
        }
        Crate(modules)
    }

    /// A path used in a module, as a path from the root of the crate. `None` if it leads out of the
    /// crate.
    pub fn absolute(&self, module: &Names, path: &[String]) -> Option<Names> {
        let first = path.first()?;
        let supers = path.iter().take_while(|name| *name == "super").count();
        if supers > 0 {
            let (above, rest) = (module.len().checked_sub(supers)?, path.get(supers..)?);
            return Some([module.get(..above)?, rest].concat());
        }
        match first.as_str() {
            "crate" => Some(path.get(1..)?.to_vec()),
            "self" => Some([&module[..], path.get(1..)?].concat()),
            _ => {
                let inside = [&module[..], path].concat();
                self.0.contains_key(inside.get(..=module.len())?).then_some(inside)
            }
        }
    }

    /// The file that declares what this path names, through all re-exports.
    pub fn declaring(&self, path: &Names, seen: &mut BTreeSet<Names>) -> Names {
        let mut module = Names::new();
        for (at, name) in path.iter().enumerate() {
            let below = [&module[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&below) {
                module = below;
                continue;
            }
            let Some(file) = self.0.get(&module) else { break };
            if file.declares.contains(name) || !seen.insert(below) {
                break;
            }
            for (import, known_as) in &file.imports {
                let named = match known_as.as_str() {
                    "*" => [&import[..], std::slice::from_ref(name)].concat(),
                    known_as if known_as == name => import.clone(),
                    _ => continue,
                };
                let Some(to) = self.absolute(&module, &named) else { continue };
                let rest = path.get(at + 1..).unwrap_or_default();
                let found = self.declaring(&[&to[..], rest].concat(), seen);
                if known_as != "*" || self.0[&found].declares.contains(name) {
                    return found;
                }
            }
            break;
        }
        module
    }

    /// Which other files each file needs.
    pub fn arrows(&self) -> BTreeMap<&Names, BTreeSet<Names>> {
        let of = |(path, module): (&_, &Module)| {
            let passed_on: &[_] = if module.is_door { &[] } else { &module.imports };
            let used = module.uses.iter().chain(passed_on.iter().map(|(used, _)| used));
            let needed = used.filter_map(|used| {
                let to = self.absolute(path, used)?;
                Some(self.declaring(&to, &mut BTreeSet::new())).filter(|found| found != path)
            });
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
    fn read(file: &PathBuf, is_door: bool) -> Module {
        let text = std::fs::read_to_string(file).expect("a source file");
        let tokens: TokenStream = text.parse().expect("Rust");
        let mut module = Module { is_door, ..Module::default() };
        module.add(tokens, true);
        module
    }

    fn add(&mut self, tokens: TokenStream, top: bool) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    // What only tests need does not count.
                    if group.stream().to_string().replace(' ', "") == "cfg(test)" {
                        let ends = |token: &TokenTree| match token {
                            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                            token => is_punct(token, ';'),
                        };
                        at += tokens[at..].iter().take_while(|token| !ends(token)).count() + 1;
                    } else {
                        self.add(group.stream(), false);
                    }
                }
                TokenTree::Ident(ident) => match ident.to_string().as_str() {
                    "use" if top => {
                        let passed_on = self.is_door && is_visible(&tokens[..at - 1]);
                        let len = tokens[at..].iter().take_while(|t| !is_punct(t, ';')).count();
                        let imports = flattened(&tokens[at..at + len]);
                        if !passed_on && self.is_door {
                            self.uses.extend(imports.iter().map(|(path, _)| path.clone()));
                        }
                        self.imports.extend(imports);
                        at += len;
                    }
                    "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                        if top =>
                    {
                        if let Some(TokenTree::Ident(name)) = tokens.get(at) {
                            self.declares.insert(name.to_string());
                        }
                    }
                    "macro_rules" => {
                        if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                            self.declares.insert(name.to_string());
                        }
                    }
                    first @ ("crate" | "super" | "self") => {
                        let mut path = vec![first.to_string()];
                        while let [colon, _, TokenTree::Ident(name), ..] = &tokens[at..]
                            && is_punct(colon, ':')
                        {
                            path.push(name.to_string());
                            at += 3;
                        }
                        if path.len() > 1 {
                            self.uses.push(path);
                        }
                    }
                    _ => {}
                },
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
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
