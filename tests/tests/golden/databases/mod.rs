//! Complete databases in several forms, and what they must answer.

mod answers;
mod evolution;
mod forms;
mod object_xml;
mod objects;
mod pairs;
mod queries;
mod schemas;
mod scripts;

use std::path::Path;
use std::thread;

use permazen_tests::files;
use serde_json::Value as Json;

use crate::report::{Report, fail};
use answers::{Answers, RecordedSchema};

/// Checks every database below `dir`. A folder that contains anything other than folders is a
/// database. Each folder in `dir` has a thread of its own.
pub fn run(dir: &Path, report: &mut Report) {
    let (folders, others): (Vec<_>, Vec<_>) =
        files::entries(dir).into_iter().partition(|(_, is_folder)| *is_folder);
    for (name, _) in others.iter().filter(|(name, _)| !files::is_for_people(name)) {
        report.case("databases", name, || Err(fail("databases are in folders")));
    }
    thread::scope(|scope| {
        let parts: Vec<_> = folders
            .iter()
            .map(|(name, _)| {
                let mut part = report.part();
                scope.spawn(move || {
                    part.run(&dir.join(name), |_, part| walk(dir, name, part));
                    part
                })
            })
            .collect();
        for part in parts {
            // `run` catches panics.
            report.add(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
}

fn walk(dir: &Path, name: &str, report: &mut Report) {
    let folder = dir.join(name);
    let group = format!("databases/{name}");
    let entries = files::entries(&folder);
    let is_part = |(entry, is_folder): &(String, bool)| {
        if *is_folder { forms::is_folder(entry) } else { !files::is_for_people(entry) }
    };
    let (parts, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_part);
    let below: Vec<String> =
        others.into_iter().filter(|(_, is_folder)| *is_folder).map(|(entry, _)| entry).collect();
    if !parts.is_empty() {
        let parts: Vec<String> = parts.into_iter().map(|(entry, _)| entry).collect();
        database(&group, &folder, &parts, report);
    } else if below.is_empty() {
        report.case(&group, "the folder", || Err(fail("there is nothing in it")));
    }
    for entry in below {
        walk(dir, &format!("{name}/{entry}"), report);
    }
}

/// Checks the database in a folder that holds these files and folders.
fn database(group: &str, folder: &Path, parts: &[String], report: &mut Report) {
    let answers: Answers = match files::json(folder, "answers.json") {
        Ok(answers) => answers,
        Err(error) => {
            report.case(group, "answers.json", || Err(error.into()));
            return;
        }
    };
    if forms::kinds_in(folder).next().is_none() {
        let what = format!("there is no database, that is, none of {}", forms::files());
        report.case(group, "the folder", || Err(fail(what)));
    }
    for kind in forms::kinds_in(folder) {
        let form = kind.open(folder);
        pairs::check(group, folder, &form, &answers, report);
        schemas::check(group, folder, &form, report);
        objects::check(group, &form, &answers, report);
        object_xml::check(group, folder, &form, &answers, report);
        queries::check(group, &form, &answers, report);
        pairs::unchanged(group, &form, &answers, report);
        if form.name == "lmdb" {
            pairs::copies(group, &form, report);
        }
    }
    object_xml::check_read(group, folder, &answers, report);
    let recorded: Vec<RecordedSchema> = files::json(folder, "schemas.json").unwrap_or_default();
    for part in parts {
        if is_known(part) || recorded.iter().any(|schema| schema.file == *part) {
            continue;
        }
        match part.ends_with(".json").then(|| files::json::<Json>(folder, part)) {
            Some(Ok(Json::Array(_))) => scripts::check(group, folder, part, report),
            Some(Ok(content)) if content.get("steps").is_some() => {
                evolution::check(group, folder, part, report);
            }
            Some(Err(error)) => report.case(group, part, || Err(error.into())),
            _ => report.case(group, part, || Err(fail("nothing here checks this file"))),
        }
    }
}

/// Whether a file or folder is a form, or compared with each form.
fn is_known(part: &str) -> bool {
    let compared = ["answers.json", "schemas.json", "objects.xml", "objects-ids.xml"];
    compared.contains(&part) || forms::is_folder(part) || forms::is_file(part)
}
