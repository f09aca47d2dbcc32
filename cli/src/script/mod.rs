//! Scripts: statements of the language and commands of the shell, one after the other.

mod command_words;
mod ids;
mod read;
mod run;
mod split;
mod stray;

pub(crate) use command_words::words;
pub(crate) use ids::Ids;
pub(crate) use read::sources;
pub(crate) use run::{run, run_migration, run_piece};
pub(crate) use split::{Piece, PieceKind, Script, Source};
pub(crate) use stray::option_in_comment;
