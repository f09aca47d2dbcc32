//! The prompt. `--prompt` makes it read lines without a terminal, and shows them after the prompt.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use permazen::kv::{KvDatabase, TxOptions};

use crate::support::{Fixture, Ran, program};
use crate::terminal::Terminal;

/// Types lines, and returns the output.
fn typed(db: &Fixture, options: &[&str], lines: &str) -> Ran {
    let mut arguments = vec!["--prompt"];
    arguments.extend(options);
    db.script(&arguments, lines.as_bytes())
}

/// The names of all persons.
fn names(db: &Fixture) -> String {
    db.run(&["find Person columns name", "--raw"]).done()
}

/// A person at the prompt: types line after line, and sees the output.
pub(crate) struct Person {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Person {
    pub(crate) fn at(db: &Fixture, options: &[&str]) -> Person {
        Person::on(&db.path(), options)
    }

    /// At the prompt of a store.
    pub(crate) fn on(store: &Path, options: &[&str]) -> Person {
        let mut command = program(store, &["--prompt"]);
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Person { child, input, output }
    }

    /// Types a line, and waits until all of it is done.
    pub(crate) fn types(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}\necho done").unwrap();
        let mut shown = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it has ended: {shown}");
            if line == "done\n" {
                // Without the line that asked for it.
                let end = shown.trim_end().rfind('\n').map_or(0, |at| at + 1);
                shown.truncate(end);
                return shown;
            }
            shown.push_str(&line);
        }
    }

    /// Types a line and leaves: returns the output from then on.
    pub(crate) fn types_last(mut self, line: &str) -> Ran {
        writeln!(self.input, "{line}").unwrap();
        drop(self.input);
        let mut out = String::new();
        self.output.read_to_string(&mut out).unwrap();
        let ran = Ran::from(self.child.wait_with_output().unwrap());
        Ran { out, ..ran }
    }

    pub(crate) fn leaves(self) -> Ran {
        Ran::from(self.ended())
    }

    fn ended(self) -> Output {
        drop(self.input);
        drop(self.output);
        self.child.wait_with_output().unwrap()
    }
}

/// A command of its own has changed nothing, so it says nothing of commits.
#[test]
fn info_at_the_prompt_shows_what_the_session_has_done() {
    let db = Fixture::new();
    let alone = db.run(&["info"]).done();
    let counted = alone.split_once("  Since It Was Opened\n").unwrap().1;
    assert!(counted.starts_with("    Transactions: ") && !counted.contains("Commits"), "{alone}");
    let mut person = Person::at(&db, &["--write", "--yes"]);
    for name in ["Tom", "Eve"] {
        person.types(&format!("create Pet name = \"{name}\""));
        person.types("commit");
    }
    let shown = person.types("info");
    assert!(shown.contains("\n    Commits: 2\n"), "{shown}");
    assert_eq!(person.leaves().code, 0);
}

#[test]
fn lines_are_statements_and_commands() {
    let db = Fixture::new();
    let shown = typed(
        &db,
        &["--raw"],
        "count Pet; echo a\n\nfind Person where\n  name = \"Bob\" columns id\n",
    )
    .done();
    assert_eq!(
        shown,
        "permazen> count Pet; echo a
1
a
permazen> 
permazen> find Person where
  name = \"Bob\" columns id
1000000000000002
"
    );
}

#[test]
fn a_mistake_is_shown_and_the_next_line_comes() {
    let db = Fixture::new();
    let ran =
        typed(&db, &["--raw"], "find Prson\nfnd Person\necho 'a\n\ncount Pet\nexit 7\necho no\n");
    assert_eq!(ran.code, 7);
    assert!(ran.err.contains("did you mean `Person`?"), "{}", ran.err);
    assert!(ran.err.contains("there is no statement or command `fnd`"), "{}", ran.err);
    assert!(ran.out.contains("permazen> count Pet\n1\n"), "{}", ran.out);
    assert!(!ran.out.contains("echo no"), "{}", ran.out);
}

