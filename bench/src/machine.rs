//! The conditions under which the figures were taken: the machine, the versions, and the other work
//! of the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Lines of a list.
pub fn describe(data: &Path) -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| -> String {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory: u64 = field(&read("/proc/meminfo"), "MemTotal")
        .split(' ')
        .next()
        .and_then(|kilobytes| kilobytes.parse().ok())
        .unwrap_or(0);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or("unknown");
    vec![
        format!(
            "Machine: {}, {cores} processors, {} GiB of memory; Linux {}; files on {}.",
            field(&read("/proc/cpuinfo"), "model name"),
            memory >> 20,
            read("/proc/sys/kernel/osrelease").trim(),
            file_system(data, &read("/proc/mounts")),
        ),
        format!(
            "Load when the run began: {load}. Processes that wanted to run besides this one make all figures worse, and the \
             spread wider."
        ),
        format!(
            "Versions: {}; LMDB {}, SQLite {}; {}.",
            versions(),
            lmdb_version(),
            rusqlite::version(),
            compiler(),
        ),
    ]
}

/// The type of the file system that a folder is on.
fn file_system(folder: &Path, mounts: &str) -> String {
    let folder = fs::canonicalize(folder).unwrap_or_default();
    let mounts = mounts.lines().map(|line| line.split(' ').skip(1).collect::<Vec<_>>());
    let above = mounts.filter(|mount| mount.len() > 1 && folder.starts_with(mount[0]));
    above.max_by_key(|mount| mount[0].len()).map_or(String::new(), |mount| mount[1].to_owned())
}

fn versions() -> String {
    let lock = include_str!("../Cargo.lock");
    let wanted = ["heed", "rusqlite", "diesel", "redb", "native_db"];
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_matches(['=', ' ', '"']).to_owned())
        };
        Some((value("name")?, value("version")?))
    });
    let packages: Vec<(String, String)> = packages.collect();
    let newest = |name: &&str| {
        // native_db brings older versions of redb; the newest comes last.
        let (name, version) = packages.iter().rfind(|(package, _)| package == name)?;
        Some(format!("{name} {version}"))
    };
    wanted.iter().filter_map(newest).collect::<Vec<_>>().join(", ")
}

fn lmdb_version() -> String {
    let version = heed::lmdb_version();
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
