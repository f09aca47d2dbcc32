package interop;

import io.permazen.kv.KVPair;
import io.permazen.kv.KVTransaction;
import io.permazen.kv.RetryKVTransactionException;
import io.permazen.jsck.Jsck;
import io.permazen.jsck.JsckConfig;
import io.permazen.util.ByteData;
import io.permazen.util.CloseableIterator;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

import org.postgresql.ds.PGSimpleDataSource;

/**
 * Works on a table of a PostgreSQL server: {@code OnPostgres JDBC-URL TABLE}. Reads commands, and answers each with a line.
 */
public final class OnPostgres {

    private final PostgresKVDatabase db = new PostgresKVDatabase();

    private OnPostgres(String url, String table) {
        final PGSimpleDataSource source = new PGSimpleDataSource();
        source.setURL(url);
        this.db.setDataSource(source);
        this.db.setTableName(table);
        this.db.start();
    }

    public static void main(String[] args) throws Exception {
        final OnPostgres program = new OnPostgres(args[0], args[1]);
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            System.out.println(program.answer(line.split(" ")));
            System.out.flush();
        }
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
        case "pairs":
            return this.run(tx -> {
                final StringBuilder all = new StringBuilder();
                try (CloseableIterator<KVPair> i = tx.getRange(null, null)) {
                    while (i.hasNext()) {
                        final KVPair pair = i.next();
                        all.append(pair.getKey().toHex()).append('=').append(pair.getValue().toHex()).append(' ');
                    }
                }
                return all.toString();
            });
        case "check": {
            final AtomicInteger found = new AtomicInteger();
            this.run(tx -> {
                found.set(0);
                new Jsck(new JsckConfig()).check(tx, issue -> found.incrementAndGet());
                return "";
            });
            return "" + found.get();
        }
        case "put":
            return this.run(tx -> {
                tx.put(ByteData.fromHex(words[1]), ByteData.fromHex(words[2]));
                return "ok";
            });
        case "count": {
            // The given number of transactions, each of which adds one.
            for (int i = Integer.parseInt(words[2]); i > 0; i--) {
                this.run(tx -> {
                    final ByteData key = ByteData.fromHex(words[1]);
                    final ByteData old = tx.get(key);
                    final long count = old != null ? tx.decodeCounter(old) : 0;
                    tx.put(key, tx.encodeCounter(count + 1));
                    return "";
                });
            }
            return "ok";
        }
        default:
            throw new IllegalArgumentException(words[0]);
        }
    }

    private String run(Function<KVTransaction, String> action) {
        while (true) {
            final KVTransaction tx = this.db.createTransaction();
            try {
                final String answer = action.apply(tx);
                tx.commit();
                return answer;
            } catch (RetryKVTransactionException e) {
                // Another transaction was in the way.
            } finally {
                tx.rollback();
            }
        }
    }
}
