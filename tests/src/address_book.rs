//! A library that offers models, a mix-in and a kind. `tests/programs/two_crates.rs` is the
//! program.

use permazen::{Model, ModelSet, Obj, PermazenFields, PermazenKind, PermazenObject, Ref};

/// The fields that all entries of the address book share.
#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// The name.
    #[permazen(indexed, unique)]
    pub name: String,
}

/// A human being.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub struct Person {
    /// Its name.
    #[permazen(flatten)]
    pub named: Named,
    /// Where it works.
    pub employer: Option<Ref<Company>>,
}

/// A company.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
pub struct Company {
    /// Its name.
    #[permazen(flatten)]
    pub named: Named,
}

/// A note about something.
#[derive(PermazenObject, Debug, Clone, PartialEq)]
#[permazen(aliases(PersonNote = Note<Person>, CompanyNote = Note<Company>))]
pub struct Note<T: Model> {
    /// Its subject.
    pub about: Ref<T>,
    /// Its words.
    #[permazen(indexed)]
    pub text: String,
}

/// A contact to whom letters can be written.
#[derive(PermazenKind)]
#[permazen(fields = Named)]
pub enum Contact<'t> {
    /// A human being.
    Person(Obj<'t, Person>),
    /// A company.
    Company(Obj<'t, Company>),
}

/// The models of this library.
pub fn models() -> ModelSet {
    ModelSet::new().kind::<ContactKind>().model::<PersonNote>().model::<CompanyNote>()
}
