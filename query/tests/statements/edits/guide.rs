//! The examples of the guide's section about editing run.

use permazen_query::{Limits, preview};

use super::world::*;

#[test]
fn examples() {
    let page = include_str!("../../../../docs/src/query-language.md");
    let (_, section) = page.split_once("\n## Editing\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```text\n").skip(1);
    let world = World::new();
    let on = world.begin();
    let mut run = 0;
    for statement in blocks.flat_map(|block| block.split("```").next().unwrap().lines()) {
        let checked = on.check(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        if checked.is_edit() {
            on.run(statement);
        } else {
            assert!(preview(&on.tx, &checked, &Limits::default()).unwrap().is_some());
        }
        run += 1;
    }
    assert_eq!(run, 8);
    on.assert_clean();
}
