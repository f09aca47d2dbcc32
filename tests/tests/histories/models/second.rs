//! Programs of the second version.

use permazen::Validation;

use crate::models::later as models;
use crate::models::later::Coded;

include!("typed.rs");

type Rank = i64;

fn of_coded(it: &family::Coded) -> Coded {
    Coded { code: it.code }
}

fn of_film(it: &family::Film) -> Film {
    let (star, tags) = (refs(it.star), it.tags.clone());
    Film { coded: of_coded(&it.coded), star, tags, genre: "none".to_owned() }
}

fn of_team(title: &str) -> Team {
    Team { title: title.to_owned(), motto: None, members: 0 }
}

/// Sets a field that not all versions have, or whose setter takes text.
fn assign_own(tx: &Tx, id: ObjId, field: &str, text: Option<String>) -> Option<Result<()>> {
    Some(match (field, text) {
        ("title", Some(text)) => tx.get::<Team>(id).and_then(|it| it.set_title(text)),
        ("motto", text) => tx.get::<Team>(id).and_then(|it| it.set_motto(text)),
        ("genre", Some(text)) => tx.get::<Film>(id).and_then(|it| it.set_genre(text)),
        _ => return None,
    })
}
