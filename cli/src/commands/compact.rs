//! `compact`: the file of the database without unused space.

use permazen::__internal::escape::path_text;
use permazen::open::{Opening, StoreKind};
use serde_json::json;

use super::copy::watched;
use super::{Command, Context, Scope, Unopened};
use crate::failure::{Answer, Failure};
use crate::secrets;

/// Why it cannot be a part of something.
const ONLY_ALONE: &str =
    "`compact` needs the database for itself: leave, and call permazen DB compact --write";

/// Make the file of the database compact in its place
///
/// The file gets as small as its content allows. No other program may have an LMDB environment
/// open, Java included; other programs can read an SQLite file meanwhile. Needs room on the disk
/// for a copy beside the file. Whenever the program or the machine stops, the old file or the new
/// one is there. It is no part of a script, and needs --write.
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {}

impl Command for Compact {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: true }
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Err(Failure::new(ONLY_ALONE))
    }

    fn run_unopened(&self, unopened: &mut Unopened<'_>) -> Option<Result<Answer, Failure>> {
        Some(compact(unopened))
    }
}

/// Works on a database that this program does not have open.
fn compact(unopened: &mut Unopened<'_>) -> Result<Answer, Failure> {
    let Unopened { database, args, interrupt, .. } = *unopened;
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
    unopened.out.done(
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
