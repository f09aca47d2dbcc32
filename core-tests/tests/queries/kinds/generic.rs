//! Generic structs, which are models and mix-ins by aliases.

use std::collections::{BTreeMap, BTreeSet};

use permazen::kv::memory::MemoryStore;
use permazen::model::{Changed, Path};
use permazen::{
    Error, Model, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Tx,
};

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
#[permazen(inverse(notes = PersonNote::ABOUT))]
struct Person {
    name: String,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Order {
    number: i64,
}

/// A note about an object.
#[derive(PermazenObject, Debug, Clone, PartialEq)]
#[permazen(
    aliases(PersonNote = Note<Person>, OrderNote = Note<Order> as "RemarkAboutOrder"),
    composite(name = "byAboutText", fields(about, text)),
    validate = Note::<T>::check,
    inverse(replies = Self::ANSWERS),
    hooks
)]
pub(crate) struct Note<T: Model> {
    about: Option<Ref<T>>,
    /// Its text.
    #[permazen(indexed, unique, exclude("none"))]
    text: String,
    others: BTreeSet<Ref<T>>,
    ranked: Vec<Ref<T>>,
    weights: BTreeMap<Ref<T>, i32>,
    answers: Option<Ref<Note<T>>>,
    #[permazen(with = Option<Ref<T>>)]
    hidden: Option<Hidden<T>>,
    #[permazen(skip)]
    loaded: Vec<T>,
    edits: i32,
}

impl<T: Model> Default for Note<T> {
    fn default() -> Self {
        Note {
            about: None,
            text: "none".into(),
            others: BTreeSet::new(),
            ranked: Vec::new(),
            weights: BTreeMap::new(),
            answers: None,
            hidden: None,
            loaded: Vec::new(),
            edits: 0,
        }
    }
}

impl<T: Model> Note<T> {
    fn check(&self) -> Result<(), String> {
        if self.text.is_empty() { Err(format!("a note about {}", T::TYPE_NAME)) } else { Ok(()) }
    }
}

/// A reference that is not shown.
#[derive(Debug, Clone, PartialEq)]
struct Hidden<T>(Ref<T>);

impl<T> From<Ref<T>> for Hidden<T> {
    fn from(reference: Ref<T>) -> Self {
        Hidden(reference)
    }
}

impl<T> From<Hidden<T>> for Ref<T> {
    fn from(hidden: Hidden<T>) -> Self {
        hidden.0
    }
}

#[permazen::hooks]
impl PersonNote {
    #[on_change(fields(text))]
    fn count(this: Obj<'_, Self>, _: &Changed<'_, Self, String>) -> Result<()> {
        this.set_edits(this.edits()? + 1)
    }
}

#[permazen::hooks]
impl Note<Order> {
    #[on_change(fields(text))]
    fn count(this: Obj<'_, Self>, _: &Changed<'_, Self, String>) -> Result<()> {
        this.set_edits(this.edits()? + 10)
    }
}

