//! Reads recorded files, which may be plain or compressed.
//!
//! Every function takes the plain name, such as `answers.json`, and also finds `answers.json.gz`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

/// Why a recorded file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Neither the file nor its compressed form exists.
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

/// The plain names of everything directly in `dir`, sorted, each with whether it is a folder. A
/// file's name is without a trailing `.gz`.
pub fn entries(dir: &Path) -> Vec<(String, bool)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<(String, bool)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.path().is_dir();
            let plain = if is_folder { None } else { name.strip_suffix(".gz") };
            Some((plain.unwrap_or(&name).to_owned(), is_folder))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The plain names of the files below `dir`, at any depth, sorted. They are paths relative to
/// `dir`, with `/` between their parts.
pub fn all_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for (name, is_folder) in entries(dir) {
        if is_folder {
            let below = all_below(&dir.join(&name));
            found.extend(below.into_iter().map(|file| format!("{name}/{file}")));
        } else {
            found.push(name);
        }
    }
    found
}

/// Whether a file explains the recorded data beside it.
pub fn is_for_people(name: &str) -> bool {
    name.rsplit('/').next().unwrap_or(name).starts_with("README")
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
