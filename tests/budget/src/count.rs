//! Counting: allocations by the allocator of this program, other instructions by callgrind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{env, fs};

/// Says which operations to count, and is set for the run under callgrind.
pub(crate) const RUN: &str = "PERMAZEN_BUDGET_RUN";
const ALL: &str = "all";

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The allocator of the system, which counts the requests to it. A `realloc` counts as well.
pub(crate) struct Counting;

// SAFETY: everything is done by the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the same call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the same call.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the same call.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// The costs of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counted {
    pub(crate) name: String,
    /// The instructions of one operation, without those of the C library for allocations: the mean
    /// of some hundred operations. `allocations` is such a mean too.
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
}

/// Runs `body`, which does an operation `times` times. Its instructions are counted from outside,
/// by the name of [`body_that_is_counted`]; the rest is printed.
pub(crate) fn operation(name: &str, times: usize, mut body: impl FnMut()) {
    if env::var(RUN).is_ok_and(|wanted| wanted != ALL && wanted != name) {
        return body();
    }
    let before = ALLOCATIONS.load(Relaxed);
    body_that_is_counted(&mut body);
    println!("{name}\t{times}\t{}", ALLOCATIONS.load(Relaxed) - before);
}

#[inline(never)]
fn body_that_is_counted(body: &mut dyn FnMut()) {
    body();
    // Otherwise this function would jump to the body, and callgrind would not see where it ends.
    std::hint::black_box(&body);
}

/// The functions of the C library that give and take memory. How many instructions they need
/// depends on the free memory, which differs between runs, because the items of hash maps are freed
/// in another order each time. So theirs do not count; how often they are called does.
const ALLOCATOR: [&str; 5] = ["malloc", "calloc", "realloc", "free", "posix_memalign"];

/// Runs this program under callgrind, which writes a file for each operation.
pub(crate) fn under_callgrind() -> Vec<Counted> {
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("profile");
    // A file for what comes before each operation, and one for the operation itself.
    let counted = "budget::count::body_that_is_counted";
    let output = Command::new("valgrind")
        .arg("--quiet")
        .arg("--tool=callgrind")
        .args(ALLOCATOR.map(|function| format!("--toggle-collect={function}")))
        .arg("--collect-atstart=yes")
        .arg(format!("--dump-before={counted}"))
        .arg(format!("--dump-after={counted}"))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(env::current_exe().unwrap())
        .env(RUN, ALL)
        .output()
        .expect("valgrind is needed: apt-get install valgrind");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the program failed under valgrind:\n{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let operations = printed.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let numbers = (2..).step_by(2);
    operations
        .zip(numbers)
        .map(|(fields, number)| counted_of(&fields, dir.path(), number))
        .collect()
}

fn counted_of(fields: &[&str], dir: &Path, number: u32) -> Counted {
    let [name, times, allocations] = fields else { panic!("not an operation: {fields:?}") };
    let times: f64 = times.parse().unwrap();
    let allocations: f64 = allocations.parse().unwrap();
    let profile = fs::read_to_string(dir.join(format!("profile.{number}"))).unwrap();
    let totals = profile.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    let instructions: f64 = totals.trim().parse().unwrap();
    Counted {
        name: (*name).to_owned(),
        instructions: instructions / times,
        allocations: allocations / times,
    }
}
