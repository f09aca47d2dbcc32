use permazen::{PermazenObject, Ref};

struct Address;

#[derive(PermazenObject)]
struct Person {
    address: Address,
    born: std::time::SystemTime,
    lives_at: Option<Ref<Address>>,
}

fn main() {}
