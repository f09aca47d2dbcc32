//! The options of a check.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::{Options, RepairScope};
use clap::ValueEnum;
use permazen::open::StoreKind;
use permazen::schema::{SchemaId, SchemaIndex, SchemaModel};
use permazen::{ObjId, StorageId};

use super::files;
use super::host::{Failure, Host};

/// The options of a check: all that `jsck` has, except the database. They say in their help what
/// they do.
#[derive(Debug, Clone, clap::Args)]
#[command(group(clap::ArgGroup::new("changes").args(["repair", "apply_undo"])))]
#[non_exhaustive]
pub struct CheckArgs {
    /// What kind of store it is; found out by itself if not given
    #[arg(long)]
    pub(super) kind: Option<Kind>,
    /// Mend what is found: everything, or only indexes (derived)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    pub(super) repair: Option<Scope>,
    /// With --repair or --apply-undo: do not ask first
    #[arg(long, requires = "changes")]
    pub yes: bool,
    /// With --repair: show what it would change, and change nothing
    #[arg(long, requires = "repair")]
    pub dry_run: bool,
    /// With --repair: write the whole database to this XML file before the first change
    #[arg(long, value_name = "FILE", requires = "repair")]
    pub(super) backup: Option<PathBuf>,
    /// With --repair: where to write what it replaces [default: DATABASE.undo-TIME]
    #[arg(long, value_name = "FILE", requires = "repair")]
    pub(super) undo_file: Option<PathBuf>,
    /// Bring back what a repair of this database replaced, from its undo file (- is standard input)
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["repair", "dry_run", "backup", "undo_file", "json"])]
    pub(super) apply_undo: Option<PathBuf>,
    /// With --apply-undo: do it although the file was written for another database, pairs have
    /// changed since the repair, or the file is cut off
    #[arg(long, value_name = "WHAT", value_delimiter = ',', requires = "apply_undo")]
    pub(super) force: Vec<Force>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Stop after this many findings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Check only objects of this type and their indexes' entries; may be repeated
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,
    /// Check only objects with ids (16 hex digits) from FROM on and before TO; either may be
    /// left out
    #[arg(long, value_name = "FROM..TO")]
    range: Option<String>,
    /// Check only this percentage of the objects, always the same ones
    #[arg(long, value_name = "PERCENT")]
    sample: Option<f64>,
    /// Check piece by piece, each in a short transaction of its own, while others write; not with
    /// --repair, partial checks, --threads or --collect-schemas
    #[arg(long, conflicts_with_all = ["repair", "types", "range", "sample", "apply_undo", "threads",
          "collect_schemas"])]
    pub(super) online: bool,
    /// With --online: how many pairs a second to check at most
    #[arg(long, value_name = "PAIRS", requires = "online",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rate: Option<u64>,
    /// With --online: keep the position in this file, and continue from there if it exists
    #[arg(long, value_name = "FILE", requires = "online")]
    pub(super) position: Option<PathBuf>,
    /// How many threads read the database, where its kind allows several [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Do not check the structure of the store below
    #[arg(long)]
    pub(super) no_store_check: bool,
    /// Also show values in full and what is being checked
    #[arg(long, short)]
    pub verbose: bool,
    /// Report schemas no object uses, and remove them when repairing
    #[arg(long)]
    collect_schemas: bool,
    /// Take the format version to be this, whatever is stored
    #[arg(long, value_name = "N")]
    format_version: Option<u32>,
    /// Use this schema XML file (- is standard input) as the schema with that index; without a
    /// file, drop the schema
    #[arg(long = "schema", value_name = "INDEX=[FILE]")]
    schemas: Vec<String>,
    /// Use this schema ID for that storage ID; without one, drop the storage ID
    #[arg(long = "storage-id", value_name = "ID=[SCHEMA_ID]")]
    storage_ids: Vec<String>,
}

/// Kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Lmdb,
    #[cfg(feature = "sqlite")]
    Sqlite,
    Xml,
}

impl Kind {
    pub(super) fn of_store(self) -> StoreKind {
        match self {
            Kind::Lmdb => StoreKind::Lmdb,
            #[cfg(feature = "sqlite")]
            Kind::Sqlite => StoreKind::Sqlite,
            Kind::Xml => StoreKind::Xml,
        }
    }
}

/// The part to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Scope {
    All,
    Derived,
}

/// A reason for which an undo file is not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Force {
    /// It was written for another database
    Database,
    /// Pairs are not as the repair left them
    Changed,
    /// It is cut off
    Incomplete,
}

impl CheckArgs {
    /// Takes the database to be a store of this kind, unless an option says another one. A database
    /// in memory has no kind that could be given.
    pub fn be_of_kind(&mut self, kind: StoreKind) {
        let kind = match kind {
            StoreKind::Lmdb => Some(Kind::Lmdb),
            #[cfg(feature = "sqlite")]
            StoreKind::Sqlite => Some(Kind::Sqlite),
            StoreKind::Xml => Some(Kind::Xml),
            _ => None,
        };
        self.kind = self.kind.or(kind);
    }

