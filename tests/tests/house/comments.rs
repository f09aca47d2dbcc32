//! Comments fit the width of the code.

use super::forgotten::Tree;
use super::root;

/// The columns that a line of a comment may have. `rustfmt.toml` says the same for code.
const WIDTH: usize = 100;

/// The numbers of the lines of comments that are too wide. Rows of tables and examples of code
/// cannot be broken without a change of what they show.
fn too_wide(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut in_example = false;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            in_example = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            in_example = !in_example;
        }
        let unbroken = in_example || comment.starts_with('|') || !comment.contains(' ');
        if !unbroken && line.chars().count() > WIDTH {
            found.push(number);
        }
    }
    found
}

#[test]
fn comments_are_not_wider_than_code() {
    let root = root();
    let files = Tree::read(&root).files;
    assert!(files.len() > 1000, "{} files", files.len());
    let mut wide = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let name = file.strip_prefix(&root).expect("a path below the root").display();
        wide.extend(too_wide(&text).iter().map(|line| format!("{name}:{line}")));
    }
    assert!(wide.is_empty(), "wider than {WIDTH} columns:\n{}", wide.join("\n"));
}

#[test]
fn a_wide_line_is_found_unless_it_cannot_be_broken() {
    let words = "word ".repeat(25);
    let wide = format!("/// {words}\nlet a = 1; // {words}\n    // {words}\n//! {words}");
    assert_eq!(too_wide(&wide), [1, 3, 4]);
    let example = format!(
        "/// ```\n/// {words}\n/// ```\n/// | {words} |\n/// short\n// {}",
        "x".repeat(200)
    );
    assert_eq!(too_wide(&example), Vec::<usize>::new());
}
