//! The page about the start of programs and their builds.

use super::{Results, about, head, quartiles, row, time};
use crate::start::{Line, Start};

pub fn write(start: &Start, results: &Results, save: &dyn Fn(&str, &str)) {
    let mut page = format!("# Start and build\n\n{}\n## First object\n\n", about(results));
    page += "In a new process, from the beginning of `main` until the first object is there: the store is opened, the types are compared \
        with the recorded schema, and a transaction begins. What the program then does to close the store is not counted. The pages of the file are in memory already. Each type has six fields, \
        two of them indexed.\n\n";
    page += &table(&start.first_object);
    page += "\n## Builds\n\n`cargo build`, with all features that are on by default, on the processors above. The crates are \
        downloaded before.\n\n";
    page += &table(&start.builds);
    save("start.md", &page);
}

fn table(lines: &[Line]) -> String {
    let mut text = head(&["what", "time", "goal", "quartiles"]);
    for Line { what, spread, goal } in lines {
        let goal = goal.map_or(String::new(), |goal| time(goal.as_nanos() as f64));
        text += &row([what.clone(), time(spread.median), goal, quartiles(spread)]);
    }
    text
}
