//! What is found, in each format.

use crate::support::Fixture;

#[test]
fn a_table_is_aligned() {
    let table = Fixture::new().run(&["find Pet"]).done();
    assert_eq!(
        table,
        "id                name  born\n\
         ----------------  ----  --------------------\n\
         2000000000000001  Rex   1970-01-01T00:00:00Z\n"
    );
}
