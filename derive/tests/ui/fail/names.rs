use permazen::PermazenObject;

#[derive(PermazenObject)]
struct Person {
    last_name: String,
    #[permazen(rename = "lastName")]
    surname: String,
    #[permazen(rename = "birth date")]
    birth_date: String,
    age: i32,
    set_age: i32,
    delete: bool,
}

fn main() {}
