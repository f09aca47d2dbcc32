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

/// Accessors that the compiler would not find.
#[derive(PermazenObject)]
struct Hidden {
    id: i64,
    load: Vec<String>,
    max: Option<i32>,
    of: String,
    r#type: String,
    #[permazen(accessor = "get")]
    got: i32,
    #[permazen(accessor = "type")]
    kind: i32,
    #[permazen(accessor = "two words")]
    words: i32,
    #[permazen(accessor = "number")]
    tx: i32,
    number: i32,
    #[permazen(accessor)]
    count: permazen::Counter,
}

fn use_it(hidden: permazen::Obj<'_, Hidden>) -> permazen::Result<()> {
    hidden.set_number(3)?;
    hidden.set_type("other")
}

fn main() {}
