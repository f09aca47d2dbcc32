//! The typed layer on a database that Permazen for Java wrote, and the example program that works
//! on it.

#[path = "../../music/models.rs"]
mod models;

use std::collections::BTreeMap;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use models::{Album, Artist, Country, Genre, Listener, Playlist, Track};
use permazen::encoding::EncodingId;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::model::Model;
use permazen::object::{Database, TransactionConfig};
use permazen::schema::{Field, FieldKind, ObjectType, SchemaModel, Simple};
use permazen::{Obj, Permazen, Result, Tx};
use tempfile::TempDir;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A copy of the sample database.
fn scratch() -> TempDir {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/databases/music/lmdb");
    let copy = tempfile::tempdir().unwrap();
    fs::copy(sample.join("data.mdb"), copy.path().join("data.mdb")).unwrap();
    copy
}

fn pairs(store: &dyn KvDatabase) -> Pairs {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let pair = |pair: permazen::kv::Result<permazen::kv::Pair<'_>>| {
        let (key, value) = pair.unwrap();
        (key.into_owned(), value.into_owned())
    };
    tx.scan(KeySpan::FULL, Direction::Forward).unwrap().map(pair).collect()
}

/// The sample database in memory.
fn sample() -> Arc<MemoryStore> {
    let scratch = scratch();
    let source = LmdbStore::open(scratch.path()).unwrap();
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs(&source) {
        tx.put(&key, &value).unwrap();
    }
    tx.commit().unwrap();
    Arc::new(store)
}

fn open(store: Arc<dyn KvDatabase>) -> Result<Permazen> {
    Permazen::builder_shared(store)
        .model::<Artist>()
        .model::<Album>()
        .model::<Track>()
        .model::<Playlist>()
        .model::<Listener>()
        .allow_new_schema(false)
        .build()
}

#[test]
fn the_models_are_those_java_recorded() -> Result<()> {
    let store = sample();
    let before = pairs(&*store);
    let db = open(store.clone())?;
    assert_eq!(db.schema().schema_id().to_string(), "Schema_06dfc24617f31ad17d9509e4cdd3c760");
    let xml = fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/databases/music/schemas.json.gz"),
    );
    let mut json = String::new();
    let mut xml = flate2_reader(xml.unwrap());
    std::io::Read::read_to_string(&mut xml, &mut json).unwrap();
    let schemas: serde_json::Value = serde_json::from_str(&json).unwrap();
    let recorded = schemas[0]["storageIds"].as_object().unwrap();
    let found = db.write(|tx| {
        let mut found = BTreeMap::new();
        for object_type in &tx.schema().types {
            found.insert(object_type.name.to_string(), object_type.storage_id.get());
            for field in object_type.all_fields() {
                found.insert(
                    format!("{}.{}", object_type.name, field.full_name),
                    field.storage_id.get(),
                );
            }
            for index in &object_type.indexes {
                found
                    .insert(format!("{}#{}", object_type.name, index.name), index.storage_id.get());
            }
        }
        Ok(found)
    })?;
    assert_eq!(found.len(), recorded.len());
    for (item, id) in recorded {
        assert_eq!(found.get(item).map(|id| u64::from(*id)), id.as_u64(), "{item}");
    }
    assert_eq!(pairs(&*store), before);
    Ok(())
}

fn flate2_reader(bytes: Vec<u8>) -> impl std::io::Read {
    flate2::read::GzDecoder::new(std::io::Cursor::new(bytes))
}

