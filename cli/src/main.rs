//! `permazen`: a shell for any Permazen database.

use std::process::ExitCode;
use std::sync::Arc;

use permazen::encoding::EncodingRegistry;

fn main() -> ExitCode {
    permazen_cli::run(Arc::new(EncodingRegistry::new()))
}
