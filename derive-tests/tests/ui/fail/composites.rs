use permazen::{Counter, PermazenObject};

#[derive(PermazenObject)]
#[permazen(
    composite(name = "missing", fields(name, email)),
    composite(name = "twice", fields(age, age)),
    composite(name = "kinds", fields(age, tags, hits)),
    composite(name = "single", fields(name)),
    composite(name = "name", fields(age, level)),
    composite(name = "one", fields(name, age)),
    composite(name = "two", fields(name, age, level)),
    composite(name = "skipped", fields(level, scratch)),
    composite(fields(level, name), exclude(level(nulls))),
    composite(name = "outside", fields(level, shared.place)),
    composite(name = "columns", fields(level, age, name), unique, exclude(email(nulls)))
)]
struct Person {
    name: Option<String>,
    age: i32,
    level: i32,
    tags: Vec<String>,
    hits: Counter,
    #[permazen(skip)]
    scratch: u32,
}

fn main() {}
