//! The table: kinds of changes, each with the program before and after it.
//!
//! All versions have `name`, `hits` and `marks`, each unchanged and indexed where it can be. The
//! fields that a case adds are those that change.

use std::collections::{BTreeMap, BTreeSet};

use permazen::model::Builder;
use permazen::{Counter, ObjId, PermazenEnum, PermazenObject, Ref, Result, Tx};

use crate::side_by_side::program::*;

/// A program with these fields beside the common ones: their values in new objects, what it sees of
/// them, and the indexes that it asks. `change` says what it writes.
macro_rules! program {
    (
        $(#[$meta:meta])*
        fields { $($(#[$field_meta:meta])* $field:ident: $type:ty = $initial:expr,)* }
        sees($item:ident) { $($seen:literal: $value:expr,)* }
        asks { $($asked:literal: $on:ident, $text:expr;)* }
        defaults { $($default:literal: $texts:expr,)* }
        partial { $($partial:literal)* }
        $(models { $($model:ident)* })?
    ) => {
        #[derive(PermazenObject, Debug)]
        $(#[$meta])*
        pub struct Item {
            #[permazen(indexed)]
            pub name: String,
            pub hits: Counter,
            #[permazen(element(indexed))]
            pub marks: BTreeSet<i64>,
            $($(#[$field_meta])* pub $field: $type,)*
        }

        fn models(builder: Builder) -> Builder {
            builder.model::<Item>()$($(.model::<$model>())*)?
        }

        fn create(tx: &Tx, number: i64) -> Result<Created> {
            let name = format!("new {number}");
            let wrote = vec![set("name", &name)];
            let item = Item { name, hits: 0.into(), marks: [].into(), $($field: $initial,)* };
            Ok((tx.create(item)?.id(), wrote))
        }

        fn change_common(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mark = 2 * turn.round + turn.writer as i64;
            item.hits().add(1)?;
            item.marks()?.add(mark)?;
            let mut wrote = vec![added("hits", 1), added("marks", mark)];
            if turn.is_mine {
                let name = format!("name {}", turn.round % 3);
                item.set_name(&*name)?;
                wrote.push(set("name", name));
            }
            Ok(wrote)
        }

        fn see(tx: &Tx) -> Result<BTreeMap<ObjId, Values>> {
            let mut objects = BTreeMap::new();
            for $item in tx.all::<Item>()? {
                let $item = $item?;
                let mut values: Values = BTreeMap::new();
                let hits = $item.hits().get()?;
                values.insert("hits", Some((0..hits).map(|_| text(1)).collect()));
                values.insert("name", one($item.name())?);
                values.insert("marks", elements!($item.marks())?);
                $(values.insert($seen, $value?);)*
                objects.insert($item.id(), values);
            }
            Ok(objects)
        }

        fn query(tx: &Tx) -> Result<Vec<Answer>> {
            Ok(vec![
                answer!(tx, "name", NAME, text),
                answer!(tx, "marks", MARKS, text),
                $(answer!(tx, $asked, $on, $text),)*
            ])
        }

        pub const PROGRAM: Program = Program {
            models,
            create,
            change_common,
            change,
            see,
            query,
            defaults: &[$(($default, $texts),)*],
            may_be_partial: &[$($partial),*],
        };
    };
}

/// The elements of a collection.
macro_rules! elements {
    ($collection:expr) => {
        all($collection.and_then(|elements| elements.iter().collect::<Result<Vec<_>>>()))
    };
}

macro_rules! answer {
    ($tx:ident, $what:literal, $on:ident, $text:expr) => {
        Answer {
            what: $what,
            plain: rows($tx.index(Item::$on), $text)?,
            scanned: rows($tx.index(Item::$on.complete_by_scan()), $text)?,
            indexed: rows($tx.index(Item::$on.allow_partial().skip_unknown()), $text)?,
        }
    };
}

/// The new program has a field with a default, one that may be null, and a collection.
mod field_added {
    pub mod old {
        use super::super::*;

        program! {
            fields {}
            sees(item) {}
            asks {}
            defaults {}
            partial {}
        }

        fn change(_: &Tx, _: &Turn) -> Result<Vec<Wrote>> {
            Ok(Vec::new())
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed, default = 7)]
                size: i32 = 1,
                note: Option<String> = None,
                tags: BTreeSet<i64> = [].into(),
            }
            sees(item) {
                "size": one(item.size()),
                "note": one(item.note()),
                "tags": elements!(item.tags()),
            }
            asks { "size": SIZE, text; }
            defaults {}
            partial { "size" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            // Some objects are never moved.
            if !turn.number.is_multiple_of(3) {
                item.set_note(format!("note {}", turn.round))?;
                item.tags()?.add(turn.round)?;
                wrote.push(set("note", Some(format!("note {}", turn.round))));
                wrote.push(added("tags", turn.round));
            }
            Ok(wrote)
        }
    }
}

/// The new program has lost two fields, which the old one still writes.
mod field_removed {
    pub mod old {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed)]
                secret: i64 = 5,
                tags: Vec<i64> = vec![],
            }
            sees(item) {
                "secret": one(item.secret()),
                "tags": elements!(item.tags()),
            }
            asks { "secret": SECRET, text; }
            defaults { "secret": &["0"], "tags": &[], }
            partial { "secret" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            let secret = item.set_secret(turn.round);
            unless_refused(secret, &["fresh"], set("secret", turn.round), &mut wrote)?;
            let tags = item.tags()?.push(turn.round);
            unless_refused(tags, &["fresh"], added("tags", turn.round), &mut wrote)?;
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields { fresh: i64 = 1, }
            sees(item) { "fresh": one(item.fresh()), }
            asks {}
            defaults { "fresh": &["0"], }
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            // Zero is nothing, so the old program may move such an object back.
            let fresh = turn.round % 2;
            let result = item.set_fresh(fresh);
            unless_refused(result, &["secret", "tags"], set("fresh", fresh), &mut wrote)?;
            Ok(wrote)
        }
    }

    pub mod accepting {
        use super::super::*;

        program! {
            #[permazen(removed("secret", "tags"))]
            fields { fresh: i64 = 1, }
            sees(item) { "fresh": one(item.fresh()), }
            asks {}
            defaults { "fresh": &["0"], }
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            tx.get::<Item>(Ref::new(turn.id))?.set_fresh(turn.round % 2)?;
            Ok(vec![set("fresh", turn.round % 2)])
        }
    }
}

/// An indexed field and a collection have other names.
mod field_renamed {
    pub mod old {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed)]
                title: Option<String> = Some("first".to_owned()),
                #[permazen(element(indexed))]
                tags: BTreeSet<i64> = [].into(),
            }
            sees(item) {
                "title": one(item.title()),
                "tags": elements!(item.tags()),
            }
            asks { "title": TITLE, text; "tags": TAGS, text; }
            defaults { "title": &["None"], "tags": &[], }
            partial { "title" "tags" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            let lost = ["heading", "labels"];
            if turn.is_mine {
                let title = Some(format!("title {}", turn.round));
                let wanted = set("title", &title);
                unless_refused(item.set_title(title), &lost, wanted, &mut wrote)?;
            }
            let tag = 2 * turn.round;
            unless_refused(item.tags()?.add(tag), &lost, added("tags", tag), &mut wrote)?;
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields {
                #[permazen(was = "title", indexed)]
                heading: Option<String> = Some("first".to_owned()),
                #[permazen(was = "tags", element(indexed))]
                labels: BTreeSet<i64> = [].into(),
            }
            sees(item) {
                "title": one(item.heading()),
                "tags": elements!(item.labels()),
            }
            asks { "title": HEADING, text; "tags": LABELS, text; }
            defaults {}
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let heading = Some(format!("heading {}", turn.round));
                wrote.push(set("title", &heading));
                item.set_heading(heading)?;
            }
            // Objects that this program only reads stay where they are.
            if !turn.number.is_multiple_of(3) {
                item.labels()?.add(2 * turn.round + 1)?;
                wrote.push(added("tags", 2 * turn.round + 1));
            }
            Ok(wrote)
        }
    }
}

