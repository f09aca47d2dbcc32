//! The events that hooks get of fields that objects have under a former name or with another type.

use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::memory::MemoryStore;

use crate::hooks::{assert_log, log};
use crate::support::open;

mod old {
    use permazen::PermazenObject;

    #[derive(PermazenObject, Default, Clone)]
    pub(super) struct Owner {
        pub(super) nick: String,
        pub(super) bal: i64,
        pub(super) size: i32,
        pub(super) code: String,
    }
}

mod new {
    use permazen::model::{Change, Changed};
    use permazen::{Obj, OldValues, PermazenObject, Result};

    use super::log;

    #[derive(PermazenObject, Default)]
    #[permazen(hooks)]
    pub(super) struct Owner {
        #[permazen(was = "nick")]
        pub(super) name: String,
        #[permazen(was = "bal")]
        pub(super) balance: i64,
        pub(super) size: i8,
        #[permazen(upgrade_with = Owner::length)]
        pub(super) length: i32,
        #[permazen(default = 5)]
        pub(super) added: i32,
        pub(super) moved: i64,
    }

    impl Owner {
        fn length(old: &OldValues<'_>) -> Result<i32> {
            Ok(old.take::<String>("code")?.len() as i32)
        }
    }

    #[permazen::hooks]
    impl Owner {
        #[on_change(fields(name))]
        fn named(_: Obj<'_, Self>, name: &Changed<'_, Self, String>) -> Result<()> {
            log(format!("{} -> {}", name.old()?, name.new()?));
            Ok(())
        }

        #[on_change(fields(balance))]
        fn sum(this: Obj<'_, Self>, balance: &Changed<'_, Self, i64>) -> Result<()> {
            this.set_moved(this.moved()? + balance.new()? - balance.old()?)
        }

        #[on_change(except(name, balance, moved))]
        fn other(_: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
            log(format!("{} {:?}", change.field(), change.kind()?));
            Ok(())
        }
    }
}

/// Changes an owner that the old program has created.
fn with_old_owner(
    size: i32,
    change: impl Fn(permazen::Obj<'_, new::Owner>) -> permazen::Result<()>,
) {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let owner = old::Owner { nick: "a".into(), bal: 100, size, code: "abc".into() };
    let before = open::<old::Owner>(&store).build().unwrap();
    before.write(|tx| tx.create(owner.clone()).map(drop)).unwrap();
    let db = open::<new::Owner>(&store).build().unwrap();
    db.write(|tx| change(tx.all::<new::Owner>()?.first()?.unwrap())).unwrap();
}

#[test]
fn the_old_value_is_the_one_that_the_accessor_reads() {
    with_old_owner(1, |owner| {
        assert_eq!((owner.name()?, owner.balance()?), ("a".into(), 100));
        owner.set_balance(101)?;
        assert_eq!(owner.moved()?, 1);
        owner.set_name("b")?;
        assert_log(["a -> b"]);
        Ok(())
    });
    with_old_owner(1, |owner| owner.set_name("b"));
    assert_log(["a -> b"]);
    with_old_owner(1, |owner| owner.set_size(2));
    assert_log(["size Simple { old: Byte(1), new: Byte(2) }"]);
    with_old_owner(1, |owner| owner.set_length(4));
    assert_log(["length Simple { old: Int(3), new: Int(4) }"]);
    with_old_owner(1, |owner| owner.set_added(6));
    assert_log(["added Simple { old: Int(5), new: Int(6) }"]);
}

#[test]
fn the_same_value_is_not_told() {
    with_old_owner(1, |owner| owner.set_name("a"));
    assert_log([]);
    let stored = |name: &str| new::Owner {
        name: name.into(),
        balance: 100,
        size: 1,
        length: 3,
        added: 5,
        moved: 0,
    };
    with_old_owner(1, |owner| owner.store(&stored("a")));
    assert_log([]);
    with_old_owner(1, |owner| owner.store(&stored("b")));
    assert_log(["a -> b"]);
}

#[test]
fn a_value_that_cannot_be_converted_is_told_as_the_default_and_the_others_are_not() {
    with_old_owner(1000, |owner| owner.set_size(2));
    assert_log(["size Simple { old: Byte(0), new: Byte(2) }"]);
    let stored =
        new::Owner { name: "b".into(), balance: 101, size: 2, length: 3, added: 5, moved: 0 };
    with_old_owner(1000, |owner| {
        owner.store(&stored)?;
        assert_eq!(owner.moved()?, 1);
        Ok(())
    });
    let told = crate::hooks::taken();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.contains(&"a -> b".to_owned()), "{told:?}");
    assert!(told.contains(&"size Simple { old: Byte(0), new: Byte(2) }".to_owned()), "{told:?}");
}

mod referring {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default)]
    pub(super) struct Account {
        pub(super) balance: i64,
    }

    pub(super) mod old {
        use super::*;

        #[derive(PermazenObject, Default)]
        pub(in super::super) struct Holder {
            #[permazen(inverse_delete = "nullify")]
            pub(in super::super) acct: Option<Ref<Account>>,
        }
    }

    pub(super) mod new {
        use super::*;
        use crate::hooks::log;
        use permazen::model::{Change, Changed};
        use permazen::{Obj, Result};

        #[derive(PermazenObject, Default)]
        #[permazen(hooks)]
        pub(in super::super) struct Holder {
            #[permazen(was = "acct", inverse_delete = "nullify")]
            pub(in super::super) account: Option<Ref<Account>>,
        }

        #[permazen::hooks]
        impl Holder {
            #[on_change(fields(account))]
            fn lost(
                _: Obj<'_, Self>,
                account: &Changed<'_, Self, Option<Ref<Account>>>,
            ) -> Result<()> {
                log(format!("lost {} {}", account.old()?.is_some(), account.new()?.is_none()));
                Ok(())
            }

            #[on_change]
            fn any(_: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
                log(format!("any {} {}", change.field(), change.of(Self::ACCOUNT).is_some()));
                Ok(())
            }
        }
    }
}

#[test]
fn a_reference_that_becomes_null_under_its_former_name_is_told() {
    use referring::{Account, new, old};
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let before = open::<old::Holder>(&store).model::<Account>().build().unwrap();
    let account = before.write(|tx| {
        let account = tx.create(Account { balance: 1 })?.to_ref();
        tx.create(old::Holder { acct: Some(account) })?;
        Ok(account)
    });
    let db = open::<new::Holder>(&store).model::<Account>().build().unwrap();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    db.observe_committed::<new::Holder>(move |_, what| log.lock().unwrap().push(what)).unwrap();
    db.write(|tx| tx.get(account.as_ref().copied().unwrap())?.delete()).unwrap();
    assert_log(["lost true true", "any acct true"]);
    assert_eq!(*told.lock().unwrap(), [permazen::model::Committed::Changed]);
}
