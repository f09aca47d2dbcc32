//! Strings that begin with a text, in every kind of index.

use permazen::encoding::JavaString;
use permazen::encoding::textual::Uri;

use super::*;

/// Forward and backward, the rows are these.
macro_rules! assert_rows {
    ($view:expr, $row:expr, $expected:expr) => {{
        let (view, row) = ($view, $row);
        let forward: Result<Vec<_>> = view.iter().map(|found| Ok(row(found?))).collect();
        let backward: Result<Vec<_>> = view.iter().rev().map(|found| Ok(row(found?))).collect();
        let mut expected: Vec<_> = $expected.collect();
        expected.sort();
        assert_eq!(forward.unwrap(), expected);
        assert!(backward.unwrap().into_iter().rev().eq(expected.iter().cloned()));
        assert_eq!(view.count().unwrap(), expected.len());
        assert_eq!(view.is_empty().unwrap(), expected.is_empty());
    }};
}

fn compare(plans: &[Plan], prefix: &str) {
    let db = db();
    let tx = db.begin().unwrap();
    let made: Vec<Made> = plans.iter().map(|plan| create(&tx, plan).unwrap()).collect();
    let persons = || made.iter().filter(|made| made.plan.is_person);
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with(prefix));
    let names = |made: &Made| (key(made.plan.name.as_deref()), made.id);

    let index = tx.index(Person::NAME).unwrap();
    let row = |(name, person): (Option<String>, _)| (key(name.as_deref()), id(person));
    let view = index.starts_with(prefix).unwrap();
    assert_rows!(&view, row, persons().filter(|made| has(&made.plan.name)).map(names));
    // It adds to other restrictions.
    let part = index.range("a".to_owned()..).unwrap().starts_with(prefix).unwrap();
    let above = |made: &&Made| key(made.plan.name.as_deref()) >= key(Some("a"));
    let expected = persons().filter(|made| has(&made.plan.name)).filter(above);
    assert_rows!(&part, row, expected.map(names));
    // Of all types.
    let all = index.starts_with(prefix).unwrap().of_all_types().unwrap();
    let row = |(name, object): (Option<String>, permazen::AnyObj<'_>)| {
        (key(name.as_deref()), object.id())
    };
    assert_rows!(&all, row, made.iter().filter(|made| has(&made.plan.name)).map(names));

    let row = |(place, person): (String, _)| (key(Some(&place)), id(person));
    let view = tx.index(Person::PLACE).unwrap().starts_with(prefix).unwrap();
    let expected = persons().filter(|made| made.plan.place.starts_with(prefix));
    assert_rows!(&view, row, expected.map(|made| (key(Some(&made.plan.place)), made.id)));

    // The first column of a composite index.
    let view = tx.index(Person::NAME_PLACE).unwrap().starts_with(prefix).unwrap();
    let row = |((name, place), person): ((Option<String>, String), _)| {
        (key(name.as_deref()), key(Some(&place)), id(person))
    };
    let expected = persons()
        .filter(|made| has(&made.plan.name))
        .map(|made| (key(made.plan.name.as_deref()), key(Some(&made.plan.place)), made.id));
    assert_rows!(&view, row, expected);
    // The last column, after the first was fixed.
    for rank in -2..3 {
        let view = tx.index(Person::RANK_NAME).unwrap().prefix(rank).unwrap();
        let row = |((rank, name), person): ((i32, Option<String>), _)| {
            (rank, key(name.as_deref()), id(person))
        };
        let expected = persons().filter(|made| made.plan.rank == rank && has(&made.plan.name));
        let expected = expected.map(|made| (rank, key(made.plan.name.as_deref()), made.id));
        assert_rows!(view.starts_with(prefix).unwrap(), row, expected);
    }

    // Elements, each once for an object, and with their positions.
    let view = tx.index(Person::TAGS).unwrap().starts_with(prefix).unwrap();
    let row = |(tag, person): (String, _)| (key(Some(&tag)), id(person));
    let begins = |(_, units): &Key| units.starts_with(&key(Some(prefix)).1);
    let of = |made: &Made| tags(&made.plan).into_iter().filter(begins);
    let expected = persons().flat_map(|made| of(made).map(move |tag| (tag, made.id)));
    assert_rows!(&view, row, expected);
    let view = tx.index(Person::TAGS.positions()).unwrap().starts_with(prefix).unwrap();
    let row = |(tag, person, at): (String, _, u32)| (key(Some(&tag)), id(person), at);
    let expected = persons().flat_map(|made| {
        let tags = (0..).zip(&made.plan.tags).filter(|(_, tag)| tag.starts_with(prefix));
        tags.map(|(at, tag)| (key(Some(tag)), made.id, at))
    });
    assert_rows!(&view, row, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn strings_with_a_beginning_are_found(plans in plans(), prefix in text(), at in 0..20_usize) {
        compare(&plans, &prefix);
        // A beginning that occurs.
        if let Some(name) = plans.get(at).and_then(|plan| plan.name.clone()) {
            let end = name.char_indices().nth(1).map_or(name.len(), |(at, _)| at);
            compare(&plans, &name[..end]);
            compare(&plans, &name);
        }
    }
}

#[derive(PermazenObject, Debug, Clone, PartialEq)]
struct Page {
    #[permazen(indexed)]
    address: Option<Uri>,
    #[permazen(indexed)]
    title: JavaString,
}

#[test]
fn all_types_that_are_stored_as_strings_have_beginnings() {
    let db = Permazen::builder(MemoryStore::new()).model::<Page>().build().unwrap();
    let found: Result<()> = db.write(|tx| {
        let half = JavaString::from_units(&[0x61, 0xd800]);
        for (address, title) in [("http://a.org/x", half.clone()), ("https://a.org/", "b".into())] {
            tx.create(Page { address: Some(address.parse().unwrap()), title })?;
        }
        tx.create(Page { address: None, title: "a".into() })?;
        let addresses = tx.index(Page::ADDRESS)?;
        assert_eq!(addresses.starts_with("http")?.count()?, 2);
        assert_eq!(addresses.starts_with("https:")?.count()?, 1);
        assert_eq!(addresses.starts_with("")?.count()?, 2);
        let titles: Result<Vec<_>> = tx.index(Page::TITLE)?.starts_with("a")?.values().collect();
        assert_eq!(titles?, ["a".into(), half]);
        Ok(())
    });
    found.unwrap();
}