/// An indexed field has another type, so both programs move objects for it.
mod field_retyped {
    pub mod old {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed)]
                size: i32 = 1,
            }
            sees(item) { "size": one(item.size()), }
            asks { "size": SIZE, text; }
            defaults {}
            partial { "size" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let lost = ["more", "size"];
                let size = turn.round as i32;
                unless_refused(item.set_size(size), &lost, set("size", size), &mut wrote)?;
            }
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed)]
                size: i64 = 1,
                more: BTreeSet<i64> = [].into(),
            }
            sees(item) {
                "size": one(item.size()),
                "more": elements!(item.more()),
            }
            asks { "size": SIZE, text; }
            defaults {}
            partial { "size" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                // Some of them have no place in the old program.
                let size = if turn.round % 3 == 0 { 5_000_000_000 } else { turn.round };
                item.set_size(size)?;
                wrote.push(set("size", size));
            }
            if turn.number.is_multiple_of(3) {
                item.more()?.add(turn.round)?;
                wrote.push(added("more", turn.round));
            }
            Ok(wrote)
        }
    }
}

/// Each program has an index that the other one lacks.
mod index_added {
    pub mod old {
        use super::super::*;

        program! {
            fields {
                size: i64 = 1,
                #[permazen(indexed)]
                rank: i64 = 1,
            }
            sees(item) { "size": one(item.size()), "rank": one(item.rank()), }
            asks { "rank": RANK, text; }
            defaults {}
            partial { "rank" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            item.set_rank(turn.round)?;
            let mut wrote = vec![set("rank", turn.round)];
            if turn.is_mine {
                item.set_size(turn.round)?;
                wrote.push(set("size", turn.round));
            }
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields {
                #[permazen(indexed)]
                size: i64 = 1,
                rank: i64 = 1,
            }
            sees(item) { "size": one(item.size()), "rank": one(item.rank()), }
            asks { "size": SIZE, text; }
            defaults {}
            partial { "size" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                item.set_size(-turn.round)?;
                wrote.push(set("size", -turn.round));
            }
            // Some of the objects move to this program's schema in the middle.
            if turn.round == 6 && !turn.number.is_multiple_of(3) {
                item.migrate()?;
            }
            Ok(wrote)
        }
    }
}

/// An enum has one more constant, after the others: the index entries of both mean the same.
mod constant_appended {
    pub mod old {
        use super::super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            Red,
            Green,
        }

