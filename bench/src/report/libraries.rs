//! The page with other libraries.

use super::{Results, about, grouped, head, plot, row, time};
use crate::peers::{Growth, Line, Table, Tables};
use crate::published::RandomKeys;

const SETTINGS: &str = "\
The objects are people with five fields, of which a number and a string are indexed, and messages of a tenth of the people: \
ten of each author, with a reference that is indexed and must lead to a person. The time of each line includes beginning and end of \
the transaction. Each side is written as a programmer who knows the library would write it:\n\n\
- **permazen**: the typed layer on LMDB. IDs are random.\n\
- **SQLite (rusqlite)**: prepared statements, WAL, 256 MiB of cache, a memory map, foreign keys on. IDs are counted up, which keeps \
new rows together. The newest rusqlite has another version of SQLite than diesel can have, and a program can have only one, so this is \
the newest that both have.\n\
- **SQLite (diesel)**: the same file and settings; the DSL of diesel, whose statements are cached.\n\
- **redb**: a table of tuples, and tables `(value, id)` as indexes, which the program keeps. Nothing but the program \
checks references.\n\
- **native_db**: structs with secondary keys. It makes the whole object for each read, also where only an ID or a field is wanted. Nothing \
checks references.\n\n\
*Durable* is the same for all: what a commit has returned for is on the disk (`Durability::Full`, `synchronous = FULL`, \
`Durability::Immediate`; native_db has nothing else). *Unflushed*: `Durability::MayLoseEverything`, `synchronous = OFF`, \
`Durability::None`; native_db is in a file system in memory then, where a flush costs nothing.\n\n\
At the end each side must hold the same people, entries and messages.\n";

pub fn write(tables: &Tables, results: &Results, save: &dyn Fn(&str, &str)) {
    let mut page = format!("# Beside other libraries\n\n{}\n{SETTINGS}", about(results));
    let mut section = |title: &str, text: &str, table: &Table, file: &str| {
        page += &format!("\n## {title}\n\n{text}\n\n{}", cells(table));
        page += &format!("\n![{title}]({file})\n");
        save(file, &bars(title, table));
    };
    let objects = grouped(tables.objects);
    section(
        &format!("Reads, {objects} objects"),
        "Time for an object or an entry. A transaction reads 2,000 objects in random order, or 5,000 entries.",
        &tables.read,
        "libraries-reads.svg",
    );
    section(
        &format!("Changes without a flush, {objects} objects"),
        "Time for an object; 2,000 in one transaction, or one.",
        &tables.unflushed,
        "libraries-unflushed.svg",
    );
    section(
        "Durable changes, 10,000 objects",
        "Time for an object, flushed by each commit.",
        &tables.flushed,
        "libraries-durable.svg",
    );
    section(
        &format!("Threads: 95 loads and 5 changes of a hundred, {objects} objects"),
        "Time of all threads together for an operation, each a transaction of its own, unflushed.",
        &tables.mixed,
        "libraries-threads.svg",
    );
    section(
        &format!("YCSB, {objects} objects"),
        "Time for an operation, each a transaction of its own, unflushed; objects drawn by Zipf's law.",
        &tables.ycsb,
        "libraries-ycsb.svg",
    );
    page += "\n## Space, 10,000 objects\n\nBytes of the files for each object, with its share of messages, after all were created in one \
             transaction, and all messages in another:\n\n";
    let mut columns = vec![""];
    columns.extend(&tables.read.sides);
    page += &head(&columns);
    let mut sizes = vec!["bytes".to_owned()];
    sizes.extend(tables.sizes.iter().map(|size| format!("{size:.0}")));
    page += &row(sizes);
    if let Some(growth) = &results.growth {
        page += &curves(growth, save);
    }
    if let Some(published) = &results.published {
        page += "\n## Diesel's own benchmark: associations\n\nTime to load nine users with ten posts each and ten comments on each \
                 post, a thousand objects in all, as `loading_associations_sequentially` of diesel's benchmark does. SQLite has three \
                 statements for all; permazen follows the references back, one by one.\n\n";
        page += &cells(&published.associations);
        page += "\n## native_db's own benchmark: ten secondary keys\n\nTime for an item with ten indexed numbers and a text, 500 in \
                 one transaction that is rolled back, without its begin and end; 10,000 items. There, transactions of 1, 10, 50 and 100 keys are \
                 committed, and ranges of a secondary key are read too.\n\n";
        page += &cells(&published.secondary_keys);
        page += &random_keys(&published.random_keys);
    }
    page += "\nWhere permazen is not the fastest, and why: [notes](notes.md).\n";
    save("libraries.md", &page);
}

