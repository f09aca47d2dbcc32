//! The versions of the program. They differ in every kind of change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::model::{Base, NewValues, OldValues, Versioned};
use permazen::{Any, Counter, ObjId, Permazen, PermazenObject, Ref, Result, Tx, Validation};

use crate::evolutions::naive::{Cell, Content, Contents, Old, OwnType, Type, Version};
use crate::evolutions::values::{Entry, Random, Simple, Whole, random_object};
use crate::evolutions::versions::{Effect, How, Merged, Model, Place, Program};

version!(v0 Item, removed &[], own None, indexes { Field("friend") => Item::FRIEND }, {
    name: one name set_name String, &[], None, Exact;
    size: one size set_size i32, &[], None, Exact;
    color: one color set_color Colors, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: list tags tags Vec<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, i32>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Item>>, &[], None, Exact;
});

version!(v1 Item, removed &[], own None, indexes {
    Field("friend") => Item::FRIEND, Field("name") => Item::NAME, Field("color") => Item::COLOR, Field("tags") => Item::TAGS,
    Values("scores") => Item::SCORES.value()
}, {
    name: one #[permazen(indexed)] name set_name String, &[], None, Exact;
    size: one size set_size i64, &[], None, Exact;
    color: one #[permazen(indexed)] color set_color More, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: set #[permazen(element(indexed))] tags tags BTreeSet<String>, &[], None, Exact;
    scores: map #[permazen(value(indexed))] scores scores BTreeMap<String, i64>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
});

version!(v2 Item, #[permazen(composite(name = "byTitleSize", fields(title, size)))] removed &[],
own None, indexes {
    Field("friend") => Item::FRIEND, Field("size") => Item::SIZE, Field("tags") => Item::TAGS,
    Composite("name", "size") => Item::BY_TITLE_SIZE
}, {
    name: one #[permazen(was = "name")] title set_title String, &["name"], None, Exact;
    size: one #[permazen(indexed)] size set_size i32, &[], None, Exact;
    color: one color set_color Fewer, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: list #[permazen(element(indexed))] tags tags Vec<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, String>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Place>>, &[], None, Exact;
    stars: one #[permazen(default = 4)] stars set_stars i32, &[], Some("4"), Exact;
});

version!(v3 Item, removed &[], own None, indexes { Field("friend") => Item::FRIEND, Field("color") => Item::COLOR }, {
    name: one title set_title String, &[], None, Exact;
    size: one size set_size f64, &[], None, Exact;
    color: one #[permazen(indexed)] color set_color Renamed, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: one tags set_tags Option<String>, &[], None, Exact;
    friend: set friend friend BTreeSet<Ref<Any>>, &[], None, Exact;
    stars: one #[permazen(default = 5)] stars set_stars i32, &[], Some("5"), Exact;
});

version!(v4 Item, removed &[], own None, indexes { Field("friend") => Item::FRIEND, Field("size") => Item::SIZE }, {
    name: one #[permazen(was = ["title", "name"])] heading set_heading Option<String>, &["title", "name"], None, Exact;
    size: one #[permazen(indexed)] size set_size Option<i32>, &[], None, Exact;
    color: one color set_color Option<Colors>, &[], None, Exact;
    tags: list tags tags Vec<i32>, &[], None, Exact;
    scores: map scores scores BTreeMap<i32, i32>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Item>>, &[], None, Exact;
});

version!(v5 Item, #[permazen(removed("tags", "stars"))] removed &["tags", "stars"], own None,
indexes { Keys("scores") => Item::SCORES.key(), Entries("scores") => Item::SCORES.value().with_keys() }, {
    name: one name set_name String, &[], None, Exact;
    size: one size set_size String, &[], None, Exact;
    color: one color set_color String, &[], None, Exact;
    hits: one hits set_hits i64, &[], None, Exact;
    scores: map #[permazen(key(indexed), value(indexed))] scores scores BTreeMap<String, i32>, &[], None, Exact;
});

