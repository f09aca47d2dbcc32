//! The events for which hooks are called, and their order.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::model::{
    Change, Changed, ListChange, ListChanged, MapChange, MapChanged, SetChange, SetChanged,
};
use permazen::object::{ChangeKind, Migrate};
use permazen::{Counter, Obj, PermazenObject, Ref, Result};

use crate::hooks::{assert_log, builder, log};

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Person {
    name: Option<String>,
    age: i32,
    #[permazen(inverse_delete = "nullify")]
    friend: Option<Ref<Person>>,
    changes: i64,
}

#[permazen::hooks]
impl Person {
    #[on_create]
    fn init(this: Obj<'_, Self>) -> Result<()> {
        log(format!("init {:?}", this.name()?));
        Ok(())
    }

    #[on_change(fields(age))]
    fn aged<'t>(this: Obj<'t, Self>, age: &Changed<'t, Self, i32>) -> Result<()> {
        assert_eq!(age.object()?, this);
        log(format!("aged {} {}, {}", age.old()?, age.new()?, this.age()?));
        Ok(())
    }

    #[on_change(except(changes))]
    fn count(this: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        let age = change.of(Person::AGE).map(|age| age.new()).transpose()?;
        log(format!("count {} {age:?}", change.field()));
        this.set_changes(this.changes()? + 1)
    }

    #[on_create]
    #[on_change(fields(age, name))]
    #[on_delete]
    fn all(this: Obj<'_, Self>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        log(format!("all {:?} {}", this.name()?, this.age()?));
        Ok(())
    }

    #[on_delete]
    fn bye(this: Obj<'_, Self>) -> Result<(), String> {
        assert!(this.exists().unwrap());
        log("bye");
        Ok(())
    }

    /// No hook, though it stands among them.
    fn shout(&self) -> String {
        self.name.clone().unwrap_or_default().to_uppercase()
    }
}

