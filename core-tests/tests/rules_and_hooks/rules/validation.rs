//! Functions of the program that check plain data.

use permazen::{Counter, PermazenObject};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(validate = Booking::check)]
struct Booking {
    #[permazen(validate = not_empty)]
    code: String,
    from: i32,
    to: i32,
    uses: Counter,
    #[permazen(validate = few)]
    guests: Vec<String>,
}

impl Booking {
    fn check(&self) -> Result<(), String> {
        match self.from <= self.to && self.uses.0 < 3 {
            true => Ok(()),
            false => Err(format!("from {} to {}, {} uses", self.from, self.to, self.uses.0)),
        }
    }
}

fn not_empty(text: &str) -> Result<(), &'static str> {
    if text.is_empty() { Err("it is empty") } else { Ok(()) }
}

fn few(guests: &[String]) -> Result<(), String> {
    if guests.len() > 2 { Err(format!("{} guests", guests.len())) } else { Ok(()) }
}

fn booking() -> Booking {
    Booking { code: "x".into(), from: 1, to: 2, ..Booking::default() }
}

#[test]
fn all_that_is_wrong_with_a_new_object_is_listed() {
    let db = database::<Booking>();
    let refused = db.write(|tx| {
        let guests = vec!["a".into(), "b".into(), "c".into()];
        Ok(tx.create(Booking { from: 5, guests, ..Booking::default() })?.id())
    });
    assert_eq!(
        messages(&violations(refused)),
        [
            ("Booking", "from 5 to 0, 0 uses"),
            ("Booking.code", "it is empty"),
            ("Booking.guests", "3 guests")
        ]
    );
}

#[test]
fn a_change_of_any_kind_is_checked() {
    let db = database::<Booking>();
    let id = db.write(|tx| Ok(tx.create(booking())?.id())).unwrap();
    let set = violations(db.write(|tx| tx.get::<Booking>(id)?.set_from(9)));
    assert_eq!(messages(&set), [("Booking", "from 9 to 2, 0 uses")]);
    let counted = violations(db.write(|tx| tx.get::<Booking>(id)?.uses().add(3)));
    assert_eq!(messages(&counted), [("Booking", "from 1 to 2, 3 uses")]);
    let listed = db.write(|tx| {
        let guests = tx.get::<Booking>(id)?.guests()?;
        (0..3).try_for_each(|n| guests.push(format!("{n}")))
    });
    assert_eq!(messages(&violations(listed)), [("Booking.guests", "3 guests")]);
    let stored =
        db.write(|tx| tx.get::<Booking>(id)?.store(&Booking { code: String::new(), ..booking() }));
    assert_eq!(messages(&violations(stored)), [("Booking.code", "it is empty")]);
    db.write(|tx| {
        let booking = tx.get::<Booking>(id)?;
        booking.set_from(9)?;
        booking.set_to(10)
    })
    .unwrap();
}

/// The functions of fields that have not changed are not called.
#[test]
fn only_what_has_changed_is_checked() {
    let store = Arc::new(MemoryStore::new());
    let build = |validation| {
        let builder = Permazen::builder_shared(Arc::clone(&store) as Arc<_>).model::<Booking>();
        builder.validation(validation).build().unwrap()
    };
    let off = build(permazen::Validation::Off);
    let wrong = Booking { code: String::new(), ..booking() };
    let id = off.write(|tx| Ok(tx.create(wrong.clone())?.id())).unwrap();
    let db = build(permazen::Validation::AtCommit);
    db.write(|tx| tx.get::<Booking>(id)?.set_to(3)).unwrap();
    // Nothing changes, so nothing is checked.
    db.write(|tx| tx.get::<Booking>(id)?.store(&Booking { to: 3, ..wrong.clone() })).unwrap();
    let refused = violations(db.write(|tx| tx.get::<Booking>(id)?.revalidate()));
    assert_eq!(messages(&refused), [("Booking.code", "it is empty")]);
}

#[test]
fn text_of_violations_is_bounded() {
    let db = database::<Booking>();
    let refused = db.write(|tx| {
        for _ in 0..100 {
            tx.create(Booking { code: String::new(), ..booking() })?;
        }
        Ok(())
    });
    let refused = violations(refused);
    assert_eq!(refused.len(), 100);
    let text = refused.to_string();
    assert!(text.starts_with("Booking.code of object "), "{text}");
    assert!(text.ends_with("; and 90 more"), "{text}");
    assert!(text.len() < 1000, "{text}");
}
