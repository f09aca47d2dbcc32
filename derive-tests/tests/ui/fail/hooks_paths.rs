//! Hooks along reference paths: what does not fit is reported where it is written.
#![allow(unused_variables)]
use permazen::model::{Change, Changed, Path};
use permazen::{Obj, PermazenObject, Ref, Result};

#[derive(PermazenObject)]
struct Account {
    balance: i64,
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Person {
    age: i32,
    account: Option<Ref<Account>>,
}

#[permazen::hooks]
impl Person {
    #[on_change(of = Account::BALANCE, path = Path::of::<Account>())]
    fn begins_elsewhere(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(of = Account::BALANCE, path = Path::of::<Self>())]
    fn leads_elsewhere(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(of = Account::BALANCE, path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn other_values(this: Obj<'_, Self>, change: &Changed<'_, Account, i32>) -> Result<()> {
        Ok(())
    }
    #[on_change(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn other_model(this: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_delete(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn other_object(this: Obj<'_, Self>, gone: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(path = 7)]
    fn no_path(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn fine(this: Obj<'_, Self>, change: &Change<'_, Account>) -> Result<()> {
        Ok(())
    }
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Syntax {
    account: Option<Ref<Account>>,
}

#[permazen::hooks]
impl Syntax {
    #[on_change(of = Account::BALANCE)]
    fn no_path(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(fields(account), path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn own_fields(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
    #[on_change(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn too_much(this: Obj<'_, Self>, a: i32, b: i32) -> Result<()> {
        Ok(())
    }
    #[on_delete(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn without_object(this: Obj<'_, Self>) -> Result<()> {
        Ok(())
    }
}

fn main() {}
