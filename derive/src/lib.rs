//! Derive macros of the Permazen object database.
//!
//! `#[derive(PermazenObject)]` makes a plain struct an object type. `#[derive(PermazenEnum)]` makes
//! an enum without fields a field type. `#[derive(PermazenFields)]` makes a struct whose fields
//! models share, `#[derive(PermazenKind)]` an enum that stands for several models. `#[hooks]` marks
//! functions that are called at changes of objects. All take the same three steps: they parse the
//! attributes, check the model as a whole, and generate code. They report all mistakes at once,
//! each at the token that must change. The generated code uses only public items of the `permazen`
//! crate.
#![deny(missing_docs)]

mod accessors;
mod aliases;
mod allowed;
mod attribute_syntax;
#[cfg(test)]
mod attributes_page;
mod check;
mod composite;
mod constants;
mod declarations;
mod enums;
mod errors;
mod evolution;
mod evolution_attributes;
mod exclude;
mod expand;
mod flattened;
mod hook_owner;
mod hooks;
mod inverse;
mod inverse_methods;
mod kind;
mod kind_methods;
mod kind_model;
mod mixin;
mod names;
mod object_model;
mod parse_object;
mod refused;
mod reserved;
mod stub;
mod types;
mod validate;
mod values;
mod words;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use errors::Errors;
use object_model::{ObjectModel, Role};

