//! Violations through serde.

use permazen::PermazenObject;
use serde_json::json;

use super::*;

#[derive(PermazenObject)]
struct User {
    #[permazen(indexed, unique)]
    email: String,
}

#[test]
fn violations_name_everything_as_json() {
    let db = database::<User>();
    let mut ids = Vec::new();
    let refused = violations(db.write(|tx| {
        let create = || Ok::<_, Error>(tx.create(User { email: "a".into() })?.id());
        ids = vec![create()?, create()?];
        Ok(())
    }));
    ids.sort_unstable();
    let one = |object: ObjId, other: ObjId| {
        json!({
            "object": object.to_string(),
            "path": "User.email",
            "rule": "unique",
            "value": refused.iter().next().unwrap().value,
            "others": [other.to_string()],
            "message": null,
            "cause": null,
        })
    };
    let expected = json!([one(ids[0], ids[1]), one(ids[1], ids[0])]);
    assert_eq!(serde_json::to_value(&refused).unwrap(), expected);
}
