use permazen::{PermazenFields, PermazenObject, Ref};

#[derive(PermazenObject)]
struct Album {
    title: String,
    artist: Option<Ref<Artist>>,
}

#[derive(PermazenObject)]
struct Artist {
    label: Option<Ref<Label>>,
}

// Not a reference, and a reference to something else.
#[derive(PermazenObject)]
#[permazen(inverse(named = Album::TITLE, albums = Album::ARTIST))]
struct Label {
    name: String,
}

// Names that are taken.
#[derive(PermazenObject)]
#[permazen(inverse(load = Album::ARTIST, name = Album::ARTIST, set_name = Album::ARTIST))]
#[permazen(inverse(both = Album::ARTIST), inverse(both = Album::ARTIST))]
struct Taken {
    name: String,
}

// No constants of fields.
#[derive(PermazenObject)]
#[permazen(inverse)]
#[permazen(inverse())]
#[permazen(inverse(albums, others = ARTIST, more = "Album::ARTIST", again = Album::ARTIST, again = Album::ARTIST))]
struct Malformed {
    name: String,
}

#[derive(PermazenFields)]
#[permazen(inverse(albums = Album::ARTIST))]
struct Shared {
    name: String,
}

fn main() {}
