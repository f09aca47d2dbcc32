//! Kinds that gain and lose members, and mix-ins that gain fields.

use permazen::kv::memory::MemoryStore;
use permazen::{Error, Permazen};

/// The first version.
mod before {
    use std::collections::BTreeSet;

    use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref};

    #[derive(PermazenFields, Debug, Clone, PartialEq)]
    pub(super) struct Named {
        #[permazen(indexed)]
        pub(super) name: String,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Dog {
        #[permazen(flatten)]
        pub(super) named: Named,
        pub(super) good: bool,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Fox {
        pub(super) tails: i32,
    }

    #[derive(PermazenKind)]
    #[permazen(fields = Named)]
    pub(super) enum Pet<'t> {
        Dog(Obj<'t, Dog>),
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Walk {
        pub(super) pet: Option<Ref<PetKind>>,
        pub(super) met: BTreeSet<Ref<PetKind>>,
        pub(super) length: i32,
    }
}

/// The next version: foxes are pets, and names have a language.
mod after {
    use std::collections::BTreeSet;

    use permazen::{Obj, OldValues, PermazenFields, PermazenKind, PermazenObject, Ref, Result};

    #[derive(PermazenFields, Debug, Clone, PartialEq)]
    pub(super) struct Named {
        #[permazen(default = 7)]
        pub(super) rank: i32,
        #[permazen(indexed, was = "name")]
        pub(super) full_name: String,
        #[permazen(upgrade_with = longer)]
        pub(super) letters: i64,
    }

    fn longer(old: &OldValues<'_>) -> Result<i64> {
        let name: String = old.get("name")?;
        Ok(i64::try_from(name.len()).unwrap_or(-1))
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Dog {
        pub(super) good: bool,
        #[permazen(flatten)]
        pub(super) named: Named,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Fox {
        pub(super) tails: i32,
    }

    #[derive(PermazenKind)]
    pub(super) enum Pet<'t> {
        Dog(Obj<'t, Dog>),
        Fox(Obj<'t, Fox>),
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Walk {
        pub(super) pet: Option<Ref<PetKind>>,
        pub(super) met: BTreeSet<Ref<PetKind>>,
        pub(super) length: i32,
    }
}

fn old_program(store: &MemoryStore) -> Permazen {
    let builder = Permazen::builder(store.clone()).kind::<before::PetKind>();
    builder.model::<before::Fox>().model::<before::Walk>().build().unwrap()
}

fn new_program(store: &MemoryStore) -> Permazen {
    let builder = Permazen::builder(store.clone()).kind::<after::PetKind>();
    builder.model::<after::Walk>().build().unwrap()
}

#[test]
fn a_new_member_moves_objects_exactly() {
    let store = MemoryStore::new();
    let (dog, walk) = old_program(&store)
        .write(|tx| {
            let named = before::Named { name: "Rex".into() };
            let dog = tx.create(before::Dog { named, good: true })?;
            let met = [dog.into()].into();
            let walk = tx.create(before::Walk { pet: Some(dog.into()), met, length: 5 })?;
            Ok((dog.id(), walk.id()))
        })
        .unwrap();
    let db = new_program(&store);
    db.write(|tx| {
        let walk = tx.get::<after::Walk>(walk)?;
        let before = walk.schema_id()?;
        assert_eq!(walk.pet()?, Some(after::Pet::Dog(tx.get::<after::Dog>(dog)?)));
        let fox = tx.create(after::Fox { tails: 9 })?;
        walk.met()?.add(fox)?;
        assert_ne!(walk.schema_id()?, before);
        let met = [dog.into(), fox.into()].into();
        assert_eq!(walk.load()?, after::Walk { pet: Some(dog.into()), met, length: 5 });
        // The fields of the mix-in have their own defaults and conversions, wherever they begin.
        let named = after::Named { rank: 7, full_name: "Rex".into(), letters: 3 };
        let dog = tx.get::<after::Dog>(dog)?;
        assert!(dog.migrate()?);
        assert_eq!(dog.load()?, after::Dog { good: true, named });
        assert_eq!(tx.index(after::Named::FULL_NAME)?.get("Rex")?.count()?, 1);
        assert_eq!(tx.index(after::Walk::MET)?.get(fox)?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_member_that_is_referred_to_stays() {
    let store = MemoryStore::new();
    let (with_fox, without, fox) = new_program(&store)
        .write(|tx| {
            let fox = tx.create(after::Fox { tails: 9 })?;
            let walk = |met| after::Walk { pet: None, met, length: 1 };
            let with_fox = tx.create(walk([fox.into()].into()))?;
            Ok((with_fox.id(), tx.create(walk([].into()))?.id(), fox.id()))
        })
        .unwrap();
    // The old program's kind has no foxes.
    old_program(&store)
        .write(|tx| {
            assert!(tx.get::<before::Walk>(without)?.migrate()?);
            let walk = tx.get::<before::Walk>(with_fox)?;
            let refused = walk.migrate().unwrap_err();
            assert!(matches!(refused, Error::Refused(_)), "{refused}");
            assert!(refused.to_string().contains("\"met.element\""), "{refused}");
            assert!(tx.get::<before::PetKind>(fox).is_err());
            assert_eq!(tx.all::<before::PetKind>()?.count()?, 0);
            Ok(())
        })
        .unwrap();
    new_program(&store)
        .read(|tx| {
            let walk = tx.get::<after::Walk>(with_fox)?;
            assert_eq!(walk.load()?.met, [fox.into()].into());
            assert_eq!(
                tx.index(after::Walk::MET.allow_partial())?
                    .get(tx.get::<after::Fox>(fox)?)?
                    .count()?,
                1
            );
            Ok(())
        })
        .unwrap();
}

/// Two models whose mix-in has an index, in a program that has only one of them with it.
mod unindexed {
    use permazen::PermazenObject;

    #[derive(PermazenObject)]
    pub(super) struct Book {
        pub(super) branch: i32,
    }
}

mod indexed {
    use permazen::{PermazenFields, PermazenObject};

    #[derive(PermazenFields)]
    pub(super) struct Shelved {
        #[permazen(indexed)]
        pub(super) branch: i32,
    }

    #[derive(PermazenObject)]
    pub(super) struct Atlas {
        #[permazen(flatten)]
        pub(super) shelved: Shelved,
    }

    #[derive(PermazenObject)]
    pub(super) struct Book {
        #[permazen(flatten)]
        pub(super) shelved: Shelved,
    }
}

#[test]
fn a_partial_index_of_a_mixin_has_the_name_of_the_type_that_lacks_entries() {
    let store = MemoryStore::new();
    let old = Permazen::builder(store.clone()).model::<unindexed::Book>().build().unwrap();
    old.write(|tx| tx.create(unindexed::Book { branch: 3 }).map(drop)).unwrap();
    let new = Permazen::builder(store).model::<indexed::Atlas>().model::<indexed::Book>();
    let new = new.build().unwrap();
    new.write(|tx| {
        let shelved = indexed::Shelved { branch: 3 };
        tx.create(indexed::Atlas { shelved }).map(drop)
    })
    .unwrap();
    let error = new.read(|tx| tx.index(indexed::Shelved::BRANCH).map(drop)).unwrap_err();
    let Error::PartialIndex { index, type_name, missing: 1, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((&**index, &**type_name), ("Book.branch", "Book"));
}
