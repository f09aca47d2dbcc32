//! The page about filling new databases.

use super::{Results, about, grouped, head, quartiles, row, time};
use crate::load::Load;

const EXPLAINED: &str = "\
Each object has five fields and two indexes: nine pairs. Both sides write the same pairs to a new LMDB environment, durably, with a \
commit for every 32 MiB of pairs.

*Append* only appends pairs (`MDB_APPEND`) that are in memory in the order of their keys. *Sort, append* makes the pairs from structs and \
sorts them first, all in memory. *Loader* is `Permazen::loader`, which makes them from structs, checks them and sorts them on disk; *adding* \
is the part of that before it writes to the database. *Speed* is that of the loader as a part of that of *append*. *Memory* is what the \
loader has beside the pages of files.\n";

pub fn write(load: &[Load], results: &Results, save: &dyn Fn(&str, &str)) {
    let mut page = format!("# Loading\n\n{}\n{EXPLAINED}\n", about(results));
    page += "More than two million objects are loaded in one round only.\n\n";
    page += &head(&[
        "objects",
        "append",
        "sort, append",
        "loader",
        "quartiles",
        "adding",
        "speed",
        "memory",
        "full",
        "file",
    ]);
    for line in load {
        page += &cells(line);
    }
    page += "\nTimes and bytes of the file are for an object. Why: [notes](notes.md#loading).\n";
    save("loading.md", &page);
}

fn cells(line: &Load) -> String {
    let memory = line.memory.map_or("–".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    row([
        grouped(line.objects),
        time(line.append.median),
        time(line.sort.median),
        time(line.ours.median),
        quartiles(&line.ours),
        time(line.adding),
        percent(line.append.median / line.ours.median),
        memory,
        percent(line.fill),
        format!("{:.0}", line.file),
    ])
}
