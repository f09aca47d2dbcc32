//! Deletions through a kind: a reference that forbids one counts if its holder is left, whichever
//! models, fields and IDs the objects have, and however they are asked to go.

use permazen::kv::memory::MemoryStore;
use permazen::object::Error as ObjectError;
use permazen::{
    Error, Obj, ObjId, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Tx,
};

#[derive(PermazenFields, Debug, Clone, Default, PartialEq)]
struct Place {
    /// Goes with it.
    #[permazen(inverse_delete = "delete")]
    within: Option<Ref<FileKind>>,
    /// Forbids that it goes, as references do unless they say something else.
    about: Option<Ref<FileKind>>,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Folder {
    #[permazen(flatten)]
    place: Place,
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Note {
    text: String,
    #[permazen(flatten)]
    place: Place,
}

#[derive(PermazenKind)]
#[permazen(fields = Place)]
enum File<'t> {
    Folder(Obj<'t, Folder>),
    Note(Obj<'t, Note>),
}

/// Goes with nothing.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Bookmark {
    to: Option<Ref<FileKind>>,
}

/// Refers to one of its own kind and to another kind.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Link {
    #[permazen(inverse_delete = "delete")]
    loose: Option<Ref<Ends>>,
    strict: Option<Ref<Ends>>,
}

#[derive(PermazenKind)]
#[permazen(kind = "Ends")]
enum End<'t> {
    Link(Obj<'t, Link>),
    Note(Obj<'t, Note>),
}

fn db() -> Permazen {
    let builder = Permazen::builder(MemoryStore::new()).kind::<FileKind>().kind::<Ends>();
    builder.model::<Bookmark>().build().unwrap()
}

/// An ID of this type whose last byte is the number.
fn numbered(tx: &Tx, of: &str, number: u8) -> Result<ObjId> {
    let mut bytes = *tx.core().generate_id(of)?.as_bytes();
    bytes[4..].copy_from_slice(&[0, 0, 0, number]);
    bytes[1..4].fill(0);
    Ok(ObjId::from_bytes(bytes)?)
}

/// Files of these models, with these numbers in their IDs.
fn files<'t>(tx: &'t Tx, is_note: [bool; 4], numbers: [u8; 4]) -> Result<[File<'t>; 4]> {
    let mut files = Vec::new();
    for (is_note, number) in is_note.into_iter().zip(numbers) {
        files.push(if is_note {
            let id = numbered(tx, "Note", number)?;
            File::Note(tx.create_with_id(id, Note::default())?.unwrap())
        } else {
            let id = numbered(tx, "Folder", number)?;
            File::Folder(tx.create_with_id(id, Folder::default())?.unwrap())
        });
    }
    Ok(files.try_into().unwrap_or_else(|_| unreachable!()))
}

/// All orders of four numbers.
fn orders() -> Vec<[u8; 4]> {
    let mut orders = Vec::new();
    for order in 0..24_usize {
        let (mut numbers, mut rest) = (vec![1, 2, 3, 4], order);
        let taken: Vec<u8> = (1..=4)
            .rev()
            .map(|left| {
                let at = rest % left;
                rest /= left;
                numbers.remove(at)
            })
            .collect();
        orders.push(taken.try_into().unwrap());
    }
    orders
}

/// How the first file is asked to go.
const HOWS: [fn(&Tx, &File<'_>) -> Result<bool>; 4] = [
    |_, file| file.delete(),
    |tx, file| tx.get::<FileKind>(file.to_ref())?.delete(),
    |_, file| file.any().delete(),
    |_, file| match file {
        File::Folder(folder) => folder.delete(),
        File::Note(note) => note.delete(),
    },
];

/// Deletes the first of four files, which `fill` has connected: under all orders of the IDs, with
/// several models, in each way. Then the files that are left must be these; if it is refused, all,
/// for these: target, holder, and the field of the holder.
fn scenario(
    left: &[usize],
    refused: Option<(usize, usize, &str)>,
    fill: impl Fn(&Tx, &[File<'_>; 4]) -> Result<()>,
) {
    let db = db();
    let models = [[false; 4], [false, true, false, true], [true, false, true, false]];
    for (at, numbers) in orders().into_iter().enumerate() {
        for is_note in models {
            let how = HOWS[at % HOWS.len()];
            // The error undoes it.
            let undone: Result<()> = db.write(|tx| {
                let files = files(tx, is_note, numbers)?;
                fill(tx, &files)?;
                let deleted = how(tx, &files[0]);
                let mut found = Vec::new();
                for (n, file) in files.iter().enumerate() {
                    found.extend(file.exists()?.then_some(n));
                }
                assert_eq!(found, left, "{numbers:?}, {is_note:?}: {deleted:?}");
                match (deleted, refused) {
                    (Ok(deleted), None) => assert!(deleted),
                    (
                        Err(Error::Object(ObjectError::ReferencedObject {
                            id,
                            referrer,
                            field,
                            ..
                        })),
                        Some((target, holder, name)),
                    ) => {
                        assert_eq!(id, files[target].id());
                        assert_eq!(&*field, name);
                        if let Some(holder) = files.get(holder) {
                            assert_eq!(referrer, holder.id());
                        }
                    }
                    (other, _) => panic!("{numbers:?}, {is_note:?}: {other:?}"),
                }
                Err(Error::other(std::io::Error::other("undone")))
            });
            assert!(undone.is_err());
        }
    }
    assert_eq!(db.read(|tx| tx.all::<FileKind>()?.count()).unwrap(), 0);
}

fn within(file: &File<'_>, of: &File<'_>) -> Result<()> {
    file.set_within(Some(of.to_ref()))
}

fn about(file: &File<'_>, other: &File<'_>) -> Result<()> {
    file.set_about(Some(other.to_ref()))
}

#[test]
fn what_goes_too_forbids_nothing() {
    // Beside each other, and in a circle, and their parent.
    scenario(&[3], None, |_, [root, one, two, _]| {
        within(one, root)?;
        within(two, root)?;
        about(two, one)
    });
    scenario(&[3], None, |_, [root, one, two, _]| {
        within(one, root)?;
        within(two, one)?;
        about(one, two)?;
        about(two, root)
    });
    scenario(&[1, 2, 3], None, |_, [root, ..]| about(root, root));
    // Something of another kind goes with one of them.
    scenario(&[2, 3], None, |tx, [root, one, ..]| {
        within(one, root)?;
        about(one, root)?;
        if let File::Note(note) = one {
            let note = Some(note.to_ref().within::<Ends>());
            let link = tx.create(Link { loose: note, strict: note })?;
            let of = Some(link.to_ref().within::<Ends>());
            link.set_strict(of)?;
            tx.create(Link { loose: of, strict: note })?;
        }
        Ok(())
    });
}

#[test]
fn what_is_left_refuses() {
    let all = &[0, 1, 2, 3];
    scenario(all, Some((1, 3, "about")), |_, [root, one, two, stays]| {
        within(one, root)?;
        within(two, root)?;
        about(two, one)?;
        about(stays, one)
    });
    scenario(all, Some((0, 3, "about")), |_, [root, one, _, stays]| {
        within(one, root)?;
        about(one, root)?;
        about(stays, root)
    });
    // A holder of another model, with which no file goes.
    scenario(all, Some((2, 4, "to")), |tx, [root, one, two, _]| {
        within(one, root)?;
        within(two, one)?;
        about(one, two)?;
        tx.create(Bookmark { to: Some(two.to_ref()) }).map(drop)
    });
}
