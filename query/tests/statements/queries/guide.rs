//! The statements of the guide are parsed, and those about reading are run.

use permazen_query::parse;

use super::database::people;

const PAGE: &str = include_str!("../../../../docs/src/query-language.md");

fn statements(text: &str) -> Vec<&str> {
    let blocks = text.split("```text\n").skip(1);
    blocks.flat_map(|block| block.split("```").next().unwrap().lines()).collect()
}

#[test]
fn all_statements_are_parsed() {
    let all = statements(PAGE);
    assert!(all.len() > 30, "{}", all.len());
    for statement in all {
        parse(statement).unwrap_or_else(|error| panic!("{}", error.shown_in(statement)));
    }
}

#[test]
fn statements_about_reading_are_run() {
    let (_, section) = PAGE.split_once("\n## Reading\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let fixture = people();
    let all = statements(section);
    for statement in &all {
        let answer = fixture.ask(statement);
        assert!(answer.ran.rows > 0, "{statement} finds nothing");
    }
    assert_eq!(all.len(), 27);
    let (_, plan) = section.split_once("```plan\n").unwrap();
    let plan = plan.split("\n```").next().unwrap();
    assert_eq!(fixture.plan(plan.lines().next().unwrap()), plan);
}

/// Each condition in the table is one.
#[test]
fn conditions_in_the_table() {
    let (_, section) = PAGE.split_once("\n### Conditions\n").unwrap();
    let table = section.trim_start().split("\n\n").next().unwrap();
    let first_columns = table.lines().skip(2).map(|row| row.split('|').nth(1).unwrap());
    let written = first_columns.flat_map(|column| column.split('`').skip(1).step_by(2));
    let conditions: Vec<_> =
        written.filter(|text| text.contains(' ') && !text.contains('…')).collect();
    assert!(conditions.len() >= 9, "{conditions:?}");
    for condition in conditions {
        people().ask(&format!("count Person where {condition}"));
    }
}
