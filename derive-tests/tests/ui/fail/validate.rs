//! Functions that cannot check what they are given for.
use permazen::PermazenObject;

#[derive(PermazenObject)]
#[permazen(validate = of_another_type)]
struct WrongStruct {
    name: String,
}

fn of_another_type(_: &i32) -> Result<(), String> {
    Ok(())
}

#[derive(PermazenObject)]
struct WrongField {
    #[permazen(validate = no_result)]
    name: String,
}

fn no_result(_: &str) -> bool {
    true
}

#[derive(PermazenObject)]
struct WrongForm {
    #[permazen(validate = "path")]
    name: String,
    #[permazen(validate)]
    age: i32,
}

fn main() {}
