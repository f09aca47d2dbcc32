package interop;

import io.permazen.kv.KVTransactionException;
import io.permazen.kv.RetryKVTransactionException;
import io.permazen.kv.sql.IsolationLevel;
import io.permazen.kv.sql.SQLKVDatabase;
import io.permazen.kv.sql.SQLKVTransaction;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;

/** Permazen for Java on the table that {@code permazen-kv-postgres} uses. */
public class PostgresKVDatabase extends SQLKVDatabase {

    /** Conflicts, deadlocks, and keys that must be new. */
    private static final Set<String> RETRY = Set.of("40001", "40P01", "23505");

    public PostgresKVDatabase() {
        this.setIsolationLevel(IsolationLevel.SERIALIZABLE);
    }

    @Override
    protected void initializeDatabaseIfNecessary(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS " + this.quote(this.tableName) + " (" + this.quote(this.keyColumnName)
              + " BYTEA PRIMARY KEY NOT NULL, " + this.quote(this.valueColumnName) + " BYTEA NOT NULL)");
        }
    }

    @Override
    protected void configureConnection(Connection connection) throws SQLException {
        super.configureConnection(connection);
        // A small table would be read as a whole, which would be in conflict with each change of it.
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET enable_seqscan = off");
            statement.execute("SET enable_bitmapscan = off");
        }
    }

    @Override
    public String createPutStatement() {
        return "INSERT INTO " + this.quote(this.tableName) + " (" + this.quote(this.keyColumnName) + ", "
          + this.quote(this.valueColumnName) + ") VALUES (?, ?) ON CONFLICT (" + this.quote(this.keyColumnName)
          + ") DO UPDATE SET " + this.quote(this.valueColumnName) + " = EXCLUDED." + this.quote(this.valueColumnName);
    }

    @Override
    public String quote(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }

    @Override
    public String limitSingleRow(String sql) {
        return sql + " LIMIT 1";
    }

    @Override
    public KVTransactionException wrapException(SQLKVTransaction tx, SQLException e) {
        for (SQLException cause = e; cause != null; cause = cause.getNextException()) {
            if (RETRY.contains(String.valueOf(cause.getSQLState())))
                return new RetryKVTransactionException(tx, e);
        }
        return super.wrapException(tx, e);
    }
}
