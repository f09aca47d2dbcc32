//! Models that `build` refuses: clashes that no derive can see.

use permazen::kv::memory::MemoryStore;
use permazen::{Error, Permazen, PermazenFields, PermazenObject};

use crate::kinds::models::{Named, WalkWithoutKind};

#[derive(PermazenFields)]
#[permazen(composite(name = "pair", fields(one, two)))]
struct Mixed {
    one: i32,
    two: i32,
    #[permazen(rename = "renamed")]
    other: i32,
}

#[derive(PermazenFields)]
#[permazen(composite(name = "pair", fields(three, four)))]
struct Twin {
    three: i32,
    four: i32,
}

#[derive(PermazenObject)]
struct Clashing {
    name: i32,
    #[permazen(rename = "andAnother")]
    other: i32,
    pair: i32,
    #[permazen(flatten)]
    named: Named,
    #[permazen(flatten)]
    mixed: Mixed,
    #[permazen(flatten)]
    twin: Twin,
}

#[derive(PermazenObject)]
struct Twice {
    #[permazen(flatten)]
    one: Twin,
    #[permazen(flatten)]
    other: Twin,
}

/// A text with the names of these modules only.
fn short(text: &str) -> String {
    let (above, _) = module_path!().rsplit_once("::").unwrap();
    text.replace(&format!("{above}::"), "")
}

fn problems(builder: permazen::Builder) -> Vec<String> {
    let Err(Error::Models(errors)) = builder.build() else { panic!("no errors") };
    errors.to_string().lines().map(str::to_owned).collect()
}

#[test]
fn names_that_occur_twice() {
    let builder = || Permazen::builder(MemoryStore::new());
    let found = short(&problems(builder().model::<Clashing>()).join("\n"));
    for expected in [
        "Clashing.name: there is such a field in `Clashing` and in `models::Named`: rename one of them",
        "Clashing.renamed: there is an accessor `other` in `Clashing` and in `mistakes::Mixed`: rename one of them",
        "Clashing#pair: there is such a composite index in `mistakes::Mixed` and in `mistakes::Twin`: rename one of them",
        "Clashing#pair: there is a field or composite index of this name in `Clashing` and in `mistakes::Mixed`: rename \
         one of them",
    ] {
        assert!(found.contains(expected), "{found}");
    }
    let found = short(&problems(builder().model::<Twice>()).join("\n"));
    for name in ["three", "four"] {
        let expected = format!(
            "Twice.{name}: there is such a field in `mistakes::Twin` and in `mistakes::Twin`: rename one of them"
        );
        assert!(found.contains(&expected), "{found}");
    }
}

#[derive(PermazenFields)]
struct Former {
    /// No field of a model may have this name, nor the former name of another.
    #[permazen(was = "width")]
    size: i32,
    #[permazen(was = "tint")]
    color: i32,
}

#[derive(PermazenObject)]
#[permazen(removed("size", "gone"))]
struct Renamed {
    width: i32,
    #[permazen(was = "color")]
    shade: i32,
    #[permazen(was = ["tint", "hue"])]
    other: i32,
    #[permazen(flatten)]
    former: Former,
}

#[test]
fn former_names_of_fields_that_are_there() {
    let found = problems(Permazen::builder(MemoryStore::new()).model::<Renamed>());
    let found: Vec<_> = found.iter().map(|line| short(line.trim())).collect();
    for expected in [
        "Renamed.size: `mistakes::Former` has this field: `removed` is for fields that the model no longer has",
        "Renamed.shade: `mistakes::Former` has a field \"color\": `was` is for names that no field has now",
        "Renamed.size: `Renamed` has a field \"width\": `was` is for names that no field has now",
        "Renamed.color: field `other` of `Renamed` was \"tint\" too: only one field gets the old values",
    ] {
        assert!(found.iter().any(|line| line.contains(expected)), "{found:#?}");
    }
    assert!(!found.iter().any(|line| line.contains("gone") || line.contains("hue")), "{found:#?}");
}

#[test]
fn members_that_are_not_registered() {
    let found = problems(Permazen::builder(MemoryStore::new()).model::<WalkWithoutKind>());
    let found = found.join("\n");
    for name in ["Dog", "Cat", "Snake"] {
        let expected = format!("pet: it refers to `{name}`, which is not registered");
        assert!(found.contains(&expected), "{found}");
    }
}
