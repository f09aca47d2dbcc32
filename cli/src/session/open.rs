//! Opening the database that the command line names.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::sync::Arc;

use permazen::__internal::escape::path_text;
use permazen::encoding::EncodingRegistry;
use permazen::kv::{KvDatabase, KvError, WarningKind};
use permazen::object::Database;
use permazen::open::{OpenError, OpenStore, Opening};
use permazen::schema::UnknownEncodings;

use super::{Counted, Options, Session, in_the_way, parameters, readers};
use crate::args::Args;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::secrets;
use crate::xml_root::other_reader;

impl Session {
    /// Opens the database that the command line names. Nothing is recorded and nothing is removed
    /// by that.
    pub(crate) fn open(
        args: &Args,
        encodings: Arc<EncodingRegistry>,
        interrupt: Interrupt,
    ) -> Result<Session, Failure> {
        let name = args.database.as_deref().ok_or_else(|| Failure::usage("there is no DB"))?;
        secrets::refuse(name)?;
        let options = Options::of(args)?;
        let write = (args.write || args.create) && !args.dry_run;
        let opening = Opening::new().write(write).create(args.create && write);
        let mut opening = opening.wait(args.wait).checks(true);
        if let Some(kind) = args.kind {
            opening = opening.kind(kind.of_store());
        }
        let on_server = is_on_server(&opening, name);
        let opened =
            in_the_way::telling(on_server, || opening.open(name)).map_err(|error| match error {
                OpenError::Unrecognized { .. } => {
                    Failure::new(format!("{error}; --kind says what it is"))
                }
                OpenError::Xml { ref path, .. } => match other_reader(path, "entries") {
                    Some(what) => Failure::new(format!("{}: {what}", path_text(path))),
                    None => error.into(),
                },
                OpenError::Store(ref store) if !args.create && is_missing(on_server, store) => {
                    Failure::from(error).but("--create creates it")
                }
                error => error.into(),
            });
        let store = Arc::new(opened?);
        warn_of(&store);
        readers::keep_out(&store);
        Ok(Session::over(options, store.clone(), store, encodings, interrupt))
    }

    /// With the files of `store` and the transactions of `kv`, which is the same store, perhaps
    /// wrapped.
    pub(crate) fn over(
        options: Options,
        store: Arc<OpenStore>,
        kv: Arc<dyn KvDatabase>,
        encodings: Arc<EncodingRegistry>,
        interrupt: Interrupt,
    ) -> Session {
        let counted = Counted::over(kv.clone(), encodings.clone());
        let database = Database::with_encodings(kv.clone(), encodings)
            .unknown_encodings(UnknownEncodings::Carry);
        Session {
            store,
            kv,
            database,
            counted,
            interrupt,
            options,
            catalog: RefCell::default(),
            damage: RefCell::default(),
            read_once: Cell::default(),
        }
    }
}

/// Says which settings of the server of `store` endanger committed data. Advice about speed always
/// comes, and would hide the other warnings; `info` has it.
pub(crate) fn warn_of(store: &OpenStore) {
    let dangers = store.warnings().iter().filter(|warning| warning.kind() != WarningKind::Speed);
    for warning in dangers {
        output::note_now(format_args!("{}: warning: {warning}", path_text(store.name())));
    }
}

fn is_on_server(opening: &Opening, name: &OsStr) -> bool {
    opening.locate(name).is_ok_and(|(kind, _)| kind.is_on_servers())
}

/// Whether a store could not be opened because it is not there. A URL is no path, so stores on
/// servers say it.
fn is_missing(on_server: bool, error: &KvError) -> bool {
    match error {
        KvError::NoStore { .. } => true,
        KvError::Open { path, .. } => !on_server && !path.exists(),
        _ => false,
    }
}

impl Options {
    /// The options of the command line.
    pub(crate) fn of(args: &Args) -> Result<Options, Failure> {
        Ok(Options {
            write: args.write || args.create,
            yes: args.yes,
            dry_run: args.dry_run,
            wait: args.wait,
            parameters: parameters::read(args)?,
            schema: args.schema.clone(),
        })
    }
}
