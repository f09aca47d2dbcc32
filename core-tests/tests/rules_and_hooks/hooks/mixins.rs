//! Hooks of mix-ins, which are called for all models that flatten the mix-in.

use permazen::model::{
    AnyObj, Change, Changed, Committed, ListChanged, Path, Rule, With, along, changes, creations,
    deletions,
};
use permazen::{Any, Obj, PermazenFields, PermazenObject, Ref, Result, Tx};
use std::sync::{Arc, Mutex};

use crate::hooks::{assert_log, builder, log, taken};

/// Says of each object when it was created and changed, in ticks.
#[derive(PermazenFields, Default, Clone)]
#[permazen(hooks)]
struct Stamps {
    created_at: i64,
    updated_at: i64,
}

#[permazen::hooks]
impl Stamps {
    #[on_create]
    fn created(this: With<'_, Self>) -> Result<()> {
        log(format!("created {}", this.any().type_name()?));
        this.set_created_at(1)
    }

    #[on_change(except(created_at, updated_at))]
    fn updated(this: With<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        assert_eq!(change.object()?, this);
        log(format!("{} changes", change.field()));
        this.set_updated_at(this.updated_at()? + 1)
    }

    #[on_change(fields(updated_at))]
    fn stamped(this: With<'_, Self>, at: &Changed<'_, Self, i64>) -> Result<()> {
        assert!(at.is(Stamps::UPDATED_AT) && !at.is(Stamps::CREATED_AT));
        log(format!("{:?} stamped {} to {}", this.any().type_name()?, at.old()?, at.new()?));
        Ok(())
    }

    #[on_delete]
    fn gone(this: With<'_, Self>) -> Result<(), String> {
        match this.updated_at() {
            Ok(100) => Err("it is kept".into()),
            at => {
                log(format!("gone, at {}", at.unwrap()));
                Ok(())
            }
        }
    }

    #[on_validate(fields(updated_at))]
    fn in_time(this: With<'_, Self>) -> Result<(), String> {
        if this.updated_at().unwrap() < 1000 { Ok(()) } else { Err("too late".into()) }
    }
}

/// Has the stamps after fields of its own.
#[derive(PermazenFields, Default, Clone)]
#[permazen(hooks)]
struct Entry {
    label: Option<String>,
    lines: Vec<String>,
    #[permazen(flatten)]
    stamps: Stamps,
}

#[permazen::hooks]
impl Entry {
    #[on_change(fields(label, stamps.created_at))]
    fn labelled(this: With<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        let of_stamps = change.of(Entry::STAMPS.created_at).map(|it| it.new()).transpose()?;
        let at = this.get(Entry::STAMPS.created_at)?;
        let label = this.label()?;
        log(format!("{:?} of entry {label:?}, {at} {of_stamps:?}", change.field()));
        Ok(())
    }

    #[on_change(fields(lines))]
    fn lines(_this: With<'_, Self>, lines: &ListChanged<'_, Self, String>) -> Result<()> {
        log(format!("{:?}", lines.what()?));
        Ok(())
    }

    #[on_validate]
    fn has_label(this: With<'_, Self>) -> Result<(), &'static str> {
        if this.label().unwrap().as_deref() == Some("bad") { Err("a bad label") } else { Ok(()) }
    }
}

#[derive(PermazenObject, Default, Clone)]
struct Plain {
    n: i32,
    #[permazen(flatten)]
    stamps: Stamps,
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Noted {
    a: i32,
    b: i32,
    #[permazen(flatten)]
    entry: Entry,
}

#[permazen::hooks]
impl Noted {
    #[on_create]
    fn first(_: Obj<'_, Self>) -> Result<()> {
        log("model first");
        Ok(())
    }

