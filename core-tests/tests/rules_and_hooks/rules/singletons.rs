//! Singletons and required values.

use permazen::model::Rule;
use permazen::{PermazenObject, Ref};

use super::*;

#[derive(PermazenObject)]
#[permazen(singleton)]
struct Settings {
    #[permazen(default = "light".to_owned())]
    theme: String,
}

#[test]
fn a_singleton_is_made_once() {
    let db = database::<Settings>();
    assert!(db.read(|tx| Ok(tx.find_singleton::<Settings>()?.is_none())).unwrap());
    let id = db.write(|tx| Ok(tx.singleton::<Settings>()?.id())).unwrap();
    let again = db.write(|tx| {
        let settings = tx.singleton::<Settings>()?;
        assert_eq!(settings.theme()?, "light");
        Ok(tx.singleton_or(|| Settings { theme: "dark".into() })?.id())
    });
    assert_eq!(again.unwrap(), id);
    let refused = db.write(|tx| Ok(tx.create(Settings { theme: "dark".into() })?.id()));
    let refused = violations(refused);
    let [violation] = refused.iter().as_slice() else { panic!("{refused}") };
    assert_eq!((violation.rule, &violation.others[..]), (Rule::Singleton, &[id][..]));
    // It can be replaced.
    db.write(|tx| {
        tx.get::<Settings>(id)?.delete()?;
        Ok(tx.create(Settings { theme: "dark".into() })?.id())
    })
    .unwrap();
}

#[test]
fn a_transaction_for_reading_says_how_to_look_for_a_singleton() {
    let db = database::<Settings>();
    let made = || Settings { theme: "dark".into() };
    for error in [
        db.read(|tx| tx.singleton::<Settings>().map(drop)).unwrap_err(),
        db.read(|tx| tx.singleton_or(made).map(drop)).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NoSingleton { type_name: "Settings" }), "{error:?}");
        assert!(error.to_string().contains("use `find_singleton`"), "{error}");
    }
}

#[derive(PermazenObject, Default)]
struct Page {
    title: String,
}

#[derive(PermazenObject)]
struct Link {
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    to: Ref<Page>,
    label: Option<String>,
}

#[test]
fn a_value_that_the_struct_requires_must_be_there_at_commit() {
    let db = builder::<Page>().model::<Link>().build().unwrap();
    let refused =
        db.write(|tx| Ok((tx.create_default::<Page>()?.id(), tx.create_default::<Link>()?.id())));
    let refused = violations(refused);
    let mut paths: Vec<_> = refused.iter().map(|it| (it.path.as_str(), it.rule)).collect();
    paths.sort_unstable_by_key(|(path, _)| *path);
    assert_eq!(paths, [("Link.to", Rule::Required), ("Page.title", Rule::Required)]);
    let page = db.write(|tx| {
        let page = tx.create_default::<Page>()?;
        page.set_title("Home")?;
        tx.create_default::<Link>()?.set_to(page)?;
        Ok(page.id())
    });
    let page = page.unwrap();
    let by_name = db.write(|tx| {
        let null = permazen::encoding::Value::Null;
        Ok(tx.core().set(page, "title", &null, permazen::object::Migrate::No)?)
    });
    assert_eq!(violations(by_name).iter().next().unwrap().path, "Page.title");
}
