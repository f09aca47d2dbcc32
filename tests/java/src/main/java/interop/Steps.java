package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.permazen.core.Database;
import io.permazen.core.Layout;
import io.permazen.core.ObjId;
import io.permazen.core.Transaction;
import io.permazen.core.TransactionConfig;
import io.permazen.core.util.ObjIdMap;
import io.permazen.core.util.XMLObjectSerializer;
import io.permazen.jsck.Jsck;
import io.permazen.jsck.JsckConfig;
import io.permazen.kv.KVTransaction;
import io.permazen.kv.KeyRange;
import io.permazen.kv.KeyRanges;
import io.permazen.kv.simple.MemoryKVDatabase;
import io.permazen.kv.util.MemoryKVStore;
import io.permazen.schema.SchemaId;
import io.permazen.schema.SchemaModel;
import io.permazen.util.ByteData;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;

/**
 * Performs steps on one in-memory store. The steps and answers are those of the recorded operation traces, plus
 * {@code reset}, {@code schema}, {@code load}, {@code save}, {@code loadObjects}, {@code loadPairs}, {@code hold}, {@code pairs}, {@code check} and
 * {@code encoding}.
 */
final class Steps {

    private static final long UNLIMITED_WAIT = 600_000;

    private final Map<String, SchemaModel> schemas = new HashMap<>();
    private final Encodings encodings = new Encodings();
    private MemoryKVDatabase kv;
    private Database db;
    private Transaction tx;
    private Fields fields;
    private Indexes indexes;
    private final List<AutoCloseable> held = new ArrayList<>();

    Steps() {
        this.reset();
    }

    private void reset() {
        if (this.tx != null)
            this.tx.rollback();
        this.tx = null;
        this.kv = new MemoryKVDatabase(UNLIMITED_WAIT, UNLIMITED_WAIT);
        this.kv.start();
        this.db = new Database(this.kv);
    }

    JsonElement perform(JsonObject step) throws Exception {
        final String op = Text.member(step, "op");
        switch (op) {
        case "reset":
            this.reset();
            this.schemas.clear();
            return Text.ok();
        case "schema": {
            final String xml = Text.member(step, "xml");
            this.schemas.put(Text.member(step, "name"),
              SchemaModel.fromXML(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8))));
            // Some compressed lengths Permazen cannot read back; better to know before anything is recorded.
            final ByteData.Writer compressed = ByteData.newWriter();
            Layout.encodeSchema(compressed, this.schema(Text.member(step, "name")));
            Layout.decodeSchema(compressed.toByteData());
            return new JsonPrimitive(this.schemaId(Text.member(step, "name")).getId());
        }
        case "load":
            this.reset();
            return this.onStore(kvt -> Pairs.load(kvt, Text.member(step, "kind"), Path.of(Text.member(step, "path"))));
        case "save":
            return this.onStore(kvt -> Pairs.save(kvt, Text.member(step, "kind"), Path.of(Text.member(step, "path"))));
        case "loadObjects":
            return loadObjects(Path.of(Text.member(step, "path")), Path.of(Text.member(step, "dump")));
        case "loadPairs": {
            // What the command kvload does, also without locks.
            final MemoryKVStore store = new MemoryKVStore();
            Pairs.load(store, "xml", Path.of(Text.member(step, "path")));
            return Pairs.save(store, "xml", Path.of(Text.member(step, "dump")));
        }
        case "hold":
            this.held.add(Pairs.hold(Text.member(step, "kind"), Path.of(Text.member(step, "path"))));
            return Text.ok();
        case "release":
            for (AutoCloseable held : this.held)
                held.close();
            this.held.clear();
            return Text.ok();
        case "digest":
            return this.onStore(Pairs::digest);
        case "pairs":
            return this.onStore(Pairs::list);
        case "check":
            return this.onStore(this::check);
        case "database":
            this.db = new Database(this.kv);
            return Text.ok();
        case "open":
            return this.open(step);
        case "commit":
        case "rollback": {
            final Transaction ending = this.tx;
            this.tx = null;
            if (op.equals("commit"))
                ending.commit();
            else
                ending.rollback();
            return Text.ok();
        }
        case "addSchema":
            return Text.bool(this.tx.addSchema(this.schema(Text.member(step, "schema"))));
        case "removeSchema":
            return Text.bool(this.tx.removeSchema(this.schemaId(Text.member(step, "schema"))));
        case "create":
            if (step.has("in"))
                return Text.bool(this.tx.create(Text.id(step), this.schemaId(Text.member(step, "in"))));
            return Text.bool(this.tx.create(Text.id(step)));
        case "delete":
            return Text.bool(this.tx.delete(Text.id(step)));
        case "exists":
            return Text.bool(this.tx.exists(Text.id(step)));
        case "typeOf":
            return new JsonPrimitive(this.tx.getObjType(Text.id(step)).getName());
        case "schemaOf":
            return new JsonPrimitive(this.schemaName(this.tx.getObjType(Text.id(step)).getSchema().getSchemaId()));
        case "migrate":
            return Text.bool(this.tx.migrateSchema(Text.id(step)));
        case "copy": {
            final ObjIdMap<ObjId> map = new ObjIdMap<>(1);
            final ObjId from = new ObjId(Text.member(step, "from"));
            map.put(from, new ObjId(Text.member(step, "to")));
            return Text.bool(this.tx.copy(from, this.tx, Text.flag(step, "migrate"), true, null, map));
        }
        case "all": {
            final NavigableSet<ObjId> all = step.has("type") ? this.tx.getAll(Text.member(step, "type")) : this.tx.getAll();
            return Text.ids(Text.flag(step, "reverse") ? all.descendingSet() : all);
        }
        case "bySchema":
            return this.bySchema();
        case "follow":
            return Text.ids(this.tx.followReferencePath(list(step, "start").stream(), path(step), this.types(step)));
        case "invert":
            return Text.ids(this.tx.invertReferencePath(path(step), this.types(step), list(step, "targets").stream()));
        case "index":
            return this.indexes.query(step);
        case "encoding":
            return this.encodings.perform(step);
        default:
            return this.fields.perform(op, step);
        }
    }