const RANDOM_KEYS: &str = "\
What the main benchmark of redb does (`crates/redb-bench`): pairs of a random key of 24 bytes and a random value of 150. All commits \
are durable. Time for a pair; of `len()` for the whole call. Other than there:\n\n\
- permazen has objects with two fields, and an index on the key. Nothing makes sure that a key is there only once; in redb and SQLite \
the newer pair replaces the older one. A value that is read is made anew from its encoded bytes; SQLite copies it, redb lends it.\n\
- All pairs of a transaction go to permazen at once (`create_many`), which writes the entries of the index in their order. redb and \
SQLite get them one by one, in random order, as there.\n\
- There are fewer: there 5,000,000 in the bulk load, 1,000 individual writes, 100 batches of 1,000, and a million reads; here a round has \
100 individual writes, one batch of 1,000, and 2,000 reads, or 20,000 of all threads. Random pairs are made before the time is taken.\n\
- Half are removed in five transactions, there in one. Beginning and end of each transaction count.\n\
- SQLite has a write-ahead log and statements that stay prepared. redb has its usual cache.\n\
- Not here: writes without a flush, `retain`, `extract_if`, `pop`, sorted inserts, and LMDB, RocksDB and fjall by themselves.\n";

fn random_keys(found: &RandomKeys) -> String {
    let objects = grouped(found.objects);
    let mut text =
        format!("\n## redb's own benchmark: random keys, {objects} objects\n\n{RANDOM_KEYS}\n");
    text += &cells(&found.table);
    text += "\nBytes of the files for each pair, after all this and when packed (`LmdbBuilder::compact`, `VACUUM`, `Database::compact`):\n\n";
    let mut columns = vec![""];
    columns.extend(&found.table.sides);
    text += &head(&columns);
    for (name, sizes) in [("bytes", &found.sizes), ("bytes, packed", &found.packed)] {
        let mut line = vec![name.to_owned()];
        line.extend(sizes.iter().map(|size| format!("{size:.0}")));
        text += &row(line);
    }
    text
}

fn cells(table: &Table) -> String {
    let mut columns = vec!["workload"];
    columns.extend(&table.sides);
    let mut text = head(&columns);
    for line in &table.lines {
        let medians = line.sides.iter().flatten().map(|spread| spread.median);
        let best = medians.fold(f64::MAX, f64::min);
        let mut cells = vec![line.name.clone()];
        cells.extend(line.sides.iter().map(|spread| match spread {
            Some(spread) if spread.median <= best => format!("**{}**", time(spread.median)),
            Some(spread) => time(spread.median),
            None => "–".to_owned(),
        }));
        text += &row(cells);
    }
    text += "\nThe fastest in bold. Half of the rounds were between these; after the semicolon the CPU time of all threads:\n\n";
    text += &head(&columns);
    for line in &table.lines {
        let mut cells = vec![line.name.clone()];
        cells.extend(line.sides.iter().map(|spread| match spread {
            Some(spread) => {
                format!("{} to {}; {}", time(spread.low), time(spread.high), time(spread.cpu))
            }
            None => "–".to_owned(),
        }));
        text += &row(cells);
    }
    text
}

fn medians(line: &Line) -> Vec<Option<f64>> {
    line.sides.iter().map(|spread| spread.map(|spread| spread.median)).collect()
}

fn bars(title: &str, table: &Table) -> String {
    let lines = table.lines.iter().map(|line| (line.name.as_str(), medians(line)));
    plot::bars(title, &table.sides, &lines.collect::<Vec<_>>())
}

fn curves(growth: &Growth, save: &dyn Fn(&str, &str)) -> String {
    let mut text = "\n## How it grows\n\nUnflushed; 2,000 objects in one transaction.\n".to_owned();
    let objects: Vec<usize> = growth.sizes.iter().map(|(objects, _)| *objects).collect();
    let Some((_, first)) = growth.sizes.first() else { return text };
    for (at, line) in first.iter().enumerate() {
        let mut columns = vec!["objects"];
        columns.extend(&growth.sides);
        text += &format!("\n### {}\n\n{}", capital(&line.name), head(&columns));
        for (objects, lines) in &growth.sizes {
            let mut cells = vec![grouped(*objects)];
            cells.extend(medians(&lines[at]).into_iter().map(|m| m.map_or("–".into(), time)));
            text += &row(cells);
        }
        let file = format!("libraries-growth-{at}.svg");
        let of = |side: usize| -> Vec<Option<f64>> {
            growth.sizes.iter().map(|(_, lines)| medians(&lines[at])[side]).collect()
        };
        let values: Vec<_> = (0..growth.sides.len()).map(of).collect();
        save(&file, &plot::curves(&line.name, &growth.sides, &objects, &values));
        text += &format!("\n![{}, by the number of objects]({file})\n", line.name);
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
