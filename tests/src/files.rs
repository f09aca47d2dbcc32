//! Reading recorded files, which may be stored plain or compressed.
//!
//! Every function takes the plain name, `answers.json`, and finds `answers.json.gz` as well.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

/// Why a recorded file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Neither the file nor its compressed form is there.
    #[error("{} (or .gz) does not exist", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read or inflated.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is not the text or JSON it should be.
    #[error("cannot understand {}", .0.display())]
    Parse(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The repository's own recorded data.
pub fn data_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The path under which `name` is stored in `dir`: itself, or with `.gz` appended.
pub fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    [dir.join(name), dir.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// The inflated content of `name` in `dir`.
pub fn bytes(dir: &Path, name: &str) -> Result<Vec<u8>, FileError> {
    let path = find(dir, name).ok_or_else(|| FileError::Missing(dir.join(name)))?;
    read(&path).map_err(|error| FileError::Read(path, error))
}

/// The inflated content of `name` in `dir` as text.
pub fn text(dir: &Path, name: &str) -> Result<String, FileError> {
    String::from_utf8(bytes(dir, name)?)
        .map_err(|error| FileError::Parse(dir.join(name), Box::new(error)))
}

/// The JSON document `name` in `dir`.
pub fn json<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<T, FileError> {
    serde_json::from_slice(&bytes(dir, name)?)
        .map_err(|error| FileError::Parse(dir.join(name), Box::new(error)))
}

/// The plain names of the files in `dir` that end in `suffix`, sorted; a trailing `.gz` is left off.
pub fn names(dir: &Path, suffix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let plain = name.strip_suffix(".gz").unwrap_or(&name);
            (entry.path().is_file() && plain.ends_with(suffix)).then(|| plain.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The folders below `dir`, at any depth, that hold a file `name`, as paths relative to `dir` with
/// `/` between their parts, sorted.
pub fn folders_with(dir: &Path, name: &str) -> Vec<String> {
    fn walk(dir: &Path, prefix: &str, name: &str, found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            let (path, Ok(own)) = (entry.path(), entry.file_name().into_string()) else { continue };
            if path.is_dir() {
                let below = if prefix.is_empty() { own } else { format!("{prefix}/{own}") };
                if find(&path, name).is_some() {
                    found.push(below.clone());
                }
                walk(&path, &below, name, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, "", name, &mut found);
    found.sort();
    found
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let raw = fs::read(path)?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(raw);
    }
    let mut inflated = Vec::new();
    MultiGzDecoder::new(&raw[..]).read_to_end(&mut inflated)?;
    Ok(inflated)
}
