//! Settings of the server that lose commits, or make transactions run again which have nothing in common.

use crate::connection::{Connection, Statement};
use crate::error::Failure;
use crate::pool::number;

/// A transaction that loads 64 objects at once, with room for what it reads before.
const ENOUGH: i64 = 128;

/// What is recommended.
const LOCKS: i64 = 1_024;

const LOOK: Statement<'static> = Statement {
    name: "settings",
    sql: "SELECT current_setting('max_pred_locks_per_transaction')::int8, \
          current_setting('max_pred_locks_per_relation')::int8",
};

const LOOK_AT_COMMITS: Statement<'static> = Statement {
    name: "settings of commits",
    sql: "SELECT (current_setting('synchronous_commit') = 'off')::int4::int8",
};

/// Which settings should be others, and what happens otherwise.
pub(crate) fn warnings(connection: &mut Connection) -> Result<Vec<String>, Failure> {
    connection.add(LOOK, &[])?;
    connection.add(LOOK_AT_COMMITS, &[])?;
    connection.send_batch()?;
    let answers = connection.answers()?;
    let setting = |of: usize, at: usize| {
        number(answers.get(of).and_then(|answer| answer.rows.first()).and_then(|row| row.get(at)))
    };
    let mut warnings = judge(setting(0, 0)?, setting(0, 1)?);
    if setting(1, 0)? == 1 {
        warnings.push(LOST_COMMITS.to_owned());
    }
    Ok(warnings)
}

const LOST_COMMITS: &str = "a server that stops loses the commits of its last moments although programs were told of them \
                            (synchronous_commit = off): set it to on, for the database and the role too";

fn judge(of_transaction: i64, of_table: i64) -> Vec<String> {
    // A negative one is by how much the other is divided.
    let locks = match of_table {
        ..0 => of_transaction / of_table.saturating_neg(),
        _ => of_table,
    };
    if locks >= ENOUGH {
        return Vec::new();
    }
    vec![format!(
        "a transaction that reads more than {locks} pairs conflicts with all who write, because the server then locks the \
         whole table (max_pred_locks_per_transaction = {of_transaction}, max_pred_locks_per_relation = \
         {of_table}): set max_pred_locks_per_transaction = {LOCKS} or more in postgresql.conf, leave \
         max_pred_locks_per_relation at -2, and start the server again"
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_little_is_named_with_what_to_do() {
        // The defaults of the server.
        let said = judge(64, -2);
        assert_eq!(said.len(), 1);
        for part in ["more than 32 pairs", "= 64", "= -2", "max_pred_locks_per_transaction = 1024"]
        {
            assert!(said.iter().all(|said| said.contains(part)), "{said:?}");
        }
        assert_eq!(judge(1_024, 20).len(), 1);
        assert_eq!(judge(1_024, -100).len(), 1);
        assert_eq!(judge(64, 0).len(), 1);
        for (of_transaction, of_table) in [(1_024, -2), (256, -2), (64, 128), (128, -1)] {
            assert!(judge(of_transaction, of_table).is_empty(), "{of_transaction} {of_table}");
        }
        assert!(judge(LOCKS, -2).is_empty());
        assert_eq!(judge(64, i64::MIN).len(), 1);
    }
}
