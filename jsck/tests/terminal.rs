//! The program on a terminal, which `script` of util-linux provides.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::print_stdout)]

mod fixture;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fixture::{STALE_ENTRY, damaged, jsck};

/// The program on a terminal; none if there is no `script`.
fn on_terminal(args: &str, environment: &[(&str, &str)]) -> Option<Child> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no program `script`");
        return None;
    }
    // `exec`: a shell that stays beside the program may die of the Ctrl-C itself, and hide its code.
    let command = format!("exec {} {args}", env!("CARGO_BIN_EXE_jsck"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.env_remove("NO_COLOR");
    script.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(script.spawn().expect("run"))
}

/// Reads until `wanted` was shown or nothing more comes; gives all that was shown.
fn shown(child: &mut Child, wanted: &str) -> String {
    let output = child.stdout.as_mut().expect("output");
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(wanted) && Instant::now() < deadline {
        match output.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
    text
}

fn code_and_rest(mut child: Child) -> (Option<i32>, String) {
    let rest = shown(&mut child, "\0never");
    (child.wait().expect("wait").code(), rest)
}

#[test]
fn colours_are_shown_unless_they_are_off() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    let Some(child) = on_terminal(&path, &[]) else { return };
    let (code, text) = code_and_rest(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("\x1b[31mdangling-index-entry\x1b[0m"), "{text:?}");
    let Some(child) = on_terminal(&format!("{path} 2>/dev/null"), &[("NO_COLOR", "1")]) else {
        return;
    };
    let (_, text) = code_and_rest(child);
    assert!(text.contains("dangling-index-entry") && !text.contains("\x1b["), "{text:?}");
}

#[test]
fn a_bar_shows_how_far_it_is_and_ctrl_c_ends_the_check() {
    let (_dir, path) = damaged(&[]);
    let Some(mut child) = on_terminal(&format!("--online --rate 10 {path}"), &[]) else { return };
    let text = shown(&mut child, "entries");
    assert!(text.contains("entries"), "no bar: {text:?}");
    child.stdin.as_mut().expect("input").write_all(&[3]).expect("write");
    let (code, text) = code_and_rest(child);
    assert_eq!(code, Some(2), "not all was looked at: {text}");
    assert!(text.contains("Stopped before the key"), "{text}");
}

#[test]
fn a_repair_asks_first() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    for (answer, made) in [(&b"\x03"[..], false), (b"n\n", false), (b"y\n", true)] {
        let Some(mut child) = on_terminal(&format!("--repair {path}"), &[]) else { return };
        let text = shown(&mut child, "[y/N]");
        assert!(text.contains("Make 1 changes? [y/N]"), "{text}");
        child.stdin.as_mut().expect("input").write_all(answer).expect("write");
        let (code, text) = code_and_rest(child);
        assert_eq!(code, Some(1), "{text}");
        assert_eq!(text.contains("Repaired: 1 changes"), made, "{text}");
        jsck(&[&path]).assert().code(if made { 0 } else { 1 });
        let files = std::fs::read_dir(dir.path()).expect("list").count();
        assert_eq!(files, if made { 2 } else { 1 }, "the undo file");
    }
}