        program! {
            fields {
                #[permazen(indexed)]
                color: Color = Color::Red,
            }
            sees(item) { "color": one(item.color()), }
            asks { "color": COLOR, text; }
            defaults {}
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let color = if turn.round % 2 == 0 { Color::Red } else { Color::Green };
                item.set_color(color)?;
                wrote.push(set("color", color));
            }
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            Red,
            Green,
            Black,
        }

        program! {
            fields {
                #[permazen(indexed)]
                color: Color = Color::Black,
            }
            sees(item) { "color": one(item.color()), }
            asks { "color": COLOR, text; }
            defaults {}
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let color = if turn.round % 3 == 0 { Color::Black } else { Color::Green };
                item.set_color(color)?;
                wrote.push(set("color", color));
            }
            Ok(wrote)
        }
    }
}

/// An enum has lost a constant, has a renamed and a new one, and another order.
mod constants_changed {
    pub mod old {
        use super::super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            Red,
            Green,
            Blue,
        }

        program! {
            fields {
                #[permazen(indexed)]
                color: Color = Color::Red,
            }
            sees(item) { "color": one(item.color()), }
            asks { "color": COLOR, text; }
            defaults {}
            partial { "color" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let colors = [Color::Red, Color::Green, Color::Blue];
                let color = colors[turn.round as usize % 3];
                item.set_color(color)?;
                wrote.push(set("color", color));
            }
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            Blue,
            #[permazen(was = "RED")]
            Crimson,
            Black,
        }

