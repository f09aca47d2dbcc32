//! The terminal as others find it: after signals, while the program is stopped, and with text that
//! was typed before the prompt.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::Fixture;
use crate::terminal::{Terminal, wait_for};

/// A shell with jobs on a terminal. The test waits for output after a mark, since the terminal
/// shows the typed text too.
struct Shell<'f> {
    terminal: Terminal,
    db: &'f Fixture,
}

impl<'f> Shell<'f> {
    fn new(db: &'f Fixture) -> Option<Shell<'f>> {
        let mut shell = Shell { terminal: Terminal::runs(db, "exec sh -i", "cat")?, db };
        // `script` has a terminal that does not show typed text.
        shell.terminal.types("stty echo; echo be'gi'n\r");
        shell.terminal.waits_for("begin\r\n");
        Some(shell)
    }

    /// The output of a command.
    fn asks(&mut self, command: &str) -> String {
        self.terminal.types(&format!("{command}; echo e'n'd\r"));
        self.terminal.waits_for("e'n'd\r\n");
        self.terminal.waits_for("end\r\n")
    }

    fn mode(&mut self) -> String {
        // The shell may show that it waits when the command is typed already.
        let shown = self.asks("stty -a");
        let mode = shown[shown.find("speed").unwrap()..].to_owned();
        assert!(mode.contains(" icanon") && mode.contains(" echo "), "{mode}");
        mode
    }

    /// Begins the prompt, and gives its process ID.
    fn begins(&mut self) -> String {
        let program = assert_cmd::cargo::cargo_bin!("permazen").display().to_string();
        let id = self.db.file("id").display().to_string();
        let store = self.db.path().display().to_string();
        let runs = format!("echo $$ >{id}; exec \"{program}\" \"{store}\" --no-history --raw");
        self.terminal.types(&format!("sh -c '{runs}'\r"));
        self.terminal.waits_for("permazen> ");
        std::fs::read_to_string(id).unwrap().trim().to_owned()
    }

    /// Lets the program do something that does not end.
    fn works(&mut self) {
        self.terminal.types("echo be; sleep 1000\r");
        self.terminal.waits_for("\nbe\r\n");
    }

    fn leaves(mut self) {
        self.terminal.types("exit 0\r");
        assert_eq!(self.terminal.ends(), Some(0));
    }
}

fn send(signal: &str, id: &str) {
    assert!(Command::new("kill").args([signal, id]).status().unwrap().success());
}

/// A signal that ends the program does that, and the terminal shows typed text again.
#[test]
fn a_signal_that_ends_the_program_leaves_the_terminal_as_it_was() {
    let db = Fixture::new();
    let Some(mut shell) = Shell::new(&db) else { return };
    let before = shell.mode();
    // No file of memory.
    shell.asks("ulimit -c 0");
    for (signal, number, says) in
        [("-TERM", 15, "Terminated"), ("-HUP", 1, "Hangup"), ("-QUIT", 3, "Quit")]
    {
        for works in [false, true] {
            let id = shell.begins();
            if works {
                shell.works();
            }
            send(signal, &id);
            shell.terminal.waits_for(says);
            let shown = shell.asks("echo code $?");
            assert!(shown.contains(&format!("code {}\r\n", 128 + number)), "{signal}: {shown}");
            assert_eq!(shell.mode(), before, "{signal} {works}");
        }
    }
    shell.leaves();
}

/// While the program is stopped, the terminal is as it was, and afterwards the program continues.
#[test]
fn a_program_that_is_stopped_leaves_the_terminal_as_it_was() {
    let db = Fixture::new();
    let Some(mut shell) = Shell::new(&db) else { return };
    let before = shell.mode();
    for by_key in [true, false] {
        for works in [false, true] {
            let id = shell.begins();
            if works {
                shell.works();
            }
            for _ in 0..if works { 1 } else { 3 } {
                match by_key {
                    true => shell.terminal.types("\x1a"),
                    false => send("-TSTP", &id),
                }
                shell.terminal.waits_for("Stopped");
                assert_eq!(shell.mode(), before, "{by_key} {works}");
                shell.terminal.types("fg\r");
                if !works {
                    // It asks for marks around pasted text.
                    shell.terminal.waits_for("\x1b[?2004h");
                    if by_key {
                        shell.terminal.waits_for("permazen> ");
                    }
                    shell.terminal.types("count Pet\r");
                    // The marks end after the line, at the latest before the answer.
                    let shown = shell.terminal.waits_for("1\r\n");
                    let marks = shown.rfind("\x1b[?2004").map(|at| &shown[at..]);
                    assert_eq!(marks, Some("\x1b[?2004l1\r\n"), "{shown:?}");
                    shell.terminal.waits_for("permazen> ");
                }
            }
            if works {
                // It comes when the program continues.
                send("-INT", &id);
                shell.terminal.waits_for("permazen> ");
            }
            shell.terminal.types("count Pet\r");
            shell.terminal.waits_for("1\r\n");
            shell.terminal.types("\x04");
            while Command::new("kill").args(["-0", &id]).output().unwrap().status.success() {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(shell.mode(), before);
        }
    }
    shell.leaves();
}

/// Text that is typed after Ctrl-D answers the question of Ctrl-D, and the text after that is run.
#[test]
fn what_is_typed_after_ctrl_d_is_kept() {
    let db = Fixture::new();
    let Some(mut terminal) = Terminal::new(&db, "--write --raw --no-history") else { return };
    terminal.waits_for("permazen> ");
    let rest = "x".repeat(3000);
    terminal.types(&format!(
        "create Pet\r\x04n\recho {rest}\rset all Pet to name = \"Ben\"\r\x04n\rcommit --yes\r\x04"
    ));
    terminal.waits_for("leave and lose them? [y/N] ");
    terminal.waits_for(&rest);
    terminal.waits_for("leave and lose them? [y/N] ");
    terminal.waits_for("committed: Pet: 1 created, 1 changed");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(db.run(&["--raw", "find Pet columns name"]).done(), "Ben\nBen\n");
}

/// If it never stops, the prompt comes back all the same, with a whole line.
#[test]
fn typing_without_end_does_not_keep_the_prompt_away() {
    let db = Fixture::new();
    let Some(mut terminal) = Terminal::new(&db, "--write --raw --no-history") else { return };
    terminal.waits_for("permazen> ");
    terminal.types("create Pet\r");
    terminal.waits_for("[open 0m]> ");
    let (is_back, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let line = "echo ".to_owned() + &"x".repeat(100) + " delete all Pet\r";
    let Terminal { input, output, shown, .. } = &mut terminal;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            input.write_all(b"echo \xff\r").unwrap();
            // A limit, so that this test ends.
            for _ in 0..20_000 {
                if is_back.load(Ordering::Relaxed) {
                    return;
                }
                input.write_all(line.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        wait_for("the line is not UTF-8", output, shown);
        wait_for("\nx", output, shown);
        assert!(!is_over.load(Ordering::Relaxed));
        is_back.store(true, Ordering::Relaxed);
    });
    terminal.types("echo end\r");
    let run = terminal.waits_for("\nend\r\n");
    assert!(!run.contains("set") && !run.contains("deleted"), "{run}");
    terminal.types("rollback\r\x04");
    assert_eq!(terminal.ends(), Some(0));
}

/// All lines that come at once are run, each as a whole.
#[test]
fn lines_that_arrive_together_are_all_run() {
    let mut lines = String::new();
    let mut names = Vec::new();
    for n in 0..100 {
        let name = if n % 4 == 0 { format!("zwölf € 🦀 {n}") } else { format!("pet {n}") };
        // Longer than the editor, and than a terminal, takes at a time.
        let echo = "ü".repeat(if n % 8 == 1 { 600 } else { 1 });
        let echo = if n % 30 == 2 { "x".repeat(5000) } else { echo };
        lines.push_str(&match n % 3 {
            0 => format!("create Pet name =\r  \"{name}\"\r"),
            1 => format!("echo {echo}; create Pet name = \"{name}\"\r"),
            _ => format!("sleep 0.01\recho {echo}; create Pet name = \"{name}\"\r"),
        });
        names.push(name);
    }
    names.push("Rex".to_owned());
    names.sort();
    let found = |db: &Fixture| -> Vec<String> {
        let found = db.run(&["find Pet columns name", "--raw"]).done();
        let mut found: Vec<_> = found.lines().map(str::to_owned).collect();
        found.sort();
        found
    };
    for chunk in [usize::MAX, 1000, 61] {
        let db = Fixture::new();
        let Some(mut terminal) = Terminal::new(&db, "--write --raw --no-history") else { return };
        if chunk == usize::MAX {
            terminal.waits_for("permazen> ");
        }
        let all = format!("{lines}commit --yes\r").into_bytes();
        let Terminal { input, output, shown, .. } = &mut terminal;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                all.chunks(chunk.min(all.len())).for_each(|part| input.write_all(part).unwrap());
            });
            wait_for("committed: Pet: 100 created", output, shown);
        });
        // A line without its end is not run.
        terminal.waits_for("permazen> ");
        terminal.types("delete all Pet");
        terminal.waits_for("delete all Pet");
        terminal.types("\x03");
        terminal.waits_for("permazen> ");
        terminal.types("\x04");
        assert_eq!(terminal.ends(), Some(0));
        assert_eq!(found(&db), names);
    }
}