/// Loads every object of a model, checks that storing it again writes nothing, and passes it on.
fn all_loaded<M: Model + Clone>(
    tx: &Tx,
    mut each: impl FnMut(Obj<'_, M>, &M) -> Result<()>,
) -> Result<usize> {
    let mut count = 0;
    for object in tx.all::<M>()? {
        let object = object?;
        let value = object.load()?;
        object.store(&value)?;
        each(object, &value)?;
        count += 1;
    }
    Ok(count)
}

#[test]
fn every_object_loads_and_stores_without_a_change() -> Result<()> {
    let store = sample();
    let before = pairs(&*store);
    let counts = open(store.clone())?.write(|tx| {
        Ok([
            all_loaded::<Artist>(tx, |_, _| Ok(()))?,
            all_loaded::<Album>(tx, |_, _| Ok(()))?,
            all_loaded::<Track>(tx, |_, _| Ok(()))?,
            all_loaded::<Playlist>(tx, |_, _| Ok(()))?,
            all_loaded::<Listener>(tx, |_, _| Ok(()))?,
        ])
    })?;
    assert_eq!(counts, [61, 250, 2024, 40, 80]);
    assert_eq!(pairs(&*store), before);
    Ok(())
}

fn loaded<M: Model>(tx: &Tx) -> Result<usize> {
    let mut count = 0;
    for object in tx.all::<M>()? {
        object?.load()?;
        count += 1;
    }
    Ok(count)
}

#[test]
fn opening_and_reading_leaves_the_file_as_it_is() -> Result<()> {
    let scratch = scratch();
    let file = || fs::read(scratch.path().join("data.mdb")).unwrap();
    let before = file();
    let db = open(Arc::new(LmdbStore::open(scratch.path())?))?;
    let count = db.read(|tx| {
        tx.index(Artist::NAME)?.get("Glass Orchard")?.first()?;
        Ok(loaded::<Artist>(tx)?
            + loaded::<Album>(tx)?
            + loaded::<Track>(tx)?
            + loaded::<Playlist>(tx)?
            + loaded::<Listener>(tx)?)
    })?;
    assert_eq!(count, 61 + 250 + 2024 + 40 + 80);
    drop(db);
    // No assert_eq, which would print the files.
    assert!(file() == before);
    Ok(())
}

/// Creates every object of `from` in `to` with default values, then gives the objects the values of
/// `from`.
fn copied<M: Model + Clone>(from: &Tx, to: &Tx, step: u32) -> Result<()> {
    all_loaded::<M>(from, |object, value| {
        let copy = to.get::<M>(object.id())?;
        match step {
            0 => assert!(copy.recreate()?),
            _ => copy.store(value)?,
        }
        Ok(())
    })?;
    Ok(())
}

#[test]
fn a_database_written_anew_has_the_pairs_java_wrote() -> Result<()> {
    let (source, target) = (sample(), Arc::new(MemoryStore::new()));
    // The recorded schema with its storage IDs, as the first Java program left it.
    let bundle =
        Database::new(source.clone()).begin(&TransactionConfig::without_schema())?.bundle();
    let schema = bundle.schemas().last().unwrap().model.clone();
    Database::new(target.clone()).begin(&TransactionConfig::new(schema)?)?.commit()?;
    let (from, to) = (open(source.clone())?, open(target.clone())?);
    to.write(|to| {
        let from = from.begin()?;
        for step in 0..2 {
            copied::<Artist>(&from, to, step)?;
            copied::<Album>(&from, to, step)?;
            copied::<Track>(&from, to, step)?;
            copied::<Listener>(&from, to, step)?;
            copied::<Playlist>(&from, to, step)?;
        }
        // `store` leaves counters alone.
        for track in from.all::<Track>()? {
            let track = track?;
            to.get::<Track>(track.id())?.plays().set(track.plays().get()?)?;
        }
        Ok(())
    })?;
    let without_schemas = |store: &MemoryStore| {
        let mut pairs = pairs(store);
        pairs.retain(|key, _| !key.starts_with(&[0, 1]));
        pairs
    };
    assert_eq!(without_schemas(&target), without_schemas(&source));
    Ok(())
}

#[test]
fn changes_are_the_ones_made_by_hand() -> Result<()> {
    let store = sample();
    let mut expected = pairs(&*store);
    let key = |parts: &[&[u8]]| parts.concat();
    let db = open(store.clone())?;
    let (artist, album, track, playlist, len, rating, plays) = db.write(|tx| {
        let artist = tx.index(Artist::NAME)?.get("Glass Orchard")?.first()?.unwrap();
        let album = tx.index(Album::ARTIST)?.get(artist)?.first()?.unwrap();
        let track = tx.index(Track::ALBUM)?.get(album)?.first()?.unwrap();
        let playlist = tx.all::<Playlist>()?.first()?.unwrap();
        let mut old_rating = Vec::new();
        permazen::encoding::FieldType::encode_to(&album.rating()?, &mut old_rating).unwrap();
        let known = (
            artist.id().to_bytes(),
            album.id().to_bytes(),
            track.id().to_bytes(),
            playlist.id().to_bytes(),
            playlist.tracks()?.len()?,
            old_rating,
            track.plays().get()?,
        );
        artist.set_country(Country::Kenya)?;
        artist.genres()?.add(Genre::Folk)?;
        album.set_rating(12.5)?;
        track.plays().add(3)?;
        playlist.tracks()?.push(track)?;
        Ok(known)
    })?;
    // Storage IDs of the sample: Album.rating 4, Artist.country 10, genres 11, their elements 12.
    let tx = db.begin_read()?;
    let id_of = |type_name: &str, field: &str| -> Vec<u8> {
        let schema = tx.schema();
        let field =
            schema.object_type(type_name).unwrap().field_or_sub_field(field).unwrap().clone();
        field.storage_id.prefix()
    };
    let (country, genres) = (id_of("Artist", "country"), id_of("Artist", "genres"));
    let old = expected.insert(key(&[&artist, &country]), vec![Country::Kenya as u8]).unwrap();
    expected.remove(&key(&[&country, &old, &artist])).unwrap();
    expected.insert(key(&[&country, &[Country::Kenya as u8], &artist]), vec![]);
    expected.insert(key(&[&artist, &genres, &[Genre::Folk as u8]]), vec![]);
    expected
        .insert(key(&[&id_of("Artist", "genres.element"), &[Genre::Folk as u8], &artist]), vec![]);
    let rated = id_of("Album", "rating");
    let mut new = Vec::new();
    permazen::encoding::FieldType::encode_to(&Some(12.5), &mut new).unwrap();
    expected.insert(key(&[&album, &rated]), new.clone());
    expected.remove(&key(&[&rated, &rating, &album])).unwrap();
    expected.insert(key(&[&rated, &new, &album]), vec![]);
    expected.insert(key(&[&track, &id_of("Track", "plays")]), (plays + 3).to_be_bytes().to_vec());
    let mut position = Vec::new();
    permazen::encoding::uint::write(len, &mut position);
    expected.insert(key(&[&playlist, &id_of("Playlist", "tracks"), &position]), track.to_vec());
    let element = id_of("Playlist", "tracks.element");
    expected.insert(key(&[&element, &track, &playlist, &position]), vec![]);
    drop(tx);
    assert_eq!(pairs(&*store), expected);
    Ok(())
}

#[test]
fn queries_over_several_types_share_an_index() -> Result<()> {
    open(sample())?.read(|tx| {
        let titles = tx.index(Album::TITLE)?;
        let (albums, all) =
            (titles.get("Borrowed Engine")?, titles.of_all_types()?.get("Borrowed Engine")?);
        let tracks = tx.index(Track::TITLE)?.get("Borrowed Engine")?.count()?;
        assert_eq!(albums.count()? + tracks, all.count()?);
        let types: Vec<String> =
            all.iter().map(|object| object?.type_name()).collect::<Result<_>>()?;
        assert!(types.contains(&"Album".into()) && types.contains(&"Track".into()), "{types:?}");
        Ok(())
    })
}

// ---------------------------------------------------------------------- the example program

fn run(path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_music")).arg(path).output().unwrap()
}

/// Runs the example on a database that it must refuse. Checks that its message is one line with the
/// path, and that the files are unchanged. Returns the message.
fn refused(path: &Path) -> String {
    let before = (path.exists(), files(path));
    let output = run(path);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!((path.exists(), files(path)), before);
    message(path, &output)
}

fn message(path: &Path, output: &Output) -> String {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with(&format!("error: {}", path.display())), "{message}");
    message
}