    #[on_change(fields(a))]
    fn changed_a(_: Obj<'_, Self>) -> Result<()> {
        log("model's a");
        Ok(())
    }
}

#[derive(PermazenObject, Default, Clone)]
struct Other {
    n: i32,
    #[permazen(inverse_delete = "nullify")]
    object: Option<Ref<Any>>,
}

fn open() -> permazen::Permazen {
    builder().model::<Plain>().model::<Noted>().model::<Other>().build().unwrap()
}

#[test]
fn each_model_with_the_mixin_has_its_hooks() {
    open()
        .write(|tx| {
            let plain = tx.create_default::<Plain>()?;
            assert_log(["created Plain"]);
            plain.set_n(5)?;
            assert_log(["n changes", "\"Plain\" stamped 0 to 1"]);
            assert_eq!((plain.created_at()?, plain.updated_at()?), (1, 1));
            plain.set_created_at(7)?;
            assert_log([]);
            assert!(plain.delete()?);
            assert_log(["gone, at 1"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn hooks_of_nested_mixins_follow_those_of_the_model() {
    open()
        .write(|tx| {
            let noted = tx.create_default::<Noted>()?;
            assert_log(["model first", "created Noted", "\"createdAt\" of entry None, 1 Some(1)"]);
            noted.set_a(5)?;
            assert_log(["model's a", "a changes", "\"Noted\" stamped 0 to 1"]);
            noted.set_label("x")?;
            assert_log([
                "\"label\" of entry Some(\"x\"), 1 None",
                "label changes",
                "\"Noted\" stamped 1 to 2",
            ]);
            noted.lines()?.push("one")?;
            assert_log([
                "Add { index: 0, element: \"one\" }",
                "lines changes",
                "\"Noted\" stamped 2 to 3",
            ]);
            assert_eq!((noted.a()?, noted.b()?, noted.updated_at()?), (5, 0, 3));
            Ok(())
        })
        .unwrap();
}

#[test]
fn objects_without_the_mixin_are_not_told() {
    open()
        .write(|tx| {
            let other = tx.create(Other { n: 1, object: None })?;
            other.set_n(2)?;
            other.delete()?;
            assert_log([]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_error_names_the_hook_of_the_mixin() {
    open()
        .write(|tx| {
            let plain = tx.create(Plain { n: 0, stamps: Stamps::default() })?;
            plain.set_updated_at(100)?;
            let error = plain.delete().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("Stamps::gone of object {}", plain.id())),
                "{error}"
            );
            assert!(plain.exists()?);
            Ok(())
        })
        .unwrap();
    taken();
}

#[test]
fn a_hook_of_a_mixin_can_delete_its_object() {
    #[derive(PermazenFields, Default)]
    #[permazen(hooks)]
    struct Uses {
        uses: i32,
    }

    #[permazen::hooks]
    impl Uses {
        #[on_change]
        fn used_up(this: With<'_, Self>) -> Result<()> {
            if this.uses()? == 0 {
                assert!(this.delete()? && !this.exists()?);
            }
            Ok(())
        }
    }

    #[derive(PermazenObject, Default)]
    struct Ticket {
        title: String,
        #[permazen(flatten)]
        uses: Uses,
    }

    #[derive(PermazenObject, Default)]
    struct Pass {
        #[permazen(flatten)]
        uses: Uses,
    }

    let db = builder().model::<Ticket>().model::<Pass>().build().unwrap();
    db.write(|tx| {
        let ticket = tx.create(Ticket { title: "T".into(), uses: Uses { uses: 2 } })?;
        let pass = tx.create(Pass { uses: Uses { uses: 2 } })?;
        ticket.set_uses(1)?;
        assert!(ticket.exists()?);
        ticket.set_uses(0)?;
        assert!(!ticket.exists()? && pass.exists()?);
        pass.set_uses(0)?;
        assert!(!pass.exists()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn hooks_of_mixins_validate() {
    let violations = |tx: &Tx| match tx.validate() {
        Err(permazen::Error::Invalid(found)) => {
            let text = |it: &permazen::Violation| {
                assert_eq!(it.rule, Rule::Valid);
                format!("{}: {}", it.path, it.message.as_deref().unwrap())
            };
            found.iter().map(text).collect::<Vec<_>>()
        }
        other => {
            other.unwrap();
            Vec::new()
        }
    };
    let db = open();
    let id = db
        .write(|tx| {
            let noted = tx.create_default::<Noted>()?;
            tx.validate()?;
            noted.set_updated_at(5000)?;
            assert_eq!(violations(tx), ["Stamps::in_time: too late"]);
            noted.set_label("bad")?;
            assert_eq!(
                violations(tx),
                ["Entry::has_label: a bad label", "Stamps::in_time: too late"]
            );
            noted.set_updated_at(1)?;
            noted.set_a(1)?;
            assert_eq!(violations(tx), ["Entry::has_label: a bad label"]);
            noted.set_label("good")?;
            tx.validate()?;
            noted.revalidate()?;
            Ok(noted.to_ref())
        })
        .unwrap();
    let refused = db.write(|tx| tx.get(id)?.set_label("bad")).unwrap_err();
    assert!(refused.to_string().contains("Entry::has_label"), "{refused}");
    assert!(db.check_rules().unwrap().is_clean());
    taken();
}

#[test]
fn fields_of_mixins_and_their_objects_can_be_observed() {
    #[derive(PermazenFields, Default)]
    struct Named {
        name: String,
    }

    #[derive(PermazenObject, Default)]
    struct Dog {
        good: bool,
        #[permazen(flatten)]
        named: Named,
    }

    #[derive(PermazenObject, Default)]
    struct Cat {
        #[permazen(flatten)]
        named: Named,
        lives: i32,
    }

    let db = builder().model::<Dog>().model::<Cat>().model::<Other>().build().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let committed = Arc::clone(&told);
    db.observe_committed::<Named>(move |object, done| {
        committed.lock().unwrap().push((object.any(), done))
    })
    .unwrap();
    db.observe(Named::NAME, |object, name| {
        log(format!("{:?} -> {} is {}", name.old_if_any()?, name.new()?, object.name()?));
        Ok(())
    })
    .unwrap();
    let dog = db
        .write(|tx| {
            tx.observe(creations::<Named>(), |object, ()| object.set_name("new"))?;
            tx.observe(changes::<Named>(), |object: With<'_, Named>, change| {
                log(format!("{} of {}", change.field(), object.name()?));
                Ok(())
            })?;
            tx.observe(deletions::<Named>(), |object, ()| {
                log(format!("{} goes", object.name()?));
                Ok(())
            })?;
            tx.observe(along(&Path::of::<Other>().to(Other::OBJECT), Named::NAME), |it, name| {
                log(format!("{} sees {}", it.n()?, name.new()?));
                Ok(())
            })?;
            let dog = tx.create_default::<Dog>()?;
            assert_log(["None -> new is new", "name of new"]);
            let cat = tx.create_default::<Cat>()?;
            let other = tx.create(Other { n: 3, object: Some(cat.to_ref().any()) })?;
            taken();
            cat.set_name("Tom")?;
            assert_log(["Some(\"new\") -> Tom is Tom", "name of Tom", "3 sees Tom"]);
            cat.set_lives(9)?;
            assert_log(["lives of Tom"]);
            cat.delete()?;
            other.set_n(4)?;
            assert_log(["Tom goes"]);
            Ok(dog.to_ref().any())
        })
        .unwrap();
    assert_eq!(*told.lock().unwrap(), [(dog, Committed::Created)]);

    let without = builder().model::<Other>().build().unwrap();
    let missing = without.observe(Named::NAME, |_, _| Ok(())).unwrap_err();
    assert!(matches!(missing, permazen::Error::NotRegistered { type_name: "Named" }), "{missing}");
}

#[test]
fn a_handle_of_a_mixin_is_that_of_an_object() {
    open()
        .write(|tx| {
            tx.observe(Stamps::CREATED_AT, |this, _| {
                let again = this;
                assert!(this == again && this.id() == this.to_ref().id());
                assert!(this.any().downcast::<Plain>().is_some());
                assert!(this.any().downcast::<Noted>().is_none());
                assert!(this.exists()? && this.tx().any(this.id()) == this.any());
                let any: AnyObj<'_> = this.any();
                assert_eq!(format!("{this:?}"), format!("Plain@{}", any.id()));
                this.set(Stamps::UPDATED_AT, 55)?;
                assert_eq!(this.get(Stamps::UPDATED_AT)?, 55);
                Ok(())
            })?;
            assert_eq!(tx.create_default::<Plain>()?.updated_at()?, 55);
            Ok(())
        })
        .unwrap();
    taken();
}
