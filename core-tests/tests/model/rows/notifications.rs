//! Section 12: hooks and observers.

use std::collections::{BTreeMap, BTreeSet};

use permazen::model::{
    Change, Changed, Copy, ListChange, ListChanged, MapChange, MapChanged, Path, SetChange,
    SetChanged, creations, deletions,
};
use permazen::{Counter, Error, Obj, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Person {
    #[permazen(storage_id = 11)]
    a: i32,
    #[permazen(storage_id = 12)]
    b: i32,
    #[permazen(storage_id = 13)]
    c: i32,
    hits: Counter,
}

#[permazen::hooks]
impl Person {
    #[on_create]
    fn made(this: Obj<'_, Self>) -> Result<()> {
        log(format!("made {}", this.a()?));
        Ok(())
    }

    #[on_change(fields(a))]
    fn first(this: Obj<'_, Self>, a: &Changed<'_, Self, i32>) -> Result<()> {
        match a.new()? {
            5 => {
                this.set_c(1)?;
                this.set_b(1)?;
                log("a ends");
                Ok(())
            }
            6 => Err(Error::other("not six")),
            _ => Ok(()),
        }
    }

    #[on_change]
    fn any(_: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        log(change.field());
        Ok(())
    }

    #[on_delete]
    fn going(this: Obj<'_, Self>) -> Result<()> {
        log(format!("going {} {}", this.exists()?, this.a()?));
        Ok(())
    }
}

#[test]
fn m12_0_01_and_02_hooks_run_within_the_operation_also_in_memory() {
    database::<Person>()
        .write(|tx| {
            let memory = tx.detached()?;
            for tx in [tx, &*memory] {
                let ann = tx.create_default::<Person>()?;
                assert_log(["made 0"]);
                ann.set_b(1)?;
                assert_log(["b"]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_0_03_and_04_hooks_may_change_anything_and_an_error_comes_out_of_the_operation() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            ann.set_a(5)?;
            assert_eq!((ann.b()?, ann.c()?), (1, 1));
            LOG.take();
            let refused = ann.set_a(6);
            let Err(Error::Hook { hook, object, source, .. }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!((&*hook, object), ("Person::first", ann.id()));
            assert_eq!(source.to_string(), "not six");
            assert_eq!(ann.a()?, 5, "the change is undone");
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_1_01_and_04_creation_is_told_by_create_recreate_and_copies_unless_they_are_silent() {
    database::<Person>()
        .write(|tx| {
            // All values are the defaults at that moment.
            let ann = tx.create(Person { a: 3, ..Person::default() })?;
            assert_log(["made 0", "a"]);
            ann.delete()?;
            assert_log(["going true 3"]);
            ann.recreate()?;
            assert_log(["made 0"]);
            ann.copy_to(tx, Copy::new().clone_ids())?;
            assert_log(["made 0"]);
            ann.copy_to(tx, Copy::new().clone_ids().silent())?;
            ann.copy_to(&*tx.detached()?, Copy::new().silent())?;
            assert_log([]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_1_03_observers_of_creations_see_all_objects_of_their_type() {
    open2::<Person, Target>(&store())
        .write(|tx| {
            tx.observe(creations::<Target>(), |target, ()| {
                log(format!("target {}", target.n()?));
                Ok(())
            })?;
            tx.create(Target { n: 4 })?;
            assert_log(["target 0"]);
            tx.create_default::<Person>()?;
            assert_log(["made 0"]);
            Ok(())
        })
        .unwrap();
}

// ---- 12.2 deletions

#[derive(PermazenObject, Default)]
struct Target {
    n: i32,
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Holder {
    name: String,
    #[permazen(inverse_delete = "nullify")]
    target: Option<Ref<Target>>,
    #[permazen(element(inverse_delete = "remove"))]
    targets: Vec<Ref<Target>>,
    #[permazen(inverse_delete = "delete")]
    parent: Option<Ref<Holder>>,
}

#[permazen::hooks]
impl Holder {
    #[on_delete(path = Path::of::<Self>().to(Self::TARGETS))]
    fn lost(this: Obj<'_, Self>, gone: Obj<'_, Target>) -> Result<()> {
        log(format!("{} loses {}", this.name()?, gone.n()?));
        Ok(())
    }

    #[on_change(of = Target::N, path = Path::of::<Self>().to(Self::TARGETS))]
    fn told(this: Obj<'_, Self>, n: &Changed<'_, Target, i32>) -> Result<()> {
        log(format!("{} hears of {}", this.name()?, n.new()?));
        Ok(())
    }

    #[on_delete]
    fn going(this: Obj<'_, Self>) -> Result<()> {
        let parent = this.parent()?.map(|parent| parent.delete()).transpose()?;
        log(format!("{} goes, parent {parent:?}", this.name()?));
        Ok(())
    }
}

fn holder(name: &str, targets: &[Ref<Target>]) -> Holder {
    Holder { name: name.into(), targets: targets.into(), ..Holder::default() }
}

#[test]
fn m12_2_01_and_05_an_object_is_there_while_its_deletion_is_told_once() {
    open2::<Holder, Target>(&store())
        .write(|tx| {
            let parent = tx.create(holder("parent", &[]))?;
            let child = Holder { parent: Some(parent.to_ref()), ..holder("child", &[]) };
            let child = tx.create(child)?;
            // The deletion of the parent takes the child along, whose hook deletes the parent.
            assert!(parent.delete()?);
            assert_log(["parent goes, parent None", "child goes, parent Some(false)"]);
            assert!(!parent.exists()? && !child.exists()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_2_03_each_object_from_which_a_path_leads_to_it_is_told_once() {
    open2::<Holder, Target>(&store())
        .write(|tx| {
            let target = tx.create(Target { n: 7 })?;
            tx.create(holder("none", &[]))?;
            tx.create(holder("twice", &[target.to_ref(), target.to_ref()]))?;
            tx.create(holder("once", &[target.to_ref()]))?;
            LOG.take();
            target.delete()?;
            let mut told = LOG.take();
            told.sort();
            assert_eq!(told, ["once loses 7", "twice loses 7"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_2_04_observers_of_deletions_see_all_objects_of_their_type() {
    open2::<Person, Target>(&store())
        .write(|tx| {
            tx.observe(deletions::<Target>(), |target, ()| {
                log(format!("{} {}", target.exists()?, target.n()?));
                Ok(())
            })?;
            assert!(tx.create(Target { n: 4 })?.delete()?);
            assert_log(["true 4"]);
            Ok(())
        })
        .unwrap();
}

// ---- 12.3 changes

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Everything {
    simple: i32,
    labels: BTreeSet<i32>,
    list: Vec<i32>,
    map: BTreeMap<i32, i32>,
    hits: Counter,
}

#[permazen::hooks]
impl Everything {
    #[on_change(fields(simple))]
    fn simple(_: Obj<'_, Self>, change: &Changed<'_, Self, i32>) -> Result<()> {
        log(format!("{} {}", change.old()?, change.new()?));
        Ok(())
    }

    #[on_change(fields(labels))]
    fn labels(_: Obj<'_, Self>, change: &SetChanged<'_, Self, i32>) -> Result<()> {
        log(match change.what()? {
            SetChange::Add(element) => format!("add {element}"),
            SetChange::Remove(element) => format!("remove {element}"),
            SetChange::Clear => "clear".to_owned(),
        });
        Ok(())
    }

    #[on_change(fields(list))]
    fn list(_: Obj<'_, Self>, change: &ListChanged<'_, Self, i32>) -> Result<()> {
        log(match change.what()? {
            ListChange::Add { index, element } => format!("add {element} at {index}"),
            ListChange::Remove { index, element } => format!("remove {element} at {index}"),
            ListChange::Replace { index, old, new } => format!("{old} to {new} at {index}"),
            ListChange::Clear => "clear".to_owned(),
        });
        Ok(())
    }

    #[on_change(fields(map))]
    fn map(_: Obj<'_, Self>, change: &MapChanged<'_, Self, i32, i32>) -> Result<()> {
        log(match change.what()? {
            MapChange::Add { key, value } => format!("add {key} {value}"),
            MapChange::Remove { key, value } => format!("remove {key} {value}"),
            MapChange::Replace { key, old, new } => format!("{key}: {old} to {new}"),
            MapChange::Clear => "clear".to_owned(),
        });
        Ok(())
    }
}

#[test]
fn m12_3_01_to_04_what_each_kind_of_change_tells() {
    database::<Everything>()
        .write(|tx| {
            let it = tx.create_default::<Everything>()?;
            it.set_simple(3)?;
            assert_log(["0 3"]);
            it.labels()?.add(1)?;
            it.labels()?.remove(1)?;
            it.labels()?.add(2)?;
            it.labels()?.clear()?;
            assert_log(["add 1", "remove 1", "add 2", "clear"]);
            it.list()?.push(7)?;
            it.list()?.insert(0, 8)?;
            it.list()?.set(1, 9)?;
            it.list()?.remove(0)?;
            it.list()?.clear()?;
            assert_log(["add 7 at 0", "add 8 at 0", "7 to 9 at 1", "remove 8 at 0", "clear"]);
            it.map()?.insert(1, 2)?;
            it.map()?.insert(1, 3)?;
            it.map()?.remove(1)?;
            it.map()?.insert(4, 5)?;
            it.map()?.clear()?;
            assert_log(["add 1 2", "1: 2 to 3", "remove 1 3", "add 4 5", "clear"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_3_14_and_15_nothing_is_told_of_what_changes_nothing_and_of_counters() {
    database::<Everything>()
        .write(|tx| {
            let it = tx.create_default::<Everything>()?;
            it.labels()?.add(1)?;
            it.list()?.push(1)?;
            it.map()?.insert(1, 1)?;
            LOG.take();
            it.set_simple(0)?;
            it.labels()?.add(1)?;
            it.labels()?.remove(2)?;
            it.list()?.set(0, 1)?;
            it.map()?.insert(1, 1)?;
            it.map()?.remove(2)?;
            it.hits().add(3)?;
            it.hits().set(4)?;
            let empty = tx.create_default::<Everything>()?;
            empty.labels()?.clear()?;
            empty.list()?.clear()?;
            empty.map()?.clear()?;
            assert_log([]);
            // Nor of the fields of an object that is deleted.
            assert!(it.delete()?);
            assert_log([]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_3_10_along_a_path_each_object_that_leads_there_at_that_moment_is_told_once() {
    open2::<Holder, Target>(&store())
        .write(|tx| {
            let target = tx.create(Target { n: 1 })?;
            let twice = tx.create(holder("twice", &[target.to_ref(), target.to_ref()]))?;
            LOG.take();
            target.set_n(2)?;
            assert_log(["twice hears of 2"]);
            twice.targets()?.clear()?;
            target.set_n(3)?;
            assert_log([]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m12_3_11_and_12_fields_are_told_by_storage_id_after_the_hook_that_changed_them() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            LOG.take();
            ann.set_a(5)?;
            assert_log(["a ends", "a", "b", "c"]);
            Ok(())
        })
        .unwrap();
}
