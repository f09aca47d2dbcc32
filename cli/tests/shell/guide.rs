//! The examples of the guide's page about the shell have the output that the page shows.
//!
//! `PERMAZEN_TRANSCRIPTS=write cargo test -p permazen-cli --test shell guide` writes the page
//! again.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Fixture;

/// Runs a line of a shell, and returns its output.
fn run(db: &Fixture, line: &str) -> String {
    let program = Path::new(assert_cmd::cargo::cargo_bin!("permazen"));
    let folders = [program.parent().unwrap().to_path_buf()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)));
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(db.file("")).env("PATH", path.unwrap());
    command.stdin(Stdio::null()).env_remove("PAGER").env("COLUMNS", "100");
    let output = command.output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text += &String::from_utf8(output.stderr).unwrap();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => {}
        code => text += &format!("[exit code {}]\n", code.unwrap()),
    }
    text
}

/// The page with the answers that its examples have.
fn replayed(page: &str) -> String {
    let db = Fixture::new();
    let schema = page.split("```xml\n").nth(1).and_then(|rest| rest.split("```").next());
    std::fs::write(db.file("shop.xml"), schema.unwrap()).unwrap();
    let mut text = String::new();
    let mut in_example = false;
    for line in page.lines() {
        match line {
            "```console" => in_example = true,
            "```" => in_example = false,
            _ => {}
        }
        match line.strip_prefix("$ ").filter(|_| in_example) {
            Some(command) => text += &format!("{line}\n{}", run(&db, command)),
            None if in_example && line != "```console" => {}
            None => text += &format!("{line}\n"),
        }
    }
    text
}

#[test]
fn examples_do_what_the_page_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/cli.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let replayed = replayed(&page);
    if std::env::var_os("PERMAZEN_TRANSCRIPTS").is_some_and(|what| what == "write") {
        std::fs::write(&path, &replayed).unwrap();
        return;
    }
    let first = page.lines().zip(replayed.lines()).position(|(shown, real)| shown != real);
    let lines =
        |text: &str| text.lines().skip(first.unwrap_or(0)).take(5).collect::<Vec<_>>().join("\n");
    assert!(
        page == replayed,
        "the page shows\n{}\n\nand it is\n{}\n\nif that is meant, PERMAZEN_TRANSCRIPTS=write writes the page",
        lines(&page),
        lines(&replayed)
    );
}

#[test]
fn the_page_of_the_language_names_options_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/query-language.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let help = Fixture::new().run(&["--help"]).done();
    let named = page.split("`--").skip(1).filter_map(|rest| {
        let name = rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()?;
        // Elsewhere it begins a comment.
        Some(name).filter(|name| !name.is_empty())
    });
    let named: Vec<&str> = named.collect();
    assert!(named.contains(&"json"), "{named:?}");
    for name in named {
        assert!(help.contains(&format!(" --{name}")), "there is no option --{name}");
    }
}
