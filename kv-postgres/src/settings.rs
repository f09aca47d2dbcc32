//! Settings of the server that lose commits, or that make transactions conflict which have nothing
//! in common.

use permazen_kv::{Warning, WarningKind};

use crate::connection::Connection;
use crate::error::Failure;
use crate::pool::number;
use crate::statement::Statement;

/// A transaction that loads 64 objects at once, with room for its earlier reads.
const ENOUGH: i64 = 128;

/// The recommended value.
const LOCKS: i64 = 1_024;

const LOOK: Statement<'static> = Statement {
    name: "settings",
    sql: "SELECT current_setting('max_pred_locks_per_transaction')::int8, \
          current_setting('max_pred_locks_per_relation')::int8",
};

/// A setting that endangers committed data.
struct Danger {
    setting: &'static str,
    /// The dangerous value.
    value: &'static str,
    /// The effect, and the remedy.
    text: &'static str,
}

/// Servers that do without one of these settings do not have its danger.
const DANGERS: [Danger; 5] = [
    Danger {
        setting: "synchronous_commit",
        value: "off",
        text: "a server that stops loses the commits of its last moments although programs were told of them \
               (synchronous_commit = off): set it to on, for the database and the role too",
    },
    Danger {
        setting: "fsync",
        value: "off",
        text: "if the machine of the server stops, commits are lost and everything can be damaged (fsync = off): \
               set it to on",
    },
    Danger {
        setting: "full_page_writes",
        value: "off",
        text: "if the machine of the server stops while it writes a page, the page can be damaged \
               (full_page_writes = off): set it to on, unless the storage writes pages as a whole",
    },
    Danger {
        setting: "zero_damaged_pages",
        value: "on",
        text: "what was on a damaged page vanishes without an error (zero_damaged_pages = on): set it to off",
    },
    Danger {
        setting: "ignore_checksum_failure",
        value: "on",
        text: "a damaged page is read as if it were whole (ignore_checksum_failure = on): set it to off",
    },
];

/// Which settings should be others, and what happens otherwise.
pub(crate) fn warnings(connection: &mut Connection) -> Result<Vec<Warning>, Failure> {
    let rows = DANGERS
        .iter()
        .enumerate()
        .map(|(at, Danger { setting, value, .. })| format!("({at}::int8, '{setting}', '{value}')"));
    let sql = format!(
        "SELECT at FROM (VALUES {}) AS dangers (at, setting, value) \
         WHERE current_setting(setting, true) = value ORDER BY at",
        rows.collect::<Vec<_>>().join(", ")
    );
    connection.add(LOOK, &[])?;
    connection.add(Statement { name: "dangerous settings", sql: &sql }, &[])?;
    connection.send_batch("upkeep")?;
    let answers = connection.answers()?;
    let locks = answers.first().and_then(|answer| answer.rows.first());
    let lock = |at: usize| number(locks.and_then(|row| row.get(at)));
    let mut warnings = Vec::new();
    for row in answers.get(1).map_or(&[][..], |answer| &answer.rows) {
        let at = number(row.first())?;
        let danger = usize::try_from(at).ok().and_then(|at| DANGERS.get(at));
        let danger = danger.ok_or_else(|| Failure::other("the server has sent another number"))?;
        warnings.push(Warning::new(WarningKind::Data, danger.text));
    }
    let advice = judge(lock(0)?, lock(1)?);
    warnings.extend(advice.map(|text| Warning::new(WarningKind::Speed, text)));
    Ok(warnings)
}

fn judge(of_transaction: i64, of_table: i64) -> Option<String> {
    // If it is negative, the other setting is divided by it.
    let locks = match of_table {
        ..0 => of_transaction / of_table.saturating_neg(),
        _ => of_table,
    };
    if locks >= ENOUGH {
        return None;
    }
    Some(format!(
        "a transaction that reads more than {locks} pairs conflicts with all that write, because the server then locks the \
         whole table (max_pred_locks_per_transaction = {of_transaction}, max_pred_locks_per_relation = \
         {of_table}): set max_pred_locks_per_transaction = {LOCKS} or more in postgresql.conf, leave \
         max_pred_locks_per_relation at -2, and start the server again"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_too_little_is_named_with_what_to_do() {
        // The defaults of the server.
        let said = judge(64, -2).unwrap();
        for part in ["more than 32 pairs", "= 64", "= -2", "max_pred_locks_per_transaction = 1024"]
        {
            assert!(said.contains(part), "{said}");
        }
        for (of_transaction, of_table) in [(1_024, 20), (1_024, -100), (64, 0), (64, i64::MIN)] {
            assert!(judge(of_transaction, of_table).is_some(), "{of_transaction} {of_table}");
        }
        for (of_transaction, of_table) in [(1_024, -2), (256, -2), (64, 128), (128, -1)] {
            assert!(judge(of_transaction, of_table).is_none(), "{of_transaction} {of_table}");
        }
        assert!(judge(LOCKS, -2).is_none());
    }
}
