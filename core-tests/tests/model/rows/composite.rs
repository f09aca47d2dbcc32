//! Section 4: composite indexes.

use permazen::{PermazenEnum, PermazenFields, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Level {
    Low,
    High,
}

#[derive(PermazenObject, Debug, Default)]
#[permazen(
    composite(name = "xy", fields(x, y)),
    composite(name = "yx", fields(y, x), storage_id = 40),
    composite(name = "four", fields(level, x, friend, name))
)]
struct Item {
    x: i32,
    y: i64,
    level: Option<Level>,
    friend: Option<Ref<Item>>,
    name: Option<String>,
}

#[test]
fn m04_0_01_to_03_an_index_has_a_name_a_storage_id_and_two_to_four_fields_in_order() {
    database::<Item>()
        .write(|tx| {
            let schema = tx.schema();
            let item = schema.object_type("Item").unwrap();
            let columns = |name: &str| {
                let index = item.index(name).unwrap();
                index.fields.iter().map(|field| field.name.to_string()).collect::<Vec<_>>()
            };
            assert_eq!(columns("xy"), ["x", "y"]);
            assert_eq!(columns("yx"), ["y", "x"]);
            assert_eq!(columns("four"), ["level", "x", "friend", "name"]);
            assert_eq!(item.index("yx").unwrap().storage_id.get(), 40);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m04_0_12_both_orders_may_coexist() {
    database::<Item>()
        .write(|tx| {
            let item = tx.create(Item { x: 1, y: 2, ..Item::default() })?;
            assert_eq!(tx.index(Item::XY)?.get((1, 2))?.to_vec()?, [item]);
            assert_eq!(tx.index(Item::YX)?.get((2_i64, 1))?.to_vec()?, [item]);
            assert!(tx.index(Item::XY)?.get((2, 1))?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m04_0_13_and_14_entries_need_no_indexed_field_and_are_there_for_default_values() {
    database::<Item>()
        .write(|tx| {
            assert!(!field(tx, "Item", "x").simple().unwrap().indexed);
            let item = tx.create_default::<Item>()?;
            assert_eq!(tx.index(Item::XY)?.get((0, 0))?.to_vec()?, [item]);
            let all = tx.index(Item::FOUR)?.iter().collect::<Result<Vec<_>>>()?;
            assert_eq!(all, [((None, 0, None, None), item)]);
            item.set_level(Level::High)?;
            item.set_name("n")?;
            let all = tx.index(Item::FOUR)?.iter().collect::<Result<Vec<_>>>()?;
            assert_eq!(all, [((Some(Level::High), 0, None, Some("n".to_owned())), item)]);
            item.delete()?;
            assert!(tx.index(Item::FOUR)?.is_empty()? && tx.index(Item::XY)?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[derive(PermazenFields, Default)]
#[permazen(composite(name = "byNameRank", fields(name, rank)))]
struct Named {
    name: Option<String>,
    rank: i32,
}

#[derive(PermazenObject, Default)]
struct Dog {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenObject, Default)]
struct Cat {
    #[permazen(flatten)]
    named: Named,
    lives: i32,
}

#[test]
fn m04_0_06_an_index_of_shared_fields_is_one_of_each_model_that_has_them() {
    builder()
        .model::<Dog>()
        .model::<Cat>()
        .build()
        .unwrap()
        .write(|tx| {
            let dog = tx.create_default::<Dog>()?;
            let cat = tx.create_default::<Cat>()?;
            let index = |name: &str| {
                let schema = tx.schema();
                schema.object_type(name).unwrap().index("byNameRank").unwrap().storage_id
            };
            assert_eq!(index("Dog"), index("Cat"));
            assert_eq!(
                tx.index(Dog::NAMED.by_name_rank)?.objects().collect::<Result<Vec<_>>>()?,
                [dog]
            );
            assert_eq!(tx.index(Named::BY_NAME_RANK)?.count()?, 2);
            assert_eq!(cat.lives()?, 0);
            Ok(())
        })
        .unwrap();
}