#[test]
fn hooks_are_called_in_the_order_of_the_block_and_fields_by_storage_id() {
    let db = builder().model::<Person>().build().unwrap();
    db.write(|tx| {
        let ann = Person { name: Some("Ann".into()), age: 3, ..Person::default() };
        assert_eq!(ann.shout(), "ANN");
        let ann = tx.create(ann)?;
        let id = |field: &str| {
            tx.schema().object_type("Person").unwrap().field(field).unwrap().storage_id
        };
        assert!(id("age") < id("name"));
        assert_log([
            "init None",
            "all None 0",
            "aged 0 3, 3",
            "count age Some(3)",
            "all Some(\"Ann\") 3",
            "count name None",
            "all Some(\"Ann\") 3",
        ]);
        assert_eq!(ann.changes()?, 2);
        ann.set_age(4)?;
        assert_log(["aged 3 4, 4", "count age Some(4)", "all Some(\"Ann\") 4"]);
        // Nothing changes.
        ann.set_age(4)?;
        assert_log([]);
        // Only other objects change when an object is deleted.
        let bob = tx.create(Person { friend: Some(ann.to_ref()), ..Person::default() })?;
        assert_log(["init None", "all None 0", "count friend None"]);
        ann.delete()?;
        assert_log(["all Some(\"Ann\") 4", "bye", "count friend None"]);
        assert_eq!(bob.changes()?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_change_by_name_is_told_too() {
    let db = builder().model::<Person>().build().unwrap();
    db.write(|tx| {
        let ann = tx.create_default::<Person>()?;
        assert_log(["init None", "all None 0"]);
        ann.any().set("age", &Value::Int(5))?;
        assert_log(["aged 0 5, 5", "count age Some(5)", "all None 5"]);
        tx.core().set(ann.id(), "age", &Value::Int(6), Migrate::No)?;
        assert_log(["aged 5 6, 6", "count age Some(6)", "all None 6"]);
        ann.store(&Person { age: 7, changes: 9, ..Person::default() })?;
        assert_log(["aged 6 7, 7", "count age Some(7)", "all None 7"]);
        assert_eq!(ann.changes()?, 10);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Everything {
    required: String,
    hits: Counter,
    tags: BTreeSet<String>,
    list: Vec<i32>,
    map: BTreeMap<String, i64>,
}

#[permazen::hooks]
impl Everything {
    #[on_change(fields(required))]
    fn required(_: Obj<'_, Self>, change: &Changed<'_, Self, String>) -> Result<()> {
        log(format!("required {:?} {:?}", change.old_if_any()?, change.new()?));
        assert_eq!(change.old().is_err(), change.old_if_any()?.is_none());
        Ok(())
    }

    #[on_change(fields(tags))]
    fn tags(_: Obj<'_, Self>, change: &SetChanged<'_, Self, String>) -> Result<()> {
        log(match change.what()? {
            SetChange::Add(tag) => format!("+ {tag}"),
            SetChange::Remove(tag) => format!("- {tag}"),
            SetChange::Clear => "no tags".into(),
        });
        Ok(())
    }

    #[on_change(fields(list))]
    fn list(_: Obj<'_, Self>, change: &ListChanged<'_, Self, i32>) -> Result<()> {
        log(match change.what()? {
            ListChange::Add { index, element } => format!("+ {element} at {index}"),
            ListChange::Remove { index, element } => format!("- {element} at {index}"),
            ListChange::Replace { index, old, new } => format!("{old} -> {new} at {index}"),
            ListChange::Clear => "no list".into(),
        });
        Ok(())
    }

    #[on_change(fields(map))]
    fn map(_: Obj<'_, Self>, change: &MapChanged<'_, Self, String, i64>) -> Result<()> {
        log(match change.what()? {
            MapChange::Add { key, value } => format!("+ {key}: {value}"),
            MapChange::Remove { key, value } => format!("- {key}: {value}"),
            MapChange::Replace { key, old, new } => format!("{key}: {old} -> {new}"),
            MapChange::Clear => "no map".into(),
        });
        Ok(())
    }

    #[on_change]
    fn any(_: Obj<'_, Self>, change: Change<'_, Self>) -> Result<()> {
        let kind = match change.kind()? {
            ChangeKind::Simple { .. } => "simple",
            ChangeKind::SetAdd { .. } | ChangeKind::SetRemove { .. } | ChangeKind::SetClear => {
                "set"
            }
            ChangeKind::ListClear => "cleared list",
            ChangeKind::ListAdd { .. }
            | ChangeKind::ListRemove { .. }
            | ChangeKind::ListReplace { .. } => "list",
            _ => "map",
        };
        assert_eq!(
            change.field(),
            kind.replace("simple", "required").replace("set", "tags").replace("cleared ", "")
        );
        assert!(change.is(Everything::TAGS) == (kind == "set"));
        Ok(())
    }
}

#[test]
fn each_kind_of_change_is_told_with_typed_values() {
    let db = builder().model::<Everything>().build().unwrap();
    db.write(|tx| {
        let all = tx.create_default::<Everything>()?;
        assert_log([]);
        all.set_required("x")?;
        all.set_required("y")?;
        assert_log(["required None \"x\"", "required Some(\"x\") \"y\""]);
        // Counters never tell.
        all.hits().add(3)?;
        assert_log([]);
        all.tags()?.add("a")?;
        all.tags()?.add("a")?;
        all.tags()?.remove("b")?;
        all.tags()?.remove("a")?;
        all.tags()?.clear()?;
        all.tags()?.add("c")?;
        all.tags()?.clear()?;
        assert_log(["+ a", "- a", "+ c", "no tags"]);
        all.list()?.push(1)?;
        all.list()?.insert(0, 2)?;
        all.list()?.set(1, 3)?;
        all.list()?.set(1, 3)?;
        all.list()?.remove(0)?;
        all.list()?.clear()?;
        all.list()?.clear()?;
        assert_log(["+ 1 at 0", "+ 2 at 0", "1 -> 3 at 1", "- 2 at 0", "no list"]);
        all.map()?.insert("k", 1)?;
        all.map()?.insert("k", 1)?;
        all.map()?.insert("k", 2)?;
        all.map()?.remove("k")?;
        all.map()?.remove("k")?;
        all.map()?.clear()?;
        all.map()?.insert("k", 3)?;
        all.map()?.clear()?;
        assert_log(["+ k: 1", "k: 1 -> 2", "- k: 2", "+ k: 3", "no map"]);
        Ok(())
    })
    .unwrap();
}

/// `a`, `b` and `c` have ascending storage IDs.
#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Abc {
    #[permazen(storage_id = 11)]
    a: i32,
    #[permazen(storage_id = 12)]
    b: i32,
    #[permazen(storage_id = 13)]
    c: i32,
}

#[permazen::hooks]
impl Abc {
    #[on_change(fields(a))]
    fn on_a(this: Obj<'_, Self>) -> Result<()> {
        log("a begins");
        this.set_c(1)?;
        this.set_b(1)?;
        log("a ends");
        Ok(())
    }

    #[on_change]
    fn on_any(_: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        log(change.field());
        Ok(())
    }
}

#[test]
fn changes_of_hooks_are_told_after_the_hook_by_storage_id() {
    let db = builder().model::<Abc>().build().unwrap();
    db.write(|tx| {
        tx.create_default::<Abc>()?.set_a(5)?;
        assert_log(["a begins", "a ends", "a", "b", "c"]);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Fleeting {
    text: Option<String>,
    other: i32,
}

#[permazen::hooks]
impl Fleeting {
    #[on_change(fields(text))]
    fn vanish(this: Obj<'_, Self>) -> Result<()> {
        this.delete().map(drop)
    }

    #[on_change]
    fn after(this: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        log(format!("{} {}", change.field(), this.exists()?));
        Ok(())
    }

    #[on_delete]
    fn again(this: Obj<'_, Self>) -> Result<()> {
        log(format!("deleted again: {}", this.delete()?));
        Ok(())
    }
}

#[test]
fn a_hook_may_delete_the_object_and_later_hooks_are_not_called_for_it() {
    let db = builder().model::<Fleeting>().build().unwrap();
    db.write(|tx| {
        let it = tx.create_default::<Fleeting>()?;
        it.set_other(1)?;
        assert_log(["other true"]);
        it.set_text("bye")?;
        assert!(!it.exists()?);
        assert_log(["deleted again: false"]);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Tag {
    #[permazen(forward_delete, inverse_delete = "nullify")]
    last: Option<Ref<Tag>>,
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    back: Option<Ref<Tag>>,
    puts: bool,
}

#[derive(PermazenObject, Default)]
struct Bag {
    #[permazen(key(inverse_delete = "remove"), value(inverse_delete = "remove"))]
    pairs: BTreeMap<Ref<Tag>, Ref<Tag>>,
}

#[permazen::hooks]
impl Tag {
    #[on_delete]
    fn bring_back(this: Obj<'_, Self>) -> Result<()> {
        let Some(back) = this.back()? else { return Ok(()) };
        assert!(back.recreate()?);
        if !this.puts()? {
            return Ok(());
        }
        for bag in this.tx().all::<Bag>()?.to_vec()? {
            bag.pairs()?.insert(back, back)?;
        }
        Ok(())
    }
}

/// Changes in maps wait until all objects are gone. Until then, a hook may put in another entry.
#[test]
fn an_entry_for_an_object_that_a_hook_has_brought_back_stays() {
    for puts in [false, true] {
        let db = builder().model::<Tag>().model::<Bag>().build().unwrap();
        let (first, bag) = db
            .write(|tx| {
                let first = tx.create(Tag::default())?;
                let back = Some(first.to_ref());
                first.set_last(tx.create(Tag { back, puts, ..Tag::default() })?)?;
                let (first, other) = (first.to_ref(), tx.create(Tag::default())?.to_ref());
                // The object that goes is in a key, and in a value.
                let bag = tx.create(Bag { pairs: [(first, other), (other, first)].into() })?;
                Ok((first, bag.to_ref()))
            })
            .unwrap();
        let expected = if puts { vec![(first, first)] } else { vec![] };
        db.write(|tx| {
            assert!(tx.get(first)?.delete()?);
            assert!(tx.get(first)?.exists()?);
            let pairs: Vec<_> = tx.get(bag)?.pairs()?.iter().collect::<Result<_>>()?;
            assert_eq!(pairs, expected, "puts: {puts}");
            Ok(())
        })
        .unwrap();
    }
}
