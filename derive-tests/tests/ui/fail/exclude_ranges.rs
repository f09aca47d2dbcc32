use permazen::PermazenObject;

#[derive(PermazenObject)]
struct Person {
    #[permazen(indexed, unique, exclude(..))]
    age: i32,
    #[permazen(indexed, unique, exclude(range()))]
    height: i32,
    #[permazen(indexed, unique, exclude(non_nulls, 5))]
    weight: Option<i32>,
}

fn main() {}
