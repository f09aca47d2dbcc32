//! Section 5: uniqueness.

use permazen::{Obj, PermazenEnum, PermazenFields, PermazenKind, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default, Clone)]
struct User {
    #[permazen(indexed, unique)]
    email: Option<String>,
    age: i32,
}

/// Which of these values two objects may have.
fn exempt<M: Model, V: Copy>(values: &[V], make: impl Fn(V) -> M) -> Vec<V> {
    let is_exempt = |value: &V| {
        let two = database::<M>().write(|tx| {
            tx.create(make(*value))?;
            tx.create(make(*value))?;
            Ok(())
        });
        two.is_ok() || violations(two).is_empty()
    };
    values.iter().copied().filter(is_exempt).collect()
}

#[test]
fn m05_1_01_uniqueness_is_checked_only_when_rules_are() {
    database::<User>()
        .write(|tx| {
            let ann = User { email: Some("a".into()), age: 1 };
            let first = tx.create(&ann)?;
            let second = tx.create(&ann)?;
            let mut expected =
                [first, second].map(|it| (it.id(), Rule::Unique, "User.email".to_owned()));
            expected.sort_by_key(|it| it.0);
            assert_eq!(broken(tx.validate()), expected);
            second.set_email("b")?;
            tx.validate()
        })
        .unwrap();
}

