//! Checks that errors are noticed, and that nothing depends on names. The cases run on changed
//! copies of the repository's own data.

use std::fs;
use std::path::Path;

use permazen_tests::files;

use crate::report::{Outcome, Report, fail, same};
use crate::{databases, traces, vectors};

const GROUP: &str = "strictness";

/// The files of a database in one form.
const SMALL: &[&str] = &["answers.json", "schemas.json", "kv.xml"];
const EVOLUTION: &[&str] = &[
    "answers.json",
    "schemas.json",
    "schema-1.xml",
    "schema-2.xml",
    "schema-3.xml",
    "kv.xml",
    "steps.json",
];

/// Runs all cases on copies of the files in `data`.
pub fn run(data: &Path, report: &mut Report) {
    of_databases(&data.join("databases"), report);
    of_others(data, report);
}

fn of_databases(data: &Path, report: &mut Report) {
    let run: Run = databases::run;
    let small = |to: &Path| copy(&data.join("empty/opened"), SMALL, to);
    let evolution = |to: &Path| copy(&data.join("evolution"), EVOLUTION, to);
    let mut case = |name: &str, passes: bool, make: &dyn Fn(&Path) -> Outcome| {
        report.case(GROUP, name, || check(run, passes, make));
    };
    case("a database in any folder", true, &|dir| small(&dir.join("some/other/name")));
    for missing in ["answers.json", "schemas.json", "kv.xml"] {
        case(&format!("a database without {missing}"), false, &|dir| {
            small(&dir.join("good"))?;
            small(&dir.join("bad"))?;
            Ok(fs::remove_file(dir.join("bad").join(missing))?)
        });
    }
    case("an empty folder", false, &|dir| {
        small(&dir.join("good"))?;
        Ok(fs::create_dir(dir.join("bad"))?)
    });
    case("a file beside the databases", false, &|dir| {
        small(&dir.join("good"))?;
        Ok(fs::write(dir.join("answers.json"), "{}")?)
    });
    for (file, content) in [("notes.txt", ""), ("more.json", "{}"), ("more.json", "[]")] {
        case(&format!("{file} with {content:?} in a database"), false, &|dir| {
            small(dir.join("good").as_path())?;
            Ok(fs::write(dir.join("good").join(file), content)?)
        });
    }
    let script = r#"[{"name": "a", "steps": [{"op": "delete", "id": "0a00000000000001"}]"#;
    case("a script in any file", true, &|dir| {
        evolution(&dir.join("a"))?;
        let script = format!("{script}, \"objects\": 406}}]");
        Ok(fs::write(dir.join("a/any.json"), script)?)
    });
    case("a script that does not say what it leads to", false, &|dir| {
        evolution(&dir.join("a"))?;
        Ok(fs::write(dir.join("a/any.json"), format!("{script}}}]"))?)
    });
    case("states of any name in any file", true, &|dir| {
        evolution(&dir.join("a"))?;
        fs::rename(dir.join("a/steps.json"), dir.join("a/any.json"))?;
        change(&dir.join("a/any.json"), |text| {
            text.replace("program of version", "use of model").replace("... then", "and")
        })
    });
    case("another digest in the states", false, &|dir| {
        evolution(&dir.join("a"))?;
        change(&dir.join("a/steps.json"), |text| match text.rsplit_once("\"stateDigest\": \"") {
            Some((before, after)) => format!("{before}\"stateDigest\": \"x{after}"),
            None => text.to_owned(),
        })
    });
    case("conversion instead of none", false, &|dir| {
        evolution(&dir.join("a"))?;
        change(&dir.join("a/steps.json"), |text| {
            text.replacen("all migrated without", "all migrated with", 1)
        })
    });
    case("another encoding of map keys", false, &|dir| {
        evolution(&dir.join("a"))?;
        change(&dir.join("a/answers.json"), |text| {
            text.replace("\"mapKeyEncoding\": \"String\"", "\"mapKeyEncoding\": \"int\"")
        })
    });
}