/// A line that is lost takes no part of another line with it.
#[test]
fn what_comes_with_a_line_that_is_dropped_is_not_cut() {
    let db = Fixture::new();
    for dropped in ["\x03", "\u{1}\x05\x03"] {
        let Some(mut terminal) = Terminal::new(&db, "--write --raw --no-history") else { return };
        terminal.waits_for("permazen> ");
        let rest = "x".repeat(1010);
        terminal.types(&format!("echo a{dropped}echo {rest} ; delete all Pet\recho b\r"));
        terminal.waits_for("permazen> ");
        terminal.types("echo end\r");
        let shown = terminal.waits_for("\nend\r\n");
        assert!(!shown.contains("set") && !shown.contains("deleted"), "{shown}");
        terminal.types("diff\r\x04");
        terminal.waits_for("there are no changes");
        assert_eq!(terminal.ends(), Some(0));
    }
    let Some(mut terminal) = Terminal::new(&db, "--write --raw --no-history") else { return };
    terminal.waits_for("permazen> ");
    let line = "echo ".to_owned() + &"x".repeat(1015) + " delete all Pet\r";
    terminal.input.write_all(b"echo \xff").unwrap();
    terminal.types(&line.repeat(20));
    terminal.waits_for("the line is not UTF-8");
    terminal.waits_for("permazen> ");
    terminal.types("diff\r\x04");
    terminal.waits_for("there are no changes");
    assert_eq!(terminal.ends(), Some(0));
}