version!(v6 Item, removed &[], own None, indexes { Field("friend") => Item::FRIEND, Field("name") => Item::NAME }, {
    name: one #[permazen(indexed, was = ["title", "heading"], default = "new".to_owned())] name set_name String, &["title", "heading"], Some("new"), Exact;
    size: one #[permazen(upgrade = "lossy")] size set_size i64, &[], None, Lossy;
    color: one color set_color Both, &[], None, Exact;
    hits: counter #[permazen(was = "views")] hits hits Counter, &["views"], None, Exact;
    tags: set tags tags BTreeSet<i64>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
    stars: one stars set_stars Option<i32>, &[], None, Exact;
});

version!(v7 Item, #[permazen(removed("color", "name"))] removed &["color", "name"], own None,
indexes { Field("friend") => Item::FRIEND, Keys("scores") => Item::SCORES.key() }, {
    size: counter size size Counter, &[], None, Exact;
    hits: one #[permazen(was = "hits")] views set_views i32, &["hits"], None, Exact;
    tags: list #[permazen(upgrade = "reset")] tags tags Vec<i64>, &[], None, Reset;
    scores: map #[permazen(upgrade = "reset", key(indexed))] scores scores BTreeMap<String, i32>, &[], None, Reset;
    friend: set friend friend BTreeSet<Ref<Place>>, &[], None, Exact;
    stars: one #[permazen(default = 4)] stars set_stars i32, &[], Some("4"), Exact;
});

/// The value of `size` in [`v8`].
fn larger(old: &OldValues<'_>) -> Result<i64> {
    if !old.has("size") {
        return Ok(1);
    }
    if let Ok(number) = old.take::<i64>("size") {
        return Ok(number.wrapping_add(1));
    }
    let text: Option<String> = old.take("size")?;
    Ok(text.map_or(0, |text| text.len() as i64))
}

fn naive_larger(old: &mut Old<'_>) -> Option<Content> {
    let number = if !old.has("size") {
        1
    } else if let Some(Some(number)) = old.take("size", Type::Long) {
        number.parse::<i64>().ok()?.wrapping_add(1)
    } else {
        old.take("size", Type::Text)?.map_or(0, |text| text.len() as i64)
    };
    Some(vec![(Some(number.to_string()), None)])
}

version!(v8 Item, #[permazen(removed("joined"))] removed &["joined"], own None,
indexes { Field("friend") => Item::FRIEND, Field("size") => Item::SIZE, Field("name") => Item::NAME }, {
    name: one #[permazen(indexed, was = ["title", "heading"])] name set_name Option<String>, &["title", "heading"], None, Exact;
    size: one #[permazen(indexed, upgrade_with = super::larger)] size set_size i64, &[], None, Exact, crate::evolutions::programs::naive_larger;
    color: one color set_color Colors, &[], None, Exact;
    hits: counter hits hits Counter, &[], None, Exact;
    tags: list tags tags Vec<String>, &[], None, Exact;
    scores: map scores scores BTreeMap<String, i32>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
});

/// The conversion by [`v9`] of an object of another schema: tags and stars become one text.
fn from_old(old: &OldValues<'_>, new: &mut NewValues<'_, '_, v9::Item>) -> Result<()> {
    let mut joined = Vec::new();
    if let Ok(tags) = old.take_elements::<Option<String>>("tags") {
        joined.extend(tags.into_iter().map(Option::unwrap_or_default));
        new.set(v9::Item::JOINED, Some(joined.join(",")))?;
    }
    if old.has("stars") {
        let stars: i64 = old.take("stars")?;
        joined.push(stars.to_string());
        new.set(v9::Item::JOINED, Some(joined.join(",")))?;
    }
    Ok(())
}

