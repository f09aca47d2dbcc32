//! Section 3.9: references.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::{EncodingError, Value};
use permazen::object::Error as ObjectError;
use permazen::{Any, Error, PermazenObject, Ref};

use crate::rows::*;

fn assert_not_allowed<T: Debug>(result: Result<T>) {
    let Err(Error::Object(ObjectError::InvalidValue { source, .. })) = &result else {
        panic!("{result:?}")
    };
    assert!(matches!(source, EncodingError::InvalidReference { .. }), "{source:?}");
}

#[derive(PermazenObject, Default)]
struct Target {
    n: i32,
}

#[derive(PermazenObject, Default)]
struct Holder {
    restricted: Option<Ref<Target>>,
    anything: Vec<Ref<Any>>,
    own: Option<Ref<Holder>>,
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    ignore: Option<Ref<Target>>,
    #[permazen(inverse_delete = "nullify")]
    null: Option<Ref<Target>>,
    #[permazen(element(inverse_delete = "nullify"))]
    null_set: BTreeSet<Option<Ref<Target>>>,
    #[permazen(element(inverse_delete = "nullify"))]
    null_list: Vec<Option<Ref<Target>>>,
    #[permazen(key(inverse_delete = "nullify"))]
    null_keys: BTreeMap<Option<Ref<Target>>, i32>,
    #[permazen(value(inverse_delete = "nullify"))]
    null_values: BTreeMap<i32, Option<Ref<Target>>>,
    #[permazen(element(inverse_delete = "remove"))]
    less_list: Vec<Ref<Target>>,
    #[permazen(key(inverse_delete = "remove"))]
    less_keys: BTreeMap<Ref<Target>, i32>,
    #[permazen(inverse_delete = "delete")]
    with_it: Option<Ref<Target>>,
    #[permazen(inverse_delete = "delete")]
    parent: Option<Ref<Holder>>,
}

fn holders() -> Permazen {
    open2::<Holder, Target>(&store())
}

#[test]
fn m03_9_01_a_reference_is_the_id_of_an_object_or_null() {
    let store = store();
    let db = open2::<Holder, Target>(&store);
    let [holder, target] = db
        .write(|tx| {
            let target = tx.create(Target { n: 1 })?;
            let to = Some(target.to_ref());
            let holder = tx.create(Holder { restricted: to, ..Holder::default() })?;
            assert_eq!(holder.restricted()?.map(|target| target.n()).transpose()?, Some(1));
            assert_eq!(holder.own()?, None);
            Ok([holder.id(), target.id()])
        })
        .unwrap();
    let number = db.read(|tx| Ok(field_id(tx, "Holder", "restricted"))).unwrap();
    let all = pairs(&store);
    assert!(all.contains(&(format!("{holder}{number:02x}"), target.to_string())), "{all:?}");
    assert!(all.contains(&(format!("{number:02x}{target}{holder}"), String::new())), "{all:?}");
}

