//! The pages of the guide: links lead somewhere, each page is listed, and its examples are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::root;

/// The files of the guide by their paths below `docs/src`.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join("docs/src").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(format!("{name}/"));
            } else {
                files.push(name);
            }
        }
    }
    files
}

/// The pages without their blocks of code.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for name in files().into_iter().filter(|name| name.ends_with(".md")) {
        let mut code = false;
        let text = fs::read_to_string(root().join("docs/src").join(&name)).unwrap();
        let prose = text.lines().filter(|line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !fence && !code
        });
        pages.insert(name, prose.collect::<Vec<_>>().join("\n"));
    }
    pages
}

/// The target of a link in a page, as a path below `docs/src`; nothing if it leaves that folder.
fn target(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors that mdBook gives the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let letters = |c: char| match c {
        ' ' => Some('-'),
        c => (c.is_alphanumeric() || "-_".contains(c)).then(|| c.to_ascii_lowercase()),
    };
    let anchor = |line: &str| {
        line.trim_start_matches('#').trim().chars().filter_map(letters).collect::<String>()
    };
    headings.map(anchor).collect()
}

/// Where the links of a page lead.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn links_lead_to_pages_and_headings() {
    let pages = pages();
    let files = files();
    let mut wrong = Vec::new();
    let mut followed = 0;
    for (name, text) in &pages {
        for link in links(text).filter(|link| !link.contains("://")) {
            let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = if page.is_empty() { Some(name.clone()) } else { target(name, page) };
            let Some(page) = page else { continue };
            match pages.get(&page) {
                Some(text) if anchor.is_empty() || anchors(text).contains(anchor) => {}
                Some(_) => wrong.push(format!("{name}: {link}: no such heading")),
                // A picture.
                None if anchor.is_empty() && files.contains(&page) => {}
                None => wrong.push(format!("{name}: {link}: no such page")),
            }
            followed += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 0);
}

#[test]
fn links_are_relative_to_their_page() {
    let of = |page, link| target(page, link);
    assert_eq!(of("objects.md", "costs.md").as_deref(), Some("costs.md"));
    assert_eq!(of("benchmarks/notes.md", "by-hand.svg").as_deref(), Some("benchmarks/by-hand.svg"));
    assert_eq!(of("benchmarks/notes.md", "../costs.md").as_deref(), Some("costs.md"));
    assert_eq!(of("objects.md", "../deviations.md"), None);
}

#[test]
fn the_summary_lists_each_page_once() {
    let pages = pages();
    let listed: Vec<&str> = links(&pages["SUMMARY.md"]).collect();
    for page in pages.keys().filter(|page| *page != "SUMMARY.md") {
        let times = listed.iter().filter(|listed| *listed == page).count();
        assert_eq!(times, 1, "{page}");
    }
}

/// A page with examples is a documentation test of `core` or `ledger`.
#[test]
fn examples_are_run() {
    let tested: String = ["core/src/lib.rs", "ledger/src/lib.rs"]
        .map(|file| fs::read_to_string(root().join(file)).unwrap())
        .concat();
    for page in pages().keys() {
        let text = fs::read_to_string(root().join("docs/src").join(page)).unwrap();
        let examples = text.lines().any(|line| line == "```rust" || line.starts_with("```rust,st"));
        let named = tested.contains(&format!("docs/src/{page}\""));
        assert!(!examples || named || NOT_RUN.contains(&page.as_str()), "{page}");
    }
}

/// Pages whose examples are of the key/value stores alone.
const NOT_RUN: &[&str] = &["stores.md"];

/// Pages name tests by their files and by the commands that run them.
#[test]
fn tests_that_pages_name_are_there() {
    let crates: Vec<PathBuf> =
        fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let is_program = |name: &str| {
        let file = format!("tests/{name}.rs");
        let folder = format!("tests/{name}/main.rs");
        crates.iter().any(|root| root.join(&file).exists() || root.join(&folder).exists())
    };
    let mut missing = Vec::new();
    let mut named = 0;
    let guide = files().into_iter().map(|name| format!("docs/src/{name}"));
    let others =
        ["README.md", "CONTRIBUTING.md", ".ci/run", ".cargo/config.toml"].map(str::to_owned);
    for page in guide.filter(|name| name.ends_with(".md")).chain(others) {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let word = |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-./".contains(c));
            rest[..end.unwrap_or(rest.len())].to_owned()
        };
        for rest in text.split("--test ").skip(1) {
            let name = word(rest);
            named += 1;
            if !is_program(&name) {
                missing.push(format!("{page}: --test {name}"));
            }
        }
        for path in text.split('`').map(word).filter(|path| path.contains("/tests/")) {
            named += 1;
            if !root().join(&path).exists() {
                missing.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(named > 80, "{named} tests");
    assert!(missing.is_empty(), "not there: {missing:#?}");
}
