//! The page about space.

use super::{Results, about, grouped, head, row};
use crate::space::{Line, Space};

const EXPLAINED: &str = "\
*File* is the size of the file, *used* are the pages that its newest state uses, and *full* says how much of the pages with pairs is in \
use. Commits are not flushed, which changes neither. *Packed* is after `LmdbBuilder::compact`; `LmdbStore::copy_to` makes the same file.\n";

pub fn write(space: &Space, results: &Results, save: &dyn Fn(&str, &str)) {
    let mut page = format!("# Space\n\n{}\n", about(results));
    page += &format!(
        "{} objects with five fields and two indexes. Each is nine pairs, whose keys and values have {:.0} bytes. Bytes of the LMDB file for an \
         object, by the order of its IDs and the objects that a transaction created:\n\n",
        grouped(space.objects),
        space.pairs,
    );
    page += &head(&["IDs", "a transaction", "file", "used", "full", "packed file", "packed: full"]);
    for line in &space.lines {
        page += &cells(line);
    }
    page += &format!(
        "\n{EXPLAINED}\nThe same objects in SQLite, as rows with two indexes, take {:.0} bytes each.\n\nWhy: [notes](notes.md#space).\n",
        space.sqlite
    );
    save("space.md", &page);
}

fn cells(line: &Line) -> String {
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    row([
        line.ids.to_owned(),
        line.batch.map_or("all".to_owned(), grouped),
        format!("{:.0}", line.file),
        format!("{:.0}", line.used),
        percent(line.fill),
        format!("{:.0}", line.packed_file),
        percent(line.packed_fill),
    ])
}
