//! Finding one object by a value or by several.

use std::collections::{BTreeMap, BTreeSet};

use permazen::{Error, Ref};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Book {
    #[permazen(indexed)]
    title: String,
    author: Option<Ref<Person>>,
    #[permazen(element(indexed))]
    genres: BTreeSet<String>,
    #[permazen(key(indexed), value(indexed))]
    prices: BTreeMap<String, i32>,
}

#[test]
fn an_object_is_found_by_what_any_index_has_of_it() {
    let db = Permazen::builder(MemoryStore::new());
    let db = db.model::<Person>().model::<Pet>().model::<Book>().build().unwrap();
    let found: Result<()> = db.write(|tx| {
        let ann = tx.create(Person { name: Some("Ann".into()), rank: 3, ..Default::default() })?;
        let book = tx.create(Book {
            title: "T".into(),
            author: Some(ann.to_ref()),
            genres: ["new".to_owned()].into(),
            prices: [("EUR".to_owned(), 20)].into(),
        })?;
        tx.create(Pet { name: Some("Rex".into()), ..Default::default() })?;
        assert_eq!(tx.find(Person::NAME, "Ann")?, Some(ann));
        assert_eq!(tx.find(Person::NAME, Some("Ann".to_owned()))?, Some(ann));
        assert_eq!(tx.find(Person::NAME, &"Ann".to_owned())?, Some(ann));
        assert_eq!(tx.find_ref(Person::NAME, "Ann")?, Some(ann.to_ref()));
        assert_eq!(tx.find(Person::NAME, "An")?, None);
        assert_eq!(tx.find_ref(Person::NAME, None)?, None);
        // The pet is in the same index.
        assert_eq!(tx.find(Person::NAME, "Rex")?, None);
        assert_eq!(tx.find(Person::RANK, 3)?, Some(ann));
        assert_eq!(tx.find(Book::AUTHOR, ann)?, Some(book));
        assert_eq!(tx.find(Book::AUTHOR, ann.to_ref())?, Some(book));
        assert_eq!(tx.find(Book::GENRES, "new")?, Some(book));
        assert_eq!(tx.find(Book::PRICES.key(), "EUR")?, Some(book));
        assert_eq!(tx.find(Book::PRICES.value(), 20)?, Some(book));
        assert_eq!(tx.find(Book::PRICES.value(), 21)?, None);
        assert_eq!(tx.find(Person::RANK_NAME, (3, "Ann"))?, Some(ann));
        assert_eq!(tx.find(Person::RANK_NAME, (3, Some("Ann".to_owned())))?, Some(ann));
        assert_eq!(tx.find_ref(Person::RANK_NAME, (3, "Bob"))?, None);
        assert_eq!(tx.find(Person::NAME.allow_partial(), "Ann")?, Some(ann));
        assert_eq!(
            tx.find_ref(Person::RANK_NAME.complete_by_scan(), (3, "Ann"))?.unwrap(),
            ann.to_ref()
        );
        Ok(())
    });
    found.unwrap();
}

#[test]
fn of_several_objects_the_one_with_the_smallest_id_is_found() {
    let db = db();
    let found: Result<()> = db.write(|tx| {
        for rank in [3, 3, 4, 3] {
            tx.create(Person { rank, ..Default::default() })?;
        }
        let smallest = tx.index(Person::RANK)?.get(3)?.to_vec()?.into_iter().map(id).min();
        assert_eq!(tx.find(Person::RANK, 3)?.map(id), smallest);
        assert_eq!(tx.find_ref(Person::RANK, 3)?.map(Ref::id), smallest);
        Ok(())
    });
    found.unwrap();
}

#[test]
fn a_model_that_is_not_registered_is_refused() {
    let other = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
    let tx = other.begin().unwrap();
    assert!(matches!(tx.find(Book::TITLE, "T"), Err(Error::NotRegistered { .. })));
    assert!(matches!(tx.find_ref(Book::TITLE, "T"), Err(Error::NotRegistered { .. })));
}
