//! Statements: a statement that parses prints as text that parses to the same statement, and
//! mistakes can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen_query::text::is_hidden;

fuzz_target!(|input: &[u8]| {
    let Ok(source) = std::str::from_utf8(input) else { return };
    match permazen_query::parse_script(source) {
        Ok(statements) => {
            for statement in statements {
                let printed = statement.to_string();
                assert!(!printed.contains(is_hidden), "{printed:?}");
                match permazen_query::parse(&printed) {
                    Ok(again) => assert_eq!(again, statement, "{printed:?}"),
                    // The printed form can be longer: parentheses, escapes.
                    Err(mistake) => {
                        assert!(printed.len() > source.len(), "{}", mistake.shown_in(&printed))
                    }
                }
            }
        }
        Err(mistake) => {
            let shown = mistake.shown_in(source);
            assert!(!shown.replace('\n', "").contains(is_hidden), "{shown:?}");
        }
    }
});
