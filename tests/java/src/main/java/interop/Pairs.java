package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;

import io.permazen.kv.KVPair;
import io.permazen.kv.KVStore;
import io.permazen.kv.util.XMLSerializer;
import io.permazen.util.ByteData;
import io.permazen.util.CloseableIterator;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.InflaterInputStream;

import org.lmdbjava.CursorIterable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;

/** Copies key/value pairs between a store and an LMDB environment, an SQLite file or an XML dump. */
final class Pairs {

    private static final long MAP_SIZE = 256L << 20;

    private Pairs() {
    }

    static JsonElement load(KVStore store, String kind, Path path) throws Exception {
        store.removeRange(null, null);
        switch (kind) {
        case "xml":
            try (InputStream in = new BufferedInputStream(Files.newInputStream(path))) {
                new XMLSerializer(store).read(in);
            }
            break;
        case "lmdb":
            try (Env<ByteBuffer> env = open(path)) {
                final Dbi<ByteBuffer> dbi = env.openDbi("permazen", DbiFlags.MDB_CREATE);
                try (Txn<ByteBuffer> tx = env.txnRead(); CursorIterable<ByteBuffer> pairs = dbi.iterate(tx)) {
                    for (CursorIterable.KeyVal<ByteBuffer> pair : pairs) {
                        final byte[] key = bytes(pair.key());
                        if (key.length == 0 || key[0] != 0)
                            throw new IllegalStateException("stored key does not start with 00");
                        store.put(ByteData.of(key, 1, key.length - 1), ByteData.of(bytes(pair.val())));
                    }
                }
            }
            break;
        case "sqlite":
            try (Connection db = connect(path); Statement select = db.createStatement();
              ResultSet rows = select.executeQuery("SELECT \"kv_key\", \"kv_value\" FROM \"KV\" ORDER BY \"kv_key\"")) {
                while (rows.next())
                    store.put(ByteData.of(rows.getBytes(1)), ByteData.of(rows.getBytes(2)));
            }
            break;
        default:
            throw new IllegalArgumentException("unknown kind of store: " + kind);
        }
        return Text.ok();
    }

    static JsonElement save(KVStore store, String kind, Path path) throws Exception {
        switch (kind) {
        case "xml":
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(path))) {
                new XMLSerializer(store).write(out, false);
            }
            break;
        case "lmdb":
            Files.createDirectories(path);
            try (Env<ByteBuffer> env = open(path)) {
                final Dbi<ByteBuffer> dbi = env.openDbi("permazen", DbiFlags.MDB_CREATE);
                try (Txn<ByteBuffer> tx = env.txnWrite()) {
                    dbi.drop(tx);
                    try (CloseableIterator<KVPair> i = store.getRange(null, null)) {
                        while (i.hasNext()) {
                            final KVPair pair = i.next();
                            dbi.put(tx, buffer(ByteData.of(0).concat(pair.getKey())), buffer(pair.getValue()));
                        }
                    }
                    tx.commit();
                }
            }
            break;
        case "sqlite":
            try (Connection db = connect(path); Statement statement = db.createStatement()) {
                statement.execute("PRAGMA journal_mode=WAL");
                statement.execute("PRAGMA synchronous=OFF");
                statement.execute("CREATE TABLE IF NOT EXISTS \"KV\"(\"kv_key\" BLOB CONSTRAINT \"kv_key_null\" NOT NULL"
                  + " CONSTRAINT \"kv_key_pkey\" PRIMARY KEY, \"kv_value\" BLOB CONSTRAINT \"kv_value_null\" NOT NULL)");
                db.setAutoCommit(false);
                statement.execute("DELETE FROM \"KV\"");
                try (PreparedStatement insert = db.prepareStatement(
                    "INSERT OR REPLACE INTO \"KV\" (\"kv_key\", \"kv_value\") VALUES (?, ?)");
                  CloseableIterator<KVPair> i = store.getRange(null, null)) {
                    while (i.hasNext()) {
                        final KVPair pair = i.next();
                        insert.setBytes(1, pair.getKey().toByteArray());
                        insert.setBytes(2, pair.getValue().toByteArray());
                        insert.executeUpdate();
                    }
                }
                db.commit();
            }
            break;
        default:
            throw new IllegalArgumentException("unknown kind of store: " + kind);
        }
        return Text.ok();
    }

    /**
     * Opens an LMDB environment, or an SQLite file that no other process can read ({@code --sqlite-exclusive}), until the result is
     * closed.
     */
    static AutoCloseable hold(String kind, Path path) throws Exception {
        switch (kind) {
        case "lmdb":
            return open(path);
        case "sqlite": {
            final Connection db = connect(path);
            try (Statement statement = db.createStatement()) {
                statement.execute("PRAGMA locking_mode=EXCLUSIVE");
                statement.execute("BEGIN IMMEDIATE");
                statement.execute("DELETE FROM \"KV\" WHERE 0");
                statement.execute("COMMIT");
            }
            return db;
        }
        default:
            throw new IllegalArgumentException("unknown kind of store: " + kind);
        }
    }

    /** SHA-256 over the lines of {@link #lines}, each ended by a line feed. */
    static JsonElement digest(KVStore store) throws Exception {
        final MessageDigest sha = MessageDigest.getInstance("SHA-256");
        for (String line : lines(store))
            sha.update((line + "\n").getBytes(StandardCharsets.UTF_8));
        return new JsonPrimitive(HexFormat.of().formatHex(sha.digest()));
    }

    static JsonElement list(KVStore store) throws Exception {
        final JsonArray list = new JsonArray();
        for (String line : lines(store))
            list.add(line);
        return list;
    }

    /** The line {@code key=value} for every pair; values of the schema table are inflated first. */
    private static List<String> lines(KVStore store) throws Exception {
        final ByteData schemaTable = ByteData.of(0, 1);
        final List<String> lines = new ArrayList<>();
        try (CloseableIterator<KVPair> i = store.getRange(null, null)) {
            while (i.hasNext()) {
                final KVPair pair = i.next();
                if (pair.getKey().startsWith(schemaTable)) {
                    final InputStream inflated = new InflaterInputStream(new ByteArrayInputStream(pair.getValue().toByteArray()));
                    lines.add(pair.getKey().toHex() + ": " + new String(inflated.readAllBytes(), StandardCharsets.UTF_8));
                } else
                    lines.add(pair.getKey().toHex() + "=" + pair.getValue().toHex());
            }
        }
        return lines;
    }

    private static Env<ByteBuffer> open(Path path) {
        return Env.create().setMapSize(MAP_SIZE).setMaxDbs(1).open(path.toFile(), EnvFlags.MDB_NOSYNC);
    }

    private static Connection connect(Path path) throws Exception {
        return DriverManager.getConnection("jdbc:sqlite:" + new File(path.toString()).getAbsolutePath());
    }

    private static byte[] bytes(ByteBuffer buffer) {
        final byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static ByteBuffer buffer(ByteData data) {
        final ByteBuffer buffer = ByteBuffer.allocateDirect(Math.max(1, data.size()));
        buffer.put(data.toByteArray()).flip();
        return buffer;
    }
}
