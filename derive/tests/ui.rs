//! What the derive macros accept, and the messages for what they do not accept.

#[test]
fn models() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