#[test]
fn m05_1_02_null_is_a_value_unless_it_is_exempt() {
    let texts = [None, Some("a")];
    let user = |email: Option<&str>| User { email: email.map(str::to_owned), age: 0 };
    assert_eq!(exempt(&texts, user), []);

    #[derive(PermazenObject, Default)]
    struct Other {
        #[permazen(indexed, unique, exclude(nulls))]
        email: Option<String>,
    }
    let other = |email: Option<&str>| Other { email: email.map(str::to_owned) };
    assert_eq!(exempt(&texts, other), [None]);
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Color {
    R,
    G,
    B,
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

#[derive(PermazenObject)]
struct Colors {
    #[permazen(indexed, unique, exclude(range(ge = "G")))]
    color: Option<Color>,
}

#[derive(PermazenObject)]
struct NonNulls {
    #[permazen(indexed, unique, exclude(non_nulls))]
    n: Option<i32>,
}

#[test]
fn m05_2_01_values_that_are_exempt() {
    let numbers = [None, Some(4), Some(5)];
    assert_eq!(exempt(&numbers, |n| NonNulls { n }), [Some(4), Some(5)]);
    assert_eq!(exempt(&numbers, |n| Wrapped { n }), [None, Some(5)]);
}

#[test]
fn m05_2_02_ranges_include_their_lower_bound_alone_unless_they_say_otherwise() {
    let numbers = [9, 10, 19, 20, 30, 31, 40, 41];
    assert_eq!(exempt(&numbers, |n| Ranges { n }), [10, 19, 31, 40]);
}

#[test]
fn m05_2_04_values_are_compared_as_their_encoding_does() {
    // NaN is the last number, −0.0 comes before 0.0.
    #[derive(PermazenObject)]
    struct Floats {
        #[permazen(indexed, unique, exclude(range(ge = "Infinity"), ..0.0))]
        f: f64,
    }
    let floats = [f64::NEG_INFINITY, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
    let found = exempt(&floats, |f| Floats { f });
    let bits: Vec<_> = found.iter().map(|it| it.to_bits()).collect();
    let expected = [f64::NEG_INFINITY, -0.0, f64::INFINITY, f64::NAN].map(f64::to_bits);
    assert_eq!(bits, expected);
}

#[test]
fn m05_2_05_touching_ranges_are_one() {
    let numbers = [Some(9), Some(10), Some(14), Some(15), Some(20), Some(29), Some(30)];
    let expected = [Some(10), Some(14), Some(15), Some(20), Some(29)];
    assert_eq!(exempt(&numbers, |n| Wrapped { n }), expected);
}

#[test]
fn m05_2_06_exemptions_that_cannot_be_meant_are_refused() {
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
    }
    let errors = problems(builder().model::<Wrong>());
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        ["Wrong.unparsable", "Wrong.empty", "Wrong.inverted", "Wrong.neverNull", "Wrong.always",]
    );
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(composite(
    name = "xy",
    fields(x, y),
    unique,
    exclude(x(nulls)),
    exclude(x(0..10), y("free"))
))]
struct Pair {
    x: Option<i32>,
    y: Option<String>,
}

fn pair(value: (Option<i32>, &str)) -> Pair {
    Pair { x: value.0, y: Some(value.1.to_owned()) }
}

#[test]
fn m05_2_08_a_combination_is_exempt_if_all_columns_of_one_list_are() {
    let values = [(None, "taken"), (Some(5), "free"), (Some(5), "taken"), (Some(10), "free")];
    assert_eq!(exempt(&values, pair), [(None, "taken"), (Some(5), "free")]);
}

#[test]
fn m05_2_09_the_examples() {
    let numbers = [10, 11, 19, 20, 30, 31, 40];
    assert_eq!(exempt(&numbers, |n| Ranges { n }), [10, 11, 19, 31, 40]);
    let numbers = [None, Some(4), Some(5), Some(10), Some(20), Some(29), Some(30)];
    let expected = [None, Some(5), Some(10), Some(20), Some(29)];
    assert_eq!(exempt(&numbers, |n| Wrapped { n }), expected);
    let colors = [Some(Color::R), Some(Color::G), Some(Color::B)];
    assert_eq!(exempt(&colors, |color| Colors { color }), [Some(Color::G), Some(Color::B)]);
}

// ---- 5.3 the check

#[test]
fn m05_3_01_an_exempt_value_ends_the_check_and_another_one_names_the_first_five() {
    let db = database::<User>();
    let mut made = Vec::new();
    let refused = db.write(|tx| {
        made.clear();
        for _ in 0..8 {
            made.push(tx.create(User { email: Some("a".into()), age: 0 })?.id());
        }
        Ok(())
    });
    made.sort();
    let refused = violations(refused);
    assert_eq!(refused.len(), 8);
    for violation in &refused {
        let others: Vec<_> = made.iter().copied().filter(|id| *id != violation.object).collect();
        assert_eq!(violation.others, others[..5], "{violation}");
        assert_eq!(violation.value.as_deref(), Some(r#""a""#));
    }
}

#[test]
fn m05_3_02_combinations_are_checked_in_the_same_way() {
    let db = database::<Pair>();
    let first = db.write(|tx| Ok(tx.create(pair((Some(1), "a")))?.id())).unwrap();
    let mut second = None;
    let refused = db.write(|tx| {
        second = Some(tx.create(pair((Some(1), "a")))?.id());
        Ok(())
    });
    let refused = violations(refused);
    let violation = refused.iter().next().unwrap();
    assert_eq!((violation.rule, &*violation.path), (Rule::Unique, "Pair#xy"));
    assert_eq!((Some(violation.object), &violation.others[..]), (second, &[first][..]));
}

#[derive(PermazenObject)]
struct Lonely {
    #[permazen(indexed, unique)]
    name: String,
}

#[derive(PermazenObject)]
struct Other {
    #[permazen(indexed, unique)]
    name: String,
}

#[derive(PermazenFields)]
struct Named {
    #[permazen(indexed, unique)]
    title: String,
}

#[derive(PermazenObject)]
struct Dog {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenObject)]
struct Cat {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenKind)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
}

#[test]
fn m05_3_03_types_that_declare_the_field_themselves_are_independent() {
    let db = open2::<Lonely, Other>(&store());
    db.write(|tx| {
        tx.create(Lonely { name: "a".into() })?;
        tx.create(Other { name: "a".into() })?;
        assert_eq!(field_id(tx, "Lonely", "name"), field_id(tx, "Other", "name"));
        Ok(())
    })
    .unwrap();
    let refused = db.write(|tx| tx.create(Other { name: "a".into() }).map(drop));
    assert_eq!(violations(refused).len(), 1);
}

#[test]
fn m05_3_04_types_that_share_the_declaration_are_one_scope() {
    let db = builder().kind::<PetKind>().build().unwrap();
    let named = || Named { title: "Rex".into() };
    let dog = db.write(|tx| Ok(tx.create(Dog { named: named() })?.id())).unwrap();
    let refused = violations(db.write(|tx| tx.create(Cat { named: named() }).map(drop)));
    assert_eq!(refused.iter().next().unwrap().others, [dog]);
}

#[test]
fn m05_3_05_a_reference_is_a_value_like_others() {
    #[derive(PermazenObject, Default)]
    struct Seat {
        #[permazen(indexed, unique, exclude(nulls))]
        user: Option<Ref<User>>,
    }
    let db = open2::<Seat, User>(&store());
    let [user, seat] = db
        .write(|tx| {
            let user = tx.create_default::<User>()?;
            let seat = tx.create(Seat { user: Some(user.to_ref()) })?;
            tx.create_default::<Seat>()?;
            tx.create_default::<Seat>()?;
            Ok([user.id(), seat.id()])
        })
        .unwrap();
    let refused = db.write(|tx| tx.create(Seat { user: Some(Ref::new(user)) }).map(drop));
    assert_eq!(violations(refused).iter().next().unwrap().others, [seat]);
}

#[test]
fn m05_3_07_a_written_object_is_moved_before_it_is_checked() {
    mod before {
        #[derive(permazen::PermazenObject, Default)]
        pub struct User {
            pub email: Option<String>,
            pub age: i32,
        }
    }
    let store = store();
    let email = || Some("a".to_owned());
    let old = open::<before::User>(&store)
        .write(|tx| Ok(tx.create(before::User { email: email(), age: 1 })?.id()))
        .unwrap();
    let db =
        Permazen::builder_shared(store).model::<User>().unique_among_indexed().build().unwrap();
    db.write(|tx| {
        // It is not in the index yet.
        tx.create(User { email: email(), age: 2 }).map(drop)
    })
    .unwrap();
    let refused = broken(db.write(|tx| tx.get::<User>(old)?.set_email("a")));
    assert_eq!(refused, [(old, Rule::Unique, "User.email".to_owned())]);
}
