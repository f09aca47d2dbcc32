//! The life of a database through the versions, in a directory that vanishes.

use std::io::Write;

use permazen::Permazen;

use super::{check, print, upgrade, v1, v3};

/// How many issues the database has.
const ISSUES: i32 = 200;

/// Goes through all steps of a deployment and prints the results.
pub fn tour(out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("db");
    let dir = path.to_str().ok_or("the path of the temporary directory is not UTF-8")?;
    writeln!(out, "Version 1 fills a database with {ISSUES} issues.")?;
    let old = v1::open(dir)?;
    v1::fill::fill(&old, ISSUES)?;
    let user = "User user4";
    show(out, "version 1", user, "v1", dir)?;

    writeln!(out, "\nVersion 3 opens the database. What will become of the objects:\n")?;
    let new = v3::open(dir)?;
    writeln!(out, "{}", new.evolution_report()?)?;
    dry_run(&new, out)?;

    writeln!(out, "\nVersion 1 works for a day beside it, then all objects move:")?;
    v1::work::work(&old, 1)?;
    upgrade::all(&new, out)?;
    v3::watches::carry_over(&new)?;
    show(out, "version 3", user, "v3", dir)?;

    writeln!(out, "\nVersion 1 still runs:")?;
    v1::work::work(&old, 2)?;
    show(out, "version 1", user, "v1", dir)?;
    check(dir, out)
}

fn dry_run(db: &Permazen, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let dry = db.upgrade_all().dry_run().run()?;
    writeln!(out, "\nA dry run: {} objects would move, {} would not.", dry.moved, dry.refused)?;
    Ok(())
}

/// An object as a version sees it.
fn show(
    out: &mut dyn Write,
    program: &str,
    object: &str,
    version: &str,
    dir: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "What {program} sees of one of the users:")?;
    let start = format!("{object}: ");
    for (what, value) in print(version, dir)?.iter() {
        if let Some(field) = what.strip_prefix(&start) {
            writeln!(out, "  {field} = {value}")?;
        }
    }
    Ok(())
}
