//! `ARCHITECTURE.md` is true and short, the imports of the crates are as it says, and errors name
//! their causes once.

use std::collections::BTreeSet;
use std::path::PathBuf;

use permazen_tests::sources::Crate;

use super::root;

fn map() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map")
}

#[test]
fn modules_of_core_use_only_those_below_them() {
    let map = map();
    let (_, order) = map.split_once("\ncore: ").expect("the order of core");
    let (order, _) = order.split_once("\n```").expect("the end of the order");
    let order: Vec<Vec<&str>> =
        order.split('>').map(|rank| rank.split(',').map(str::trim).collect()).collect();
    let rank = |name: &str| order.iter().position(|rank| rank.contains(&name));
    let core = Crate::read(&root().join("core/src"));
    let mut wrong = Vec::new();
    for (from, needed) in core.arrows() {
        for to in needed {
            let (Some(a), Some(b)) = (from.first(), to.first()) else { continue };
            if a != b && rank(a).zip(rank(b)).is_none_or(|(a, b)| a > b) {
                wrong.push(format!("{} uses {}", from.join("::"), to.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md does not allow:\n{}", wrong.join("\n"));
}

#[test]
fn circles_between_files_are_those_that_are_listed() {
    let list =
        std::fs::read_to_string(root().join("tests/tests/house/circles.txt")).expect("the list");
    let folders = std::fs::read_dir(root()).expect("the root");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let crates: Vec<PathBuf> =
        folders.filter(|folder| folder.join("src/lib.rs").exists()).collect();
    assert!(crates.len() >= 9, "{crates:?}");
    let mut wrong = String::new();
    for folder in crates {
        let name = folder.file_name().expect("a name").to_string_lossy();
        let named: BTreeSet<BTreeSet<String>> = list
            .split("\n\n")
            .filter(|circle| circle.starts_with(&format!("{name}: ")))
            .map(|circle| circle.lines().skip(1).map(|file| file.trim().to_owned()).collect())
            .collect();
        let circles = Crate::read(&folder.join("src")).circles();
        for (what, circle) in (circles.difference(&named).map(|circle| ("not listed", circle)))
            .chain(named.difference(&circles).map(|circle| ("no circle", circle)))
        {
            let files: Vec<_> = circle.iter().map(String::as_str).collect();
            wrong.push_str(&format!("\n{name}, {what}:\n    {}\n", files.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The map names files and folders by their paths from the root, from a `src` folder, from
/// `examples`, or from `core/src/object`.
#[test]
fn what_the_map_names_is_there() {
    let root = root();
    let mut folders: Vec<PathBuf> =
        ["", "core/src/object", "examples", "tests"].map(|folder| root.join(folder)).into();
    for entry in std::fs::read_dir(&root).expect("the root") {
        folders.push(entry.expect("an entry").path().join("src"));
    }
    let map = map();
    let is_path = |name: &&str| {
        let is_file = [".rs", ".md", ".txt", ".toml"].iter().any(|end| name.ends_with(end));
        (is_file || name.ends_with('/') || name.contains('/')) && !name.contains([' ', '#', '<'])
    };
    let named: Vec<&str> = map.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(named.len() > 50, "{} paths", named.len());
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !folders.iter().any(|folder| folder.join(name).exists()))
        .collect();
    assert!(missing.is_empty(), "not there: {missing:?}");
}

#[test]
fn the_map_is_short() {
    let map = map();
    assert!(map.lines().count() <= 160, "{} lines", map.lines().count());
    let long: Vec<_> = map.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "lines over 120 columns:\n{}", long.join("\n"));
}

/// The errors of a file whose `source` returns an error that their text has too: with both, a chain
/// of errors shows it twice.
struct Repeated(Vec<String>);

impl Repeated {
    fn visit(&mut self, items: &[syn::Item]) {
        for item in items {
            match item {
                syn::Item::Enum(item) => {
                    for variant in &item.variants {
                        self.look(&variant.ident, &variant.attrs, &variant.fields);
                    }
                }
                syn::Item::Struct(item) => self.look(&item.ident, &item.attrs, &item.fields),
                syn::Item::Mod(item) => {
                    self.visit(item.content.as_ref().map_or(&[], |(_, items)| items));
                }
                _ => {}
            }
        }
    }

    fn look(&mut self, name: &syn::Ident, attrs: &[syn::Attribute], fields: &syn::Fields) {
        let text = attrs.iter().find_map(|attr| {
            let list = attr.meta.require_list().ok()?;
            list.path.is_ident("error").then(|| list.tokens.to_string())
        });
        let Some(text) = text.filter(|text| text != "transparent") else { return };
        for (position, field) in fields.iter().enumerate() {
            let is = |wanted: &str| field.attrs.iter().any(|attr| attr.path().is_ident(wanted));
            // A field called `r#source` is not what the derived `source` returns.
            let is_source = field.ident.as_ref().is_some_and(|ident| *ident == "source");
            if is_source || is("source") || is("from") {
                self.0.push(format!("{name}, field {position}: {text}"));
            }
        }
    }
}

/// The text of an error has the texts of its causes. So none of them is what `source` returns.
#[test]
fn no_error_repeats_its_source() {
    let mut wrong = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["kv", "core", "query", "jsck", "ledger", "kv-postgres", "kv-etcd", "cli"]
            .iter()
            .map(|name| root().join(name).join("src"))
            .collect();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a file");
                let file = syn::parse_file(&text).expect("Rust");
                let mut repeated = Repeated(Vec::new());
                repeated.visit(&file.items);
                wrong.extend(repeated.0.iter().map(|error| format!("{}: {error}", path.display())));
                files += 1;
            }
        }
    }
    assert!(files > 300, "{files} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
