//! Visits, and numbers of states: the promises of `KvRead::visit` and `KvTransaction::version`.

use std::ops::ControlFlow;

use super::{Fixture, dump, put_all, write};
use crate::{Direction, KeySpan, KvError, KvRead, KvWrite, TxOptions};

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Reverse];

fn fill(fixture: &Fixture) {
    write(fixture.store(), |tx| {
        (0..300u16).try_for_each(|n| tx.put(&n.to_be_bytes(), &[n as u8; 40][..n as usize % 40]))
    });
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn scanned(source: &dyn KvRead, span: KeySpan<'_>, direction: Direction) -> Pairs {
    let scan = source.scan(span, direction).unwrap().map(|pair| pair.unwrap());
    scan.map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

/// The first pairs that a visitor is shown. It breaks after `most` of them.
fn visited(source: &dyn KvRead, span: KeySpan<'_>, direction: Direction, most: usize) -> Pairs {
    let mut seen = Pairs::new();
    let visit = source.visit(span, direction, &mut |key, value| {
        assert!(seen.len() < most, "shown a pair after it broke off");
        seen.push((key.to_vec(), value.to_vec()));
        if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    visit.unwrap();
    seen
}

fn assert_visits_are_scans(source: &dyn KvRead) {
    let bounds: [(&[u8], Option<&[u8]>); 7] = [
        (b"", None),
        (&[0, 7], Some(&[1, 3])),
        (&[0, 7, 0], Some(&[0, 8])),
        (&[1], None),
        (b"", Some(&[0, 50])),
        (&[9], None),
        (&[0, 9], Some(&[0, 9])),
    ];
    for direction in DIRECTIONS {
        for (min, max) in bounds {
            let span = KeySpan::new(min, max);
            let pairs = scanned(source, span, direction);
            assert_eq!(visited(source, span, direction, usize::MAX), pairs, "{span}");
            for most in [1, 2, 17] {
                let most = most.min(pairs.len()).max(1);
                assert_eq!(visited(source, span, direction, most), pairs[..most.min(pairs.len())]);
            }
        }
        let reversed = KeySpan::new(b"b", Some(b"a"));
        let refused = source.visit(reversed, direction, &mut |_, _| panic!("nothing to show"));
        assert!(matches!(refused, Err(KvError::InvalidArgument(_))), "{refused:?}");
    }
}

/// A visitor gets the same pairs as a scan: both ways, until it breaks, with the transaction's
/// writes.
pub fn visits_are_scans(fixture: &mut Fixture) {
    let store = fixture.store();
    assert_visits_are_scans(&store.begin(&TxOptions::reading()).unwrap());
    fill(fixture);
    for options in [TxOptions::reading(), TxOptions::writing()] {
        let mut tx = fixture.store().begin(&options).unwrap();
        assert_visits_are_scans(&tx);
        tx.put(&[0, 7, 0], b"own").unwrap();
        tx.remove(&[0, 8]).unwrap();
        tx.remove_span(KeySpan::new(&[0, 100], Some(&[0, 200]))).unwrap();
        assert_eq!(visited(&tx, KeySpan::FULL, Direction::Forward, usize::MAX).len(), 200);
        assert_visits_are_scans(&tx);
        if let Some(untracked) = tx.untracked() {
            assert_visits_are_scans(untracked);
        }
        if let Ok(snapshot) = tx.snapshot() {
            assert_visits_are_scans(&snapshot);
        }
    }
}

/// A visitor may read the transaction that shows it the pairs.
pub fn visitors_may_read(fixture: &mut Fixture) {
    fill(fixture);
    for options in [TxOptions::reading(), TxOptions::writing()] {
        let tx = fixture.store().begin(&options).unwrap();
        let snapshot = tx.snapshot().ok();
        for source in [Some(&tx as &dyn KvRead), snapshot.as_ref().map(|s| s as &dyn KvRead)] {
            let Some(source) = source else { continue };
            for direction in DIRECTIONS {
                let mut shown = 0;
                let visit = source.visit(KeySpan::FULL, direction, &mut |key, value| {
                    assert_eq!(source.get(key).unwrap().as_deref(), Some(value));
                    assert_eq!(&*source.at_least(key, None).unwrap().unwrap().0, key);
                    let next = source.scan(KeySpan::new(key, None), Direction::Forward);
                    assert_eq!(&*next.unwrap().next().unwrap().unwrap().0, key);
                    assert_eq!(visited(source, KeySpan::new(key, None), direction, 1).len(), 1);
                    shown += 1;
                    ControlFlow::Continue(())
                });
                visit.unwrap();
                assert_eq!(shown, 300);
            }
        }
    }
}

/// Two threads visit one snapshot at the same time, each in both ways and with reads in between.
pub fn visits_share_a_snapshot(fixture: &mut Fixture) {
    fill(fixture);
    let snapshot = fixture.store().begin(&TxOptions::reading()).unwrap().snapshot();
    let Ok(snapshot) = snapshot else { return };
    write(fixture.store(), |tx| tx.remove_span(KeySpan::FULL));
    let expected = dump(&*snapshot);
    assert_eq!(expected.len(), 300);
    // Each waits inside its visit until the other one is inside its own.
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for direction in DIRECTIONS {
            let (snapshot, expected, both) = (&*snapshot, &expected, &both);
            scope.spawn(move || {
                let mut seen = Pairs::new();
                let visit = snapshot.visit(KeySpan::FULL, direction, &mut |key, value| {
                    if seen.len() == 10 {
                        both.wait();
                    }
                    if seen.len().is_multiple_of(50) {
                        assert_eq!(snapshot.get(key).unwrap().as_deref(), Some(value));
                    }
                    seen.push((key.to_vec(), value.to_vec()));
                    ControlFlow::Continue(())
                });
                visit.unwrap();
                if direction == Direction::Reverse {
                    seen.reverse();
                }
                assert_eq!(seen, *expected);
            });
        }
    });
}

/// Equal versions are equal states. Each commit that changes something adds one.
pub fn versions_name_states(fixture: &mut Fixture) {
    let in_group = fixture.in_groups;
    let store = fixture.store();
    let reading = || store.begin(&TxOptions::reading()).unwrap();
    put_all(store, &[(b"a", b"1")]);
    let first = reading();
    let Some(version) = first.version() else {
        let writing = store.begin(&TxOptions::writing()).unwrap();
        assert_eq!(writing.version(), None, "it can tell for all transactions or for none");
        return;
    };
    assert_eq!(reading().version(), Some(version));

    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let of_writers = |version: Option<u64>| version.filter(|_| !in_group);
    assert_eq!(tx.version(), of_writers(Some(version)));
    tx.put(b"b", b"1").unwrap();
    assert_eq!(tx.version(), of_writers(Some(version)), "own writes do not count");
    tx.rollback();
    assert_eq!(reading().version(), Some(version));
    let mut tx = reading();
    tx.put(b"b", b"1").unwrap();
    tx.commit().unwrap();
    store.begin(&TxOptions::writing()).unwrap().commit().unwrap();
    assert_eq!(reading().version(), Some(version));

    for n in 1..=3u8 {
        put_all(store, &[(b"a", &[n])]);
        let now = reading();
        assert_eq!(now.version(), Some(version + u64::from(n)));
        assert_eq!(now.get(b"a").unwrap().as_deref(), Some(&[n][..]));
        let writing = store.begin(&TxOptions::writing()).unwrap();
        assert_eq!(writing.version(), of_writers(now.version()));
    }
    assert_eq!(first.version(), Some(version));
    assert_eq!(first.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}