#[test]
fn a_line_that_is_not_utf_8_loses_nothing() {
    let db = Fixture::new();
    let lines = b"set Person where name = \"Bob\" to age = 41\nfind \xc3(\ncommit\n";
    let ran = db.script(&["--prompt", "--write", "--yes"], lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the line is not UTF-8"), "{}", ran.err);
    let ages = db.run(&["find Person where name = \"Bob\" columns age", "--raw"]).done();
    assert_eq!(ages, "41\n");
}

#[test]
fn changes_wait_for_commit() {
    let db = Fixture::new();
    let before = names(&db);
    let lines = "set Person where name = \"Bob\" to age = 41\n\
                 find Person where name = \"Bob\" columns age\n\
                 diff\nrollback\ndiff\nfind Person where name = \"Bob\" columns age\n";
    let ran = typed(&db, &["--write"], lines);
    assert_eq!((ran.code, ran.err.as_str()), (0, "permazen: there are no changes\n"));
    assert_eq!(
        ran.out,
        "permazen> set Person where name = \"Bob\" to age = 41
1 object set
permazen [open 0m]> find Person where name = \"Bob\" columns age
age
---
 41
permazen [open 0m]> diff
Person @1000000000000002 age: 0 -> 41
permazen [open 0m]> rollback
permazen> diff
permazen> find Person where name = \"Bob\" columns age
age
---
  0
"
    );
    assert_eq!(names(&db), before);
}

#[test]
fn commit_shows_counts_and_asks() {
    let db = Fixture::new();
    let lines = "create Pet name = \"Tom\"\ncommit\nn\ncommit\ny\ncommit\n";
    let ran = typed(&db, &["--write", "--raw"], lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\nPet: 1 created; commit? [y/N] n\npermazen [open 0m]> commit\n"));
    assert!(
        ran.out.ends_with("commit? [y/N] y\ncommitted: Pet: 1 created\npermazen> commit\n"),
        "{}",
        ran.out
    );
    assert_eq!(
        ran.err,
        "permazen: the changes still wait for `commit`\npermazen: there are no changes\n"
    );
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "2\n");
}

#[test]
fn without_write_everything_works_but_commit() {
    let db = Fixture::new();
    let ran = typed(
        &db,
        &["--raw"],
        "create Pet name = \"Tom\"\ncount Pet\ndiff\ncommit --yes\nrollback\n",
    );
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("count Pet\n2\n") && ran.out.contains(" name: -> \"Tom\"\n"));
    assert!(ran.err.contains("this changes the database, which needs --write"), "{}", ran.err);
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "1\n");
}

#[test]
fn after_a_conflict_statements_are_replayed() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--yes", "--raw"]);
    let created = person.types("create Pet name = \"Tom\"");
    let id = created.lines().last().unwrap().to_owned();
    person.types("set Person where name = \"Bob\" to age += 1");
    // Other programs can write while a person thinks.
    db.run(&["--write", "set Person where name = \"Bob\" to age = 70"]).done();
    assert!(!person.types("commit").contains("committed"));
    // The committed state can be read, and nothing can be changed.
    assert!(person.types("find Person where name = \"Bob\" columns age").contains("\n70\n"));
    person.types("delete Pet where name = \"Rex\"");
    let replayed = person.types("replay");
    assert!(replayed.starts_with(&format!("permazen [replay]> replay\n{id}\n")), "{replayed}");
    let committed = person.types("commit");
    assert!(committed.contains("committed: Person: 1 changed; Pet: 1 created"), "{committed}");
    let ran = person.leaves();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<_> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.err);
    assert!(
        lines[0].starts_with("permazen: others have changed what was read here: ")
            && lines[0].contains("1000000000000002 age"),
        "{}",
        ran.err
    );
    assert!(lines[1].contains("this sees what is committed, not the changes"), "{}", ran.err);
    assert!(lines[2].contains("`replay` runs its statements again"), "{}", ran.err);
    let found = db.run(&["find Person where name = \"Bob\" columns age", "--raw"]).done();
    assert_eq!(found, "71\n");
    let found = db.run(&["find Pet where name = \"Tom\" columns id", "--raw"]).done();
    assert_eq!(found, format!("{id}\n"));
}