/// The terminal is as before when the prompt has ended.
#[test]
fn the_terminal_gets_its_mode_back() {
    let db = Fixture::new();
    let program = assert_cmd::cargo::cargo_bin!("permazen").display().to_string();
    let line = format!(
        "stty -a >{0}/before; '{program}' '{0}/db' --no-history; stty -a >{0}/after",
        db.file("").display()
    );
    let Some(mut terminal) = Terminal::runs(&db, &line, "cat") else { return };
    // Text that is typed before the prompt is there comes in the mode from before.
    terminal.waits_for("permazen> ");
    terminal.types("count Pet\r\x04");
    assert_eq!(terminal.ends(), Some(0));
    let mode = |name: &str| std::fs::read_to_string(db.file(name)).unwrap();
    assert_eq!(mode("before"), mode("after"));
    assert!(mode("after").contains(" icanon"), "{}", mode("after"));
}

/// A terminal marks pasted text. Its lines are run one after the other all the same, and answer
/// questions.
#[test]
fn lines_that_are_pasted_are_run_one_after_the_other() {
    let db = Fixture::new();
    let Some(mut terminal) = Terminal::new(&db, "--write --raw") else { return };
    let paste = |lines: &str| format!("\x1b[200~{lines}\x1b[201~");
    terminal.waits_for("permazen> ");
    terminal.types(&paste("count Pet\ncount Person"));
    terminal.types("\r");
    terminal.waits_for("\r\n1\r\npermazen> count Person\r\n3\r\n");
    terminal.waits_for("permazen> ");
    // A line continues, one with a mistake is passed over, and the next line is an answer.
    let lines = ["count", "Person", "count Nothing", "create Pet", "commit", "y", "count Pet", ""];
    terminal.types(&paste(&lines.join("\r")));
    terminal.types("\r");
    terminal.waits_for("\r\n3\r\n");
    terminal.waits_for("permazen> count Nothing\r\n");
    terminal.waits_for("commit? [y/N] y\r\n");
    terminal.waits_for("committed: Pet: 1 created");
    terminal.waits_for("> count Pet\r\n2\r\n");
    terminal.waits_for("permazen> ");
    // A text that is not complete at its end waits for more, and Ctrl-C drops all of it.
    terminal.types(&paste("create Pet\ndelete all Pet; count"));
    terminal.types("\rPerson");
    terminal.waits_for("Person");
    terminal.types("\x03");
    terminal.waits_for("permazen> ");
    // Ctrl-C while a line is run drops those that follow.
    terminal.types(&paste("echo be; sleep 1000\ndelete all Pet"));
    terminal.types("\r");
    terminal.waits_for("\r\nbe\r\n");
    terminal.types("\x03");
    terminal.waits_for("interrupted");
    terminal.waits_for("permazen> ");
    terminal.types("diff\r");
    terminal.waits_for("there are no changes");
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0));
    let kept = std::fs::read_to_string(db.file("state/permazen/history")).unwrap();
    assert!(kept.contains("\ncount Pet\n") && !kept.contains("delete"), "{kept}");
}