#[test]
fn m03_9_02_and_03_the_types_that_a_reference_allows_are_in_the_schema() {
    holders()
        .read(|tx| {
            let allowed = |name: &str| {
                let field = field(tx, "Holder", name);
                field.simple().unwrap().reference.as_ref().unwrap().allowed.clone()
            };
            let target = tx.schema().object_type("Target").unwrap().storage_id;
            assert_eq!(allowed("restricted").as_deref(), Some(&[target][..]));
            assert_eq!(allowed("anything.element"), None);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_04_an_object_of_another_transaction_means_the_one_with_its_id() {
    let db = holders();
    let target = db.write(|tx| Ok(tx.create_default::<Target>()?.to_ref())).unwrap();
    let other = db.begin_read().unwrap();
    let foreign = other.get(target).unwrap();
    db.write(|tx| {
        let holder = tx.create_default::<Holder>()?;
        holder.set_restricted(foreign)?;
        assert_eq!(holder.restricted()?, Some(tx.get(target)?));
        Ok(())
    })
    .unwrap();
}

#[test]
fn m03_9_05_a_type_that_is_not_allowed_is_refused() {
    holders()
        .write(|tx| {
            let holder = tx.create_default::<Holder>()?;
            assert_not_allowed(holder.any().set("restricted", &Value::Ref(holder.id())));
            // Its own constant cannot say so: a wrong type does not compile.
            assert_eq!(holder.restricted()?, None);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_06_the_target_must_exist_unless() {
    holders()
        .write(|tx| {
            let gone = tx.create_default::<Target>()?;
            gone.delete()?;
            let holder = tx.create_default::<Holder>()?;
            assert_deleted(holder.set_restricted(gone), gone.id());
            assert_eq!(holder.restricted()?, None);
            holder.set_ignore(gone)?;
            // To itself while it does not exist yet.
            let id = tx.core().generate_id("Holder")?;
            let own = Some(Ref::new(id));
            let made = tx.create_with_id(id, Holder { own, ..Holder::default() })?.unwrap();
            assert_eq!(made.own()?, Some(made));
            // In memory.
            let memory = tx.detached()?;
            let there = memory.create_default::<Holder>()?;
            there.set_restricted(gone)?;
            assert_eq!(there.get(Holder::RESTRICTED)?, Some(gone.to_ref()));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_07_ignore_leaves_the_reference() {
    holders()
        .write(|tx| {
            let target = tx.create_default::<Target>()?;
            let to = Some(target.to_ref());
            let holder = tx.create(Holder { ignore: to, ..Holder::default() })?;
            assert!(target.delete()?);
            assert_eq!(holder.get(Holder::IGNORE)?, to);
            assert!(!holder.ignore()?.unwrap().exists()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_08_exception_refuses_unless_the_object_refers_to_itself() {
    holders()
        .write(|tx| {
            let target = tx.create_default::<Target>()?;
            let to = Some(target.to_ref());
            let holder = tx.create(Holder { restricted: to, ..Holder::default() })?;
            match target.delete() {
                Err(Error::Object(ObjectError::ReferencedObject { id, referrer, .. })) => {
                    assert_eq!((id, referrer), (target.id(), holder.id()));
                }
                other => panic!("{other:?}"),
            }
            assert!(target.exists()?);
            let own = tx.create_default::<Holder>()?;
            own.set_own(own)?;
            assert!(own.delete()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_09_nullify() {
    holders()
        .write(|tx| {
            let [a, b] = [tx.create_default::<Target>()?, tx.create_default::<Target>()?];
            let [to_a, to_b] = [Some(a.to_ref()), Some(b.to_ref())];
            let holder = tx.create(Holder {
                null: to_a,
                null_set: [to_a, to_b].into(),
                null_list: vec![to_a, to_b, to_a],
                null_keys: [(to_a, 1), (to_b, 2), (None, 3)].into(),
                null_values: [(1, to_a), (2, to_b)].into(),
                ..Holder::default()
            })?;
            assert!(a.delete()?);
            assert_eq!(holder.null()?, None);
            assert_eq!(holder.null_set()?.load::<Vec<_>>()?, [to_b, None]);
            assert_eq!(holder.null_list()?.load::<Vec<_>>()?, [None, to_b, None]);
            // The entry with null is overwritten.
            assert_eq!(holder.null_keys()?.load::<Vec<_>>()?, [(to_b, 2), (None, 1)]);
            assert_eq!(holder.null_values()?.load::<Vec<_>>()?, [(1, None), (2, to_b)]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_10_remove() {
    holders()
        .write(|tx| {
            let [a, b] = [tx.create_default::<Target>()?, tx.create_default::<Target>()?];
            let [to_a, to_b] = [a.to_ref(), b.to_ref()];
            let holder = tx.create(Holder {
                less_list: vec![to_a, to_a, to_b, to_a],
                less_keys: [(to_a, 1), (to_b, 2)].into(),
                ..Holder::default()
            })?;
            assert!(a.delete()?);
            assert_eq!(holder.less_list()?.load::<Vec<_>>()?, [to_b]);
            assert_eq!(holder.less_keys()?.load::<Vec<_>>()?, [(to_b, 2)]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_9_11_delete_goes_on_to_those_that_refer() {
    holders()
        .write(|tx| {
            let target = tx.create_default::<Target>()?;
            let with_it = Some(target.to_ref());
            let first = tx.create(Holder { with_it, ..Holder::default() })?;
            let parent = Some(first.to_ref());
            let second = tx.create(Holder { parent, ..Holder::default() })?;
            let parent = Some(second.to_ref());
            let third = tx.create(Holder { parent, ..Holder::default() })?;
            assert!(target.delete()?);
            assert!(!first.exists()? && !second.exists()? && !third.exists()?);
            Ok(())
        })
        .unwrap();
}