#[test]
fn a_replay_that_fails_changes_nothing() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--yes", "--raw"]);
    person.types("create Pet name = \"Tom\"");
    person.types("set @1000000000000002 to age += 2147483647");
    db.run(&["--write", "set @1000000000000002 to age = 1"]).done();
    person.types("commit");
    person.types("replay");
    assert!(person.types("diff").starts_with("permazen [replay]> diff\ncreate Pet name"));
    person.types("rollback");
    assert!(person.types("count Pet").starts_with("permazen> count Pet\n1\n"));
    let ran = person.leaves();
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("nothing is replayed"), "{}", ran.err);
}

#[test]
fn explain_and_diff_cause_no_conflict() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--yes"]);
    person.types("create Pet name = \"Tom\"");
    person.types("explain delete Person where age = 40");
    person.types("diff");
    db.run(&["--write", "set all Person to age = 1"]).done();
    assert!(person.types("commit").contains("committed: Pet: 1 created"));
    assert_eq!(person.leaves().code, 0);
}

/// SQLite says that others have committed, and not how often.
#[test]
fn the_prompt_says_only_how_many_commits_it_knows() {
    let db = Fixture::new();
    let url = format!("sqlite:{}", db.file("db.sqlite").display());
    db.run(&["copy", &url]).done();
    let mut person = Person::on(url.as_ref(), &["--raw"]);
    person.types("begin");
    for _ in 0..2 {
        Ran::of(program(url.as_ref(), &["--write", "create Pet"]).stdin(Stdio::null())).done();
    }
    person.types("count Pet");
    let shown = person.types("rollback");
    assert!(shown.starts_with("permazen [open 0m, behind]> rollback"), "{shown}");
    assert_eq!(person.leaves().done(), "");
}

#[test]
fn a_transaction_sees_one_state_and_the_prompt_each_commit() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--raw"]);
    assert!(person.types("count Pet").ends_with("\n1\n"));
    db.run(&["--write", "create Pet"]).done();
    assert!(person.types("count Pet").ends_with("\n2\n"));
    person.types("begin");
    db.run(&["--write", "create Pet"]).done();
    assert!(person.types("count Pet").ends_with("\n2\n"));
    let shown = person.types("rollback");
    assert!(shown.starts_with("permazen [open 0m, 1 behind]> rollback"), "{shown}");
    assert!(person.types("count Pet").ends_with("\n3\n"));
    assert_eq!(person.leaves().done(), "");
}

#[test]
fn what_is_too_old_is_given_up() {
    let db = Fixture::new();
    let lines = "begin\ncreate Pet\ncommit\nrollback\n";
    let ran = typed(&db, &["--write", "--yes", "--max-age", "0s"], lines);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("permazen [replay]> commit\n"), "{}", ran.out);
    assert!(ran.err.contains("older than --max-age"), "{}", ran.err);
    assert!(ran.err.contains("the transaction of these changes was given up"), "{}", ran.err);
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "1\n");
}

#[test]
fn what_is_read_after_a_transaction_is_given_up_says_so() {
    let db = Fixture::new();
    let ran =
        typed(&db, &["--raw", "--max-age", "0s"], "create Pet; count Pet; echo a\nrollback\n");
    assert!(ran.out.contains("\n1\na\n"), "{}", ran.out);
    let lines: Vec<_> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(lines[0].contains("older than --max-age"), "{}", ran.err);
    assert!(lines[1].contains("this sees what is committed, not the changes"), "{}", ran.err);
}

