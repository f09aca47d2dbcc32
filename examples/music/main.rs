//! Works on a music database that Permazen for Java wrote. It looks around, changes things,
//! commits, and has the result checked.
//!
//! Without arguments it works on a scratch copy of the sample database. With the directory of an
//! LMDB environment as argument, it works on that. Try it:
//! `cargo run -p permazen-examples --bin music`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]
#![allow(unreachable_pub, reason = "the models are shared with tests")]

mod models;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use comfy_table::{CellAlignment, Table, presets};
use models::{Album, Artist, Country, Genre, Listener, Playlist, Track};
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::{Error, Obj, Permazen, Result, Tx};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let path = match env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => scratch_copy()?,
    };
    println!("database       {}", path.display());
    work(&path).map_err(|error| named(&path, error))
}

/// The error with the database's path before it, unless the path is already there.
fn named(path: &Path, error: Box<dyn std::error::Error>) -> Box<dyn std::error::Error> {
    let (path, text) = (path.display().to_string(), error.to_string());
    if text.starts_with(&path) { error } else { format!("{path}: {text}").into() }
}

fn work(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let store = Arc::new(LmdbStore::open(path)?);
    let db = Permazen::builder_shared(store.clone())
        .model::<Artist>()
        .model::<Album>()
        .model::<Track>()
        .model::<Playlist>()
        .model::<Listener>()
        .allow_new_schema(false)
        .kv_options(TxOptions::writing().with_wait(Duration::from_secs(2)))
        .build()?;
    println!("schema         {}, as recorded", db.schema().schema_id());

    db.read(|tx| {
        count_objects(tx)?;
        artists_in_order(tx)?;
        albums_of_an_artist(tx)?;
        references_both_ways(tx)
    })?;
    println!();
    for change in db.write(change_things)? {
        println!("{change}");
    }
    check(&store)
}

/// A copy of the sample database in a new directory.
fn scratch_copy() -> io::Result<PathBuf> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/databases/music/lmdb");
    let copy = env::temp_dir().join(format!("permazen-music-{}", std::process::id()));
    fs::create_dir_all(&copy)?;
    fs::copy(sample.join("data.mdb"), copy.join("data.mdb"))?;
    Ok(copy)
}

fn count_objects(tx: &Tx) -> Result<()> {
    println!(
        "objects        {} artists, {} albums, {} tracks, {} playlists, {} listeners",
        tx.all::<Artist>()?.count()?,
        tx.all::<Album>()?.count()?,
        tx.all::<Track>()?.count()?,
        tx.all::<Playlist>()?.count()?,
        tx.all::<Listener>()?.count()?
    );
    Ok(())
}

/// A range of an index, in its order.
fn artists_in_order(tx: &Tx) -> Result<()> {
    println!("\nArtists from B to H, by name");
    let mut table = table(&["name", "country", "born", "genres"], &[]);
    for entry in tx.index(Artist::NAME)?.range("B".."H")?.iter() {
        let (name, artist) = entry?;
        let genres: Vec<Option<Genre>> = artist.genres()?.load()?;
        let genres: Vec<String> =
            genres.iter().flatten().map(|genre| format!("{genre:?}")).collect();
        table.add_row([
            or_dash(name),
            debug(artist.country()?),
            or_dash(artist.born()?),
            genres.join(", "),
        ]);
    }
    println!("{table}");
    Ok(())
}

/// A composite index: one artist, a range of years.
fn albums_of_an_artist(tx: &Tx) -> Result<()> {
    let Some(artist) = most_albums(tx)? else { return Ok(()) };
    println!("\nAlbums of {} since 1980, by year", or_dash(artist.name()?));
    let mut table = table(&["year", "title", "rating"], &[0, 2]);
    for entry in tx.index(Album::BY_ARTIST_YEAR)?.prefix(artist)?.range(1980..)?.iter() {
        let ((_, year), album) = entry?;
        table.add_row([year.to_string(), or_dash(album.title()?), or_dash(album.rating()?)]);
    }
    println!("{table}");
    Ok(())
}

/// The artist with the most albums.
fn most_albums<'t>(tx: &'t Tx) -> Result<Option<Obj<'t, Artist>>> {
    let mut best = None;
    for artist in tx.all::<Artist>()? {
        let artist = artist?;
        let albums = tx.index(Album::ARTIST)?.get(artist)?.count()?;
        if best.is_none_or(|(most, _)| albums > most) {
            best = Some((albums, artist));
        }
    }
    Ok(best.map(|(_, artist)| artist))
}