fn naive_from_old(old: &mut Old<'_>) -> Option<Contents> {
    let mut new = Contents::new();
    let mut joined: Vec<String> = Vec::new();
    if let Some(tags) = old.take_elements("tags", Type::Text) {
        joined.extend(tags.into_iter().map(Option::unwrap_or_default));
        new.insert("joined", vec![(Some(joined.join(",")), None)]);
    }
    if old.has("stars") {
        let stars: i64 = old.take("stars", Type::Long)??.parse().ok()?;
        joined.push(stars.to_string());
        new.insert("joined", vec![(Some(joined.join(",")), None)]);
    }
    Some(new)
}

version!(v9 Item, #[permazen(on_schema_change = super::from_old, removed("scores", "friend"))]
removed &["scores", "friend"], own Some(crate::evolutions::programs::naive_from_old as OwnType),
indexes { Field("joined") => Item::JOINED }, {
    name: one #[permazen(was = ["title", "heading"])] name set_name Option<String>, &["title", "heading"], None, Exact;
    size: one size set_size i64, &[], None, Exact;
    color: one #[permazen(upgrade = "reset")] color set_color More, &[], None, Reset;
    hits: counter hits hits Counter, &[], None, Exact;
    joined: one #[permazen(indexed)] joined set_joined Option<String>, &[], None, Exact;
});

version!(v10 Item, #[permazen(composite(name = "byHeadingSize", fields(heading, size)))] removed &[],
own None, indexes {
    Field("friend") => Item::FRIEND, Field("name") => Item::HEADING, Field("color") => Item::COLOR,
    Composite("name", "size") => Item::BY_HEADING_SIZE, Keys("scores") => Item::SCORES.key(),
    Field("tags") => Item::TAGS
}, {
    name: one #[permazen(indexed, was = ["title", "name"])] heading set_heading String, &["title", "name"], None, Exact;
    size: one size set_size i32, &[], None, Exact;
    color: one #[permazen(indexed)] color set_color Colors, &[], None, Exact;
    hits: counter #[permazen(was = "views")] hits hits Counter, &["views"], None, Exact;
    tags: set #[permazen(element(indexed))] tags tags BTreeSet<String>, &[], None, Exact;
    scores: map #[permazen(key(indexed))] scores scores BTreeMap<String, i64>, &[], None, Exact;
    friend: one friend set_friend Option<Ref<Any>>, &[], None, Exact;
    stars: one #[permazen(default = 4)] stars set_stars i64, &[], Some("4"), Exact;
});

version!(n0 Note, removed &[], own None, indexes { Field("about") => Note::ABOUT, Field("text") => Note::TEXT }, {
    text: one #[permazen(indexed)] text set_text String, &[], None, Exact;
    about: one about set_about Option<Ref<Any>>, &[], None, Exact;
});

version!(n1 Note, removed &[], own None, indexes {
    Field("text") => Note::WORDS, Field("about") => Note::ABOUT
}, {
    text: one #[permazen(indexed, was = "text")] words set_words String, &["text"], None, Exact;
    about: set #[permazen(element(indexed))] about about BTreeSet<Ref<Any>>, &[], None, Exact;
    count: counter count count Counter, &[], None, Exact;
});

/// A program of these models.
macro_rules! program {
    ($item:ident $($note:ident)?) => {{
        let open: fn(Arc<dyn KvDatabase>) -> Permazen = |store| {
            let models = Permazen::builder_shared(store).model::<$item::Item>().model::<Place>();
            $(let models = models.model::<$note::Note>();)?
            // A change may lose a required value as it moves the object. The rules would refuse it,
            // and this is about the values of objects afterwards.
            models.validation(Validation::Off).build().unwrap()
        };
        let name = concat!(stringify!($item) $(, " with ", stringify!($note))?);
        let note: Option<Model> = [$($note::model())?].into_iter().next();
        Program { name, open, item: $item::model(), note }
    }};
}

pub(crate) fn programs() -> Vec<Program> {
    vec![
        program!(v0 n0),
        program!(v1),
        program!(v2 n1),
        program!(v3),
        program!(v4 n0),
        program!(v5),
        program!(v6 n1),
        program!(v7 n0),
        program!(v8 n1),
        program!(v9),
        program!(v10 n0),
    ]
}
