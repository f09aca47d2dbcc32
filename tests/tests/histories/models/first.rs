//! Programs of the first version.

use permazen::Validation;

use crate::models::family as models;
use crate::models::family::Coded;

include!("typed.rs");

type Rank = i32;

fn of_coded(it: &family::Coded) -> Coded {
    it.clone()
}

fn of_film(it: &family::Film) -> Film {
    it.clone()
}

fn of_team(title: &str) -> Team {
    Team { title: title.to_owned(), members: 0 }
}

/// Sets a field that not all versions have, or whose setter takes text.
fn assign_own(tx: &Tx, id: ObjId, field: &str, text: Option<String>) -> Option<Result<()>> {
    let text = text?;
    Some(match field {
        "title" => tx.get::<Team>(id).and_then(|it| it.set_title(text)),
        "label" => match tx.any(id).downcast::<Book>() {
            Some(book) => book.set_label(text),
            None => tx.get::<Film>(id).and_then(|it| it.set_label(text)),
        },
        _ => return None,
    })
}