// Transactions

    private interface StoreAction {
        JsonElement on(KVTransaction kvt) throws Exception;
    }

    private JsonElement onStore(StoreAction action) throws Exception {
        final KVTransaction kvt = this.kv.createTransaction();
        boolean done = false;
        try {
            final JsonElement result = action.on(kvt);
            kvt.commit();
            done = true;
            return result;
        } finally {
            if (!done)
                kvt.rollback();
        }
    }

    private JsonElement open(JsonObject step) {
        final TransactionConfig.Builder config = TransactionConfig.builder();
        if (!step.get("schema").isJsonNull())
            config.schemaModel(this.schema(Text.member(step, "schema")));
        config.allowNewSchema(Text.flag(step, "allowNew"));
        config.schemaRemoval(TransactionConfig.SchemaRemoval.valueOf(Text.member(step, "removal")));
        this.tx = config.build().newTransaction(this.db);
        this.fields = new Fields(this.tx);
        this.indexes = new Indexes(this.tx);
        final JsonObject result = new JsonObject();
        result.addProperty("schemaIndex", this.tx.getSchema().getSchemaIndex());
        return result;
    }

    /**
     * What the command {@code load} does: no schema of its own, and no schema is removed. It is done in a new store without locks,
     * which take Java long when there are many, and all pairs are written to an XML dump.
     */
    private static JsonElement loadObjects(Path path, Path dump) throws Exception {
        final MemoryKVStore store = new MemoryKVStore();
        final TransactionConfig config = TransactionConfig.builder().schemaModel(new SchemaModel())
          .schemaRemoval(TransactionConfig.SchemaRemoval.NEVER).build();
        final int count;
        try (InputStream in = new BufferedInputStream(Files.newInputStream(path))) {
            final Transaction tx = new Database(new MemoryKVDatabase()).createDetachedTransaction(store, config);
            count = new XMLObjectSerializer(tx).read(in);
        }
        Pairs.save(store, "xml", dump);
        return new JsonPrimitive(count);
    }

    private JsonElement check(KVTransaction kvt) {
        final JsonArray issues = new JsonArray();
        final JsckConfig config = new JsckConfig();
        config.setJsckLogger(null);
        config.setMaxIssues(100);
        new Jsck(config).check(kvt, issue -> issues.add(issue.toString()));
        return issues;
    }

// Schemas

    private SchemaModel schema(String name) {
        final SchemaModel model = this.schemas.get(name);
        if (model == null)
            throw new IllegalStateException("no schema " + name);
        final SchemaModel copy = model.clone();
        copy.lockDown(false);
        return copy;
    }

    private SchemaId schemaId(String name) {
        return this.schema(name).getSchemaId();
    }

    private String schemaName(SchemaId id) {
        for (String name : this.schemas.keySet()) {
            if (this.schemaId(name).equals(id))
                return name;
        }
        return id.getId();
    }

    private JsonElement bySchema() {
        final JsonArray list = new JsonArray();
        for (Map.Entry<Integer, NavigableSet<ObjId>> entry : this.tx.querySchemaIndex().asMap().entrySet()) {
            final JsonArray row = new JsonArray();
            row.add(entry.getKey());
            row.add(this.schemaName(this.tx.getSchemaBundle().getSchema(entry.getKey()).getSchemaId()));
            row.add(Text.ids(entry.getValue()));
            list.add(row);
        }
        return list;
    }

// Reference paths

    private static List<ObjId> list(JsonObject step, String name) {
        final List<ObjId> ids = new ArrayList<>();
        for (JsonElement id : step.get(name).getAsJsonArray())
            ids.add(new ObjId(id.getAsString()));
        return ids;
    }

    private static int[] path(JsonObject step) {
        final JsonArray path = step.get("path").getAsJsonArray();
        final int[] steps = new int[path.size()];
        for (int i = 0; i < steps.length; i++)
            steps[i] = path.get(i).getAsInt();
        return steps;
    }

    /** The filters by type for each position of a path. */
    private KeyRanges[] types(JsonObject step) {
        final KeyRanges[] filters = new KeyRanges[step.get("path").getAsJsonArray().size() + 1];
        for (int i = 0; step.has("types") && i < filters.length; i++) {
            final JsonElement names = step.get("types").getAsJsonArray().get(i);
            if (names.isJsonNull())
                continue;
            final List<KeyRange> ranges = new ArrayList<>();
            for (JsonElement name : names.getAsJsonArray())
                ranges.add(ObjId.getKeyRange(this.tx.getSchema().getObjType(name.getAsString()).getStorageId()));
            filters[i] = new KeyRanges(ranges);
        }
        return filters;
    }
}