fn of_others(data: &Path, report: &mut Report) {
    let mut case = |run: Run, name: &str, passes: bool, make: &dyn Fn(&Path) -> Outcome| {
        report.case(GROUP, name, || check(run, passes, make));
    };
    for file in ["uint.json", "long.json", "fixed.json"] {
        case(vectors::run, &format!("{file} of another name"), true, &|dir| {
            copy(&data.join("vectors"), &[file], &dir.join("below"))?;
            Ok(fs::rename(dir.join("below").join(file), dir.join("below/numbers-2.json"))?)
        });
        let other = if file == "uint.json" { "long.json" } else { "uint.json" };
        case(vectors::run, &format!("{file} with a wrong row"), false, &|dir| {
            copy(&data.join("vectors"), &[file, other], dir)?;
            change(&dir.join(file), |text| text.replacen("\"hex\": \"", "\"hex\": \"00", 1))
        });
    }
    for content in ["{}", "[]", r#"{"values": []}"#, r#"{"unheard-of": [1]}"#] {
        case(vectors::run, &format!("vectors with {content}"), false, &|dir| {
            copy(&data.join("vectors"), &["uint.json"], dir)?;
            Ok(fs::write(dir.join("bad.json"), content)?)
        });
    }
    const TRACE: &[&str] = &["minimal-01.jsonl", "minimal-01.kv.xml"];
    case(traces::run, "a trace of another name", true, &|dir| {
        copy(&data.join("traces"), TRACE, dir)?;
        fs::rename(dir.join("minimal-01.kv.xml"), dir.join("x.kv.xml"))?;
        Ok(fs::rename(dir.join("minimal-01.jsonl"), dir.join("x.jsonl"))?)
    });
    case(traces::run, "a trace without steps", false, &|dir| {
        copy(&data.join("traces"), TRACE, dir)?;
        let text = files::text(dir, "minimal-01.jsonl")?;
        let header = text.lines().next().unwrap_or_default();
        Ok(fs::write(dir.join("bad.jsonl"), header.replacen("\"steps\":44", "\"steps\":0", 1))?)
    });
    case(traces::run, "pairs without their trace", false, &|dir| {
        copy(&data.join("traces"), TRACE, dir)?;
        Ok(fs::rename(dir.join("minimal-01.kv.xml"), dir.join("x.kv.xml"))?)
    });
    for (name, ends, steps) in deletions() {
        report.case(GROUP, name, || check_trace(&trace(&steps), ends));
    }
    report.case(GROUP, "a recorded deletion whose holder goes too", || {
        let text = files::text(&data.join("traces"), "delete-random-03.jsonl")?;
        let mut lines: Vec<String> = text.lines().take(29).map(str::to_owned).collect();
        lines[0] = lines[0].replace("\"steps\":3003", "\"steps\":29");
        lines.push(r#"{"n":29,"op":"rollback","expect":"ok"}"#.to_owned());
        let undone = "step 28: done and undone: 122323f00c9fa8b3: all that forbids";
        check_trace(&lines.join("\n"), Ok(Some(undone)))
    });
}

/// A trace passes, with this remark or without any, or fails for this.
type Ends = Result<Option<&'static str>, &'static str>;

/// Replays a trace.
fn check_trace(text: &str, ends: Ends) -> Outcome {
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("x.jsonl"), text)?;
    let mut report = Report::silent();
    traces::run(dir.path(), &mut report);
    let (failure, remarks) = (report.first_failure(), report.remarks());
    let is_as_said = match ends {
        Ok(None) => report.is_good() && remarks.is_empty(),
        Ok(Some(remark)) => report.is_good() && remarks.len() == 1 && remarks[0].contains(remark),
        Err(text) => failure.contains(text),
    };
    if is_as_said {
        return Ok(());
    }
    Err(fail(format!("expected {ends:?}, but: {failure} {remarks:?}")))
}