/// From listeners to their favourite album, to its artist, and back to the tracks that refer to the
/// album.
fn references_both_ways(tx: &Tx) -> Result<()> {
    let favourites = tx.index(Listener::FAVOURITES)?;
    let mut best = None;
    for album in favourites.values() {
        let Some(album) = album? else { continue };
        let listeners = favourites.get(Some(album))?.count()?;
        if best.is_none_or(|(most, _)| listeners > most) {
            best = Some((listeners, album));
        }
    }
    let Some((listeners, album)) = best else { return Ok(()) };
    let album = tx.get(album)?;
    let artist = album.artist()?.map(|artist| artist.name()).transpose()?.flatten();
    let title = or_dash(album.title()?);
    println!("\n{title} by {}, a favourite of {listeners} listeners", or_dash(artist));
    println!("{}", track_list(tx, album)?);
    Ok(())
}

fn track_list(tx: &Tx, album: Obj<'_, Album>) -> Result<Table> {
    let mut table = table(&["#", "title", "time", "plays", ""], &[0, 2, 3]);
    for entry in tx.index(Track::BY_ALBUM_NUMBER)?.prefix(album)?.iter() {
        let ((_, number), track) = entry?;
        let Track { title, seconds, explicit, plays, .. } = track.load()?;
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        let explicit = if explicit { "explicit" } else { "" };
        table.add_row([
            number.to_string(),
            or_dash(title),
            time,
            plays.to_string(),
            explicit.to_owned(),
        ]);
    }
    Ok(table)
}

/// Changes objects, and returns a line about each change.
fn change_things(tx: &Tx) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let artist = tx.create(Artist {
        name: Some("The Borrow Checkers".into()),
        country: Some(Country::Norway),
        genres: [Some(Genre::Rock), Some(Genre::Electronic)].into(),
        ..Artist::default()
    })?;
    let album = tx.create(Album {
        title: Some("Fearless".into()),
        artist: Some(artist.to_ref()),
        year: 2015,
        ..Album::default()
    })?;
    let titles = ["Lifetimes", "Shared or Mutable", "No Garbage"];
    for (number, title) in (1..).zip(titles) {
        tx.create(Track {
            title: Some(title.into()),
            album: Some(album.to_ref()),
            number,
            seconds: 180 + 11 * number,
            ..Track::default()
        })?;
    }
    let name = or_dash(artist.name()?);
    done.push(format!("created        {name} with an album of {} tracks", titles.len()));

    album.set_rating(4.75)?;
    done.push(format!("rated          {} {}", or_dash(album.title()?), or_dash(album.rating()?)));

    let Some((_, track)) = tx.index(Track::BY_ALBUM_NUMBER)?.prefix(album)?.first()? else {
        return Err(Error::other("the new album has no tracks"));
    };
    if let Some(playlist) = tx.all::<Playlist>()?.first()? {
        let tracks = playlist.tracks()?;
        tracks.insert(0, track)?;
        tracks.push(track)?;
        let name = or_dash(playlist.name()?);
        done.push(format!(
            "listed         its first track at both ends of {name}, now {} long",
            tracks.len()?
        ));
    }
    let mut fans = 0;
    for listener in tx.all::<Listener>()?.iter().take(3) {
        fans += u32::from(listener?.favourites()?.add(album)?);
    }
    done.push(format!("liked          by {fans} listeners"));
    track.plays().add(1000)?;
    done.push(format!("played         {} {} times", or_dash(track.title()?), track.plays().get()?));

    if let Some(leaving) = most_albums(tx)? {
        let name = or_dash(leaving.name()?);
        let before = (tx.all::<Album>()?.count()?, tx.all::<Track>()?.count()?);
        leaving.delete()?;
        let albums = before.0 - tx.all::<Album>()?.count()?;
        let tracks = before.1 - tx.all::<Track>()?.count()?;
        done.push(format!(
            "deleted        {name}, and with it {albums} albums and {tracks} tracks"
        ));
    }
    Ok(done)
}

/// Reads every pair of the database and reports the defects.
fn check(store: &LmdbStore) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let tx = store.begin(&TxOptions::reading())?;
    let report = permazen_jsck::check(&*tx, &permazen_jsck::Options::default(), &mut |finding| {
        println!("finding        {finding}");
    })?;
    println!(
        "\nchecked        {} pairs, {} objects in {:.0?}: {}",
        report.pairs,
        report.objects,
        start.elapsed(),
        if report.is_clean() {
            "nothing is wrong".to_owned()
        } else {
            format!("{} findings", report.findings)
        }
    );
    if report.is_clean() { Ok(()) } else { Err("the database is inconsistent".into()) }
}

/// A table with the numbers in `right` aligned to the right.
fn table(header: &[&str], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(header);
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The text of a value. Control characters are written out, so that tables stay straight.
fn or_dash(value: Option<impl Display>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let text = value.to_string();
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.into() })
        .collect()
}

fn debug(value: Option<impl std::fmt::Debug>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:?}"))
}
