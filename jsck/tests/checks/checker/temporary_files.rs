//! Temporary files that cannot be written.

use std::path::Path;
use std::process::Command;

use permazen::kv::{KvDatabase, TxOptions};
use permazen_jsck::{Options, RepairReport, check, repair};

use crate::support::{STALE_ENTRY, bytes, load};

/// The variable with which this test starts itself. The value is the directory for temporary files,
/// which holds for all of a process.
const MISSING: &str = "PERMAZEN_MISSING_DIRECTORY";

#[test]
fn the_error_names_the_directory_and_what_decides_it() {
    if let Some(missing) = std::env::var_os(MISSING) {
        return errors_name(Path::new(&missing));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    let test = concat!(module_path!(), "::the_error_names_the_directory_and_what_decides_it");
    let (_, test) = test.split_once("::").expect("the name of the program");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", test]).env("TMPDIR", &missing).env(MISSING, &missing);
    let output = child.output().expect("a process");
    let said = String::from_utf8_lossy(&output.stdout);
    // Without a test of that name, the process would run none and succeed.
    assert!(output.status.success() && said.contains("running 1 test"), "{said}");
}

fn errors_name(missing: &Path) {
    let store = load("reference/R.kv.xml");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    // Without differences, nothing is collected.
    let mut options = Options::default();
    options.sort_memory = 0;
    assert!(check(&*kv, &options, &mut |_| {}).expect("check").is_clean());

    let assert_named = |error: Option<permazen_jsck::Error>| {
        let text = error.expect("an error").to_string();
        for part in [missing.to_str().expect("UTF-8"), "TMPDIR", "temporary file"] {
            assert!(text.contains(part), "no {part:?} in {text:?}");
        }
    };
    // Entries that objects call for must be sorted …
    kv.remove(&bytes("13ff1000000000000002")).expect("remove");
    assert_named(check(&*kv, &options, &mut |_| {}).err());
    // … and changes must be kept.
    kv.put(&bytes("13ff1000000000000002"), &[]).expect("put");
    kv.put(&bytes("01"), &bytes(STALE_ENTRY.0)).expect("put");
    let mut mend = || -> Result<RepairReport, _> {
        repair(&mut *kv, &options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()))
    };
    assert_named(mend().err());
    options.sort_memory = 1 << 20;
    assert_eq!(
        repair(&mut *kv, &options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()))
            .expect("repair")
            .changes,
        1
    );
}