/// Deletions of B that Java refuses: how the trace ends, and its steps. A goes with B; C and D
/// stay.
fn deletions() -> Vec<(&'static str, Ends, Vec<String>)> {
    let create = |n: u8| format!(r#""op":"create","id":"010000000000000{n}","expect":true"#);
    let set = |holder: u8, field: &str, target: u8| {
        format!(
            r#""op":"set","id":"010000000000000{holder}","field":"{field}","value":"010000000000000{target}","expect":"ok""#
        )
    };
    let refused = |referrer: u8, field: &str| {
        format!(
            r#""op":"delete","id":"0100000000000002","error":"referenced-object","detail":{{"id":"0100000000000002","referrer":"010000000000000{referrer}","field":"{field}"}}"#
        )
    };
    let exists = r#""op":"exists","id":"0100000000000001","expect":true"#.to_owned();
    let partial =
        r#""op":"delete","id":"0100000000000002","error":"referenced-object","partial":true"#;
    let case = |references: &[String], deletion: String| {
        let created = [1, 2, 3, 4].map(create);
        let steps = created.into_iter().chain(references.iter().cloned());
        steps.chain([deletion, exists.clone()]).collect::<Vec<_>>()
    };
    let (goes, forbids, stays) = (set(1, "next", 2), set(1, "strict", 2), set(3, "strict", 2));
    let both = [goes.clone(), forbids.clone()];
    let all = [goes.clone(), forbids.clone(), stays.clone()];
    // A listener does this when B is deleted, which Java does not come to.
    let heard = |step: &str| {
        format!(
            r#""op":"listen","name":"l","kind":"delete","path":[],"pathOf":[],"times":1,"do":[{{{step}}}],"expect":"ok""#
        )
    };
    let fails = heard(r#""op":"fail""#);
    let lets_go =
        heard(r#""op":"set","id":"0100000000000003","field":"strict","value":null,"expect":"ok""#);
    // Java does not come to this either: when C.loose has become null, so when B is gone, a
    // listener lets D refer to it. Then D forbids the deletion that is done.
    let comes_late = |field: &str| {
        format!(
            r#""op":"listen","name":"l","kind":"field","sid":9,"path":[],"pathOf":[],"times":1,"do":[{{{}}}],"expect":"ok""#,
            set(4, field, 2)
        )
    };
    let undone = Ok(Some("step 8: done and undone: 0100000000000002: all that forbids"));
    let two_later = Ok(Some("step 10: done and undone: 0100000000000002: all that forbids"));
    let nothing = Err("it was done, and there is no reference for which Java has refused it");
    let loose = set(3, "loose", 2);
    vec![
        ("a deletion whose holder goes too", undone, case(&both, refused(1, "strict"))),
        ("half a deletion whose holder goes too", undone, case(&both, partial.to_owned())),
        (
            "a deletion that is refused for a holder that stays",
            Ok(Some("refused for another reference")),
            case(&all, refused(1, "strict")),
        ),
        (
            "a deletion that is refused for the holder that stays",
            Ok(None),
            case(&all, refused(3, "strict")),
        ),
        ("a deletion that nothing forbids", nothing, case(&[goes], refused(1, "strict"))),
        ("a deletion with another field", nothing, case(&both, refused(1, "next"))),
        (
            "a refused deletion with an object that does not forbid it",
            Err(r#"expected "next""#),
            case(&all, refused(1, "next")),
        ),
        (
            "a deletion after which a holder that forbids it is left",
            Err("0100000000000004 forbids the deletion of 0100000000000002, and is left"),
            case(&[&both[..], &[loose.clone(), comes_late("late")]].concat(), refused(1, "strict")),
        ),
        (
            "half a deletion after which a holder that forbids it is left",
            Err("0100000000000004 forbids the deletion of 0100000000000002, and is left"),
            case(&[&both[..], &[loose.clone(), comes_late("late")]].concat(), partial.to_owned()),
        ),
        (
            "a deletion after which a holder that does not mind is left",
            two_later,
            case(&[&both[..], &[loose, comes_late("any")]].concat(), refused(1, "strict")),
        ),
        (
            "a deletion whose listener fails",
            Ok(Some("")),
            case(&[stays.clone(), fails.clone()], refused(3, "strict")),
        ),
        (
            "a deletion whose listener fails, which nothing forbids",
            Err("referenced-object"),
            case(&[fails], refused(3, "strict")),
        ),
        (
            "a deletion whose listener lets go",
            undone,
            case(&[stays.clone(), lets_go.clone()], refused(3, "strict")),
        ),
        (
            "a deletion whose listener lets go of one of two",
            Ok(Some("refused for another reference")),
            case(&[stays, set(4, "strict", 2), lets_go], refused(3, "strict")),
        ),
    ]
}

/// A trace with one transaction, which is rolled back.
fn trace(steps: &[String]) -> String {
    let schema = r#"<Schema><ObjectType name=\"W\"><ReferenceField name=\"any\" inverseDelete=\"IGNORE\" allowDeleted=\"true\"/><ReferenceField name=\"late\" inverseDelete=\"EXCEPTION\" allowDeleted=\"true\"/><ReferenceField name=\"loose\" storageId=\"9\" inverseDelete=\"NULLIFY\"/><ReferenceField name=\"next\" inverseDelete=\"DELETE\"/><ReferenceField name=\"strict\" inverseDelete=\"EXCEPTION\"/></ObjectType></Schema>"#;
    let open =
        r#""op":"open","schema":"A","allowNew":true,"removal":"NEVER","expect":{"schemaIndex":1}"#;
    let end = r#""op":"rollback","expect":"ok""#;
    let steps = || [open].into_iter().chain(steps.iter().map(String::as_str)).chain([end]);
    let mut text = format!(
        r#"{{"format":"permazen-trace","version":1,"steps":{},"schemas":{{"A":"{schema}"}},"schemaIds":{{}}}}"#,
        steps().count()
    );
    for (step, n) in steps().zip(1..) {
        text += &format!("\n{{\"n\":{n},{step}}}");
    }
    text
}

type Run = fn(&Path, &mut Report);

/// Runs the cases in a folder that `make` has filled.
fn check(run: Run, passes: bool, make: &dyn Fn(&Path) -> Outcome) -> Outcome {
    let dir = tempfile::tempdir()?;
    make(dir.path())?;
    let mut report = Report::silent();
    run(dir.path(), &mut report);
    same("cases", report.seen() > 0, true)?;
    match (report.is_good(), passes) {
        (true, false) => Err(fail("it passes")),
        (false, true) => Err(fail(format!("it fails: {}", report.first_failure()))),
        _ => Ok(()),
    }
}

/// Copies files, inflated.
fn copy(from: &Path, names: &[&str], to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    names.iter().try_for_each(|name| Ok(fs::write(to.join(name), files::bytes(from, name)?)?))
}

/// Changes a text file. The change must make a difference.
fn change(file: &Path, by: impl FnOnce(&str) -> String) -> Outcome {
    let before = fs::read_to_string(file)?;
    let after = by(&before);
    same("changed", after != before, true)?;
    Ok(fs::write(file, after)?)
}
