//! Hooks of kinds, which are called for all models of the kind, and observers of kinds.

use permazen::model::{
    Change, Changed, Committed, ModelSet, Path, along, changes, creations, deletions,
};
use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref, Result};
use std::sync::{Arc, Mutex};

use crate::hooks::{assert_log, builder, log, taken};

#[derive(PermazenFields, Default, Clone)]
#[permazen(hooks)]
struct Named {
    #[permazen(default)]
    name: String,
}

#[permazen::hooks]
impl Named {
    #[on_change(fields(name))]
    fn first(_: permazen::model::With<'_, Self>) -> Result<()> {
        log("mix-in");
        Ok(())
    }
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Dog {
    good: bool,
    #[permazen(flatten)]
    named: Named,
}

#[permazen::hooks]
impl Dog {
    #[on_change]
    fn changed(_: Obj<'_, Self>) -> Result<()> {
        log("model");
        Ok(())
    }
}

#[derive(PermazenObject, Default, Clone)]
struct Cat {
    #[permazen(flatten)]
    named: Named,
    lives: i32,
}

#[derive(PermazenObject, Default, Clone)]
struct Snake {
    length: i32,
    weight: i32,
    #[permazen(flatten)]
    named: Named,
}

/// Has the mix-in, but is no pet.
#[derive(PermazenObject, Default, Clone)]
struct Stone {
    #[permazen(flatten)]
    named: Named,
}

#[derive(PermazenKind)]
#[permazen(hooks, kind = "ReptileType")]
enum Reptile<'t> {
    Snake(Obj<'t, Snake>),
}

#[permazen::hooks]
impl<'t> Reptile<'t> {
    #[on_change]
    fn moved(this: Self, change: &Change<'_, ReptileType>) -> Result<()> {
        let Reptile::Snake(snake) = this;
        log(format!("reptile {} of {}", change.field(), snake.name()?));
        Ok(())
    }

    #[on_create]
    fn hatched(this: Reptile<'t>) -> Result<()> {
        log(format!("hatched {}", this.any().type_name()?));
        Ok(())
    }
}

#[derive(PermazenKind)]
#[permazen(fields = Named, hooks)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
    Reptile(Reptile<'t>),
}

#[permazen::hooks]
impl Pet<'_> {
    #[on_create]
    fn born(this: Pet<'_>) -> Result<()> {
        log(format!("born {}", this.any().type_name()?));
        Ok(())
    }

    #[on_change(fields(named.name))]
    fn renamed(this: Pet<'_>, name: &Changed<'_, PetKind, String>) -> Result<()> {
        assert_eq!(name.object()?.id(), this.id());
        assert!(name.is(PetKind::NAMED.name));
        log(format!("renamed {:?} to {:?}", name.old_if_any()?, name.new()?));
        match this {
            Pet::Cat(cat) if cat.name()? == "Ghost" => cat.delete().map(drop),
            _ => Ok(()),
        }
    }

    #[on_change(except(named.name))]
    fn other(this: Self, change: &Change<'_, PetKind>) -> Result<()> {
        log(format!("{} of {}", change.field(), this.name()?));
        Ok(())
    }

    #[on_delete]
    fn gone(this: Pet<'_>) -> Result<(), String> {
        match this.name() {
            Ok(name) if name == "Immortal" => Err("never".into()),
            name => {
                log(format!("gone {}", name.unwrap()));
                Ok(())
            }
        }
    }

