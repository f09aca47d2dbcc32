//! The imports of the crates are as `ARCHITECTURE.md` says, and errors name their causes once.
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use permazen_tests::sources::Crate;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn map() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map")
}

#[test]
fn modules_of_core_use_only_those_below_them() {
    let map = map();
    let line = map.lines().find_map(|line| line.strip_prefix("core: ")).expect("the order of core");
    let order: Vec<Vec<&str>> =
        line.split('>').map(|rank| rank.split(',').map(str::trim).collect()).collect();
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
fn circles_between_files_are_those_the_map_names() {
    let map = map();
    let crates = [
        ("kv", "kv/src"),
        ("kv-postgres", "kv-postgres/src"),
        ("kv-etcd", "kv-etcd/src"),
        ("core", "core/src"),
        ("cli", "cli/src"),
        ("jsck", "jsck/src"),
        ("ledger", "ledger/src"),
        ("query", "query/src"),
    ];
    for (name, src) in crates {
        let named: BTreeSet<BTreeSet<String>> = map
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("| {name}: ")))
            .map(|row| {
                let files = row.split('|').next().expect("a first column");
                files.split(',').map(|file| file.trim().trim_matches('`').to_string()).collect()
            })
            .collect();
        assert_eq!(Crate::read(&root().join(src)).circles(), named, "circles of {name}");
    }
}

/// The errors of a file whose `source` returns what their text has: with both, a chain of errors shows it twice.
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

/// The text of an error has those of its causes. So none of them is what `source` returns.
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
