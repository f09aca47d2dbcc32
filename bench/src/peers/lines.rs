//! Reads and changes, each the same on all sides.

use super::{Filled, Line, World};
use crate::data::{self, AGES};
use crate::measure::{Cost, rounds, timed};
use crate::settings::Settings;
use crate::sides::{Key, Session};

/// Entries that a scan walks over.
const ENTRIES: usize = 5000;

fn line(
    name: &str,
    world: &World,
    count: usize,
    mut run: impl FnMut(usize, usize) -> Cost,
) -> Line {
    let series = rounds(count, world.sides.len(), |round, side| Some(run(round, side)));
    let line = Line { name: name.to_owned(), sides: series.iter().map(|s| s.spread()).collect() };
    super::log(&line, world.people.len());
    line
}

fn keys(filled: &Filled, numbers: &[usize]) -> Vec<Key> {
    numbers.iter().map(|n| filled.people[*n]).collect()
}

/// Each line in a transaction of its own, which begins and ends within the time.
pub fn reads(world: &World, settings: &Settings) -> Vec<Line> {
    let mut lines = basic_reads(world, settings.rounds, settings.sample);
    let mut sessions = sessions(world);
    let (low, high) = data::ages(world.people.len(), ENTRIES);
    let hits = world.people.iter().filter(|p| (low..high).contains(&p.age)).count();
    lines.push(line("index scan, an entry", world, settings.rounds, |_, side| {
        timed(hits, || assert_eq!(sessions[side].scan(low, high), hits))
    }));
    lines.push(line("index scan, a whole object", world, settings.rounds, |_, side| {
        timed(hits, || assert_eq!(sessions[side].load_from(low, hits), hits))
    }));
    let count = world.authors * super::MESSAGES;
    lines.push(line("follow a reference", world, settings.rounds, |round, side| {
        let messages = &world.sides[side].messages;
        let sample = data::sample(count, settings.sample, round as u64);
        let messages: Vec<Key> = sample.iter().map(|n| messages[*n]).collect();
        timed(messages.len(), || sessions[side].follow(&messages))
    }));
    lines.push(line("fan-out of ten, a referrer", world, settings.rounds, |round, side| {
        let sample = data::sample(world.authors, settings.sample / 10, round as u64);
        let authors = keys(&world.sides[side], &sample);
        let messages = authors.len() * super::MESSAGES;
        timed(messages, || assert_eq!(sessions[side].fan_out(&authors), messages))
    }));
    lines
}

fn sessions(world: &World) -> Vec<Box<dyn Session + '_>> {
    world.sides.iter().map(|filled| filled.side.session()).collect()
}

/// Those that are also measured for other numbers of objects.
pub fn basic_reads(world: &World, count: usize, sample: usize) -> Vec<Line> {
    let objects = world.people.len();
    let mut sessions = sessions(world);
    let sample = |round: usize| data::sample(objects, sample, round as u64);
    let load = line("load by id", world, count, |round, side| {
        let keys = keys(&world.sides[side], &sample(round));
        timed(keys.len(), || sessions[side].load(&keys))
    });
    let field = line("one field by id", world, count, |round, side| {
        let keys = keys(&world.sides[side], &sample(round));
        timed(keys.len(), || sessions[side].scores(&keys))
    });
    let equality = line("index equality", world, count, |round, side| {
        let names = sample(round).into_iter().map(|n| world.people[n].name.clone());
        let names: Vec<String> = names.collect();
        timed(names.len(), || sessions[side].find(&names))
    });
    vec![load, field, equality]
}

/// New ages for a round.
fn new_ages(round: usize, count: usize) -> Vec<i32> {
    let age = |at: usize| ((round * 7919 + at * 104_729) % AGES as usize) as i32;
    (0..count).map(age).collect()
}

/// Changes of many objects in one transaction. Deleted people are created again.
pub fn writes(world: &mut World, count: usize, sample: usize) -> Vec<Line> {
    let update = update("update an indexed field, one transaction", world, count, sample, sample);
    let [delete, create] = replace(world, count, sample, sample);
    vec![create, update, delete]
}