/// Makes a struct an object type of a Permazen database.
///
/// Every field of the struct is a field of the object type, unless it is marked `skip`:
///
/// | Rust type | field |
/// |---|---|
/// | `bool`, `i8` … `i64`, `f32`, `f64`, `u32`, `u64`, `String`, … | simple, never null |
/// | `Option<T>` of these | simple, may be null (for primitive types, the encoding is not that of the bare type) |
/// | `Option<E>` with `#[derive(PermazenEnum)] enum E` | enum; a bare `E` is required: null is refused |
/// | `Option<Ref<M>>`, `Option<Ref<Any>>` | reference, to one model or to any object; always indexed; a bare `Ref<M>` is required |
/// | `Counter` | counter |
/// | `Vec<T>`; `BTreeSet<T>`, `HashSet<T>`; `BTreeMap<K, V>`, `HashMap<K, V>` | list, set, map of simple values |
/// | `Box<[T]>` | array, as a single value |
///
/// Names follow the conventions of Permazen for Java, so that both can use the same database. The
/// type has the name of the struct; a field `last_seen` is named `lastSeen`.
///
/// On the struct, `#[permazen(...)]` takes:
///
/// - `name = "…"`, `storage_id = n`, `singleton`;
/// - `rename_all = "camelCase" | "snake_case" | "PascalCase" | "SCREAMING_SNAKE_CASE" | "none"`;
/// - `composite(name = "…", fields(a, b), unique, exclude(…), storage_id = n)`, which may be
///   repeated. If a field is in two of them, allow `clippy::duplicated_attributes`, which takes
///   that for a mistake;
/// - `default_allow_deleted`, `default_upgrade = "…"`, `accessors = "…"`;
/// - `removed("…", "…")`, `on_schema_change = path`, see [below](#when-the-struct-changes);
/// - `validate = path`, see [below](#rules);
/// - `inverse(albums = Album::ARTIST)`: the handle gets a method `albums()`, which finds the
///   objects that refer to this one through the field, as `referrers(Album::ARTIST)` does. The
///   field may be one of the same struct (`Self::PARENT`), a collection, or the keys or values of a
///   map (`Album::LABELS.key()`), and must refer to this type or to a kind of it;
/// - `hooks` if the struct has a block of [`hooks`];
/// - `aliases(PersonNote = Note<Person>, …)` on a generic struct: see [below](#generic-structs);
/// - `crate = "path::to::permazen"`.
///
/// On a field, it takes:
///
/// - `flatten`: the type of the field is a mix-in ([`PermazenFields`](macro@PermazenFields)), whose
///   fields become fields of this model. It is the only attribute there;
/// - `rename = "…"`, `storage_id = n`, `skip`, `indexed`;
/// - `accessor = "…"`, for a field that has the name of a method of handles, such as `id` or
///   `load`: with `accessor = "number"`, the accessors are `number()` and `set_number(…)`. The
///   names of the constant and of the field in the database stay;
/// - `unique`, `exclude(…)`, `validate = path`, see [below](#rules);
/// - `encoding = "urn:…"`; `with = Type`: the field is stored as this type, and converted with
///   `TryFrom` both ways, an `Option` inside; `with = AsText<T>`: a `T` of another crate is stored
///   as its text;
/// - `was = "…"`, `default`, `default = value`, `upgrade = "exact" | "lossy" | "reset"`,
///   `upgrade_with = path`, see [below](#when-the-struct-changes);
/// - on references, `inverse_delete = "exception" | "ignore" | "nullify" | "remove" | "delete"`,
///   `forward_delete`, `allow_deleted`, `cascade(forward = ["…"], inverse = ["…"])`. Only an
///   `Option<Ref<M>>` can have `"nullify"`;
/// - on collections, `element(…)`, or `key(…)` and `value(…)`, with the attributes of the sub-field
///   inside;
/// - `list`, `set`, `map`, `array` or `reference` if the type does not show the kind of the field;
/// - `simple` for a field with a single value whose type is the program's own and is named
///   `Counter`.
///
/// If a struct or enum has mistakes, its accessors and implementations are generated without
/// content. The compiler then reports the mistakes, and no errors that only follow from them.
///
/// A `#[deprecated]` field makes its constant and accessors deprecated.
///
/// # When the struct changes
///
/// Objects that were stored with other fields, by an earlier or later version of the program, move
/// to the schema of the struct. A move that would lose something is refused. These attributes say
/// where values come from and what may go. Names are the names in the database.
///
/// | attribute | what it says |
/// |---|---|
/// | on the struct: `removed("nickname", "age")` | the values of these fields, which the struct no longer has, may go |
/// | on the struct: `on_schema_change = path` | this function sets values of an object that moves, before anything is converted; it may not change a field that has the same definition in the object's schema; it is a `fn(&OldValues<'_>, &mut NewValues<'_, '_, Self>) -> permazen::Result<()>` |
/// | on the struct: `default_upgrade = "…"` | `upgrade` of the fields that do not have it |
/// | on a field: `was = "oldName"`, `was = ["a", "b"]` | the names that the field had; its values are carried over from the first one that an object has |
/// | on a field: `default = value` | the value in objects that lack the field: any expression of the field's type that gives the same value each time |
/// | on a field: `default` | the same with `Default::default()` |
/// | on a field: `upgrade_with = path` | this function makes the value of an object that moves; it is a `fn(&OldValues<'_>) -> permazen::Result<T>`, where `T` is the field's type. It takes the place of `was` and `upgrade` |
/// | on a field: `upgrade = "exact"` | values are converted exactly or not at all; this is the default |
/// | on a field: `upgrade = "lossy"` | values are converted as well as possible |
/// | on a field: `upgrade = "reset"` | nothing is converted: the field starts at its default |
///
/// ```
/// use permazen::{NewValues, OldValues, PermazenObject, Result};
///
/// #[derive(PermazenObject)]
/// #[permazen(removed("shoeSize"), on_schema_change = Person::join_names)]
/// struct Person {
///     // In earlier versions, there were `firstName` and `lastName`.
///     name: String,
///     #[permazen(was = "mail", default = "unknown".to_owned())]
///     email: String,
///     #[permazen(upgrade_with = cents)]
///     credit: i64,
/// }
///
/// impl Person {
///     fn join_names(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
///         if old.has("firstName") {
///             let (first, last): (String, String) = (old.take("firstName")?, old.take("lastName")?);
///             new.set(Self::NAME, format!("{first} {last}"))?;
///         }
///         Ok(())
///     }
/// }
///
/// fn cents(old: &OldValues<'_>) -> Result<i64> {
///     Ok(old.take::<i64>("euros")? * 100)
/// }
/// ```
///
/// # Rules
///
/// Rules are checked when a transaction commits, or earlier, as `Builder::validation` says. Objects
/// that break one are listed in the error, and nothing is committed.
///
/// | attribute | what it says |
/// |---|---|
/// | on an indexed field: `unique` | no other object of the type has the same value. Null is a value like others |
/// | on such a field: `exclude(nulls, 5, "x", 10..20, range(gt = 30, le = 40))` | these values need not be unique. `non_nulls` are all but null. A value is a literal that the encoding of the field reads as text: the name of a constant of an enum, 16 hexadecimal digits of an object ID. The encoding also gives the order |
/// | in a composite index: `unique`, `exclude(name(nulls), age(0..18))` | no other object has the same combination. A combination is exempt if each column that is named has one of the values. `exclude` may be repeated |
/// | on the struct: `singleton` | there is at most one object of the type: `tx.singleton::<Settings>()` |
/// | on the struct: `validate = path` | this function finds nothing wrong. It is a `fn(&Self) -> Result<(), E>` where `E` has a `Display`, and is called for objects that were created or of which a field has changed |
/// | on a field: `validate = path` | the same for the value: a `fn(&T) -> Result<(), E>`, called if it has changed |
///
/// A field that is no `Option` and is null in the database breaks a rule too, as after
/// `create_default`.
///
/// ```
/// use permazen::PermazenObject;
///
/// #[derive(PermazenObject)]
/// #[permazen(validate = Booking::check)]
/// struct Booking {
///     #[permazen(indexed, unique, exclude("none"), validate = not_empty)]
///     code: String,
///     from: i32,
///     to: i32,
/// }
///
/// impl Booking {
///     fn check(&self) -> Result<(), &'static str> {
///         if self.from < self.to { Ok(()) } else { Err("it ends before it begins") }
///     }
/// }
///
/// fn not_empty(text: &str) -> Result<(), String> {
///     if text.is_empty() { Err("the code is empty".to_owned()) } else { Ok(()) }
/// }
/// ```
///
/// # Generic structs
///
/// A generic struct is an object type by aliases. Each gives types for the parameters of the
/// struct, and is an object type of its own with the name of the alias, or with that after `as`.
/// The macro declares the aliases.
///
/// ```
/// use permazen::{Model, PermazenObject, Ref};
///
/// #[derive(PermazenObject, Default)]
/// struct Person { name: String }
/// #[derive(PermazenObject, Default)]
/// struct Order { number: i64 }
///
/// #[derive(PermazenObject)]
/// #[permazen(aliases(PersonNote = Note<Person>, OrderNote = Note<Order> as "RemarkAboutOrder"))]
/// struct Note<T: Model> {
///     about: Ref<T>,
///     text: String,
/// }
///
/// assert_eq!(PersonNote::TYPE_NAME, "PersonNote");
/// assert_eq!(OrderNote::TYPE_NAME, "RemarkAboutOrder");
/// let _ = (PersonNote::ABOUT, OrderNote::ABOUT);
/// ```
///
/// The types take the place of the parameters also in `#[permazen(…)]`. `name` is not allowed
/// there, `storage_id` and `accessors` only if there is one alias. With `hooks`, each alias has a
/// block: `impl PersonNote { … }`.
///
/// # What is generated
///
/// The macro generates typed field constants (`Person::NAME`), accessors for handles
/// (`person.name()?`, `person.set_name("Ann")?`) and the implementation of `permazen::Model`. The
/// accessors are in the type `PersonFields`. If the program has its own `PersonFields`, choose
/// another name with `accessors = "…"`.
#[proc_macro_derive(PermazenObject, attributes(permazen))]
pub fn derive_permazen_object(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_struct(&input, Role::Model).into()
}

