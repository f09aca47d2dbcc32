//! How long a new process needs for its first object, and how long programs take to build.

mod program;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::{Cost, Series, Spread};
use crate::settings::Settings;

/// Types of the larger program whose start is timed, and models of the one that is built again.
const TYPES: usize = 100;
const MODELS: usize = 50;

/// The time that something takes, and the time that it should take.
pub struct Line {
    pub what: String,
    pub spread: Spread,
    pub goal: Option<Duration>,
}

pub struct Start {
    /// From the beginning of `main`.
    pub first_object: Vec<Line>,
    pub builds: Vec<Line>,
}

pub fn measure(dir: &Path, settings: &Settings) -> Start {
    let dir = dir.join("start");
    let target = dir.join("target");
    let mut builds = Vec::new();
    let goal = |millis| Some(Duration::from_millis(millis));

    let one = Program::new(&dir, &target, 1);
    one.fetch();
    let clean = one.build(true);
    builds.push(line(
        "the library, and a program with 1 model, clean, release",
        [clean],
        goal(40_000),
    ));
    let many = Program::new(&dir, &target, MODELS);
    builds.push(line(
        &format!("a program with {MODELS} models, release"),
        [many.build(true)],
        None,
    ));
    for (name, release, goal) in [("debug", false, goal(3_000)), ("release", true, None)] {
        many.build(release);
        let again = (0..settings.rounds.min(5)).map(|round| {
            many.change(round);
            many.build(release)
        });
        builds.push(line(&format!("the same after a change, {name}"), again, goal));
    }

    let large = Program::new(&dir, &target, TYPES);
    large.build(true);
    let mut first_object = Vec::new();
    for (program, types, load) in [(&one, 1, None), (&large, TYPES, goal(5))] {
        let rounds = settings.rounds.min(21);
        let name = if types == 1 { "1 type".to_owned() } else { format!("{types} types") };
        let path = |round: usize| dir.join(format!("{types}-{round}"));
        let run = |task, path: PathBuf| program.run(task, &path);
        let created = (0..rounds).map(|round| run("create", path(round)));
        first_object.push(line(&format!("{name}, new database: created, durable"), created, None));
        let loaded = (0..rounds).map(|_| run("load", path(0)));
        first_object.push(line(&format!("{name}: loaded"), loaded, load));
        let by_hand = (0..rounds).map(|_| run("by-hand", path(0)));
        first_object.push(line("LMDB by hand: one pair read", by_hand, None));
    }
    Start { first_object, builds }
}

fn line(what: &str, times: impl IntoIterator<Item = Duration>, goal: Option<Duration>) -> Line {
    let mut series = Series::default();
    times.into_iter().for_each(|wall| series.add(Cost { items: 1, wall, cpu: Duration::ZERO }));
    let spread = series.spread().expect("at least one round");
    eprintln!("{what}: {:.1} ms", spread.median / 1e6);
    Line { what: what.to_owned(), spread, goal }
}

/// A program in a folder of its own.
struct Program<'t> {
    folder: PathBuf,
    models: usize,
    target: &'t Path,
}

impl<'t> Program<'t> {
    fn new(dir: &Path, target: &'t Path, models: usize) -> Self {
        let folder = dir.join(format!("program-{models}"));
        program::write(&folder, models);
        Program { folder, models, target }
    }

    fn cargo(&self, arguments: &[&str]) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(&self.folder);
        // The build has the settings of users, whatever is set here.
        cargo.env_remove("CARGO_INCREMENTAL").env_remove("CARGO_PROFILE_DEV_DEBUG");
        cargo.env("CARGO_TARGET_DIR", self.target);
        let status = cargo.stdin(Stdio::null()).status().unwrap();
        assert!(status.success(), "cargo {arguments:?} in {}", self.folder.display());
    }

    /// So that no build waits for the network.
    fn fetch(&self) {
        self.cargo(&["fetch", "--quiet"]);
    }

    fn build(&self, release: bool) -> Duration {
        let mode: &[&str] =
            if release { &["build", "--quiet", "--release"] } else { &["build", "--quiet"] };
        let begun = Instant::now();
        self.cargo(mode);
        begun.elapsed()
    }

    fn change(&self, change: usize) {
        program::change(&self.folder, change);
    }

    /// The time that the program measured for itself, in a new process.
    fn run(&self, task: &str, path: &Path) -> Duration {
        let mut command =
            Command::new(self.target.join(format!("release/program-{}", self.models)));
        let output = command.arg(task).arg(path).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "{task} on {}", path.display());
        let nanos = String::from_utf8(output.stdout).unwrap();
        Duration::from_nanos(nanos.trim().parse().unwrap())
    }
}
