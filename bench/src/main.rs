//! Objects of permazen beside the same work by hand and beside other libraries: see
//! [`settings::HELP`].

mod by_hand;
mod data;
mod floor;
mod measure;
mod model;
mod pairs;
mod peers;
mod settings;
mod sides;

use settings::Settings;

fn main() {
    let settings = match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    let dir = match &settings.data {
        Some(dir) => tempfile::tempdir_in(dir).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    if settings.runs("floor") {
        floor::on_lmdb(dir.path(), settings.objects, &settings);
    }
    if settings.runs("memory") {
        floor::in_memory(settings.objects, &settings);
    }
    if settings.runs("peers") {
        peers::tables(dir.path(), &settings);
    }
    if settings.runs("growth") {
        peers::growth(dir.path(), &settings);
    }
}