        /// The name of the old program for it.
        fn meaning(color: Color) -> String {
            match color {
                Color::Crimson => "Red".to_owned(),
                color => text(color),
            }
        }

        program! {
            fields {
                #[permazen(indexed)]
                color: Color = Color::Black,
            }
            sees(item) { "color": seen(item.color(), |color| vec![meaning(color)]), }
            asks { "color": COLOR, meaning; }
            defaults {}
            partial { "color" }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            if turn.is_mine {
                let colors = [Color::Blue, Color::Crimson, Color::Black];
                let color = colors[turn.round as usize % 3];
                item.set_color(color)?;
                wrote.push(Wrote::Set("color".to_owned(), vec![meaning(color)]));
            }
            Ok(wrote)
        }
    }
}

/// The new program does not have a type, nor the reference to it.
mod type_removed {
    pub mod old {
        use super::super::*;

        #[derive(PermazenObject, Debug)]
        pub struct Place {
            #[permazen(indexed)]
            pub name: String,
        }

        fn place(item: permazen::Obj<'_, Item>) -> Result<Option<Vec<String>>> {
            match item.place() {
                Ok(Some(place)) => one(place.name()),
                other => one(other),
            }
        }

        program! {
            fields { place: Option<Ref<Place>> = None, }
            sees(item) { "place": place(item), }
            asks {}
            defaults { "place": &["None"], }
            partial {}
            models { Place }
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            let name = format!("place {}", turn.round);
            let wanted = set("place", &name);
            let place = tx.create(Place { name })?;
            unless_refused(item.set_place(place), &["size"], wanted, &mut wrote)?;
            Ok(wrote)
        }
    }

    pub mod new {
        use super::super::*;

        program! {
            fields { size: i64 = 1, }
            sees(item) { "size": one(item.size()), }
            asks {}
            defaults { "size": &["0"], }
            partial {}
        }

        fn change(tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
            let item = tx.get::<Item>(Ref::new(turn.id))?;
            let mut wrote = Vec::new();
            let size = item.set_size(turn.round);
            unless_refused(size, &["place"], set("size", turn.round), &mut wrote)?;
            Ok(wrote)
        }
    }
}

pub fn cases() -> Vec<Case> {
    let case = |name, old, new| Case { name, old, new, accepted: &[], refused: &[] };
    vec![
        case("a field added", field_added::old::PROGRAM, field_added::new::PROGRAM),
        Case {
            refused: &["fresh", "secret", "tags"],
            ..case("a field removed", field_removed::old::PROGRAM, field_removed::new::PROGRAM)
        },
        Case {
            accepted: &["secret", "tags"],
            refused: &["secret", "tags"],
            ..case(
                "a field removed, and its values may go",
                field_removed::old::PROGRAM,
                field_removed::accepting::PROGRAM,
            )
        },
        Case {
            refused: &["tags", "title"],
            ..case("a field renamed", field_renamed::old::PROGRAM, field_renamed::new::PROGRAM)
        },
        Case {
            refused: &["size"],
            ..case(
                "a field of another type",
                field_retyped::old::PROGRAM,
                field_retyped::new::PROGRAM,
            )
        },
        case("an index added", index_added::old::PROGRAM, index_added::new::PROGRAM),
        case(
            "an enum constant appended",
            constant_appended::old::PROGRAM,
            constant_appended::new::PROGRAM,
        ),
        case(
            "enum constants changed",
            constants_changed::old::PROGRAM,
            constants_changed::new::PROGRAM,
        ),
        Case {
            refused: &["place", "size"],
            ..case("a type removed", type_removed::old::PROGRAM, type_removed::new::PROGRAM)
        },
    ]
}