#[test]
fn what_becomes_too_old_during_a_question_is_not_committed() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--raw", "--max-age", "1s"]);
    person.types("create Pet");
    writeln!(person.input, "commit").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let shown = person.types("y");
    assert!(!shown.contains("committed"), "{shown}");
    person.types("rollback");
    let ran = person.leaves();
    assert!(ran.err.contains("the transaction of these changes was given up"), "{}", ran.err);
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "1\n");
}

#[test]
fn a_busy_store_keeps_the_changes() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--yes", "--raw", "--wait", "4s"]);
    person.types("create Pet");
    let store = db.open();
    let held = store.begin(&TxOptions::writing()).unwrap();
    assert!(!person.types("commit").contains("committed"));
    drop(held);
    assert!(person.types("commit").contains("committed: Pet: 1 created"));
    let ran = Ran::whole(person.ended());
    let mut lines: Vec<_> = ran.err.lines().collect();
    // On a busy machine, the opening waits too.
    lines.dedup();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert_eq!(lines[0], "permazen: waiting for other programs that use the database");
    assert!(
        lines[1].contains("was waited for 4s") && lines[1].ends_with("still wait for `commit`"),
        "{}",
        ran.err
    );
}

#[test]
fn what_is_committed_at_once_is_asked_for() {
    let db = Fixture::new();
    let lines = "kv put 99 01\nn\nkv get 99\nkv put 99 02\ny\nkv get 99\n";
    let ran = typed(&db, &["--write"], lines);
    assert_eq!(ran.out.matches("committed at once; continue? [y/N]").count(), 2, "{}", ran.out);
    assert!(!ran.out.contains("\n01\n") && ran.out.ends_with("\n02\n"), "{}", ran.out);
    let ran = typed(&db, &["--write", "--yes"], "kv put 98 01\nkv get 98\n");
    assert!(ran.out.ends_with("\n01\n"), "{}", ran.out);
}

