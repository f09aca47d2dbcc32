//! The pages of the guide: links lead somewhere, each page is listed, and its examples are run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages without their blocks of code.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(root().join("docs/src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut code = false;
        let text = fs::read_to_string(&path).unwrap();
        let prose = text.lines().filter(|line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !fence && !code
        });
        pages.insert(name, prose.collect::<Vec<_>>().join("\n"));
    }
    pages
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
    let mut wrong = Vec::new();
    let mut followed = 0;
    for (name, text) in &pages {
        for link in links(text).filter(|link| !link.contains("://") && !link.contains('/')) {
            let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = if page.is_empty() { name } else { page };
            match pages.get(page) {
                Some(text) if anchor.is_empty() || anchors(text).contains(anchor) => {}
                Some(_) => wrong.push(format!("{name}: {link}: no such heading")),
                None => wrong.push(format!("{name}: {link}: no such page")),
            }
            followed += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 0);
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
