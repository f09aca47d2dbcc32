//! The example `graph` prints the recorded output.

#[path = "../../graph/main.rs"]
mod program;

/// The output with the number of each object in place of its ID, which is random.
fn numbered(out: &str) -> String {
    let is_id = |word: &&str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut ids: Vec<&str> = Vec::new();
    for word in out.split(|c: char| !c.is_alphanumeric()).filter(is_id) {
        if !ids.contains(&word) {
            ids.push(word);
        }
    }
    let replaced = ids.iter().enumerate();
    replaced.fold(out.to_owned(), |out, (at, id)| out.replace(id, &format!("object-{at}")))
}

#[test]
fn its_output_is_as_recorded() {
    let mut out = Vec::new();
    program::run(&mut out).unwrap();
    let out = numbered(&String::from_utf8(out).unwrap());
    let recorded = include_str!("graph.txt");
    assert_eq!(
        out, recorded,
        "if the new output is right, put it into examples/tests/programs/graph.txt:\n{out}"
    );
}