/// Makes an enum without fields a field type. Its identifiers are recorded in the schema, in order.
///
/// A variant `HipHop` has the identifier `HIP_HOP`. To change that, write `#[permazen(rename =
/// "…")]` on the variant or `#[permazen(rename_all = "none")]` on the enum. `#[permazen(crate =
/// "path::to::permazen")]` names the crate if it is not `::permazen`.
///
/// Stored values are carried over by identifier when the enum changes. A variant that had another
/// identifier says so: `#[permazen(was = "OLD")]`, or `was = ["OLD", "OLDER"]`. A required field of
/// the enum has the variant with `#[default]` in objects that lack the field. This is the attribute
/// of the standard library's `Default`, which need not be derived too.
///
/// ```
/// use permazen::PermazenEnum;
///
/// #[derive(PermazenEnum, Debug, Clone, Copy, Default)]
/// enum Priority {
///     Low,
///     #[default]
///     #[permazen(was = "MEDIUM")]
///     Normal,
///     High,
/// }
/// ```
#[proc_macro_derive(PermazenEnum, attributes(permazen, default))]
pub fn derive_permazen_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = enums::parse(&input);
    match errors.into_compile_errors() {
        None => enums::expand(&model),
        Some(errors) => stub::enumeration(&model, &input.generics, errors),
    }
    .into()
}

