//! The file with the counts, and the comparison with it.

use std::fmt::Write as _;
use std::process::Command;
use std::{env, fs};

use crate::count::Counted;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/budget.txt");
/// How far instructions may be from the number in the file, as a share.
const TOLERANCE: f64 = 0.03;
/// The same if the compiler or the system is another one than that of the file.
const WIDE_TOLERANCE: f64 = 0.2;
/// Smaller changes of instructions are not printed when the file is written.
const WORTH_PRINTING: f64 = 0.005;
const MADE_WITH: &str = "# made with ";

/// The compiler and the system, whose C library has its own code for each CPU. Programs of others
/// do the same work with other instructions.
fn surroundings() -> String {
    let output = Command::new("rustc").arg("--version").output().unwrap();
    let rustc = String::from_utf8(output.stdout).unwrap();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.unwrap_or(env::consts::OS).trim_matches('"');
    format!("{}, {name}, {}", rustc.trim(), env::consts::ARCH)
}

/// The file as it should be.
fn written(counted: &[Counted]) -> String {
    let mut text = String::from(
        "# Instructions and allocations of one operation; docs/src/testing.md#costs-without-a-clock\n",
    );
    writeln!(text, "{MADE_WITH}{}", surroundings()).unwrap();
    for Counted { name, instructions, allocations } in counted {
        writeln!(text, "{name:60} | {instructions:>9.1} | {allocations:>7.2}").unwrap();
    }
    text
}

fn read(text: &str) -> Vec<Counted> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counted = lines.map(|line| {
        let mut fields = line.split('|').map(str::trim);
        let mut next = || fields.next().unwrap_or_else(|| panic!("not a line of a budget: {line}"));
        Counted {
            name: next().to_owned(),
            instructions: next().parse().unwrap(),
            allocations: next().parse().unwrap(),
        }
    });
    counted.collect()
}

/// Writes the file, and prints the changes.
pub(crate) fn write(counted: &[Counted]) {
    let old = fs::read_to_string(PATH).unwrap_or_default();
    let new = written(counted);
    print_differences(&read(&old), &read(&new), WORTH_PRINTING);
    fs::write(PATH, new).unwrap();
}

/// Whether the file says the same. If not, prints the differences.
pub(crate) fn agrees(counted: &[Counted]) -> bool {
    let old = fs::read_to_string(PATH).unwrap_or_default();
    let made_with = old.lines().find_map(|line| line.strip_prefix(MADE_WITH)).unwrap_or_default();
    let here = surroundings();
    let tolerance = if here == made_with {
        TOLERANCE
    } else {
        println!("the budget was made with {made_with}, and this is {here}:");
        println!("instructions may differ by {} %", WIDE_TOLERANCE * 100.0);
        WIDE_TOLERANCE
    };
    let differences = print_differences(&read(&old), &read(&written(counted)), tolerance);
    if differences == 0 {
        println!("{} operations cost what the budget says", counted.len());
    } else {
        println!("{differences} operations cost more or less than the budget says.");
        println!(
            "If that is meant: PERMAZEN_BUDGET=write cargo run --profile bench -p permazen-budget"
        );
    }
    differences == 0
}

/// Prints operations whose costs differ, and returns their number.
fn print_differences(old: &[Counted], new: &[Counted], tolerance: f64) -> usize {
    let names = new.iter().chain(old.iter().filter(|old| find(new, &old.name).is_none()));
    let differ = |name: &&Counted| match (find(old, &name.name), find(new, &name.name)) {
        (Some(old), Some(new)) => {
            let ratio = new.instructions / old.instructions;
            (ratio - 1.0).abs() > tolerance || new.allocations != old.allocations
        }
        _ => true,
    };
    let names: Vec<_> = names.filter(differ).map(|counted| &counted.name).collect();
    if !names.is_empty() {
        println!("{:60} {:>26} {:>8} {:>20}", "", "instructions", "", "allocations");
    }
    for name in &names {
        let (old, new) = (find(old, name), find(new, name));
        let figure = |counted: Option<&Counted>, read: fn(&Counted) -> f64| counted.map(read);
        let instructions =
            (figure(old, |one| one.instructions), figure(new, |one| one.instructions));
        let allocations = (figure(old, |one| one.allocations), figure(new, |one| one.allocations));
        let show = |value: Option<f64>, digits| match value {
            Some(value) => format!("{value:.digits$}"),
            None => "-".to_owned(),
        };
        let change = match instructions {
            (Some(old), Some(new)) => format!("{:+.1} %", (new / old - 1.0) * 100.0),
            _ => String::new(),
        };
        println!(
            "{name:60} {:>11} -> {:>11} {change:>8} {:>8} -> {:>8}",
            show(instructions.0, 1),
            show(instructions.1, 1),
            show(allocations.0, 2),
            show(allocations.1, 2),
        );
    }
    names.len()
}

fn find<'c>(counted: &'c [Counted], name: &str) -> Option<&'c Counted> {
    counted.iter().find(|one| one.name == name)
}
