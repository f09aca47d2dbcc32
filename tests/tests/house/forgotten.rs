//! Each file in the `tests` folder of a package is part of a program of tests, and no program is
//! also a module of another one: Cargo does not say that a file is in none, and its tests would not
//! run, or that it is in two, and its tests would run twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// The files of Rust below a folder, and the packages there.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) files: Vec<PathBuf>,
    packages: Vec<PathBuf>,
}

impl Tree {
    pub(super) fn read(folder: &Path) -> Tree {
        let mut tree = Tree::default();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if path.is_dir() && name != "target" && !name.starts_with('.') {
                    folders.push(path);
                } else if name == "Cargo.toml"
                    && fs::read_to_string(&path).unwrap().contains("[package]")
                {
                    tree.packages.push(folder.clone());
                } else if path.extension().is_some_and(|it| it == "rs") {
                    tree.files.push(path);
                }
            }
        }
        tree
    }
}

/// The files that were found to be part of a program.
#[derive(Default)]
struct Reached {
    files: BTreeSet<PathBuf>,
    /// Those of them that another file of tests names.
    modules: BTreeSet<PathBuf>,
}

impl Reached {
    /// Adds a file, and those that are its modules.
    fn follow(&mut self, file: &Path) {
        // A module that is not there does not compile, unless it is left out on this platform.
        let Ok(file) = file.canonicalize() else { return };
        if !self.files.insert(file.clone()) {
            return;
        }
        let tokens: TokenStream = fs::read_to_string(&file).unwrap().parse().unwrap();
        let folder = file.parent().unwrap().to_path_buf();
        let is_root = folder.file_name().is_some_and(|name| name == "tests");
        let is_of_folder = is_root || file.ends_with("main.rs") || file.ends_with("mod.rs");
        let modules = if is_of_folder { folder.clone() } else { file.with_extension("") };
        self.follow_tokens(tokens, &folder, &modules);
    }

    /// Adds a file that another file of tests names.
    fn follow_module(&mut self, file: &Path) {
        self.modules.extend(file.canonicalize().ok());
        self.follow(file);
    }

    /// `#[path]` is relative to `folder`, and a module without it is in `modules`.
    fn follow_tokens(&mut self, tokens: TokenStream, folder: &Path, modules: &Path) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // The path that an attribute gives the next module.
        let mut path = None;
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            match token {
                TokenTree::Ident(word) if word == "mod" => {
                    let Some(TokenTree::Ident(name)) = next else { continue };
                    let inner = modules.join(name.to_string().trim_start_matches("r#"));
                    match tokens.get(at + 2) {
                        Some(TokenTree::Group(content)) => {
                            self.follow_tokens(content.stream(), &inner, &inner);
                        }
                        _ => match path.take() {
                            Some(path) => self.follow_module(&folder.join::<String>(path)),
                            None => {
                                self.follow_module(&inner.with_extension("rs"));
                                self.follow_module(&inner.join("mod.rs"));
                            }
                        },
                    }
                }
                TokenTree::Ident(word) if word == "include" => {
                    if let Some(TokenTree::Group(file)) = tokens.get(at + 2) {
                        let file = file.stream().to_string();
                        self.follow_module(&folder.join(file.trim_matches('"')));
                    }
                }
                TokenTree::Punct(sign) if sign.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = next {
                        let attribute = attribute.stream().to_string();
                        if let Some(text) = attribute.strip_prefix("path = ") {
                            path = Some(text.trim_matches('"').to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// The text between each `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Vec<&'t str> {
    text.split(start).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

/// The mistakes in the files of tests below a folder.
#[derive(Debug, Default, PartialEq)]
struct Wrong {
    /// They are part of no program.
    forgotten: Vec<PathBuf>,
    /// They are programs, and modules of others.
    twice: Vec<PathBuf>,
}

/// The mistakes in the files of tests below a folder, and how many files there are.
fn wrong(root: &Path) -> (Wrong, usize) {
    let root = root.canonicalize().unwrap();
    let tree = Tree::read(&root);
    let folders: Vec<PathBuf> = tree.packages.iter().map(|package| package.join("tests")).collect();
    let of_tests = |file: &&PathBuf| folders.iter().any(|folder| file.starts_with(folder));
    let files: Vec<&PathBuf> = tree.files.iter().filter(of_tests).collect();
    let is_program = |file: &Path| {
        let in_tests = |path: Option<&Path>| folders.iter().any(|it| Some(&**it) == path);
        let folder = file.parent();
        in_tests(folder) || file.ends_with("main.rs") && in_tests(folder.and_then(Path::parent))
    };
    let programs = files.iter().filter(|file| is_program(file));
    let mut reached = Reached::default();
    programs.clone().for_each(|file| reached.follow(file));
    let twice = programs.filter(|file| reached.modules.contains(**file));
    let twice = twice.map(|file| (*file).clone()).collect();
    // Benches and programs may use a file of tests too.
    for file in &tree.files {
        let text = fs::read_to_string(file).unwrap();
        if !of_tests(&file) {
            for path in between(&text, "#[path = \"", "\"]") {
                reached.follow(&file.parent().unwrap().join(path));
            }
        }
    }
    // A test that compiles all files of a folder names them so.
    for package in &tree.packages {
        let in_package: Vec<PathBuf> =
            reached.files.iter().filter(|file| file.starts_with(package)).cloned().collect();
        for file in in_package {
            let text = fs::read_to_string(&file).unwrap();
            let strings = text.split('"').filter_map(|text| text.strip_suffix("/*.rs"));
            for folder in strings.map(|folder| package.join(folder)) {
                let of_folder = files.iter().filter(|file| file.parent() == Some(&folder));
                reached.files.extend(of_folder.map(|file| (*file).clone()));
            }
        }
    }
    let forgotten = files.iter().filter(|file| !reached.files.contains(**file));
    let forgotten = forgotten.map(|file| (*file).clone()).collect();
    (Wrong { forgotten, twice }, files.len())
}

#[test]
fn each_file_of_tests_is_part_of_a_program() {
    let root = super::root();
    let (wrong, of) = wrong(&root);
    assert!(of > 400, "{of} files");
    assert_eq!(wrong, Wrong::default());
}

#[test]
fn a_file_that_is_in_no_program_or_two_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join("made").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "[package]");
    write("tests/alone.rs", "mod part;");
    write("tests/part/mod.rs", "const ALL: &str = \"tests/compiled/*.rs\";");
    write("tests/compiled/one.rs", "");
    write("tests/subject/main.rs", "mod first { mod inner; } mod second;");
    write("tests/subject/first/inner.rs", "");
    write("tests/subject/second/mod.rs", "#[path = \"../other.rs\"] mod third;");
    write("tests/subject/other.rs", "include!(\"included.rs\");");
    write("tests/subject/included.rs", "");
    assert_eq!(wrong(dir.path()), (Wrong::default(), 8));
    write("tests/subject/lost.rs", "");
    write("tests/no_program/mod.rs", "");
    write("tests/both.rs", "");
    write("tests/alone.rs", "mod part; mod both;");
    let (mut found, _) = wrong(dir.path());
    found.forgotten.sort();
    let root = dir.path().canonicalize().unwrap().join("made/tests");
    let expected = Wrong {
        forgotten: vec![root.join("no_program/mod.rs"), root.join("subject/lost.rs")],
        twice: vec![root.join("both.rs")],
    };
    assert_eq!(found, expected);
}