    /// Whether it changes the database.
    pub fn changes(&self) -> bool {
        self.repairs() || self.apply_undo.is_some()
    }

    /// Whether it only checks, and so reads only what a server cannot take back any more, for which
    /// it waits there until transactions that write have ended.
    pub fn reads_with_certainty(&self) -> bool {
        self.repair.is_none() && self.apply_undo.is_none()
    }

    /// Whether it repairs the database.
    pub(super) fn repairs(&self) -> bool {
        self.repair.is_some() && !self.dry_run
    }

    /// Whether to ask before a repair.
    pub(super) fn asks(&self) -> bool {
        self.repair.is_some() && !self.yes && !self.dry_run
    }

    /// The pairs that a repair may change.
    pub(super) fn scope(&self) -> RepairScope {
        match self.repair {
            Some(Scope::Derived) => RepairScope::Derived,
            Some(Scope::All) | None => RepairScope::All,
        }
    }

    /// The text files that are read, each with the option that names it.
    fn inputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = self.schemas.iter().filter_map(|text| text.split_once('='));
        let schemas = files.map(|(_, file)| ("--schema", Path::new(file)));
        let position = self.position.as_deref().map(|file| ("--position", file));
        let undo = self.apply_undo.as_deref().map(|file| ("--apply-undo", file));
        schemas.chain(position).chain(undo)
    }

    /// The checker's options.
    pub(super) fn options(&self, host: &dyn Host) -> Result<Options, Failure> {
        let mut options = Options::default();
        options.encodings = host.encodings();
        options.stop = Some(host.stop());
        options.max_findings = self.limit.unwrap_or(u64::MAX);
        options.collect_schemas = self.collect_schemas;
        options.threads = self.threads.unwrap_or(options.threads);
        if let Some(version) = self.format_version.filter(|&version| version != 1) {
            return Err(format!("--format-version {version}: the only one there is is 1").into());
        }
        options.format_version = self.format_version;
        options.types = self.types.clone();
        if let Some(percent) = self.sample.filter(|percent| !(*percent > 0.0 && *percent <= 100.0))
        {
            return Err(format!("--sample {percent}: a percentage above 0 and up to 100").into());
        }
        options.sample = self.sample.map(|percent| percent / 100.0);
        if let Some(range) = &self.range {
            let (from, to) = range
                .split_once("..")
                .ok_or_else(|| format!("--range {range}: there is no .. in it"))?;
            let id = |text: &str| -> Result<Option<ObjId>, Failure> {
                match text {
                    "" => Ok(None),
                    text => Ok(Some(text.parse().map_err(|e| format!("--range {range}: {e}"))?)),
                }
            };
            options.ids = (id(from)?, id(to)?);
        }
        options.repair = self.scope();
        files::must_be_read_once(self.inputs())?;
        for text in &self.schemas {
            let (index, file) = split(text, "--schema")?;
            let index: u32 = index.parse().map_err(|e| format!("--schema {text}: {e}"))?;
            let index = SchemaIndex::new(index)
                .filter(|index| !index.is_empty_schema())
                .ok_or_else(|| format!("--schema {text}: schema indexes are 1 to 2147483647"))?;
            options.schemas.insert(index, file.map(read_schema).transpose()?);
        }
        for text in &self.storage_ids {
            let (id, schema_id) = split(text, "--storage-id")?;
            let id: u32 = id.parse().map_err(|e| format!("--storage-id {text}: {e}"))?;
            let id = StorageId::new(id)
                .ok_or_else(|| format!("--storage-id {text}: storage IDs are 1 to 2147483647"))?;
            let parse = |text: &str| {
                text.parse::<SchemaId>().map_err(|e| format!("--storage-id {text}: {e}"))
            };
            options.storage_ids.insert(id, schema_id.map(parse).transpose()?);
        }
        Ok(options)
    }
}

/// `LEFT=RIGHT`, or `LEFT=` with nothing on the right.
fn split<'t>(text: &'t str, option: &str) -> Result<(&'t str, Option<&'t str>), Failure> {
    let (left, right) =
        text.split_once('=').ok_or_else(|| format!("{option} {text}: there is no = in it"))?;
    Ok((left, Some(right).filter(|right| !right.is_empty())))
}

fn read_schema(file: &str) -> Result<SchemaModel, Failure> {
    let mut xml = Vec::new();
    let path = Path::new(file);
    let file = files::input_text(path);
    let read = files::open_input(path)?.read_to_end(&mut xml);
    read.map_err(|e| format!("{file}: {e}"))?;
    let model = SchemaModel::from_xml(&xml).map_err(|e| format!("{file}: {e}"))?;
    model.validate().map_err(|e| format!("{file}: {e}"))?;
    Ok(model)
}
