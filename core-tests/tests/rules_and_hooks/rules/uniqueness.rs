//! Values that must be unique, and those that are exempt.

use permazen::encoding::Value;
use permazen::model::Rule;
use permazen::object::Migrate;
use permazen::{Permazen, PermazenEnum, PermazenObject, Ref};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
struct User {
    #[permazen(indexed, unique)]
    email: Option<String>,
    name: String,
}

fn user(email: impl Into<Option<&'static str>>) -> User {
    User { email: email.into().map(str::to_owned), name: "x".into() }
}

#[test]
fn two_users_with_one_address_are_refused_together() {
    let db = database::<User>();
    let refused = db.write(|tx| {
        tx.create(user("ann@example.com"))?;
        tx.create(user("bob@example.com"))?;
        tx.create(user("ann@example.com"))?;
        Ok(())
    });
    let refused = violations(refused);
    assert_eq!(refused.len(), 2);
    let [first, second] = [&refused.iter().next().unwrap(), &refused.iter().nth(1).unwrap()];
    assert_eq!(first.others, [second.object]);
    assert_eq!(second.others, [first.object]);
    assert_eq!((first.path.as_str(), first.rule), ("User.email", Rule::Unique));
    assert_eq!(first.value.as_deref(), Some(r#""ann@example.com""#));
    assert_eq!(db.read(|tx| tx.all::<User>()?.count()).unwrap(), 0);
}

#[test]
fn a_committed_value_is_taken() {
    let db = database::<User>();
    let ann = db.write(|tx| Ok(tx.create(user("ann@example.com"))?.id())).unwrap();
    let refused = db.write(|tx| Ok(tx.create(user("ann@example.com"))?.id()));
    assert_eq!(violations(refused).iter().next().unwrap().others, [ann]);
    // The value is free when the other object has another one, or is gone.
    db.write(|tx| {
        tx.create(user("ann@example.com"))?;
        tx.get::<User>(ann)?.set_email("old@example.com")
    })
    .unwrap();
    db.write(|tx| {
        tx.create(user("old@example.com"))?;
        tx.get::<User>(ann)?.delete()
    })
    .unwrap();
}

#[test]
fn values_may_be_exchanged() {
    let db = database::<User>();
    let ids = db.write(|tx| Ok([tx.create(user("a"))?.id(), tx.create(user("b"))?.id()])).unwrap();
    db.write(|tx| {
        let [a, b] = [tx.get::<User>(ids[0])?, tx.get::<User>(ids[1])?];
        a.set_email("b")?;
        b.set_email("a")
    })
    .unwrap();
    let refused = db.write(|tx| tx.get::<User>(ids[0])?.set_email("a"));
    assert_eq!(violations(refused).iter().next().unwrap().object, ids[0]);
}

#[test]
fn null_is_a_value() {
    let db = database::<User>();
    let refused = db.write(|tx| {
        tx.create(user(None))?;
        tx.create(user(None))?;
        Ok(())
    });
    assert_eq!(violations(refused).iter().next().unwrap().value.as_deref(), Some("null"));
}

#[test]
fn changes_by_name_are_checked_too() {
    let db = database::<User>();
    let [_, b] =
        db.write(|tx| Ok([tx.create(user("a"))?.id(), tx.create(user("b"))?.id()])).unwrap();
    let by_name = db.write(|tx| {
        let value = Value::String("a".into());
        Ok(tx.core().set(b, "email", &value, Migrate::No)?)
    });
    assert_eq!(violations(by_name).len(), 1);
    let stored = db.write(|tx| tx.get::<User>(b)?.store(&user("a")));
    assert_eq!(violations(stored).len(), 1);
    // A copy, even one for which no listener is called.
    let copied = db.write(|tx| {
        let mut ids = [(b, None)].into_iter().collect();
        let mut options = permazen::object::CopyOptions::new().silent().mapping_ids(&mut ids);
        Ok(tx.core().copy_to(b, tx.core(), &mut options)?)
    });
    assert_eq!(violations(copied).len(), 1);
}

#[derive(PermazenObject, Debug, Default)]
struct Node {
    name: String,
    #[permazen(unique, indexed, inverse_delete = "nullify")]
    next: Option<Ref<Node>>,
}

#[test]
fn what_a_deletion_changes_is_checked() {
    let db = database::<Node>();
    let ids = db
        .write(|tx| {
            let target = tx.create(Node::default())?;
            let free = tx.create(Node { name: "free".into(), next: Some(target.to_ref()) })?;
            let other = Some(free.to_ref());
            let next = tx.create(Node { name: "next".into(), next: other })?;
            Ok([target.id(), free.id(), next.id()])
        })
        .unwrap();
    // The reference becomes null, as that of another object is.
    let refused = db.write(|tx| tx.get::<Node>(ids[1])?.delete());
    let refused = violations(refused);
    assert_eq!(refused.iter().next().unwrap().object, ids[2]);
    assert_eq!(refused.iter().next().unwrap().others, [ids[0]]);
}

#[derive(PermazenObject, Debug, Default)]
#[permazen(composite(
    name = "nameAge",
    fields(name, age),
    unique,
    exclude(name(nulls)),
    exclude(name("x"), age(range(ge = 10, lt = 20)))
))]
struct Person {
    name: Option<String>,
    age: i32,
}