    #[on_validate(fields(named.name))]
    fn decent(this: Pet<'_>) -> Result<(), String> {
        let name = this.name().unwrap();
        if name == "Damn" { Err(format!("{name}!")) } else { Ok(()) }
    }
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Owner {
    #[permazen(default)]
    seen: String,
    #[permazen(inverse_delete = "nullify")]
    pet: Option<Ref<PetKind>>,
}

#[permazen::hooks]
impl Owner {
    #[on_change(of = PetKind::NAMED.name, path = Path::of::<Self>().to(Self::PET))]
    fn pet_renamed(this: Obj<'_, Self>, name: &Changed<'_, PetKind, String>) -> Result<()> {
        this.set_seen(name.new()?)
    }
}

fn open() -> permazen::Permazen {
    let set = ModelSet::new().kind::<PetKind>();
    let builder = builder().models(set).kind::<PetKind>().kind::<ReptileType>();
    builder.model::<Stone>().model::<Owner>().build().unwrap()
}

#[test]
fn each_model_of_the_kind_has_its_hooks_once() {
    open()
        .write(|tx| {
            let dog = tx.create_default::<Dog>()?;
            assert_log(["born Dog", "model", "mix-in", "renamed None to \"\""]);
            dog.set_name("Rex")?;
            assert_log(["model", "mix-in", "renamed Some(\"\") to \"Rex\""]);
            dog.set_good(true)?;
            assert_log(["model", "good of Rex"]);
            let cat = tx.create_default::<Cat>()?;
            assert_log(["born Cat", "mix-in", "renamed None to \"\""]);
            cat.set_lives(9)?;
            assert_log(["lives of "]);
            dog.delete()?;
            assert_log(["gone Rex"]);
            let snake = tx.create_default::<Snake>()?;
            assert_log([
                "hatched Snake",
                "born Snake",
                "mix-in",
                "reptile name of ",
                "renamed None to \"\"",
            ]);
            snake.set_name("Kaa")?;
            assert_log(["mix-in", "reptile name of Kaa", "renamed Some(\"\") to \"Kaa\""]);
            snake.set_weight(7)?;
            assert_log(["reptile weight of Kaa", "weight of Kaa"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn objects_of_other_models_are_not_told() {
    open()
        .write(|tx| {
            let stone = tx.create_default::<Stone>()?;
            stone.set_name("Damn")?;
            stone.delete()?;
            assert_log(["mix-in", "mix-in"]);
            Ok(())
        })
        .unwrap();
    // A model of the kind without the kind.
    let dogs = builder().model::<Dog>().build().unwrap();
    dogs.write(|tx| tx.create_default::<Dog>()?.set_name("Rex")).unwrap();
    assert_log(["model", "mix-in", "model", "mix-in"]);
}

#[test]
fn hooks_can_delete_what_they_are_told_of_and_refuse() {
    open()
        .write(|tx| {
            let cat = tx.create_default::<Cat>()?;
            cat.set_name("Ghost")?;
            assert!(!cat.exists()?);
            let dog = tx.create_default::<Dog>()?;
            dog.set_name("Immortal")?;
            let error = dog.delete().unwrap_err().to_string();
            assert!(error.starts_with(&format!("Pet::gone of object {}", dog.id())), "{error}");
            assert!(dog.exists()?);
            Ok(())
        })
        .unwrap();
    taken();
}

#[test]
fn hooks_of_kinds_validate() {
    let db = open();
    let snake = db.write(|tx| Ok(tx.create_default::<Snake>()?.to_ref())).unwrap();
    for _ in 0..2 {
        let refused = db
            .write(|tx| {
                let snake = tx.get(snake)?;
                snake.set_name("Damn")?;
                let early = tx.validate().unwrap_err().to_string();
                assert!(early.contains("Pet::decent"), "{early}");
                Ok(())
            })
            .unwrap_err();
        assert!(refused.to_string().contains("Damn!"), "{refused}");
    }
    db.write(|tx| tx.get(snake)?.revalidate()).unwrap();
    let loose = builder().validation(permazen::Validation::Off).kind::<PetKind>();
    let loose = loose.build().unwrap();
    loose
        .write(|tx| {
            tx.create_default::<Cat>()?.set_name("Damn")?;
            tx.create_default::<Cat>()?.set_name("Tom")
        })
        .unwrap();
    let report = loose.check_rules().unwrap();
    assert_eq!(report.violations.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["Pet::decent"]);
    taken();
}

#[test]
fn kinds_can_be_observed() {
    let db = open();
    let told = Arc::new(Mutex::new(Vec::new()));
    let committed = Arc::clone(&told);
    let committed = db
        .observe_committed::<PetKind>(move |pet, what| committed.lock().unwrap().push((pet, what)))
        .unwrap();
    let observer = db
        .observe(PetKind::NAMED.name, |pet, name| {
            log(format!("observer: {:?} -> {}", name.old_if_any()?, pet.name()?));
            Ok(())
        })
        .unwrap();
    let cat = db
        .write(|tx| {
            tx.observe(creations::<PetKind>(), |pet, ()| match pet {
                Pet::Cat(cat) => {
                    log(format!("observer: {}", cat.any().type_name()?));
                    Ok(())
                }
                Pet::Dog(_) | Pet::Reptile(_) => Ok(()),
            })?;
            tx.observe(changes::<ReptileType>(), |Reptile::Snake(snake), change| {
                log(format!("observer: {} of {}", change.field(), snake.weight()?));
                Ok(())
            })?;
            tx.observe(deletions::<PetKind>(), |pet, ()| {
                log(format!("observer: {} goes", pet.name()?));
                Ok(())
            })?;
            tx.observe(
                along(&Path::of::<Owner>().to(Owner::PET), changes::<PetKind>()),
                |it, change| {
                    let (seen, pet) = (it.seen()?, change.object()?.name()?);
                    log(format!("owner of {pet} sees {}, has seen {seen:?}", change.field()));
                    Ok(())
                },
            )?;
            let cat = tx.create_default::<Cat>()?;
            assert_eq!(taken()[..2], ["born Cat", "observer: Cat"]);
            let snake = tx.create_default::<Snake>()?;
            let owner = tx.create(Owner { seen: String::new(), pet: Some(cat.into()) })?;
            taken();
            cat.set_name("Tom")?;
            assert_log([
                "mix-in",
                "renamed Some(\"\") to \"Tom\"",
                "observer: Some(\"\") -> Tom",
                "owner of Tom sees name, has seen \"Tom\"",
            ]);
            assert_eq!(owner.seen()?, "Tom");
            snake.set_weight(3)?;
            assert_log(["reptile weight of ", "weight of ", "observer: weight of 3"]);
            tx.create_default::<Stone>()?.set_name("S")?;
            assert_log(["mix-in", "mix-in"]);
            snake.delete()?;
            assert_log(["gone ", "observer:  goes"]);
            Ok(cat.to_ref())
        })
        .unwrap();
    assert!(db.stop_observing(observer) && db.stop_observing(committed));
    db.write(|tx| tx.get(cat)?.set_name("Max")).unwrap();
    assert_log(["mix-in", "renamed Some(\"Tom\") to \"Max\""]);
    assert_eq!(*told.lock().unwrap(), [(cat.within::<PetKind>(), Committed::Created)]);

    let missing = builder().model::<Dog>().build().unwrap();
    let missing = missing.observe(changes::<PetKind>(), |_, _| Ok(())).unwrap_err();
    assert!(matches!(missing, permazen::Error::NotRegistered { .. }), "{missing}");
}
