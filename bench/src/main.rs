//! Objects of permazen beside the same work by hand and beside other libraries: see
//! [`settings::HELP`].

mod by_hand;
mod data;
mod floor;
mod load;
mod machine;
mod measure;
mod model;
mod pairs;
mod peers;
mod published;
mod report;
mod settings;
mod sides;
mod space;
mod start;

use report::Results;
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
    let mut results = Results {
        about: machine::describe(dir.path()),
        command: settings.command(),
        ..Results::default()
    };
    if settings.runs("floor") || settings.runs("memory") {
        results.floor = Some(floor::measure_all(dir.path(), &settings));
    }
    if settings.runs("peers") {
        results.peers = Some(peers::tables(dir.path(), &settings));
    }
    if settings.runs("published") {
        results.published = Some(published::tables(dir.path(), &settings));
    }
    if settings.runs("growth") {
        results.growth = Some(peers::growth(dir.path(), &settings));
    }
    if settings.runs("space") {
        results.space = Some(space::measure(dir.path(), &settings));
    }
    if settings.runs("load") {
        results.load = Some(load::measure(dir.path(), &settings));
    }
    if settings.runs("start") {
        results.start = Some(start::measure(dir.path(), &settings));
    }
    if let Some(pages) = &settings.pages {
        report::write(&results, pages);
        eprintln!("written to {}", pages.display());
    }
}