/// The files of a directory with their content, except the lock file. For a file, that file.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    if path.is_file() {
        return BTreeMap::from([(path.to_owned(), fs::read(path).unwrap())]);
    }
    let Ok(entries) = fs::read_dir(path) else { return BTreeMap::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file() && !path.ends_with("lock.mdb"));
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

#[test]
fn the_example_does_its_job() {
    let scratch = scratch();
    let output = run(scratch.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "Schema_06dfc24617f31ad17d9509e4cdd3c760",
        "Fjordlys",
        "The Borrow Checkers",
        "nothing is wrong",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let widths: Vec<usize> = text
        .lines()
        .filter(|line| line.starts_with('╞'))
        .map(|line| line.chars().count())
        .collect();
    assert_eq!(widths.len(), 3, "{text}");
    let db = open(Arc::new(LmdbStore::open(scratch.path()).unwrap())).unwrap();
    let created = db.read(|tx| tx.index(Artist::NAME)?.get("The Borrow Checkers")?.count());
    assert_eq!(created.unwrap(), 1);
}

#[test]
fn the_example_refuses_what_is_no_database() {
    let scratch = tempfile::tempdir().unwrap();
    let missing = refused(&scratch.path().join("missing"));
    assert!(missing.contains("missing"), "{missing}");
    refused(scratch.path());
    let file = scratch.path().join("file");
    fs::write(&file, "no database").unwrap();
    refused(&file);
    fs::write(scratch.path().join("data.mdb"), "no environment").unwrap();
    refused(scratch.path());
}

/// An environment with these pairs.
fn environment(pairs: &[(&[u8], &[u8])]) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(scratch.path()).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs {
        tx.put(key, value).unwrap();
    }
    tx.commit().unwrap();
    scratch
}

