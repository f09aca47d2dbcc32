//! Paths where objects are in schemas of other versions of the program.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::model::Path;
use permazen::{Error, Permazen};

mod before {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    pub(super) struct Artist {
        pub(super) name: String,
    }

    #[derive(PermazenObject, Default)]
    pub(super) struct Album {
        pub(super) by: Option<Ref<Artist>>,
    }
}

mod after {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    pub(super) struct Artist {
        pub(super) name: String,
        pub(super) mentor: Option<Ref<Artist>>,
    }

    #[derive(PermazenObject, Default)]
    pub(super) struct Album {
        #[permazen(was = "by")]
        pub(super) artist: Option<Ref<Artist>>,
        pub(super) cover_by: Option<Ref<Artist>>,
        #[permazen(default = None)]
        pub(super) producer: Option<Ref<Artist>>,
    }
}

#[test]
fn objects_of_other_schemas_take_part_as_their_accessors_read_them() {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone())
        .model::<before::Artist>()
        .model::<before::Album>()
        .build()
        .unwrap();
    let (artist, album) = db
        .write(|tx| {
            let artist = tx.create(before::Artist { name: "Ella".into() })?;
            let album = tx.create(before::Album { by: Some(artist.to_ref()) })?;
            Ok((artist.id(), album.id()))
        })
        .unwrap();
    let db = Permazen::builder_shared(store)
        .model::<after::Artist>()
        .model::<after::Album>()
        .build()
        .unwrap();
    db.read(|tx| {
        use after::{Album, Artist};
        let artist = tx.get::<Artist>(artist)?;
        let album = tx.get::<Album>(album)?;
        // A field that was renamed is found in both directions.
        assert_eq!(artist.referrers(Album::ARTIST)?.to_vec()?, [album]);
        assert_eq!(album.follow(&Path::of::<Album>().to(Album::ARTIST))?, Some(artist));
        // A field that the objects lack refers to nothing.
        assert!(artist.referrers(Artist::MENTOR)?.is_empty()?);
        let mentor = Path::of::<Album>().to(Album::ARTIST).to(Artist::MENTOR);
        assert_eq!(album.follow(&mentor)?, None);
        Ok(())
    })
    .unwrap();
    db.write(|tx| {
        use after::{Album, Artist};
        let artist = tx.get::<Artist>(artist)?;
        let mentor = tx.create(Artist::default())?;
        artist.set_mentor(mentor)?;
        assert_eq!(mentor.referrers(Artist::MENTOR)?.to_vec()?, [artist]);
        // Whether an old album refers to it through a field that the program fills by itself, the
        // index does not tell.
        let refused = mentor.referrers(Album::PRODUCER).unwrap_err();
        assert!(matches!(refused, Error::PartialIndex { .. }), "{refused:?}");
        Ok(())
    })
    .unwrap();
}