/// Makes a struct a mix-in: its fields become fields of each model that flattens it.
///
/// ```
/// use permazen::{PermazenFields, PermazenObject};
///
/// #[derive(PermazenFields)]
/// struct Named {
///     #[permazen(indexed)]
///     name: String,
/// }
///
/// #[derive(PermazenObject)]
/// struct Dog {
///     #[permazen(flatten)]
///     named: Named,
///     good: bool,
/// }
/// ```
///
/// The fields have the attributes that they have in a model. On the struct, `#[permazen(...)]`
/// takes `composite(…)`, `rename_all`, `default_allow_deleted`, `default_upgrade`, `hooks`,
/// `accessors`, `aliases` and `crate`, with the same meaning as for
/// [`PermazenObject`](macro@PermazenObject). A mix-in can flatten other mix-ins. The fields of a
/// model, including the fields of its mix-ins, have different names.
///
/// What is `unique` in a mix-in is unique among all objects of the models that flatten it.
///
/// Accessors are those of the object: `dog.name()?`, `dog.set_name("Rex")?`. `Named::NAME` is the
/// field in all registered models, `Dog::NAMED.name` the one in `Dog`.
///
/// The mix-in must be at least as visible as the models that flatten it. The macro makes the types
/// `NamedFields`, `NamedAccess` and `NamedConstants`.
#[proc_macro_derive(PermazenFields, attributes(permazen))]
pub fn derive_permazen_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_struct(&input, Role::Mixin).into()
}

/// Makes an enum of handles a kind: a set of models.
///
/// ```
/// use permazen::{Obj, PermazenFields, PermazenKind, PermazenObject, Ref};
/// # #[derive(PermazenFields)]
/// # struct Named { #[permazen(indexed)] name: String }
/// # #[derive(PermazenObject)]
/// # struct Dog { #[permazen(flatten)] named: Named }
/// # #[derive(PermazenObject)]
/// # struct Cat { #[permazen(flatten)] named: Named }
///
/// #[derive(PermazenKind)]
/// #[permazen(fields = Named)]
/// enum Pet<'t> {
///     Dog(Obj<'t, Dog>),
///     Cat(Obj<'t, Cat>),
/// }
///
/// #[derive(PermazenObject)]
/// struct Walk {
///     pet: Ref<PetKind>,
/// }
/// ```
///
/// The macro makes a type without values, `PetKind`, which stands for the kind. A `Ref<PetKind>` is
/// a reference to an object of one of the models, `walk.pet()?` is a `Pet`, and
/// `tx.all::<PetKind>()` are all such objects. A variant can also have the enum of another kind,
/// whose models then belong to this kind too.
///
/// On the enum, `#[permazen(...)]` takes:
///
/// - `fields = Named`, a mix-in that all models have. `pet.name()?` is then the accessor of its
///   field, and `PetKind::NAMED.name` the field for queries;
/// - `hooks`: the kind has a block of [hooks](macro@hooks), which are called for all its models;
/// - `kind = "…"`, another name for `PetKind`;
/// - `crate = "path::to::permazen"`.
///
/// Like `Obj`, the enum gets the methods `id`, `any`, `to_ref`, `tx`, `exists`, `delete`,
/// `referrers`, `follow`, `cascade`, `copy_to`, `schema_id` and `revalidate`, and implements
/// `Clone`, `Copy`, `Debug`, `PartialEq`, `Eq` and `Hash`. Handles of its members convert to it
/// with `into()`.
#[proc_macro_derive(PermazenKind, attributes(permazen))]
pub fn derive_permazen_kind(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = kind_model::parse(&input);
    match errors.into_compile_errors() {
        None => kind::expand(&model),
        Some(errors) => kind::stub(&model, errors),
    }
    .into()
}

