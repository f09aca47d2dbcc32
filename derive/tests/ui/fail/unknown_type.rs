use permazen::{PermazenObject, Ref};

struct Address;

#[derive(PermazenObject)]
struct Person {
    address: Address,
    lives_at: Option<Ref<Address>>,
}

fn main() {}
