use permazen::{PermazenObject, Ref};

#[derive(PermazenObject)]
#[permazen(names = "Person", storage_id = 0, rename_all = "kebab-case", name = "a person")]
struct Person {
    #[permazen(index)]
    name: Option<String>,
    #[permazen(indexed = true, indexed)]
    age: i32,
    #[permazen(unique)]
    email: Option<String>,
    #[permazen(indexed, exclude(nulls))]
    phone: Option<String>,
    #[permazen(inverse_delete = "nullify")]
    city: String,
    #[permazen(inverse_delete = "ignore")]
    friend: Option<Ref<Person>>,
    #[permazen(inverse_delete = "remove")]
    boss: Option<Ref<Person>>,
    #[permazen(inverse_delete = "explode")]
    enemy: Option<Ref<Person>>,
    #[permazen(upgrade = "maybe")]
    notes: String,
    #[permazen(skip, indexed)]
    scratch: u32,
    #[permazen(rename = 5)]
    level: i32,
    #[permazen(cascade(forward = [""], sideways = ["x"]))]
    parent: Option<Ref<Person>>,
}

fn main() {}
