//! Reference paths.

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{IdFilter, Migrate, PathStep, Transaction};

use crate::support::*;

const NODES: &str = r#"<Schema>
<ObjectType name="A" storageId="10">
  <ReferenceField name="r" storageId="13" allowDeleted="true" inverseDelete="IGNORE"/>
  <ListField name="list" storageId="21"><ReferenceField storageId="23" allowDeleted="true" inverseDelete="IGNORE"/></ListField>
  <SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="14"/>
</ObjectType>
<ObjectType name="B" storageId="11">
  <SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="14"/>
</ObjectType>
</Schema>"#;

fn forward(field: u32) -> PathStep {
    PathStep::Forward(sid(field))
}

fn inverse(field: u32) -> PathStep {
    PathStep::Inverse(sid(field))
}

/// A1.list=[A2,A2,A3], A2.list=[A3].
fn example(tx: &Transaction) {
    create_all(tx, 1..=3);
    let refs = |ids: &[ObjId]| ids.iter().map(|id| Value::Ref(*id)).collect::<Vec<_>>();
    let list = |n| tx.list_view(a(n), "list", Migrate::No).unwrap();
    list(1).extend(&refs(&[a(2), a(2), a(3)])).unwrap();
    list(2).extend(&refs(&[a(3)])).unwrap();
}

#[test]
fn forward_and_inverse_steps() {
    let world = World::new();
    let tx = world.begin(NODES);
    example(&tx);
    let follow = |starts: &[ObjId], path: &[PathStep]| {
        tx.follow_path(starts.iter().copied(), path, &[]).unwrap()
    };
    let invert = |path: &[PathStep], targets: &[ObjId]| {
        tx.invert_path(path, &[], targets.iter().copied()).unwrap()
    };
    assert_eq!(follow(&[a(1)], &[forward(23)]), [a(2), a(3)]);
    assert_eq!(follow(&[a(1)], &[forward(23), forward(23)]), [a(3)]);
    assert_eq!(invert(&[forward(23)], &[a(3)]), [a(1), a(2)]);
    assert_eq!(invert(&[forward(23), forward(23)], &[a(3)]), [a(1)]);
    assert_eq!(invert(&[inverse(23)], &[a(2)]), [a(3)]);
    assert_eq!(invert(&[forward(23), inverse(23)], &[a(2)]), [a(1), a(2)]);
    assert_eq!(follow(&[a(3)], &[inverse(23)]), [a(1), a(2)]);
    // Without steps, the result is the sorted starts, whether they exist or not.
    assert_eq!(follow(&[a(9), a(1), a(9)], &[]), [a(1), a(9)]);
}

#[test]
fn filters_apply_at_each_place() {
    let world = World::new();
    let tx = world.begin(NODES);
    example(&tx);
    create(&tx, b(1));
    tx.list_view(a(1), "list", Migrate::No).unwrap().push(&Value::Ref(b(1))).unwrap();
    let only_b = Some(IdFilter::of_types([sid(11)]));
    let path = [forward(23)];
    let found = tx.follow_path([a(1)], &path, &[None, only_b.clone()]).unwrap();
    assert_eq!(found, [b(1)]);
    assert!(tx.follow_path([a(1)], &path, &[only_b.clone(), None]).unwrap().is_empty());
    let only_a2 = Some(IdFilter::of_ids([a(2)]));
    assert_eq!(tx.invert_path(&path, &[only_a2, None], [a(3)]).unwrap(), [a(2)]);
    assert_invalid_argument(tx.follow_path([a(1)], &path, &[only_b]));
}

#[test]
fn missing_objects_and_fields() {
    let world = World::new();
    let tx = world.begin(NODES);
    example(&tx);
    create(&tx, b(1));
    set(&tx, a(1), "r", Value::Ref(a(9)));
    assert_eq!(tx.follow_path([a(1), a(2)], &[forward(13)], &[]).unwrap(), [a(9)]);
    // The object of a simple reference must exist, objects with collections may be missing.
    assert_deleted(tx.follow_path([a(1)], &[forward(13), forward(13)], &[]), a(9));
    assert_unknown_field(tx.follow_path([b(1)], &[forward(13)], &[]));
    assert!(tx.follow_path([a(9), b(1)], &[forward(23)], &[]).unwrap().is_empty());
    assert!(tx.follow_path([a(7), b(1)], &[inverse(13)], &[]).unwrap().is_empty());
    assert_unknown_field(tx.follow_path([a(1)], &[forward(14)], &[]));
    assert_unknown_field(tx.follow_path([a(1)], &[inverse(21)], &[]));
    assert_unknown_field(tx.follow_path([a(1)], &[forward(99)], &[]));
}

#[test]
fn referrers_are_a_live_set() {
    let world = World::new();
    let tx = world.begin(NODES);
    example(&tx);
    let holders = tx.referrers(sid(23), a(3));
    assert_eq!(holders.to_vec().unwrap(), [a(1), a(2)]);
    tx.list_view(a(2), "list", Migrate::No).unwrap().clear().unwrap();
    assert_eq!(holders.to_vec().unwrap(), [a(1)]);
}

const TWO_MAPS: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><MapField name="m" storageId="20"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="21"/>
  <ReferenceField storageId="22"/></MapField></ObjectType>
<ObjectType name="B" storageId="11"><MapField name="m" storageId="23"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="24"/>
  <ReferenceField storageId="22"/></MapField></ObjectType>
</Schema>"#;

/// A forward step uses the map of the present object (D30).
#[test]
fn maps_sharing_a_sub_field() {
    let world = World::new();
    let tx = world.begin(TWO_MAPS);
    for id in [a(1), a(2), b(1)] {
        create(&tx, id);
    }
    tx.map_view(a(1), "m", Migrate::No).unwrap().put(&int(1), &Value::Ref(a(2))).unwrap();
    tx.map_view(b(1), "m", Migrate::No).unwrap().put(&text("k"), &Value::Ref(a(1))).unwrap();
    assert_eq!(tx.follow_path([a(1), b(1)], &[forward(22)], &[]).unwrap(), [a(1), a(2)]);
}

#[test]
fn a_step_goes_through_the_field_and_not_through_one_of_its_name() {
    let world = World::new();
    let named = NODES.replace(
        r#"name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="14"/>
</ObjectType>
</Schema>"#,
        r#"name="r" encoding="urn:fdc:permazen.io:2020:int" storageId="15"/>
</ObjectType>
</Schema>"#,
    );
    assert_ne!(named, NODES);
    let tx = world.begin(&named);
    create(&tx, b(1));
    assert_unknown_field(tx.follow_path([b(1)], &[forward(13)], &[]));
}
