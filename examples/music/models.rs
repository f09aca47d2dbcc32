//! The object types of the sample database `music`, with the fields that its Java classes declare.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Uuid;
use permazen::encoding::textual::Uri;
use permazen::encoding::time::{Date, Instant, LocalDate};
use permazen::{Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Country {
    Brazil,
    Canada,
    Czechia,
    France,
    Germany,
    Iceland,
    India,
    Japan,
    Kenya,
    Mexico,
    Norway,
    Portugal,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Genre {
    Ambient,
    Blues,
    Classical,
    Electronic,
    Folk,
    HipHop,
    Jazz,
    Metal,
    Pop,
    Punk,
    Rock,
    Soul,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
pub struct Artist {
    #[permazen(indexed, unique)]
    pub name: Option<String>,
    #[permazen(indexed)]
    pub country: Option<Country>,
    pub born: Option<LocalDate>,
    #[permazen(element(indexed))]
    pub genres: BTreeSet<Option<Genre>>,
    pub homepage: Option<Uri>,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "byArtistYear", fields(artist, year)))]
pub struct Album {
    #[permazen(indexed)]
    pub title: Option<String>,
    #[permazen(inverse_delete = "delete")]
    pub artist: Option<Ref<Artist>>,
    pub year: i32,
    #[permazen(indexed)]
    pub rating: Option<f64>,
    pub cover: Option<Box<[i8]>>,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "byAlbumNumber", fields(album, number), unique))]
pub struct Track {
    #[permazen(indexed)]
    pub title: Option<String>,
    #[permazen(inverse_delete = "delete")]
    pub album: Option<Ref<Album>>,
    pub number: i32,
    #[permazen(indexed)]
    pub seconds: i32,
    pub explicit: bool,
    pub plays: Counter,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
pub struct Playlist {
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(inverse_delete = "delete")]
    pub owner: Option<Ref<Listener>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub tracks: Vec<Option<Ref<Track>>>,
    #[permazen(key(indexed), value(indexed))]
    pub labels: BTreeMap<Option<String>, Option<i32>>,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
pub struct Listener {
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(indexed, unique, exclude(nulls))]
    pub email: Option<String>,
    #[permazen(indexed)]
    pub joined: Option<Instant>,
    pub last_seen: Option<Date>,
    #[permazen(accessor = "uuid")]
    pub id: Option<Uuid>,
    #[permazen(element(inverse_delete = "remove"))]
    pub friends: BTreeSet<Option<Ref<Listener>>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub favourites: BTreeSet<Option<Ref<Album>>>,
    pub inbox: BTreeMap<Option<Instant>, Option<String>>,
}
