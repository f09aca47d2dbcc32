//! Schemas of models with mix-ins and kinds are those of Java's classes with interfaces and
//! super-classes.

use permazen::encoding::EncodingId;
use permazen::kv::memory::MemoryStore;
use permazen::schema::{
    CompositeIndex, DeleteAction, Field, ObjectType, SchemaModel, Simple, SubField,
};
use permazen::{Permazen, PermazenFields, PermazenObject};

use crate::kinds::models::*;

fn simple(encoding: &str) -> Simple {
    Simple::of(EncodingId::from_alias(encoding).unwrap())
}

/// The fields of `Named`, as a class has them that inherits them.
fn with_named(object_type: ObjectType) -> ObjectType {
    object_type
        .field(Field::new("name", simple("String").indexed()))
        .field(Field::new("rank", simple("int")))
        .field(Field::counter("views"))
        .composite_index(CompositeIndex::new("byNameRank", ["name", "rank"]))
}

#[test]
fn the_schema_is_that_of_classes_with_interfaces() {
    let pets =
        || Simple::reference().on_delete(DeleteAction::Exception).to(["Snake", "Dog", "Cat"]);
    let tags = SubField::new(simple("String").indexed());
    let things = Simple::reference().on_delete(DeleteAction::Nullify).to(["Dog", "Rock"]);
    let removed =
        || Simple::reference().on_delete(DeleteAction::Remove).to(["Cat", "Dog", "Snake"]);
    let expected = SchemaModel::new()
        .object_type(
            with_named(ObjectType::new("Dog"))
                .field(Field::new("good", simple("boolean")))
                .field(Field::new("chip", simple("Long").indexed())),
        )
        .object_type(
            with_named(ObjectType::new("Cat"))
                .field(Field::new("createdAt", simple("long")))
                .field(Field::new("lives", simple("int")))
                .field(Field::new("indoors", simple("boolean")))
                .composite_index(CompositeIndex::new("byLives", ["lives", "indoors"])),
        )
        .object_type(
            with_named(ObjectType::new("Snake"))
                .field(Field::new("createdAt", simple("long")))
                .field(Field::list("tags", tags))
                .field(Field::new("length", simple("double"))),
        )
        .object_type(ObjectType::new("Rock").field(Field::new("name", simple("String"))))
        .object_type(
            ObjectType::new("Walk")
                .field(Field::new("pet", pets()))
                .field(Field::new("found", things))
                .field(Field::list("met", SubField::new(removed()))),
        );
    let db = db();
    let schema = db.read(|tx| Ok(tx.schema())).unwrap();
    assert_eq!(schema.id, expected.schema_id());
    // Types share fields and indexes by one storage ID.
    let id = |name: &str, field: &str| {
        schema.object_type(name).unwrap().field(field).unwrap().storage_id
    };
    assert_eq!(id("Dog", "name"), id("Cat", "name"));
    assert_eq!(id("Dog", "name"), id("Snake", "name"));
    let index =
        |name: &str| schema.object_type(name).unwrap().index("byNameRank").unwrap().storage_id;
    assert_eq!(index("Dog"), index("Snake"));
}

/// The same model with all fields written out.
mod written_out {
    use permazen::{Counter, PermazenObject};

    #[derive(PermazenObject)]
    #[permazen(composite(name = "byNameRank", fields(name, rank)))]
    pub(super) struct Dog {
        #[permazen(indexed)]
        pub(super) name: String,
        pub(super) rank: i32,
        pub(super) views: Counter,
        #[permazen(indexed)]
        pub(super) chip: Option<i64>,
        pub(super) good: bool,
    }
}

#[test]
fn a_mixin_changes_nothing_in_the_database() {
    let store = MemoryStore::new();
    let open = || store.clone();
    let before = Permazen::builder(open()).model::<written_out::Dog>().build().unwrap();
    let dog = before
        .write(|tx| {
            let (name, chip) = ("Rex".to_owned(), Some(3));
            let dog = written_out::Dog { name, rank: 2, views: 1.into(), chip, good: true };
            Ok(tx.create(dog)?.id())
        })
        .unwrap();
    let after = Permazen::builder(open()).model::<Dog>().allow_new_schema(false).build().unwrap();
    after
        .read(|tx| {
            let dog = tx.get::<Dog>(dog)?.load()?;
            let named = Named { name: "Rex".into(), rank: 2, views: 1.into() };
            assert_eq!(dog, Dog { good: true, named, chip: Some(3) });
            Ok(())
        })
        .unwrap();
}

#[derive(PermazenFields)]
struct Owned {
    #[permazen(inverse_delete = "delete", was = "holder")]
    owner: Option<permazen::Ref<Rock>>,
}

#[derive(PermazenObject)]
struct Bone {
    #[permazen(flatten)]
    owned: Owned,
}

#[test]
fn two_sets_of_models_in_one_process_and_database() {
    let store = MemoryStore::new();
    let pets = Permazen::builder(store.clone()).kind::<PetKind>().build().unwrap();
    let bones = Permazen::builder(store.clone()).model::<Bone>().model::<Rock>().build().unwrap();
    let dog = pets
        .write(|tx| Ok(tx.create(Dog { named: named("Rex"), ..Dog::default() })?.to_ref()))
        .unwrap();
    bones
        .write(|tx| {
            let rock = tx.create(Rock { name: "Rex".into() })?;
            let bone = tx.create(Bone { owned: Owned { owner: Some(rock.to_ref()) } })?;
            assert_eq!(bone.owner()?, Some(rock));
            assert_eq!(tx.index(Bone::OWNED.owner)?.get(rock)?.count()?, 1);
            assert_eq!(tx.everything()?.count()?, 3);
            assert_eq!(tx.untyped()?.first()?.map(|found| found.id()), Some(dog.id()));
            rock.delete()?;
            assert!(!bone.exists()?);
            Ok(())
        })
        .unwrap();
    pets.read(|tx| {
        assert_eq!(tx.get(dog)?.name()?, "Rex");
        assert_eq!(tx.index(Named::NAME)?.get("Rex")?.count()?, 1);
        Ok(())
    })
    .unwrap();
}
