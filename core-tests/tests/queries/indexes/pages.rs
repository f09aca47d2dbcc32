//! Reading a query in parts while objects come and go.

use std::fmt::Debug;

use permazen::Error;
use permazen::model::{Page, PageToken, PageTokenError};

use super::*;

/// The token as another process gets it.
fn sent(token: PageToken) -> PageToken {
    let text = token.to_string();
    assert!(text.chars().all(|digit| digit.is_ascii_alphanumeric()));
    let read: PageToken = text.parse().unwrap();
    assert_eq!(read, token);
    read
}

/// A change between two pages.
#[derive(Debug, Clone)]
enum Change {
    Create(Plan),
    /// Deletes the person at this place among all.
    Delete(usize),
    /// Deletes the object of the last entry of the page, to which the token belongs.
    DeleteLast,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => plan().prop_map(Change::Create),
        2 => (0..30_usize).prop_map(Change::Delete),
        1 => Just(Change::DeleteLast),
    ]
}

fn make(tx: &Tx, change: &Change, last: Option<ObjId>) -> Result<()> {
    let all: Vec<ObjId> = tx.everything()?.ids().to_vec()?;
    let deleted = match change {
        Change::Create(plan) => return create(tx, plan).map(drop),
        Change::Delete(at) => all.get(*at).copied(),
        Change::DeleteLast => last,
    };
    if let Some(id) = deleted {
        tx.any(id).delete()?;
    }
    Ok(())
}

/// Reads all pages, with changes between them. Each has the rows after the last entry of the page
/// before, by a list of all rows in that direction.
fn walk<R: Ord + Clone + Debug>(
    tx: &Tx,
    limit: usize,
    backward: bool,
    changes: &[Change],
    all: impl Fn() -> Vec<R>,
    page: impl Fn(Option<&PageToken>, usize) -> Result<Page<R>>,
    id_of: impl Fn(&R) -> ObjId,
) {
    let (mut token, mut last): (Option<PageToken>, Option<R>) = (None, None);
    let mut changes = changes.iter();
    loop {
        let beyond = |row: &R| {
            last.as_ref().is_none_or(|last| if backward { row < last } else { row > last })
        };
        let expected: Vec<R> = all().into_iter().filter(beyond).collect();
        let found = page(token.as_ref(), limit).unwrap();
        assert_eq!(found.entries, expected[..limit.min(expected.len())]);
        assert_eq!(found.next.is_some(), expected.len() > limit);
        assert_eq!(found.start.is_some(), !found.entries.is_empty());
        last = found.entries.last().cloned();
        if let Some(change) = changes.next() {
            make(tx, change, last.as_ref().map(&id_of)).unwrap();
        }
        match found.next {
            None => break,
            Some(next) => token = Some(sent(next)),
        }
    }
}

/// Walks over the pages of a view in both directions.
macro_rules! walk_view {
    ($tx:expr, $limit:expr, $changes:expr, $view:expr, $row:expr, $id:expr) => {{
        let view = &$view;
        for backward in [false, true] {
            let all = || {
                let rows: Result<Vec<_>> = view.iter().map(|row| Ok($row(row?))).collect();
                let mut rows = rows.unwrap();
                assert!(rows.is_sorted());
                if backward {
                    rows.reverse();
                }
                rows
            };
            let page = |token: Option<&PageToken>, limit: usize| {
                let page =
                    if backward { view.page_back(limit, token)? } else { view.page(limit, token)? };
                Ok(page.map($row))
            };
            walk($tx, $limit, backward, $changes, all, page, $id);
        }
    }};
}

