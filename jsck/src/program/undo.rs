//! The undo file: the old and the new values of a repair.
//!
//! It is text, one JSON object per line. The first line names the database. Then there is one line
//! for each change, with the values before and after. The last line has the number of changes and a
//! checksum of all lines before it. A file without the last line is incomplete: a repair changes
//! nothing before the file is complete and on disk.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Intent;
use flate2::Crc;
use permazen::kv::key::parse_hex;
use serde::{Deserialize, Serialize};

use super::args::Force;
use super::database::Database;
use super::files::NewFile;
use super::host::{Failure, Host};
use super::json::{hex, hex_or_null};
use super::plan::{Change, Plan};
use super::terminal::{Terminal, json_line, path_text};
use super::{files, text};

/// The form of undo files that this program writes.
const FORM: u32 = 2;
/// An older form that it can read: the path has U+FFFD for bytes that are not UTF-8, and nothing in
/// it is escaped.
const OLD_FORM: u32 = 1;

/// A line.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Undo(Origin),
    Change { key: String, old_value: Option<String>, new_value: Option<String> },
    End { changes: u64, crc32: u32 },
}

/// The database of an undo file, when it was written and by which version of the program.
#[derive(Serialize, Deserialize)]
struct Origin {
    form: u32,
    /// The path, as [`path_text`] writes it.
    database: String,
    kind: String,
    program: String,
    /// Seconds since 1970.
    time: u64,
}

