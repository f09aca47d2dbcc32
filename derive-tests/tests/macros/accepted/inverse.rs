#![deny(warnings, missing_docs)]
//! Methods for the way back.

use std::collections::BTreeMap;

use permazen::kv::memory::MemoryStore;
use permazen::{Any, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref};

/// An artist.
#[derive(PermazenObject, Debug, Default)]
#[permazen(inverse(albums = Album::ARTIST, guest_of = self::Album::GUESTS))]
#[permazen(inverse(labelled = Album::LABELS.key(), pupils = Self::TEACHER, noted = Note::ON))]
#[permazen(inverse(liked = Album::LIKES.by))]
pub struct Artist {
    /// The artist that taught this one.
    pub teacher: Option<Ref<Self>>,
}

/// A mix-in.
#[derive(PermazenFields, Debug, Default)]
pub struct Likes {
    /// An artist that likes it.
    pub by: Option<Ref<Artist>>,
}

/// An album.
#[derive(PermazenObject, Debug, Default)]
#[permazen(inverse(noted = Note::ABOUT))]
pub struct Album {
    /// The artist.
    pub artist: Option<Ref<Artist>>,
    /// Others.
    pub guests: Vec<Ref<Artist>>,
    /// Words about artists.
    pub labels: BTreeMap<Ref<Artist>, String>,
    /// An artist that likes it.
    #[permazen(flatten)]
    pub likes: Likes,
}

/// Has notes.
#[derive(PermazenKind)]
pub enum Subject<'t> {
    /// An artist.
    Artist(permazen::Obj<'t, Artist>),
    /// An album.
    Album(permazen::Obj<'t, Album>),
}

/// A note.
#[derive(PermazenObject, Debug, Default)]
pub struct Note {
    /// Anything.
    pub on: Option<Ref<Any>>,
    /// An album or artist.
    pub about: Option<Ref<SubjectKind>>,
}

#[test]
fn inverse_methods_find_what_refers_to_an_object() {
    let db = Permazen::builder(MemoryStore::new())
        .model::<Artist>()
        .model::<Album>()
        .model::<Note>()
        .build()
        .unwrap();
    db.write(|tx| {
        let ella = tx.create(Artist::default())?;
        let pupil = tx.create(Artist { teacher: Some(ella.to_ref()) })?;
        let album = tx.create(Album {
            artist: Some(ella.to_ref()),
            guests: vec![pupil.to_ref()],
            labels: [(ella.to_ref(), "voice".into())].into(),
            likes: Likes { by: Some(pupil.to_ref()) },
        })?;
        let note = tx.create(Note { on: Some(Ref::new(ella.id())), about: Some(album.into()) })?;
        assert_eq!(ella.albums()?.to_vec()?, [album]);
        assert_eq!(ella.albums()?.to_vec()?, ella.referrers(Album::ARTIST)?.to_vec()?);
        assert_eq!(pupil.guest_of()?.to_vec()?, [album]);
        assert_eq!(ella.labelled()?.to_vec()?, [album]);
        assert_eq!(ella.pupils()?.to_vec()?, [pupil]);
        assert_eq!(ella.noted()?.to_vec()?, [note]);
        assert_eq!(album.noted()?.to_vec()?, [note]);
        assert_eq!(pupil.liked()?.to_vec()?, [album]);
        Ok(())
    })
    .unwrap();
}
