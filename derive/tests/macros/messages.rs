//! What the derive macros accept, and the messages for what they do not accept.

#[test]
fn models() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}

/// Messages name public types only.
#[test]
fn messages_have_no_hidden_names() {
    for file in std::fs::read_dir("tests/ui/fail").unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|it| it == "stderr") {
            let messages = std::fs::read_to_string(&path).unwrap();
            for hidden in ["__", "for_derive"] {
                assert!(!messages.contains(hidden), "`{hidden}` in {}", path.display());
            }
        }
    }
}
