//! The messages for what the derive macros do not accept.

#[test]
fn mistakes_have_messages_that_say_what_to_do() {
    let cases = trybuild::TestCases::new();
    // Without a case that must compile, the libraries are only checked, which is faster.
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