impl Origin {
    /// The database, as new undo files name it.
    fn of(database: &Database) -> Origin {
        let path = database.path().canonicalize();
        let path = path.unwrap_or_else(|_| database.path().to_path_buf());
        Origin {
            form: FORM,
            database: path_text(&path),
            kind: database.kind().to_string(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            time: now(),
        }
    }
}

/// Whether the file was written for a database with this path.
fn names(origin: &Origin, path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    match origin.form {
        // A path with U+FFFD could be any of several paths.
        OLD_FORM => {
            !origin.database.contains(char::REPLACEMENT_CHARACTER)
                && path.to_str() == Some(&origin.database)
        }
        _ => origin.database == path_text(&path),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// The default path of the undo file of a database.
pub(super) fn default_path(database: &Path) -> PathBuf {
    let seconds = now();
    // Beside the database, even if the path of a directory ends with a slash.
    let path: PathBuf = database.components().collect();
    let named = |number: u32| {
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".undo-{seconds}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

/// An undo file that is being written. It is removed when dropped, unless `keep` is called.
pub(super) struct UndoFile {
    out: BufWriter<NewFile>,
    crc: Crc,
    changes: u64,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl UndoFile {
    pub(super) fn create(path: &Path, database: &Database) -> Result<UndoFile, Failure> {
        let out = BufWriter::with_capacity(1 << 16, NewFile::create(path)?);
        let mut undo = UndoFile { out, crc: Crc::new(), changes: 0 };
        undo.line(&Line::Undo(Origin::of(database)))?;
        Ok(undo)
    }

    /// Adds what a repair is about to do. After `Intent::Pass`, everything is on disk.
    pub(super) fn add(&mut self, intent: &Intent<'_>) -> io::Result<()> {
        let added = match *intent {
            Intent::Change { key, old, new } => {
                self.changes += 1;
                let (old_value, new_value) = (hex_or_null(old), hex_or_null(new));
                self.line(&Line::Change { key: hex(key), old_value, new_value })
            }
            Intent::Pass => self.out.flush().and_then(|()| self.out.get_mut().file().sync_all()),
        };
        added.map_err(|e| {
            let path = path_text(self.out.get_ref().path());
            io::Error::new(e.kind(), format!("{path}: {e}"))
        })
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        let text = json_line(line)?;
        self.crc.update(&text);
        self.out.write_all(&text)
    }

    /// Ends the file and brings it to disk under its name. Returns the name.
    pub(super) fn keep(mut self) -> Result<PathBuf, Failure> {
        let path = self.out.get_ref().path().to_path_buf();
        let wrap = |e: io::Error| format!("{}: {e}", path_text(&path));
        let end = Line::End { changes: self.changes, crc32: self.crc.sum() };
        self.line(&end).map_err(wrap)?;
        let file = self.out.into_inner().map_err(|e| wrap(e.into_error()))?;
        file.keep().map_err(wrap)?;
        Ok(path)
    }
}

/// The content of an undo file.
struct UndoContent {
    origin: Origin,
    plan: Plan,
    changes: u64,
    /// Whether the file is complete.
    whole: bool,
}

/// Fails if the host wants to stop.
fn go_on(host: &dyn Host) -> Result<(), Failure> {
    match host.stop().load(Ordering::Relaxed) {
        true => Err("interrupted; nothing was undone".into()),
        false => Ok(()),
    }
}

/// Reads an undo file.
fn read(path: &Path, host: &dyn Host) -> Result<UndoContent, Failure> {
    let name = files::input_text(path);
    let wrap = |e: io::Error| format!("{name}: {e}");
    let mut file = BufReader::new(files::open_input(path)?);
    let mut crc = Crc::new();
    let mut text = Vec::new();
    let mut origin = None;
    let (mut plan, mut changes, mut whole) = (Plan::default(), 0, false);
    for number in 1.. {
        go_on(host)?;
        text.clear();
        if file.read_until(b'\n', &mut text).map_err(wrap)? == 0 {
            break;
        }
        let damaged = |why: &str| format!("{name}: line {number} is damaged: {why}");
        if whole {
            return Err(damaged("it comes after the end").into());
        }
        let line = match serde_json::from_slice(&text) {
            Ok(line) if text.ends_with(b"\n") => line,
            // Without a first line it is not an undo file. The error comes below.
            _ if number == 1 => break,
            // The file is cut off here.
            _ if !text.ends_with(b"\n") => break,
            Ok(_) | Err(_) => return Err(damaged("it is not what jsck writes").into()),
        };
        match line {
            Line::Undo(first) if number == 1 => origin = Some(first),
            Line::Change { key, old_value, new_value } if number > 1 => {
                let bytes = |text: &str| parse_hex(text).map_err(|e| damaged(&e.to_string()));
                let optional = |text: Option<String>| text.map(|text| bytes(&text)).transpose();
                let (old, new) = (optional(old_value)?, optional(new_value)?);
                plan.add(Change { key: bytes(&key)?, old, new });
                changes += 1;
            }
            Line::End { changes: expected, crc32 } if number > 1 => {
                if (expected, crc32) != (changes, crc.sum()) {
                    return Err(damaged("the checksum does not fit the lines before it").into());
                }
                whole = true;
            }
            _ => return Err(damaged("it stands in the wrong place").into()),
        }
        crc.update(&text);
    }
    match origin {
        Some(origin) if ![OLD_FORM, FORM].contains(&origin.form) => {
            let Origin { form, program, .. } = origin;
            Err(format!("{name}: undo file of form {form}, written by jsck {program}; this program knows forms {OLD_FORM} and {FORM}").into())
        }
        Some(origin) => Ok(UndoContent { origin, plan, changes, whole }),
        None => Err(format!("{name} is no undo file").into()),
    }
}

/// Gives the pairs that a repair changed their old values back, if they are as the repair left
/// them. A change that does not fit is only undone with `force`.
pub(super) fn apply(
    database: &Database,
    path: &Path,
    force: &[Force],
    terminal: &Terminal<'_>,
) -> Result<(), Failure> {
    let UndoContent { origin, plan, changes, whole } = read(path, terminal.host)?;
    let file = files::input_text(path);
    let here = Origin::of(database);
    if (!names(&origin, database.path()) || origin.kind != here.kind)
        && !force.contains(&Force::Database)
    {
        let Origin { database, kind, program, .. } = origin;
        return Err(format!(
            "{file} was written for {database} ({kind}, by jsck {program}), not for {} ({}); \
             --force=database applies it all the same",
            here.database, here.kind
        )
        .into());
    }
    if !whole && !force.contains(&Force::Incomplete) {
        return Err(format!(
            "{file} is cut off: a repair that was ended while it wrote the file has changed \
             nothing; --force=incomplete applies the {changes} changes that are left of it"
        )
        .into());
    }
    let mut kv = database.begin_writing(terminal)?;
    let (mut undone, mut as_before, mut differing) = (0_u64, 0_u64, 0_u64);
    for Change { key, old, new } in plan.changes() {
        go_on(terminal.host)?;
        let now = kv.get(&key)?.map(|value| value.into_owned());
        // The pair already has its old value: the file was applied before, or the repair was
        // undone.
        if now == old {
            as_before += 1;
            continue;
        }
        if now != new {
            differing += 1;
            if !force.contains(&Force::Changed) {
                text::differing(&Change { key, old: now, new }, terminal);
                continue;
            }
        }
        match old {
            Some(old) => kv.put(&key, &old)?,
            None => kv.remove(&key)?,
        }
        undone += 1;
    }
    if differing > 0 && !force.contains(&Force::Changed) {
        kv.rollback();
        return Err(format!(
            "nothing was undone: {differing} pairs are not as the repair left them; \
             --force=changed gives them the values of before the repair all the same"
        )
        .into());
    }
    terminal.written().map_err(|e| format!("{e}; nothing was undone"))?;
    go_on(terminal.host)?;
    database.commit_with(terminal.host, kv)?;
    if !whole {
        terminal.say(format_args!(
            "{file} is cut off: what follows is about the part that is left of it"
        ));
    }
    let rest = match as_before {
        0 => String::new(),
        n => format!(", {n} were as before the repair already"),
    };
    let path = path_text(database.path());
    terminal.say(format_args!("{undone} changes undone in {path}{rest}"));
    Ok(terminal.written().map_err(|e| format!("{e}; {undone} changes were undone"))?)
}
