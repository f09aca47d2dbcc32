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

use permazen_tests::files;

use crate::report::Report;
use answers::Answers;

/// Checks every database below `dir`.
pub fn run(dir: &Path, report: &mut Report) {
    for name in files::folders_with(dir, "answers.json") {
        let folder = dir.join(&name);
        let group = format!("databases/{name}");
        let answers: Answers = match files::json(&folder, "answers.json") {
            Ok(answers) => answers,
            Err(error) => {
                report.case(&group, "answers.json", || Err(error.into()));
                continue;
            }
        };
        for kind in forms::kinds_in(&folder) {
            let form = kind.open(&folder);
            pairs::check(&group, &folder, &form, &answers, report);
            schemas::check(&group, &folder, &form, report);
            objects::check(&group, &form, &answers, report);
            object_xml::check(&group, &folder, &form, &answers, report);
            queries::check(&group, &form, &answers, report);
            pairs::unchanged(&group, &form, &answers, report);
        }
        object_xml::check_read(&group, &folder, &answers, report);
        scripts::check(&group, &folder, report);
        evolution::check(&group, &folder, report);
    }
}
