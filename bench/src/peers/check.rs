//! All sides must hold the same people and as many messages.

use super::World;

/// # Panics
/// If a side lacks something, or has something else.
pub fn same_people(world: &World) {
    for filled in &world.sides {
        let mut session = filled.side.session();
        let name = filled.side.name();
        for (number, person) in world.people.iter().enumerate() {
            let found = session.person(filled.people[number]);
            assert!(found.as_ref() == Some(person), "{name}, {number}: {found:?}, not {person:?}");
        }
        let all = session.scan(0, i32::MAX);
        assert_eq!(all, world.people.len(), "{name}: people in the index of ages");
        let names: Vec<String> = world.people.iter().map(|p| p.name.clone()).collect();
        session.find(&names);
        let authors = &filled.people[..world.authors];
        assert_eq!(session.fan_out(authors), filled.messages.len(), "{name}: messages");
    }
}