fn update(name: &str, world: &mut World, count: usize, sample: usize, each: usize) -> Line {
    let objects = world.people.len();
    let mut all = Vec::new();
    let found = {
        let mut sessions = sessions(world);
        line(name, world, count, |round, side| {
            let numbers = data::sample(objects, sample, (round + 100) as u64);
            let ages = new_ages(round, numbers.len());
            let keys = keys(&world.sides[side], &numbers);
            let cost = timed(keys.len(), || sessions[side].set_ages(&keys, &ages, each));
            all.push((round, numbers, ages));
            cost
        })
    };
    // Sides take turns within a round, and rounds come one after the other.
    for (_, numbers, ages) in all {
        for (number, age) in numbers.iter().zip(ages) {
            world.people[*number].age = age;
        }
    }
    found
}

/// Deletes people to whom no other object refers, and creates them again.
fn replace(world: &mut World, count: usize, sample: usize, each: usize) -> [Line; 2] {
    let World { sides, people, authors } = world;
    let names = ["delete, one transaction", "create, one transaction"];
    let mut created = Vec::new();
    let deleted = rounds(count, sides.len(), |round, side| {
        let first = *authors;
        let numbers = data::sample(people.len() - first, sample, (round + 200) as u64);
        let numbers: Vec<usize> = numbers.iter().map(|n| n + first).collect();
        let Filled { side: database, people: names, .. } = &mut sides[side];
        let mut session = database.session();
        let old: Vec<Key> = numbers.iter().map(|n| names[*n]).collect();
        let delete = timed(old.len(), || session.delete(&old));
        let new: Vec<_> = numbers.iter().map(|n| people[*n].clone()).collect();
        let mut keys = Vec::new();
        let create = timed(new.len(), || keys = session.create(&new, each));
        for (number, key) in numbers.iter().zip(keys) {
            names[*number] = key;
        }
        created.push((side, create));
        Some(delete)
    });
    let mut series = vec![crate::measure::Series::default(); sides.len()];
    created.into_iter().for_each(|(side, cost)| series[side].add(cost));
    [deleted, series]
        .into_iter()
        .zip(names)
        .map(|(series, name)| {
            let line =
                Line { name: name.to_owned(), sides: series.iter().map(|s| s.spread()).collect() };
            super::log(&line, people.len());
            line
        })
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!())
}

/// Larger commits that flush.
pub fn batches(world: &mut World, settings: &Settings) -> Vec<Line> {
    let (count, batch) = (settings.rounds.min(9), settings.batch);
    let [_, mut create] = replace(world, count, batch, batch);
    "create, 1,000 a commit".clone_into(&mut create.name);
    let update = update("update an indexed field, 1,000 a commit", world, count, batch, batch);
    vec![create, update]
}

/// Commits of one object.
pub fn single_commits(world: &mut World, settings: &Settings) -> Vec<Line> {
    let (count, commits) = (settings.rounds.min(9), settings.commits);
    let [_, mut create] = replace(world, count, commits, 1);
    "create, one a commit".clone_into(&mut create.name);
    let update = update("update an indexed field, one a commit", world, count, commits, 1);
    vec![create, update]
}

/// Commits of one object on eight threads. The objects that this creates are deleted again.
pub fn threads(world: &World, settings: &Settings) -> Line {
    const THREADS: usize = 8;
    let (count, commits) = (settings.rounds.min(9), settings.commits.max(THREADS));
    let mut cleaning = sessions(world);
    line("create in 8 threads, one a commit", world, count, |round, side| {
        let people = data::people(commits, 50_000 + round as u64);
        let database = &world.sides[side].side;
        let mut keys = Vec::new();
        let cost = timed(people.len(), || {
            std::thread::scope(|scope| {
                let create = |people| move || database.session().create(people, 1);
                let parts = people.chunks(commits.div_ceil(THREADS));
                let running: Vec<_> = parts.map(|people| scope.spawn(create(people))).collect();
                keys = running.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            });
        });
        cleaning[side].delete(&keys);
        cost
    })
}
