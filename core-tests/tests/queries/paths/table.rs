//! The table of paths of Permazen for Java, as typed paths: the fields they go along, the types at
//! each position, whether they are singular, and what they find.

use permazen::model::{Many, One, Path};
use permazen::object::{IdFilter, PathStep};
use permazen::{Any, ObjId, Ref, StorageId, Tx};

use super::{Elephant, Giraffe, animals, type_id};

fn field(tx: &Tx, type_name: &str, name: &str, part: Option<&str>) -> StorageId {
    let schema = tx.schema();
    let field = schema.object_type(type_name).unwrap().field(name).unwrap().clone();
    match part {
        None => field.storage_id,
        Some(part) => {
            let full = format!("{name}.{part}");
            field.sub_fields().find(|sub| *sub.full_name == *full).unwrap().storage_id
        }
    }
}

/// Types at the positions of a path: `E`, `G`, or `*` for any.
fn filters(tx: &Tx, types: &str) -> Vec<Option<IdFilter>> {
    let filter = |name| match name {
        'E' => Some(IdFilter::of_types([type_id::<Elephant>(tx)])),
        'G' => Some(IdFilter::of_types([type_id::<Giraffe>(tx)])),
        _ => None,
    };
    types.chars().map(filter).collect()
}

#[test]
fn the_steps_and_types_of_paths_are_those_of_the_table() {
    animals()
        .read(|tx| {
            let of = |name, part| field(tx, "Elephant", name, part);
            let forward = |name, part| PathStep::Forward(of(name, part));
            let inverse = |name, part| PathStep::Inverse(of(name, part));
            let enemies = Some("element");

            let empty: Path<Elephant, Elephant, One> = Path::of::<Elephant>();
            assert_eq!(empty.resolve(tx)?, (vec![], filters(tx, "E")));

            let parent: Path<Elephant, Elephant, One> = empty.to(Elephant::PARENT);
            assert_eq!(parent.resolve(tx)?, (vec![forward("parent", None)], filters(tx, "EE")));

            let hated: Path<Elephant, Elephant, Many> = empty.from(Elephant::ENEMIES);
            let steps = vec![inverse("enemies", enemies)];
            assert_eq!(hated.resolve(tx)?, (steps, filters(tx, "EE")));

            let long: Path<Elephant, Giraffe, Many> =
                empty.to(Elephant::FRIEND).from(Giraffe::ENEMIES);
            let steps = vec![forward("friend", None), inverse("enemies", enemies)];
            assert_eq!(long.resolve(tx)?, (steps, filters(tx, "EEG")));

            // The enemies of elephants are any objects, but only giraffes are friends of giraffes.
            let longest: Path<Elephant, Elephant, Many> = empty
                .to(Elephant::ENEMIES)
                .from(Giraffe::FRIEND)
                .to(Giraffe::ENEMIES)
                .from(Elephant::FRIEND);
            let giraffe_friend = field(tx, "Giraffe", "friend", None);
            let steps = vec![
                forward("enemies", enemies),
                PathStep::Inverse(giraffe_friend),
                PathStep::Forward(field(tx, "Giraffe", "enemies", enemies)),
                inverse("friend", None),
            ];
            assert_eq!(longest.resolve(tx)?, (steps, filters(tx, "EGGEE")));

            // A field of one type prunes the start.
            let pruned: Path<Any, Elephant, One> = Path::of::<Any>().to(Elephant::FRIEND);
            assert_eq!(pruned.resolve(tx)?, (vec![forward("friend", None)], filters(tx, "EE")));

            let value: Path<Giraffe, Giraffe, Many> = Path::of::<Giraffe>().to(Giraffe::M.value());
            let steps = vec![PathStep::Forward(field(tx, "Giraffe", "m", Some("value")))];
            assert_eq!(value.resolve(tx)?, (steps, filters(tx, "GG")));

            let key: Path<Elephant, Giraffe, Many> = empty.from(Giraffe::M.key());
            let steps = vec![PathStep::Inverse(field(tx, "Giraffe", "m", Some("key")))];
            assert_eq!(key.resolve(tx)?, (steps, filters(tx, "EG")));

            // An inverted path has the steps, the other way round.
            let back: Path<Giraffe, Elephant, Many> = long.inverted();
            let steps = vec![forward("enemies", enemies), inverse("friend", None)];
            assert_eq!(back.resolve(tx)?, (steps, filters(tx, "GEE")));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_singular_path_finds_one_object_or_none() {
    animals()
        .write(|tx| {
            let old = tx.create(Elephant::default())?;
            let middle =
                tx.create(Elephant { parent: Some(old.to_ref()), ..Elephant::default() })?;
            let young =
                tx.create(Elephant { parent: Some(middle.to_ref()), ..Elephant::default() })?;
            let grandparent = Path::of::<Elephant>().to(Elephant::PARENT).to(Elephant::PARENT);
            assert_eq!(young.follow(&grandparent)?, Some(old));
            assert_eq!(middle.follow(&grandparent)?, None);
            assert_eq!(young.follow(&Path::of::<Elephant>())?, Some(young));
            assert_eq!(grandparent.follow(tx, [young, middle, old])?.to_vec()?, [old]);
            assert_eq!(grandparent.invert(tx, [old])?.to_vec()?, [young]);
            assert_eq!(grandparent.count(tx, [young, middle])?, 1);
            assert_eq!(tx.all::<Elephant>()?.follow(&grandparent)?.to_vec()?, [old]);
            assert_eq!(young.any().follow(&grandparent)?, Some(old));
            Ok(())
        })
        .unwrap();
}

#[test]
fn steps_go_through_all_kinds_of_collections() {
    animals()
        .write(|tx| {
            let ella = tx.create(Elephant::default())?;
            let ed = tx.create(Elephant::default())?;
            let gus = tx.create(Giraffe::default())?;
            let gina = tx.create(Giraffe {
                enemies: [ella.to_ref().any(), gus.to_ref().any()].into(),
                m: [(ella.to_ref(), gus.to_ref()), (ed.to_ref(), gus.to_ref())].into(),
                queue: vec![Some(ed.to_ref()), None, Some(ed.to_ref()), Some(ella.to_ref())],
                ..Giraffe::default()
            })?;
            let path = Path::of::<Giraffe>();
            assert_eq!(gina.follow(&path.to(Giraffe::M.key()))?.to_vec()?, in_order([ella, ed]));
            assert_eq!(gina.follow(&path.to(Giraffe::M.value()))?.to_vec()?, [gus]);
            assert_eq!(gina.follow(&path.to(Giraffe::QUEUE))?.to_vec()?, in_order([ella, ed]));
            assert_eq!(gina.follow(&path.to(Giraffe::ENEMIES))?.count()?, 2);
            // Each referring object once, also where it refers several times.
            assert_eq!(ed.referrers(Giraffe::QUEUE)?.to_vec()?, [gina]);
            assert_eq!(gus.referrers(Giraffe::M.value())?.to_vec()?, [gina]);
            assert_eq!(ella.referrers(Giraffe::M.key())?.to_vec()?, [gina]);
            assert_eq!(gus.referrers(Giraffe::ENEMIES)?.to_vec()?, [gina]);
            assert_eq!(ella.any().referrers(Giraffe::QUEUE)?.to_vec()?, [gina]);
            assert!(ella.referrers(Elephant::ENEMIES)?.is_empty()?);
            // The set is live.
            let referring = ed.referrers(Giraffe::QUEUE)?;
            gina.queue()?.clear()?;
            assert!(referring.is_empty()?);
            Ok(())
        })
        .unwrap();
}

/// The order of handles is that of the object IDs.
fn in_order<T: Ord, const N: usize>(mut objects: [T; N]) -> [T; N] {
    objects.sort();
    objects
}

#[test]
fn equal_fields_of_other_types_are_left_out() {
    animals()
        .write(|tx| {
            let ella = tx.create(Elephant::default())?;
            let hates = [ella.to_ref().any()];
            let ed = tx.create(Elephant { enemies: hates.into(), ..Elephant::default() })?;
            let gina = tx.create(Giraffe { enemies: hates.into(), ..Giraffe::default() })?;
            assert_eq!(ella.referrers(Elephant::ENEMIES)?.to_vec()?, [ed]);
            assert_eq!(ella.referrers(Giraffe::ENEMIES)?.to_vec()?, [gina]);
            // Of the starts, only objects of the type at the first step count.
            let path = Path::of::<Any>().to(Elephant::ENEMIES);
            let starts = [ed.to_ref().any(), gina.to_ref().any(), ella.to_ref().any()];
            assert_eq!(path.follow(tx, starts)?.to_vec()?, [ella.any()]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_reference_of_a_missing_object_is_an_error_and_its_collections_are_empty() {
    animals()
        .write(|tx| {
            let gone = tx.create(Giraffe::default())?;
            let gina = tx.create(Giraffe { lost: Some(gone.to_ref()), ..Giraffe::default() })?;
            gone.delete()?;
            let lost = Path::of::<Giraffe>().to(Giraffe::LOST);
            assert_eq!(gina.follow(&lost)?, Some(gone));
            let error = gina.follow(&lost.to(Giraffe::FRIEND)).unwrap_err();
            assert!(error.to_string().contains(&gone.id().to_string()), "{error}");
            assert!(gina.follow(&lost.to(Giraffe::ENEMIES))?.is_empty()?);
            assert!(gina.follow(&lost.to(Giraffe::M.key()))?.is_empty()?);
            assert_eq!(gone.referrers(Giraffe::LOST)?.to_vec()?, [gina]);
            assert_eq!(lost.invert(tx, [gone])?.to_vec()?, [gina]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_path_is_a_value_for_the_life_of_the_program() {
    use std::sync::LazyLock;
    static PARENT: LazyLock<Path<Elephant, Elephant, One>> =
        LazyLock::new(|| Path::of::<Elephant>().to(Elephant::PARENT));
    fn shared<T: Send + Sync + Clone>(value: &T) -> T {
        value.clone()
    }
    let path = shared(&*PARENT);
    animals()
        .write(|tx| {
            let ella = tx.create(Elephant::default())?;
            assert_eq!(path.follow(tx, [ella])?.to_vec()?, []);
            let id: ObjId = ella.id();
            assert_eq!(path.follow(tx, [Ref::new(id)])?.count()?, 0);
            Ok(())
        })
        .unwrap();
}
