//! What the derive macros accept, and what they say about what they do not.

#[test]
fn models() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