#[test]
fn what_was_loaded_keeps_its_ids_in_a_replay() {
    let db = Fixture::new();
    let file = db.file("pets.xml").display().to_string();
    std::fs::write(
        &file,
        "<database><schemas/><objects schema=\"Schema_a74fa4308ce05a1de31520b9858a4e91\">\
         <Pet id=\"generated:Pet:1\"><name>Tom</name></Pet></objects></database>",
    )
    .unwrap();
    let mut person = Person::at(&db, &["--write", "--yes", "--raw"]);
    person.types(&format!("load {file}"));
    // The same names are other objects in another file.
    person.types(&format!("load {file}"));
    let ids = person.types("find Pet where name = \"Tom\" columns id");
    let ids: Vec<_> = ids.lines().filter(|line| line.len() == 16).collect();
    assert_eq!(ids.len(), 2);
    person.types(&format!("set @{} to name = \"Tim\"", ids[0]));
    person.types("set Person where name = \"Bob\" to age += 1");
    db.run(&["--write", "set Person where name = \"Bob\" to name = \"Rob\""]).done();
    assert!(!person.types("commit").contains("committed"));
    // A load that fails keeps them for the next time.
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replace("</objects>", "<")).unwrap();
    person.types("replay");
    std::fs::write(&file, whole).unwrap();
    person.types("replay");
    let found = person.types("find Pet where name = \"Tim\" columns id");
    assert!(found.contains(ids[0]), "{found}");
    person.types("rollback");
    let ran = person.leaves();
    assert!(
        ran.err.ends_with(
            "permazen: `set Person where name = \"Bob\" to age += 1` changed objects before, and \
             changes none now\n"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn a_failed_statement_changes_nothing_and_opens_nothing() {
    let db = Fixture::new();
    let lines = "set @1000000000000001 to age += 2147483647\ncreate Pet name = \"Tom\"\n\
                 set @1000000000000001 to age += 2147483647\ndiff\nrollback\n";
    let ran = typed(&db, &[], lines);
    assert!(ran.out.contains("permazen> create Pet"), "{}", ran.out);
    let changes = ran.out.lines().filter(|line| line.starts_with("Pe") && line.contains(" @"));
    assert_eq!(changes.count(), 2, "{}", ran.out);
}

#[test]
fn a_file_of_changes_that_wait_says_so() {
    let db = Fixture::new();
    let name = |file: &str| db.file(file).to_str().unwrap().to_owned();
    let (before, with) = (name("before.xml"), name("with.xml"));
    // A transaction that has changed nothing sees what is committed.
    let lines = format!("save '{before}'\nbegin\nsave '{before}'\n");
    let ran = typed(&db, &["--write"], &lines);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines = format!("create Pet name = \"Tom\"\nsave -\nsave '{with}'\nrollback\n");
    let ran = typed(&db, &["--write"], &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err.matches("the changes that wait for `commit`").count(), 1, "{}", ran.err);
    let has_tom = |file: &str| std::fs::read_to_string(file).unwrap().contains("Tom");
    assert!(has_tom(&with) && !has_tom(&before));
    let ran = typed(&db, &["--write"], &format!("create Pet\nschema verify --actual '{with}'\n"));
    assert!(ran.err.contains("the changes that wait for `commit`"), "{}", ran.err);
}

#[test]
fn what_has_its_own_transactions_is_refused_while_changes_wait() {
    let db = Fixture::new();
    let lines = "create Pet\nmigrate Pet to 1\nkv put 'ff' 00\ninfo\nrollback\n";
    let ran = typed(&db, &["--write"], lines);
    assert_eq!(ran.err.matches("this has transactions of its own").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("this sees what is committed"), "{}", ran.err);
    assert_eq!(ran.code, 0);
    let ran = typed(&db, &["--write"], "migrate Pet to 1\nn\nmigrate Pet to 1\ny\n");
    assert_eq!(ran.out.matches("Moved").count(), 1, "{}", ran.out);
}

#[test]
fn leaving_with_changes_asks() {
    let db = Fixture::new();
    let ran = typed(&db, &["--write"], "create Pet\nexit\nn\nexit 5\ny\n");
    assert_eq!((ran.code, ran.err.as_str()), (5, ""));
    assert_eq!(ran.out.matches("leave and lose them? [y/N]").count(), 2, "{}", ran.out);
    let ran = typed(&db, &["--write"], "create Pet\n");
    assert_eq!(ran.code, 2);
    assert_eq!(ran.err, "permazen: the changes that were not committed are lost\n");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_command_and_keeps_the_transaction() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &[]);
    person.types("create Pet name = \"Tom\"");
    writeln!(person.input, "sleep 1000").unwrap();
    let mut line = String::new();
    while !line.ends_with("> sleep 1000\n") {
        line.clear();
        assert!(person.output.read_line(&mut line).unwrap() > 0);
    }
    let id = person.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(person.types("diff").contains("name: -> \"Tom\""));
    person.types("rollback");
    let ran = person.leaves();
    assert_eq!((ran.code, ran.err.as_str()), (0, "permazen: interrupted\n"));
}

#[test]
fn json_is_lines_of_json_only() {
    let db = Fixture::new();
    let lines = "create Pet name = \"Tom\"\ndiff\ncommit --yes\n";
    let shown = typed(&db, &["--write", "--json"], lines).done();
    let types: Vec<_> = shown
        .lines()
        .map(|line| {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            json["type"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(types, ["edited", "change", "change", "committed"]);
}

#[test]
fn its_commands_are_refused_elsewhere() {
    let db = Fixture::new();
    for word in ["begin", "diff", "commit", "rollback", "replay"] {
        let err = db.run(&["--write", word]).failed(2);
        assert!(err.contains("this is for the prompt"), "{err}");
        let err = db.run(&["--write", "-c", &format!("create Pet; {word}")]).failed(2);
        assert!(err.contains("this is for the prompt"), "{err}");
    }
    let help = db.run(&["help"]).done();
    for word in ["begin", "diff", "commit", "rollback", "replay"] {
        assert!(help.contains(&format!("\n  {word}")), "{help}");
    }
}

#[test]
fn on_a_terminal() {
    let db = Fixture::new();
    let Some(mut terminal) = Terminal::new(&db, "--write --raw") else { return };
    terminal.waits_for("permazen> ");
    // Ctrl-C drops the line.
    terminal.types("delete all Pet\x03");
    terminal.waits_for("permazen> ");
    terminal.types("create Pet\r");
    terminal.waits_for("permazen [open 0m]> ");
    terminal.types(" count\rPet\r");
    terminal.waits_for("\n2\r\n");
    // A tab completes.
    terminal.types("count Pers\t\r");
    terminal.waits_for("\n3\r\n");
    terminal.types("commit\r");
    terminal.waits_for("Pet: 1 created; commit? [y/N] ");
    terminal.types("y\r");
    terminal.waits_for("committed: Pet: 1 created");
    terminal.types("delete Pet where name = \"Rex\"\r");
    terminal.waits_for("[open 0m]> ");
    // Ctrl-D asks.
    terminal.types("\x04");
    terminal.waits_for("leave and lose them? [y/N] ");
    terminal.types("y\r");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "2\n");

    let file = db.file("state/permazen/history");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("\ncreate Pet\n"), "{kept}");
    // Neither the line that began with a blank nor the one that was dropped.
    assert_eq!(kept.matches("count").count(), 1, "{kept}");
    assert!(!kept.contains("delete all"), "{kept}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// A history that is no file of the user is left alone, and everything else works.
#[cfg(unix)]
#[test]
fn a_history_that_leads_elsewhere_is_not_used() {
    let db = Fixture::new();
    let folder = db.file("state/permazen");
    let (history, other) = (folder.join("history"), db.file("other"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&other, "count Pet\n").unwrap();
    for is_fifo in [true, false] {
        match is_fifo {
            true => assert!(Command::new("mkfifo").arg(&history).status().unwrap().success()),
            false => std::os::unix::fs::symlink(&other, &history).unwrap(),
        }
        let Some(mut terminal) = Terminal::new(&db, "--raw") else { return };
        terminal.waits_for("history: what is typed is not kept there: it is no file that belongs");
        terminal.waits_for("permazen> ");
        terminal.types("count Pet\r");
        terminal.waits_for("\n1\r\n");
        terminal.types("\x04");
        assert_eq!(terminal.ends(), Some(0));
        std::fs::remove_file(&history).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "count Pet\n");
}

#[test]
fn ctrl_c_for_the_pager_does_not_end_the_prompt() {
    let db = Fixture::new();
    let name = "x".repeat(200);
    let pets =
        (0x1000..0x2000).map(|n| format!(r#"<Pet id="20{n:014x}"><name>{name}</name></Pet>"#));
    db.load(&pets.collect::<String>());
    // Ctrl-C goes to the pager and to the program that writes to it, which waits for it to read.
    let pager =
        "sleep 0.2; kill -INT $PPID; sleep 0.2; kill -INT $PPID; sleep 0.2; cat > /dev/null";
    let Some(mut terminal) = Terminal::with_pager(&db, "--write --raw", pager) else { return };
    terminal.waits_for("permazen> ");
    terminal.types("create Pet\r");
    terminal.waits_for("[open 0m]> ");
    terminal.types("find Pet\r");
    terminal.waits_for("permazen: interrupted");
    terminal.waits_for("[open 0m]> ");
    terminal.types("commit --yes\r");
    terminal.waits_for("committed: Pet: 1 created");
    terminal.waits_for("permazen> ");
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn without_history_nothing_is_kept() {
    let db = Fixture::new();
    let Some(mut terminal) = Terminal::new(&db, "--no-history") else { return };
    terminal.waits_for("permazen> ");
    terminal.types("count Pet\r");
    terminal.waits_for("permazen> ");
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0));
    assert!(!db.file("state").exists());
}

/// `explain run` runs a statement on the state that the transaction sees, with the changes that
/// wait.
#[test]
fn explanations_count_pending_changes() {
    let db = Fixture::new();
    let mut person = Person::at(&db, &["--write", "--yes"]);
    person.types("create Pet name = \"Fido\"");
    person.types("set all Person to age = 77");
    let shown = person.types("explain run find Person where age = 77");
    assert!(shown.contains("rows: 3, "), "{shown}");
    let shown = person.types("explain run index Pet.name (\"Fido\")");
    assert!(shown.contains("rows: 1, ") && !shown.contains("seeks: 0"), "{shown}");
    let before = person.types("diff");
    assert!(before.contains("Fido"), "{before}");
    let shown = person.types("explain run delete all Pet");
    assert!(shown.contains("rows: 2, ") && !shown.contains("steps: 0"), "{shown}");
    assert_eq!(person.types("diff"), before);
    // Others change an object that was deleted on trial only: that is no conflict, and their
    // change stays.
    db.run(&["--write", "set @2000000000000001 to name = \"Other\""]).done();
    person.types("commit");
    let ran = person.leaves();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let pets = db.run(&["--raw", "find Pet order by name columns name"]).done();
    assert_eq!(pets, "Fido\nOther\n");
    // In a script too, which is one transaction.
    let ran = db.run(&["--write", "-c", "set all Pet to name = \"A\"; explain run find Pet where name = \"A\"; explain run delete all Pet"]);
    let shown = ran.done();
    assert_eq!(shown.matches("rows: 2, ").count(), 2, "{shown}");
    assert_eq!(db.run(&["--raw", "count Pet"]).done(), "2\n");
}

/// The candidates at the end of a line.
#[track_caller]
fn completions(db: &Fixture, line: &str) -> Vec<String> {
    let shown = typed(db, &[], &format!("{line}\t\n")).done();
    let mut lines = shown.lines().map(str::to_owned);
    assert_eq!(lines.next(), Some(format!("permazen> {line}")));
    lines.collect()
}

#[test]
fn commands_and_words_are_completed() {
    let db = Fixture::new();
    assert_eq!(completions(&db, "ex"), ["exit", "explain", "export"]);
    assert_eq!(completions(&db, "info; comm"), ["commit"]);
    assert_eq!(completions(&db, "schema re"), ["remove"]);
    assert_eq!(completions(&db, "commit --y"), ["--yes"]);
    assert_eq!(completions(&db, "help rep"), ["replay"]);
    assert_eq!(completions(&db, "type P"), ["Person", "Pet"]);
    assert_eq!(completions(&db, "find Person wh"), ["where"]);
    assert_eq!(completions(&db, "explain f"), ["find"]);
    assert_eq!(completions(&db, "set a"), ["all"]);
    assert_eq!(completions(&db, "nonsense x"), [""; 0]);
}

#[test]
fn names_are_completed() {
    let db = Fixture::new();
    assert_eq!(completions(&db, "find "), ["Person", "Pet"]);
    assert_eq!(completions(&db, "find Person where sp"), ["spouse"]);
    assert_eq!(completions(&db, "show @2000000000000001 order by bo"), ["born"]);
    assert_eq!(completions(&db, "find Person where spouse.na"), ["name"]);
    assert_eq!(completions(&db, "index Person.na"), ["name", "nameAge"]);
    assert_eq!(completions(&db, "find Person using n"), ["name", "nameAge", "none"]);
    let odd = Fixture::with_schema(
        r#"<Schema><ObjectType name="All" storageId="1"/><ObjectType name="all" storageId="2"/></Schema>"#,
    );
    assert_eq!(completions(&odd, "find "), ["All", "`all`"]);
}

/// A text in small letters finds candidates too, if nothing else begins like it.
#[test]
fn small_letters_are_completed() {
    let db = Fixture::new();
    assert_eq!(completions(&db, "find pe"), ["Person", "Pet"]);
    assert_eq!(completions(&db, "find Person where NA"), ["name"]);
    assert_eq!(completions(&db, "type PER"), ["Person"]);
    assert_eq!(completions(&db, "INF"), ["info"]);
    let light = Fixture::with_schema(
        r#"<Schema><ObjectType name="Light" storageId="1">
             <EnumField name="color" storageId="3"><Identifier>RED</Identifier><Identifier>red_</Identifier></EnumField>
           </ObjectType></Schema>"#,
    );
    assert_eq!(completions(&light, "find Light where color = re"), ["red_"]);
    assert_eq!(completions(&light, "find Light where color = rE"), ["RED", "red_"]);
}

#[test]
fn paths_of_references_are_completed() {
    let db = Fixture::new();
    assert_eq!(completions(&db, "find Person<-Per"), ["Person"]);
    assert_eq!(completions(&db, "find Person->"), ["boss", "friends", "spouse"]);
    assert_eq!(completions(&db, "count Person where tags has \"x"), ["\"x\""]);
    assert_eq!(completions(&db, "count Person where scores[\""), ["\"a\"", "\"b\""]);
}

#[test]
fn ids_and_values_are_completed() {
    let db = Fixture::new();
    assert_eq!(completions(&db, "show @2"), ["@2000000000000001"]);
    assert_eq!(completions(&db, "show @").len(), 4);
    assert_eq!(completions(&db, "find Person where name = \"B"), ["\"Bob\""]);
    // Pets have the same index.
    assert_eq!(completions(&db, "find Person where name = "), ["\"Ann\"", "\"Bob\"", "null"]);
    assert_eq!(completions(&db, "find Pet where name = "), ["\"Rex\"", "null"]);
    // The reference can lead to objects of all types.
    assert_eq!(
        completions(&db, "find Person where spouse.name = "),
        ["\"Ann\"", "\"Bob\"", "\"Rex\"", "null"]
    );
    assert_eq!(completions(&db, "set all Person to tags add \"y"), ["\"y\""]);
    assert_eq!(completions(&db, "find Person where boss = @1000000000000003").len(), 0);
    assert_eq!(completions(&db, "find Person where spouse = n"), ["null"]);
    // Values of a field without an index are not searched.
    assert_eq!(completions(&db, "find Person where age = "), [""; 0]);
    let light = Fixture::with_schema(
        r#"<Schema><ObjectType name="Light" storageId="1">
             <SimpleField name="on" encoding="urn:fdc:permazen.io:2020:boolean" storageId="2"/>
             <EnumField name="color" storageId="3"><Identifier>RED</Identifier><Identifier>null_</Identifier></EnumField>
           </ObjectType></Schema>"#,
    );
    assert_eq!(completions(&light, "find Light where on = t"), ["true"]);
    assert_eq!(completions(&light, "find Light where color = "), ["RED", "null", "null_"]);
}

#[test]
fn only_the_first_values_are_read() {
    let db = Fixture::new();
    let pets: String = (0..200).map(|n| format!("create Pet name = \"p{n:03}\";\n")).collect();
    db.script(&["--write", "--raw"], pets.as_bytes());
    let found = completions(&db, "find Pet where name = \"p1");
    assert_eq!((found.len(), found[0].as_str()), (50, "\"p100\""));
    // Many objects with one name do not hide the others.
    db.run(&["--write", "set Pet where name < \"p150\" to name = \"many\""]).done();
    let found = completions(&db, "find Pet where name = \"");
    assert_eq!((found.len(), found[0].as_str()), (48, "\"many\""));
    assert_eq!(completions(&db, "show @").len(), 50);
}

#[test]
fn a_hostile_name_is_not_offered_raw() {
    let db =
        Fixture::with_schema("<Schema><ObjectType name=\"P\u{9b}31m\" storageId=\"1\"/></Schema>");
    let ran = typed(&db, &[], "find P\t\nfind `P\t\nfind \t\n");
    assert!(!ran.out.contains('\u{9b}'), "{:?}", ran.out);
}
