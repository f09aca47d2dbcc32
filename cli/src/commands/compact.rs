//! `compact`: the file of the database without unused space.

use std::ffi::OsStr;

use permazen::escape::path_text;
use permazen::open::{Opening, StoreKind};
use serde_json::json;

use super::copy::watched;
use crate::args::Args;
use crate::failure::{Answer, Failure};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::secrets;

/// Why it cannot be a part of something.
pub(super) const ONLY_ALONE: &str =
    "`compact` needs the database for itself: leave, and call permazen DB compact --write";

/// Make the file of the database compact in its place
///
/// The file gets as small as its content allows. Nobody else may have an LMDB environment open, Java
/// included; of an SQLite file, others can read meanwhile. Needs room on the disk for a copy beside the
/// file. Whenever the program or the machine stops, the old file or the new one is there. It is no part of
/// a script, and needs --write.
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {}

impl Compact {
    /// Works on a database that this program does not have open.
    pub(crate) fn run_alone(
        database: &OsStr,
        args: &Args,
        interrupt: &Interrupt,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        if args.dry_run {
            return Err(Failure::new("`compact` cannot be tried with --dry-run"));
        }
        if !args.write {
            return Err(Failure::new("this changes the database, which needs --write"));
        }
        secrets::refuse(database)?;
        let mut opening = Opening::new().wait(args.wait);
        if let Some(kind) = args.kind {
            opening = opening.kind(kind.of_store());
        }
        let (kind, path) = opening.locate(database)?;
        match kind {
            StoreKind::Postgres => {
                return Err(Failure::new("a server makes its tables compact itself, with VACUUM"));
            }
            StoreKind::Etcd => {
                return Err(Failure::new(
                    "etcd makes itself compact, with `etcdctl compact` and `etcdctl defrag`",
                ));
            }
            StoreKind::Memory => {
                return Err(Failure::new("memory: a store in memory has no file to make compact"));
            }
            StoreKind::Xml => {
                return Err(Failure::new(format!(
                    "{}: an XML dump has no unused space; compress it, or copy it to another kind of store",
                    path_text(&path)
                )));
            }
            _ => {}
        }
        let _working = interrupt.work();
        let compacted = watched(interrupt, |watch| Ok(opening.compact(database, watch)?))?;
        let path = path_text(&path);
        out.done(
            format_args!("{path}: {} bytes, before {}", compacted.after, compacted.before),
            &json!({
                "type": "written",
                "file": path,
                "bytes": compacted.after,
                "before": compacted.before,
            }),
        )?;
        Ok(Answer::Yes)
    }
}