#[derive(PermazenKind)]
enum AnyNote<'t> {
    Person(Obj<'t, PersonNote>),
    Order(Obj<'t, Note<Order>>),
}

#[derive(PermazenObject, Debug, Default)]
struct Pin {
    note: Option<Ref<AnyNoteKind>>,
}

fn open() -> Permazen {
    let builder = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Order>();
    builder.kind::<AnyNoteKind>().model::<Pin>().build().unwrap()
}

fn noted<T: Model>(tx: &Tx, about: Ref<T>, text: &str) -> Result<Ref<Note<T>>>
where
    Note<T>: Model,
{
    let note = Note { about: Some(about), text: text.to_owned(), ..Note::default() };
    Ok(tx.create(note)?.to_ref())
}

#[test]
fn each_alias_is_a_type_of_its_own() {
    assert_eq!(PersonNote::TYPE_NAME, "PersonNote");
    assert_eq!(Note::<Order>::TYPE_NAME, "RemarkAboutOrder");
    let db = open();
    db.write(|tx| {
        let ann = tx.create(Person { name: "Ann".into() })?;
        let order = tx.create(Order { number: 7 })?;
        let friendly = tx.get(noted(tx, ann.to_ref(), "friendly")?)?;
        let late = tx.get(noted(tx, order.to_ref(), "late")?)?;
        assert_eq!(friendly.about()?, Some(ann));
        assert_eq!(late.about()?.unwrap().number()?, 7);
        assert_eq!(tx.find(PersonNote::TEXT, "friendly")?, Some(friendly));
        assert_eq!(tx.find(OrderNote::TEXT, "friendly")?, None);
        assert_eq!(tx.index(Note::<Order>::BY_ABOUT_TEXT)?.prefix(order)?.count()?, 1);
        assert_eq!(ann.notes()?.to_vec()?, [friendly]);
        assert_eq!(order.referrers(OrderNote::ABOUT)?.to_vec()?, [late]);
        assert_eq!(tx.all::<PersonNote>()?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn fields_of_all_kinds_have_the_type() {
    let db = open();
    db.write(|tx| {
        let [ann, bob] = ["Ann", "Bob"].map(|name| tx.create(Person { name: name.into() }));
        let (ann, bob) = (ann?.to_ref(), bob?.to_ref());
        let first = tx.create(PersonNote::default())?;
        let note = PersonNote {
            about: Some(ann),
            text: "both".into(),
            others: [ann, bob].into(),
            ranked: vec![bob, ann, bob],
            weights: [(bob, 3)].into(),
            answers: Some(first.to_ref()),
            hidden: Some(Hidden(bob)),
            loaded: Vec::new(),
            edits: 4,
        };
        let stored = tx.create(&note)?;
        // The hook has counted the creation.
        assert_eq!(stored.load()?, PersonNote { edits: 5, ..note });
        assert_eq!(stored.ranked()?.get(0)?, Some(tx.get(bob)?.to_ref()));
        assert_eq!(stored.hidden()?, Some(Hidden(bob)));
        assert_eq!(first.replies()?.to_vec()?, [stored]);
        let heaviest = Path::of::<PersonNote>().to(PersonNote::WEIGHTS.key());
        assert_eq!(stored.follow(&heaviest)?.to_vec()?, [tx.get(bob)?]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn rules_and_hooks_are_those_of_each_alias() {
    let db = open();
    let create = |tx: &Tx| {
        let (note, other) = (tx.create(PersonNote::default())?, tx.create(OrderNote::default())?);
        note.set_text("same")?;
        other.set_text("same")?;
        Ok((note.to_ref(), other.to_ref()))
    };
    // A unique value is so within each of the types, and "none" is exempt.
    let (note, other) = db.write(create).unwrap();
    db.read(|tx| {
        assert_eq!((tx.get(note)?.edits()?, tx.get(other)?.edits()?), (2, 20));
        Ok(())
    })
    .unwrap();
    let twice = db.write(|tx| {
        tx.create(PersonNote { text: "same".into(), ..PersonNote::default() })?;
        Ok(())
    });
    assert!(matches!(twice, Err(Error::Invalid(_))), "{twice:?}");
    let empty = db.write(|tx| tx.get(other)?.set_text(""));
    assert!(empty.unwrap_err().to_string().contains("a note about Order"));
}

#[test]
fn a_kind_has_several_aliases() {
    let db = open();
    db.write(|tx| {
        let person = tx.create(PersonNote { text: "p".into(), ..PersonNote::default() })?;
        let order = tx.create(OrderNote { text: "o".into(), ..OrderNote::default() })?;
        let pin = tx.create(Pin { note: Some(person.into()) })?;
        pin.set_note(order)?;
        assert_eq!(pin.note()?, Some(AnyNote::Order(order)));
        let mut texts = Vec::new();
        for note in tx.all::<AnyNoteKind>()? {
            texts.push(match note? {
                AnyNote::Person(note) => note.text()?,
                AnyNote::Order(note) => note.text()?,
            });
        }
        assert_eq!(texts, ["p", "o"]);
        Ok(())
    })
    .unwrap();
}

/// A mix-in by aliases, in a model by aliases.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
#[permazen(aliases(PersonLink = Link<Person>, OrderLink = Link<Order>))]
struct Link<T: Model> {
    target: Option<Ref<T>>,
    #[permazen(indexed)]
    label: String,
}

/// Two parameters, one of them a number, a type that is written in parts, and one that is no model.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
#[permazen(aliases(Labels = Labeled<Person, Vec<String>, 2>, Marks = Labeled<Order, Vec<i32>, { 1 + 2 }>))]
struct Labeled<T, L, const N: i32>
where
    T: Model,
{
    #[permazen(flatten)]
    link: Link<T>,
    #[permazen(default = L::new())]
    labels: L,
    #[permazen(default = N)]
    rank: i32,
}

#[test]
fn a_mix_in_has_aliases_too() {
    let builder = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Order>();
    let db = builder.model::<Labels>().model::<Marks>().build().unwrap();
    db.write(|tx| {
        let ann = tx.create(Person { name: "Ann".into() })?.to_ref();
        let link = Link { target: Some(ann), label: "best".into() };
        let plain = Labels { link, labels: vec!["a".into()], rank: 1 };
        let labels = tx.create(&plain)?;
        assert_eq!(labels.target()?.unwrap().name()?, "Ann");
        assert_eq!(labels.load()?, plain);
        let marks = tx.create(Marks { labels: vec![5, 6], ..Marks::default() })?;
        marks.set_label("best")?;
        assert_eq!(tx.index(PersonLink::LABEL)?.get("best")?.count()?, 1);
        assert_eq!(tx.index(Marks::LINK.label)?.get("best")?.first()?, Some(marks));
        assert_eq!(marks.labels()?.iter().collect::<Result<Vec<_>>>()?, [5, 6]);
        Ok(())
    })
    .unwrap();
}

macro_rules! box_of {
    ($name:ident, $type:ty) => {
        #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
        #[permazen(aliases($name = Boxed<$type>))]
        struct Boxed<T> {
            content: T,
            more: Vec<T>,
        }
    };
}

box_of!(BoxedText, String);

#[test]
fn a_macro_can_make_aliases() {
    let db = Permazen::builder(MemoryStore::new()).model::<BoxedText>().build().unwrap();
    db.write(|tx| {
        let plain = Boxed { content: "a".to_owned(), more: vec!["b".to_owned()] };
        let object = tx.create(&plain)?;
        object.set_content("c")?;
        assert_eq!(object.load()?, Boxed { content: "c".to_owned(), ..plain });
        Ok(())
    })
    .unwrap();
}

/// Plain data of another format: serde asks nothing of the type that is referred to.
mod with_serde {
    use super::*;

    #[derive(PermazenObject, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[permazen(aliases(PersonMark = Mark<Person>, OrderMark = Mark<Order>))]
    #[serde(bound = "")]
    struct Mark<T: Model> {
        on: Option<Ref<T>>,
        text: String,
    }

    #[test]
    fn a_generic_struct_is_plain_data_of_serde() {
        let models = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Order>();
        let db = models.model::<PersonMark>().model::<OrderMark>().build().unwrap();
        db.write(|tx| {
            let ann = tx.create(Person { name: "Ann".into() })?.to_ref();
            let mark = tx.create(Mark { on: Some(ann), text: "x".to_owned() })?.load()?;
            let json = serde_json::to_string(&mark).unwrap();
            assert_eq!(json, format!("{{\"on\":\"{ann}\",\"text\":\"x\"}}"));
            assert_eq!(serde_json::from_str::<PersonMark>(&json).unwrap(), mark);
            Ok(())
        })
        .unwrap();
    }
}
