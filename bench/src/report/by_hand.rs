//! The page with our side beside code by hand.

use super::{Results, about, grouped, head, plot, quartiles, row, time};
use crate::floor::{Line, Lines};

pub struct Floor {
    pub lmdb: Option<Lines>,
    pub memory: Vec<Lines>,
    /// A part of the lines for several numbers of objects.
    pub growth: Vec<Lines>,
}

const SETTINGS: &str = "\
The objects have five fields, of which a number and a string are indexed: nine pairs each. *By hand* is code that knows the \
only types there are, and reads and writes the same pairs with heed; it draws IDs, checks that new ones are free (with \
`NO_OVERWRITE`), keeps the indexes, and makes the same values. Both sides work on copies of one LMDB file. Reads are of objects \
that the transaction has not touched before, in random order, unless the line says *known*. Changes are rolled back, and what is \
timed is the changes without beginning and end of the transaction, except in the lines about commits: there the file of each side \
is flushed by each commit (*durable*), or by none (*unflushed*: LMDB's `NO_SYNC`, and `Durability::MayLoseEverything`). In the lines with \
threads, code by hand commits one after the other in one thread; each such line has its own run of code by hand, on the disk as it was then.\n\n\
At the end both sides make the same changes with the same IDs, and all pairs are compared: they are equal byte for byte.\n";

pub fn write(floor: &Floor, results: &Results, save: &dyn Fn(&str, &str)) {
    let mut page = format!("# Beside code by hand\n\n{}\n{SETTINGS}", about(results));
    if let Some(lmdb) = &floor.lmdb {
        page += &format!("\n## On LMDB, {} objects\n\n", grouped(lmdb.objects));
        page += "Time for an object, or for an entry of an index; a round works on 2,000, where there are small commits on 100 commits, and in deletions on 10,000 referrers.\n\n";
        page += &table(&lmdb.lines);
        page += "\n![The ratios, and the goals as black marks](by-hand.svg)\n";
        save("by-hand.svg", &ratios("On LMDB: time divided by that of code by hand", &lmdb.lines));
    }
    if floor.growth.len() > 1 {
        page += "\n## How it grows\n\nThe ratio for each number of objects:\n\n";
        page += &growth(&floor.growth);
        for (file, line) in
            [("load", "load the whole object"), ("create", "create, one transaction")]
        {
            let name = format!("by-hand-growth-{file}.svg");
            page += &format!("\n![{line}, by the number of objects]({name})\n");
            save(&name, &curve(line, &floor.growth));
        }
        page += "\nWhat grows is the depth of the trees and what the caches of the processor do not hold, for both sides alike. \
                 Ten million objects are one more power of ten of the same curve: their file of LMDB takes about 4 GB, so it lies in \
                 memory here as well.\n";
    }
    for memory in &floor.memory {
        page += &format!("\n## In memory, {} objects\n\n", grouped(memory.objects));
        page += "The memory store, beside a `BTreeMap` of the same pairs. It has transactions, snapshots and readers that no writer \
                 blocks; the map has none of these.\n\n";
        page += &table(&memory.lines);
    }
    page += &instructions();
    page += "\nWhy some goals are not reached: [notes](notes.md).\n";
    save("by-hand.md", &page);
}

fn table(lines: &[Line]) -> String {
    let columns = [
        "workload",
        "by hand",
        "ours",
        "ratio",
        "goal",
        "ratio of CPU time",
        "half of the rounds, by hand",
        "half of the rounds, ours",
    ];
    let mut text = head(&columns);
    for line in lines {
        let ratio = line.ratio();
        let missed = line.goal.is_some_and(|goal| ratio > goal);
        text += &row([
            line.name.to_owned(),
            time(line.by_hand.median),
            time(line.ours.median),
            if missed { format!("{ratio:.2}") } else { format!("**{ratio:.2}**") },
            line.goal.map_or(String::new(), |goal| goal.to_string()),
            format!("{:.2}", line.ours.cpu / line.by_hand.cpu),
            quartiles(&line.by_hand),
            quartiles(&line.ours),
        ]);
    }
    text + "\nA ratio in bold is within its goal, or has none.\n"
}

/// The file with which each change of the repository is compared.
const BUDGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/budget/budget.txt");

fn instructions() -> String {
    let file = std::fs::read_to_string(BUDGET).unwrap();
    let mut operations: Vec<(&str, [Option<String>; 3])> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, instructions, allocations] = cells[..] else { continue };
        let Some((side, operation)) = name.split_once(": ") else { continue };
        let Some(side) = ["memory", "lmdb", "by hand"].iter().position(|it| *it == side) else {
            continue;
        };
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let rounded = grouped(number(instructions).round() as usize);
        let text = format!("{rounded}; {:.1}", number(allocations));
        let at =
            operations.iter().position(|(other, _)| *other == operation).unwrap_or_else(|| {
                operations.push((operation, [None, None, None]));
                operations.len() - 1
            });
        operations[at].1[side] = Some(text);
    }
    let mut page = "\n## Instructions and allocations\n\n".to_owned();
    page += "Of one operation, with 5,000 objects, as [the budget](../testing.md#costs-without-a-clock) counts them; after the semicolon the \
             allocations. By hand is on LMDB.\n\n";
    page += &head(&["operation", "in memory", "LMDB", "by hand"]);
    for (operation, sides) in operations {
        let mut cells = vec![operation.to_owned()];
        cells.extend(sides.into_iter().map(Option::unwrap_or_default));
        page += &row(cells);
    }
    page
}

fn ratios(title: &str, lines: &[Line]) -> String {
    let bars: Vec<_> = lines.iter().map(|line| (line.name, line.ratio(), line.goal)).collect();
    plot::ratios(title, &bars)
}

fn find<'l>(lines: &'l Lines, name: &str) -> Option<&'l Line> {
    lines.lines.iter().find(|line| line.name == name)
}

fn growth(sizes: &[Lines]) -> String {
    let titles: Vec<String> = sizes.iter().map(|lines| grouped(lines.objects)).collect();
    let mut columns = vec!["workload", "goal"];
    columns.extend(titles.iter().map(String::as_str));
    let mut text = head(&columns);
    for line in &sizes[0].lines {
        let cell = |lines: &Lines| match find(lines, line.name) {
            Some(line) => {
                let (by_hand, ours) = (time(line.by_hand.median), time(line.ours.median));
                format!("{:.2} ({ours}, {by_hand})", line.ratio())
            }
            None => String::new(),
        };
        let goal = line.goal.map_or(String::new(), |goal| goal.to_string());
        let mut cells = vec![line.name.to_owned(), goal];
        cells.extend(sizes.iter().map(cell));
        text += &row(cells);
    }
    text
}

fn curve(name: &str, sizes: &[Lines]) -> String {
    let objects: Vec<usize> = sizes.iter().map(|lines| lines.objects).collect();
    let of = |pick: fn(&Line) -> f64| -> Vec<Option<f64>> {
        sizes.iter().map(|lines| find(lines, name).map(pick)).collect()
    };
    let values = [of(|line| line.ours.median), of(|line| line.by_hand.median)];
    plot::curves(name, &["permazen", "by hand"], &objects, &values)
}
