//! The decoders, for fuzzing. Each decodes the bytes and returns the encoding of the result, or
//! `None` if it refuses them.

use bytes::Bytes;

use crate::commit::encoding::Commit;
use crate::node::items::Items;
use crate::node::view::Node;
use crate::node::write;
use crate::rows::inspect::{
    DecodedPageRow, checksum_at, commit_key, head_key, merge_key, page_row, piece_key,
};
use crate::rows::inspect_repository::{
    DecodedRepositoryRow, by_name_key, by_number_key, repository_row,
};
use crate::rows::references::suspect_key;
use crate::rows::repository::NO_PAGE;
use crate::rows::sealed::{LEN, checksum};
use crate::value::index::Index;
use crate::value::reference::Reference;

/// A node.
pub fn node(bytes: &[u8]) -> Option<Vec<u8>> {
    let node = Node::parse(Bytes::copy_from_slice(bytes)).ok()?;
    let mut items = Items::default();
    for at in 0..node.len() {
        let key = node.key(at);
        items.push(&key.to_vec(), node.payload(at));
    }
    Some(write::encode(node.level(), &items).to_vec())
}

/// An index piece.
pub fn index(bytes: &[u8]) -> Option<Vec<u8>> {
    let index = Index::parse(Bytes::copy_from_slice(bytes)).ok()?;
    let mut encoded = vec![index.level()];
    for part in (0..index.len()).filter_map(|at| index.part(at)) {
        encoded.extend_from_slice(&part.len.to_be_bytes());
        encoded.extend_from_slice(&part.digest.0);
    }
    Some(encoded)
}

/// A commit.
pub fn commit(bytes: &[u8]) -> Option<Vec<u8>> {
    Commit::parse(bytes).ok().map(|commit| commit.to_bytes())
}

/// A reference of a leaf to a long value.
pub fn reference(bytes: &[u8]) -> Option<Vec<u8>> {
    Reference::parse(bytes).ok().map(|reference| reference.to_bytes().to_vec())
}

/// A row with a correct checksum. The key is without the prefix of the page. `page` is 0 for a row
/// of the repository.
pub fn sealed(page: u64, key: &[u8], row: &[u8]) -> Vec<u8> {
    let mut row = row.to_vec();
    let at = checksum_at(key, row.len().saturating_sub(LEN));
    if row.len() >= at + LEN {
        let checksum = checksum(page, key, &row[..at]);
        row[at..at + LEN].copy_from_slice(&checksum);
    }
    row
}

/// Decodes the row of a page after its checksum was corrected, and returns the key that it encodes
/// to. A key without content of its own is returned as it is.
pub fn page_key(page: u64, key: &[u8], row: &[u8]) -> Option<Vec<u8>> {
    Some(match page_row(page, key, &sealed(page, key, row)).ok()? {
        DecodedPageRow::Head { branch, head } => head_key(branch, &head.id),
        DecodedPageRow::Merge { parents, merge } => merge_key(&parents, &merge),
        DecodedPageRow::Commit { id, .. } => commit_key(&id),
        DecodedPageRow::Piece { digest, .. } => piece_key(&digest),
        DecodedPageRow::Reference(row) => row.key(),
        DecodedPageRow::Suspect { digest } => suspect_key(&digest),
        _ => key.to_vec(),
    })
}

/// Decodes the row of a repository in the same way.
pub fn repository_key(key: &[u8], row: &[u8]) -> Option<Vec<u8>> {
    Some(match repository_row(key, &sealed(NO_PAGE, key, row)).ok()? {
        DecodedRepositoryRow::ByName { ledger, page, .. } => by_name_key(&ledger, &page),
        DecodedRepositoryRow::ByNumber { number, .. } => by_number_key(number),
        _ => key.to_vec(),
    })
}