/// Makes functions of a struct hooks: they are called when objects change, within the transaction
/// that changes them. The struct has `#[permazen(hooks)]`, and one block:
///
/// ```
/// use permazen::model::{Change, Changed};
/// use permazen::{Obj, PermazenObject, Result};
///
/// #[derive(PermazenObject, Default)]
/// #[permazen(hooks)]
/// struct Person {
///     name: String,
///     age: i32,
///     changes: i64,
/// }
///
/// #[permazen::hooks]
/// impl Person {
///     #[on_create]
///     fn init(this: Obj<'_, Self>) -> Result<()> {
///         println!("new: {}", this.id());
///         Ok(())
///     }
///
///     #[on_change(fields(age))]
///     fn aged(this: Obj<'_, Self>, age: &Changed<'_, Self, i32>) -> Result<()> {
///         println!("{}: {} -> {}", this.name()?, age.old()?, age.new()?);
///         Ok(())
///     }
///
///     #[on_change(except(changes))]
///     fn count(this: Obj<'_, Self>, _change: &Change<'_, Self>) -> Result<()> {
///         this.set_changes(this.changes()? + 1)
///     }
///
///     #[on_delete]
///     fn keep(this: Obj<'_, Self>) -> Result<(), String> {
///         Err(format!("{} stays", this.id()))
///     }
/// }
/// ```
///
/// | attribute | called | parameters after `this: Obj<'_, Self>` |
/// |---|---|---|
/// | `#[on_create]` | for a new object, when it has default values | none |
/// | `#[on_change]` | after each change of any field but counters | `&Change<'_, Self>`, or none |
/// | `#[on_change(fields(a, b))]` | after changes of these fields | also `&Changed<'_, Self, V>` if they are simple fields with values of type `V`; `&SetChanged<'_, Self, E>`, `&ListChanged<'_, Self, E>`, `&MapChanged<'_, Self, K, V>` |
/// | `#[on_change(except(a, b))]` | after changes of all other fields but counters | `&Change<'_, Self>`, or none |
/// | `#[on_delete]` | before the object is deleted | none |
/// | `#[on_change(of = Account::BALANCE, path = Path::of::<Self>().to(Self::ACCOUNT))]` | after changes of this field in objects to which the path leads; `of` can be a list, or be left out | `&Changed<'_, Account, V>`, `&Change<'_, Account>`, or none |
/// | `#[on_delete(path = …)]` | before an object is deleted to which the path leads | `Obj<'_, Account>` |
/// | `#[on_validate]` | when the rules are checked for an object in which anything has changed; an error is a violation | none |
/// | `#[on_validate(fields(a, b))]` | the same, if one of these fields has changed | none |
///
/// A function can have several of these attributes. There can be any number of hooks for an event;
/// they are called in the order of the block. A hook returns `Result<(), E>`, where `E` is any
/// error type that can be boxed. An error undoes the operation of which the hook was told. A field
/// of a mix-in is named by the field that has the mix-in: `fields(named.name)`.
///
/// `#[on_schema_change] fn name(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) ->
/// permazen::Result<()>` is called before an object moves to the schema of the struct, as the
/// function of [`on_schema_change = path`](macro@PermazenObject#when-the-struct-changes).
///
/// A mix-in or kind with `#[permazen(hooks)]` has such a block too, for the objects of all its
/// models. In that of a mix-in, `this` is a `permazen::model::With<'_, Self>`. In that of a kind,
/// `impl Pet<'_>`, it is a `Pet<'_>`, and a change is a `&Changed<'_, PetKind, V>`. Neither has
/// `#[on_schema_change]`, and in a mix-in there is no `path`.
///
/// Other functions in the block are left as they are. `#[permazen::hooks(crate = "path")]` names
/// the crate if it is not `::permazen`.
#[proc_macro_attribute]
pub fn hooks(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let block = parse_macro_input!(item as syn::ItemImpl);
    hooks::expand(&attribute.into(), block).into()
}

/// The code of a struct, or of each alias of a generic struct.
fn derive_struct(input: &DeriveInput, role: Role) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let instances = aliases::instances(input, role, &mut errors);
    let aliases = instances.iter().map(|instance| &instance.item);
    let inputs: Vec<&DeriveInput> = match &instances[..] {
        [] => vec![input],
        instances => instances.iter().map(|instance| &instance.input).collect(),
    };
    let mut parse = |input: &DeriveInput| {
        let (mut model, found) = parse_object::parse(input, role);
        errors.add(found);
        // That several aliases have one name for accessors was reported.
        model.accessors = model.accessors.filter(|_| instances.len() < 2);
        model
    };
    let models: Vec<ObjectModel> = inputs.iter().map(|input| parse(input)).collect();
    let errors = errors.into_compile_errors();
    let code = models.iter().zip(inputs).map(|(model, input)| match (role, &errors) {
        (Role::Model, None) => expand::expand(model),
        (Role::Mixin, None) => mixin::expand(model),
        (Role::Model, Some(_)) => stub::object(model, &input.generics),
        (Role::Mixin, Some(_)) => stub::mixin(model, &input.generics),
    });
    quote!(#errors #(#aliases)* #(#code)*)
}