#[test]
fn the_example_refuses_foreign_and_newer_databases() {
    let foreign = refused(environment(&[(b"a", b"b")]).path());
    assert!(foreign.contains("no Permazen database"), "{foreign}");
    let newer =
        refused(environment(&[(permazen::__internal::layout::FORMAT_VERSION_KEY, &[2])]).path());
    assert!(newer.contains("format version 2"), "{newer}");
}

#[test]
fn the_example_refuses_a_database_of_other_types() {
    let scratch = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(scratch.path()).unwrap();
    let ours = open_schema_of_models();
    let long = EncodingId::from_alias("long").unwrap();
    let mut theirs = SchemaModel::new();
    for object_type in ours.object_types() {
        let mut copy = ObjectType::new(object_type.name());
        for field in object_type.fields() {
            let kind = match field.name() {
                "year" => FieldKind::Simple(Simple::of(long.clone())),
                _ => field.kind().clone(),
            };
            copy = copy.field(Field::new(field.name(), kind));
        }
        for index in object_type.indexes() {
            copy = copy.composite_index(index.clone());
        }
        theirs = theirs.object_type(copy);
    }
    let config = TransactionConfig::new(theirs).unwrap();
    let database = Database::new(Arc::new(store));
    let tx = database.begin(&config).unwrap();
    tx.create("Album").unwrap();
    tx.commit().unwrap();
    let message = refused(scratch.path());
    for part in ["Album", "year", "int", "long"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

fn open_schema_of_models() -> SchemaModel {
    open(sample()).unwrap().schema().clone()
}

#[test]
fn the_example_waits_for_another_writer_but_not_for_ever() {
    let scratch = scratch();
    let store = LmdbStore::open(scratch.path()).unwrap();
    let writing = store.begin(&TxOptions::writing()).unwrap();
    let message = refused(scratch.path());
    assert!(message.contains("writ"), "{message}");
    drop(writing);
    assert!(run(scratch.path()).status.success());
}

#[cfg(unix)]
#[test]
fn the_example_refuses_a_read_only_directory() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    use std::{io::ErrorKind, thread};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes the directory writable again. Otherwise it could not be removed.
    struct Restored<'p>(&'p Path);

    impl Drop for Restored<'_> {
        fn drop(&mut self) {
            let _ = fs::set_permissions(self.0, fs::Permissions::from_mode(0o755));
        }
    }

    // Another user may not have access to the directory of the build.
    let public = tempfile::tempdir().unwrap();
    mode(public.path(), 0o755);
    let program = {
        let copy = public.path().join("music");
        fs::copy(env!("CARGO_BIN_EXE_music"), &copy).unwrap();
        mode(&copy, 0o755);
        copy
    };

    let scratch = scratch();
    mode(&scratch.path().join("data.mdb"), 0o444);
    mode(scratch.path(), 0o555);
    let _restored = Restored(scratch.path());
    let before = files(scratch.path());
    let mut command = Command::new(program);
    command.arg(scratch.path());
    if fs::metadata(scratch.path()).unwrap().uid() == 0 {
        // Permissions do not bind the super-user.
        command.uid(65534);
    }
    let output = loop {
        match command.output() {
            // Another test is just starting a process, which still holds the copy open for writing.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(files(scratch.path()), before);
    let message = message(scratch.path(), &output);
    assert!(message.contains("ermission denied") || message.contains("read-only"), "{message}");
}