#[test]
fn combinations() {
    let db = database::<Person>();
    let two = |name: Option<&str>, age| {
        db.write(|tx| {
            for _ in 0..2 {
                tx.create(Person { name: name.map(str::to_owned), age })?;
            }
            Ok(())
        })
    };
    assert_eq!(found(&violations(two(Some("y"), 10)))[0].clone().2.as_deref(), Some(r#""y", 10"#));
    assert_eq!(violations(two(Some("x"), 20)).len(), 2);
    two(Some("x"), 10).unwrap();
    two(Some("x"), 19).unwrap();
    two(None, 40).unwrap();
    // A change of one column is enough.
    let ids = db.write(|tx| {
        let person = |age| Person { name: Some("z".into()), age };
        Ok([tx.create(person(1))?.id(), tx.create(person(2))?.id()])
    });
    let [_, second] = ids.unwrap();
    let refused = violations(db.write(|tx| tx.get::<Person>(second)?.set_age(1)));
    assert_eq!(refused.iter().next().unwrap().path, "Person#nameAge");
}

/// Which of these values two objects may have.
fn exempt<M: Model, V: Copy>(values: &[V], make: impl Fn(V) -> M) -> Vec<V> {
    let is_exempt = |value: &V| {
        let two = database::<M>().write(|tx| {
            tx.create(make(*value))?;
            tx.create(make(*value))?;
            Ok(())
        });
        match two {
            Ok(()) => true,
            other => {
                violations(other);
                false
            }
        }
    };
    values.iter().copied().filter(is_exempt).collect()
}

#[derive(PermazenObject)]
struct Ranges {
    #[permazen(indexed, unique, exclude(10..20, range(gt = 30, le = 40)))]
    n: i32,
}

#[derive(PermazenObject)]
struct Wrapped {
    #[permazen(indexed, unique, exclude(nulls, 5, 10..20, 15..30))]
    n: Option<i32>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Color {
    #[default]
    R,
    G,
    B,
}

#[derive(PermazenObject)]
struct Colors {
    #[permazen(indexed, unique, exclude(range(ge = "G")))]
    color: Option<Color>,
}

#[derive(PermazenObject)]
struct Floats {
    #[permazen(indexed, unique, exclude("NaN", ..-1.5))]
    f: f64,
}

#[derive(PermazenObject)]
struct NonNulls {
    #[permazen(indexed, unique, exclude(non_nulls))]
    s: Option<String>,
}

#[test]
fn exempt_values_are_those_of_the_encoding() {
    let numbers = [9, 10, 11, 19, 20, 30, 31, 40, 41];
    assert_eq!(exempt(&numbers, |n| Ranges { n }), [10, 11, 19, 31, 40]);
    let numbers = [None, Some(4), Some(5), Some(10), Some(20), Some(29), Some(30)];
    let expected = [None, Some(5), Some(10), Some(20), Some(29)];
    assert_eq!(exempt(&numbers, |n| Wrapped { n }), expected);
    let colors = [None, Some(Color::R), Some(Color::G), Some(Color::B)];
    assert_eq!(exempt(&colors, |color| Colors { color }), [Some(Color::G), Some(Color::B)]);
    let floats = [f64::NEG_INFINITY, -1.6, -1.5, 0.0, f64::NAN];
    let floats = exempt(&floats, |f| Floats { f });
    assert_eq!(floats[..2], [f64::NEG_INFINITY, -1.6]);
    assert!(floats.len() == 3 && floats[2].is_nan());
    let texts = [None, Some(""), Some("a")];
    let make = |s: Option<&str>| NonNulls { s: s.map(str::to_owned) };
    assert_eq!(exempt(&texts, make), [Some(""), Some("a")]);
}

#[derive(PermazenObject, Default)]
struct Wrong {
    #[permazen(indexed, unique, exclude("x"))]
    unparsable: i32,
    #[permazen(indexed, unique, exclude(5..5))]
    empty: i32,
    #[permazen(indexed, unique, exclude(7..=5))]
    inverted: i32,
    #[permazen(indexed, unique, exclude(nulls))]
    never_null: i32,
    #[permazen(indexed, unique, exclude(non_nulls))]
    always: i32,
    #[permazen(indexed, unique, exclude(5..=5))]
    right: i32,
}

#[test]
fn wrong_exemptions_are_found_when_the_database_is_built() {
    let store = Arc::new(MemoryStore::new());
    let refused = Permazen::builder_shared(store).model::<Wrong>().build();
    let Err(Error::Models(errors)) = refused else { panic!("{refused:?}") };
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    let expected =
        ["Wrong.unparsable", "Wrong.empty", "Wrong.inverted", "Wrong.neverNull", "Wrong.always"];
    assert_eq!(paths, expected);
    let text = errors.to_string();
    assert!(text.contains("contains nothing"), "{text}");
    assert!(text.contains("is exempt, so none is unique"), "{text}");
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(indexed, unique)]
    name: String,
}

#[derive(PermazenObject)]
struct Cat {
    #[permazen(indexed, unique)]
    name: String,
}

#[test]
fn types_that_share_an_index_are_unique_each() {
    let db = builder::<Dog>().model::<Cat>().build().unwrap();
    db.write(|tx| {
        tx.create(Cat { name: "Rex".into() })?;
        tx.create(Dog { name: "Rex".into() })?;
        Ok(())
    })
    .unwrap();
    let refused = db.write(|tx| Ok(tx.create(Dog { name: "Rex".into() })?.id()));
    assert_eq!(violations(refused).iter().next().unwrap().path, "Dog.name");
}

/// Has a code that is unique among all that have one.
#[derive(permazen::PermazenFields, Debug, Default, Clone)]
struct Coded {
    #[permazen(indexed, unique)]
    code: i32,
}

#[derive(PermazenObject, Debug, Default, Clone)]
struct Book {
    #[permazen(flatten)]
    coded: Coded,
}

#[derive(PermazenObject, Debug, Default, Clone)]
struct Film {
    #[permazen(flatten)]
    coded: Coded,
}

#[test]
fn the_path_of_a_rule_of_a_mixin_is_that_of_the_object() {
    let store = Arc::new(MemoryStore::new());
    let builder = Permazen::builder_shared(store).model::<Book>().model::<Film>();
    let db = builder.validation(permazen::Validation::Off).build().unwrap();
    // Each model is the only one that has one of the codes.
    db.write(|tx| {
        for _ in 0..2 {
            tx.create(Book { coded: Coded { code: 1 } })?;
            tx.create(Film { coded: Coded { code: 2 } })?;
        }
        Ok(())
    })
    .unwrap();
    let report = db.check_rules().unwrap();
    let mut paths: Vec<_> = report.violations.iter().map(|it| &*it.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["Book.code", "Film.code"]);
}

/// Values are shown as they would be written, and a report says how many there are.
#[test]
fn a_report_of_rules_is_readable() {
    use permazen::kv::memory::MemoryStore;
    use permazen::{Permazen, PermazenEnum, PermazenObject, Validation};

    #[derive(PermazenEnum, Clone, Copy, Debug)]
    enum State {
        Open,
    }

    #[derive(PermazenObject)]
    struct Order {
        #[permazen(indexed, unique)]
        number: i32,
        #[permazen(indexed, unique)]
        price: f64,
        #[permazen(indexed, unique)]
        name: String,
        #[permazen(indexed, unique)]
        paid: Option<bool>,
        #[permazen(indexed, unique)]
        state: State,
    }

    let builder = Permazen::builder(MemoryStore::new()).model::<Order>();
    let db = builder.validation(Validation::Off).build().unwrap();
    let report = || db.check_rules().unwrap().to_string();
    assert_eq!(report(), "nothing breaks a rule");
    let create = |number: i32| {
        db.write(|tx| {
            let (price, name) = (2.5, "1002".to_owned());
            let order = Order { number, price, name, paid: Some(true), state: State::Open };
            tx.create(order).map(drop)
        })
        .unwrap();
    };
    create(1002);
    create(1002);
    let text = report();
    assert!(text.starts_with("5 violations of rules:\n  Order."), "{text}");
    assert_eq!(text.lines().count(), 6, "{text}");
    for (field, value) in [
        ("number", "1002"),
        ("price", "2.5"),
        ("name", "\"1002\""),
        ("paid", "true"),
        ("state", "OPEN"),
    ] {
        let line =
            text.lines().find(|line| line.starts_with(&format!("  Order.{field} of object")));
        assert!(line.is_some_and(|line| line.contains(&format!(": {value} must be"))), "{text}");
    }
    for number in 0..20 {
        create(number);
        create(number);
    }
    let text = report();
    assert!(text.starts_with("25 violations of rules:\n"), "{text}");
    assert!(text.lines().count() == 12 && text.ends_with("\n  and 15 more"), "{text}");
}