fn compare(plans: &[Plan], prefix: &str, limit: usize, changes: &[Change]) {
    let db = db();
    let tx = &*db.begin().unwrap();
    plans.iter().for_each(|plan| drop(create(tx, plan).unwrap()));

    let row =
        |(name, person): (Option<String>, Obj<'_, Person>)| (key(name.as_deref()), person.id());
    let index = tx.index(Person::NAME).unwrap();
    walk_view!(tx, limit, changes, index, row, |row| row.1);
    walk_view!(tx, limit, changes, index.starts_with(prefix).unwrap(), row, |row| row.1);
    walk_view!(tx, limit, changes, index.range(..=prefix).unwrap(), row, |row| row.1);
    let row =
        |(name, any): (Option<String>, permazen::AnyObj<'_>)| (key(name.as_deref()), any.id());
    walk_view!(tx, limit, changes, index.of_all_types().unwrap(), row, |row| row.1);

    // Entries that have more columns in the store than are shown, and all columns.
    let tags = tx.index(Person::TAGS).unwrap();
    let row = |(tag, person): (String, Obj<'_, Person>)| (key(Some(&tag)), person.id());
    walk_view!(tx, limit, changes, tags, row, |row| row.1);
    let tags = tx.index(Person::TAGS.positions()).unwrap();
    let row =
        |(tag, person, at): (String, Obj<'_, Person>, u32)| (key(Some(&tag)), person.id(), at);
    walk_view!(tx, limit, changes, tags, row, |row| row.1);

    let both = tx.index(Person::NAME_PLACE).unwrap();
    let row = |((name, place), person): ((Option<String>, String), Obj<'_, Person>)| {
        (key(name.as_deref()), key(Some(&place)), person.id())
    };
    walk_view!(tx, limit, changes, both, row, |row| row.2);
    walk_view!(tx, limit, changes, both.starts_with(prefix).unwrap(), row, |row| row.2);
    let ranked = tx.index(Person::RANK_NAME).unwrap();
    let row = |((rank, name), person): ((i32, Option<String>), Obj<'_, Person>)| {
        (rank, key(name.as_deref()), person.id())
    };
    walk_view!(tx, limit, changes, ranked.prefix(1).unwrap(), row, |row| row.2);

    // Sets of objects.
    let all = tx.all::<Person>().unwrap();
    let ranks = tx.index(Person::RANK).unwrap();
    let some = ranks.get(0).unwrap().union(ranks.get(1).unwrap());
    for set in [&all, &some, &all.difference(&some), &all.intersection(&some)] {
        for backward in [false, true] {
            let ids = || {
                let mut ids = set.ids().to_vec().unwrap();
                if backward {
                    ids.reverse();
                }
                ids
            };
            let page = |token: Option<&PageToken>, limit: usize| {
                let page =
                    if backward { set.page_back(limit, token) } else { set.page(limit, token) };
                Ok(page?.map(id))
            };
            walk(tx, limit, backward, changes, ids, page, |id| *id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn pages_return_all_entries_once_while_objects_come_and_go(
        plans in plans(), prefix in text(), limit in 1..6_usize,
        changes in prop::collection::vec(change(), 0..6),
    ) {
        compare(&plans, &prefix, limit, &changes);
    }

    #[test]
    fn damaged_tokens_are_refused(at in 0..100_usize, to in "[0-9a-f]") {
        let db = db();
        let tx = db.begin().unwrap();
        for rank in 0..2 {
            tx.create(Person { rank, ..Default::default() }).unwrap();
        }
        let token = tx.index(Person::RANK).unwrap().page(1, None).unwrap().next.unwrap();
        let mut text = token.to_string();
        let at = at % text.len();
        text.replace_range(at..=at, &to);
        match text.parse::<PageToken>() {
            Ok(same) => prop_assert_eq!(same, token),
            Err(error) => {
                let damaged = matches!(error, PageTokenError::Damaged { .. });
                prop_assert!(damaged, "{}", error);
            }
        }
    }
}

fn three() -> Permazen {
    let db = db();
    let filled: Result<()> = db.write(|tx| {
        for (name, rank) in [("Ann", 1), ("Bob", 2), ("Cid", 3)] {
            tx.create(Person { name: Some(name.into()), rank, ..Default::default() })?;
            tx.create(Pet { name: Some(name.into()), rank, ..Default::default() })?;
        }
        Ok(())
    });
    filled.unwrap();
    db
}

#[test]
fn a_page_is_left_by_either_end() {
    let db = three();
    let tx = db.begin().unwrap();
    let names = tx.index(Person::NAME).unwrap();
    let page = names.page(1, None).unwrap();
    let second = names.page(1, page.next.as_ref()).unwrap();
    assert_eq!(second.entries[0].0.as_deref(), Some("Bob"));
    let back = names.page_back(5, second.start.as_ref()).unwrap();
    assert_eq!((back.entries, back.next), (page.entries, None));
    // The last page, from the end.
    let last = names.page_back(2, None).unwrap();
    let last: Vec<_> = last.entries.into_iter().map(|(name, _)| name.unwrap()).collect();
    assert_eq!(last, ["Cid", "Bob"]);
    // An empty page could not say where the next one begins.
    assert_eq!(names.page(0, None).unwrap(), names.page(1, None).unwrap());
    assert_eq!(names.page_back(0, None).unwrap(), names.page_back(1, None).unwrap());
    let all = tx.all::<Person>().unwrap();
    assert_eq!(all.page(0, None).unwrap(), all.page(1, None).unwrap());
    assert_eq!(all.page_back(0, None).unwrap(), all.page_back(1, None).unwrap());
}

#[test]
fn a_token_is_that_of_one_index() {
    let db = three();
    let tx = db.begin().unwrap();
    let token = tx.index(Person::NAME).unwrap().page(1, None).unwrap().next.unwrap();
    let refused = |result: Result<()>| match result {
        Err(Error::PageToken(error @ PageTokenError::OtherIndex { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let of = |result| refused(result);
    assert_eq!(
        of(tx.index(Person::RANK).unwrap().page(1, Some(&token)).map(drop)),
        "the page token is not one of index Person.rank with 2 columns: use it with the query that it came from, or \
         begin with the first page"
    );
    of(tx.index(Person::NAME_PLACE).unwrap().page_back(1, Some(&token)).map(drop));
    of(tx.all::<Person>().unwrap().page(1, Some(&token)).map(drop));
    let by_id = tx.all::<Person>().unwrap().page(1, None).unwrap().next.unwrap();
    of(tx.index(Person::NAME).unwrap().page(1, Some(&by_id)).map(drop));
    // The positions of a list are in the index of its elements, and are another query.
    tx.create(Person { tags: vec!["a".into(), "b".into()], ..Default::default() }).unwrap();
    let tag = tx.index(Person::TAGS).unwrap().page(1, None).unwrap().next.unwrap();
    of(tx.index(Person::TAGS.positions()).unwrap().page(1, Some(&tag)).map(drop));
    // A type that shares the index.
    let pets = tx.index(Pet::NAME).unwrap().page(9, Some(&token)).unwrap();
    assert!(pets.entries.iter().all(|(name, _)| name.as_deref() >= Some("Ann")));
    for text in ["", "0", "01", "xyz", "éé", &"0".repeat(40)] {
        let error = text.parse::<PageToken>().unwrap_err();
        assert!(error.to_string().ends_with("; begin with the first page"), "{error}");
    }
}

#[test]
fn entries_that_come_before_the_token_are_not_returned() {
    let db = three();
    let token = db.read(|tx| Ok(tx.index(Person::NAME)?.page(2, None)?.next)).unwrap().unwrap();
    let changed: Result<()> = db.write(|tx| {
        // The entry of the token, a new one before it, and one after it.
        tx.find(Person::NAME, "Bob")?.unwrap().delete()?;
        for name in ["Abe", "Bea", "Boc"] {
            tx.create(Person { name: Some(name.into()), ..Default::default() })?;
        }
        Ok(())
    });
    changed.unwrap();
    let tx = db.begin().unwrap();
    let page = tx.index(Person::NAME).unwrap().page(9, Some(&token)).unwrap();
    let names: Vec<_> = page.entries.into_iter().map(|(name, _)| name.unwrap()).collect();
    assert_eq!(names, ["Boc", "Cid"]);
}

#[test]
fn tokens_are_text_for_serde() {
    let db = three();
    let tx = db.begin().unwrap();
    let token = tx.index(Person::NAME).unwrap().page(1, None).unwrap().next.unwrap();
    let json = serde_json::to_string(&token).unwrap();
    assert_eq!(json, format!("\"{token}\""));
    assert_eq!(serde_json::from_str::<PageToken>(&json).unwrap(), token);
    assert!(serde_json::from_str::<PageToken>("\"00\"").is_err());
    let value: PageToken = serde_json::from_value(serde_json::json!(token.to_string())).unwrap();
    assert_eq!(value, token);
}
