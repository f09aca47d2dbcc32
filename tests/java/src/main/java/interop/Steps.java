package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.permazen.core.AbstractCoreIndex;
import io.permazen.core.Database;
import io.permazen.core.Field;
import io.permazen.core.CounterField;
import io.permazen.core.ListField;
import io.permazen.core.MapField;
import io.permazen.core.ObjId;
import io.permazen.core.ReferenceField;
import io.permazen.core.Schema;
import io.permazen.core.SetField;
import io.permazen.core.SimpleField;
import io.permazen.core.Transaction;
import io.permazen.core.TransactionConfig;
import io.permazen.core.UnknownFieldException;
import io.permazen.core.util.ObjIdMap;
import io.permazen.encoding.Encoding;
import io.permazen.jsck.Jsck;
import io.permazen.jsck.JsckConfig;
import io.permazen.kv.KVTransaction;
import io.permazen.kv.simple.MemoryKVDatabase;
import io.permazen.schema.SchemaModel;
import io.permazen.tuple.Tuple;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;

/**
 * Performs steps on one in-memory store. The steps and answers are those of the recorded operation traces, plus
 * {@code reset}, {@code schema}, {@code load}, {@code save} and {@code check}.
 */
@SuppressWarnings({ "unchecked", "rawtypes" })
final class Steps {

    private static final long UNLIMITED_WAIT = 600_000;

    private final Map<String, SchemaModel> schemas = new HashMap<>();
    private MemoryKVDatabase kv;
    private Database db;
    private Transaction tx;

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
        final String op = step.get("op").getAsString();
        switch (op) {
        case "reset":
            this.reset();
            this.schemas.clear();
            return ok();
        case "schema":
            this.schemas.put(text(step, "name"), SchemaModel.fromXML(
              new ByteArrayInputStream(text(step, "xml").getBytes(StandardCharsets.UTF_8))));
            return new JsonPrimitive(this.schema(text(step, "name")).getSchemaId().getId());
        case "load":
            this.reset();
            return this.onStore(kvt -> { Pairs.load(kvt, text(step, "kind"), Path.of(text(step, "path"))); return ok(); });
        case "save":
            return this.onStore(kvt -> { Pairs.save(kvt, text(step, "kind"), Path.of(text(step, "path"))); return ok(); });
        case "check":
            return this.onStore(this::check);
        case "database":
            this.db = new Database(this.kv);
            return ok();
        case "open":
            return this.open(step);
        case "commit": {
            final Transaction ending = this.tx;
            this.tx = null;
            ending.commit();
            return ok();
        }
        case "rollback": {
            final Transaction ending = this.tx;
            this.tx = null;
            ending.rollback();
            return ok();
        }
        case "digest":
            if (this.tx != null)
                return new JsonPrimitive(Pairs.digest(this.tx.getKVTransaction()));
            return this.onStore(kvt -> new JsonPrimitive(Pairs.digest(kvt)));
        case "create":
            if (step.has("in"))
                return bool(this.tx.create(id(step), this.schema(text(step, "in")).getSchemaId()));
            return bool(this.tx.create(id(step)));
        case "delete":
            return bool(this.tx.delete(id(step)));
        case "exists":
            return bool(this.tx.exists(id(step)));
        case "typeOf":
            return new JsonPrimitive(this.tx.getObjType(id(step)).getName());
        case "schemaOf":
            return new JsonPrimitive(this.tx.getObjType(id(step)).getSchema().getSchemaId().getId());
        case "migrate":
            return bool(this.tx.migrateSchema(id(step)));
        case "copy": {
            final ObjIdMap<ObjId> map = new ObjIdMap<>(1);
            final ObjId from = new ObjId(text(step, "from"));
            map.put(from, new ObjId(text(step, "to")));
            return bool(this.tx.copy(from, this.tx, flag(step, "migrate"), true, new ObjIdMap<>(0), map));
        }
        case "all":
            return ids(step.has("type") ? this.tx.getAll(text(step, "type")) : this.tx.getAll());
        case "bySchema": {
            final JsonArray list = new JsonArray();
            for (Map.Entry<Integer, NavigableSet<ObjId>> entry : this.tx.querySchemaIndex().asMap().entrySet()) {
                final JsonArray row = new JsonArray();
                row.add(entry.getKey());
                row.add(ids(entry.getValue()));
                list.add(row);
            }
            return list;
        }
        case "index":
            return this.index(step);
        default:
            return this.field(op, step);
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
            config.schemaModel(this.schema(text(step, "schema")));
        config.allowNewSchema(!step.has("allowNew") || step.get("allowNew").getAsBoolean());
        if (step.has("removal"))
            config.schemaRemoval(TransactionConfig.SchemaRemoval.valueOf(text(step, "removal")));
        this.tx = config.build().newTransaction(this.db);
        final JsonObject result = new JsonObject();
        result.addProperty("schemaIndex", this.tx.getSchema().getSchemaIndex());
        return result;
    }

    private JsonElement check(KVTransaction kvt) {
        final JsonArray issues = new JsonArray();
        final JsckConfig config = new JsckConfig();
        config.setJsckLogger(null);
        config.setMaxIssues(100);
        new Jsck(config).check(kvt, issue -> issues.add(issue.toString()));
        return issues;
    }

    private SchemaModel schema(String name) {
        final SchemaModel model = this.schemas.get(name);
        if (model == null)
            throw new IllegalArgumentException("no schema " + name);
        final SchemaModel copy = model.clone();
        copy.lockDown(false);
        return copy;
    }

// Fields

    private JsonElement field(String op, JsonObject step) {
        final ObjId id = id(step);
        final String name = text(step, "field");
        final boolean migrate = flag(step, "migrate");
        final int dot = op.indexOf('.');
        final String kind = dot < 0 ? "simple" : op.substring(0, dot);
        switch (kind) {
        case "simple":
            return this.simple(op, step, id, name, migrate);
        case "counter":
            switch (op) {
            case "counter.get":
                return new JsonPrimitive(String.valueOf(this.tx.readCounterField(id, name, migrate)));
            case "counter.set":
                this.tx.writeCounterField(id, name, Long.parseLong(text(step, "value")), migrate);
                return ok();
            case "counter.adjust":
                this.tx.adjustCounterField(id, name, Long.parseLong(text(step, "value")), migrate);
                return ok();
            default:
                break;
            }
            break;
        case "set":
            return this.set(op, step, (NavigableSet<Object>)this.tx.readSetField(id, name, migrate),
              ((SetField<?>)this.definition(id, name)).getElementField().getEncoding());
        case "list":
            return this.list(op, step, (List<Object>)this.tx.readListField(id, name, migrate),
              ((ListField<?>)this.definition(id, name)).getElementField().getEncoding());
        case "map": {
            final NavigableMap<Object, Object> map = (NavigableMap<Object, Object>)this.tx.readMapField(id, name, migrate);
            final MapField<?, ?> field = (MapField<?, ?>)this.definition(id, name);
            return this.map(op, step, map, field.getKeyField().getEncoding(), field.getValueField().getEncoding());
        }
        default:
            break;
        }
        throw new IllegalStateException("unknown operation " + op);
    }

    private Field<?> definition(ObjId id, String name) {
        return this.tx.getObjType(id).getField(name);
    }

    private JsonElement simple(String op, JsonObject step, ObjId id, String name, boolean migrate) {
        switch (op) {
        case "get": {
            final Object value = this.tx.readSimpleField(id, name, migrate);
            return print(((SimpleField<?>)this.definition(id, name)).getEncoding(), value);
        }
        case "set": {
            if (!this.tx.exists(id)) {
                this.tx.writeSimpleField(id, name, null, migrate);
                throw new IllegalStateException("write to a missing object passed");
            }
            if (migrate)
                this.tx.migrateSchema(id);
            final Field<?> field = this.definition(id, name);
            if (!(field instanceof SimpleField))
                throw new IllegalStateException("not a simple field: " + name);
            this.tx.writeSimpleField(id, name, parse(((SimpleField<?>)field).getEncoding(), step.get("value")), migrate);
            return ok();
        }
        case "isDefault":
            return bool(this.definition(id, name).hasDefaultValue(this.tx, id));
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement set(String op, JsonObject step, NavigableSet<Object> set, Encoding<?> element) {
        switch (op) {
        case "set.add":
            return bool(set.add(parse(element, step.get("value"))));
        case "set.remove":
            return bool(set.remove(parse(element, step.get("value"))));
        case "set.contains":
            return bool(set.contains(parse(element, step.get("value"))));
        case "set.size":
            return new JsonPrimitive(set.size());
        case "set.clear":
            set.clear();
            return ok();
        case "set.list":
            return print(element, set);
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement list(String op, JsonObject step, List<Object> list, Encoding<?> element) {
        switch (op) {
        case "list.append":
            list.add(parse(element, step.get("value")));
            return ok();
        case "list.insert":
            list.add(step.get("index").getAsInt(), parse(element, step.get("value")));
            return ok();
        case "list.insertAll": {
            final List<Object> values = new ArrayList<>();
            for (JsonElement value : step.get("values").getAsJsonArray())
                values.add(parse(element, value));
            return bool(list.addAll(step.get("index").getAsInt(), values));
        }
        case "list.set":
            return print(element, list.set(step.get("index").getAsInt(), parse(element, step.get("value"))));
        case "list.get":
            return print(element, list.get(step.get("index").getAsInt()));
        case "list.remove":
            return print(element, list.remove(step.get("index").getAsInt()));
        case "list.removeValue":
            return bool(list.remove(parse(element, step.get("value"))));
        case "list.removeRange":
            list.subList(step.get("from").getAsInt(), step.get("to").getAsInt()).clear();
            return ok();
        case "list.indexOf":
            return new JsonPrimitive(list.indexOf(parse(element, step.get("value"))));
        case "list.size":
            return new JsonPrimitive(list.size());
        case "list.clear":
            list.clear();
            return ok();
        case "list.list":
            return print(element, list);
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement map(String op, JsonObject step, NavigableMap<Object, Object> map, Encoding<?> key, Encoding<?> value) {
        switch (op) {
        case "map.put":
            return print(value, map.put(parse(key, step.get("key")), parse(value, step.get("value"))));
        case "map.get":
            return print(value, map.get(parse(key, step.get("key"))));
        case "map.remove":
            return print(value, map.remove(parse(key, step.get("key"))));
        case "map.contains":
            return bool(map.containsKey(parse(key, step.get("key"))));
        case "map.size":
            return new JsonPrimitive(map.size());
        case "map.clear":
            map.clear();
            return ok();
        case "map.list": {
            final JsonArray list = new JsonArray();
            for (Map.Entry<Object, Object> entry : map.entrySet()) {
                final JsonArray pair = new JsonArray();
                pair.add(print(key, entry.getKey()));
                pair.add(print(value, entry.getValue()));
                list.add(pair);
            }
            return list;
        }
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

// Indexes

    /** All rows of an index in order; the columns are printed with the encodings of {@code type}'s {@code of} item. */
    private JsonElement index(JsonObject step) throws Exception {
        final int sid = step.get("sid").getAsInt();
        final AbstractCoreIndex<ObjId> index;
        switch (text(step, "kind")) {
        case "simple":
            index = this.tx.querySimpleIndex(sid);
            break;
        case "list":
            index = (AbstractCoreIndex)this.tx.queryListElementIndex(sid);
            break;
        case "mapValue":
            index = (AbstractCoreIndex)this.tx.queryMapValueIndex(sid);
            break;
        case "composite2":
            index = this.tx.queryCompositeIndex2(sid);
            break;
        case "composite3":
            index = this.tx.queryCompositeIndex3(sid);
            break;
        case "composite4":
            index = this.tx.queryCompositeIndex4(sid);
            break;
        default:
            throw new IllegalStateException("unknown kind of index");
        }
        final List<Encoding<?>> encodings = this.columns(text(step, "of"));
        final Iterable<Tuple> rows = (Iterable<Tuple>)index.getClass().getMethod("asSet").invoke(index);
        final JsonArray list = new JsonArray();
        for (Tuple row : rows) {
            final JsonArray columns = new JsonArray();
            int n = 0;
            for (Object column : row.asList()) {
                final Encoding<?> encoding = n < encodings.size() ? encodings.get(n) : null;
                n++;
                if (column instanceof ObjId && encoding == null)
                    columns.add(column.toString());
                else if (column instanceof Integer && encoding == null)
                    columns.add((Integer)column);
                else
                    columns.add(print(encoding, column));
            }
            list.add(columns);
        }
        return list;
    }

    /** Encodings of an index's columns; null stands for an object id or a position. */
    private List<Encoding<?>> columns(String of) {
        final Schema schema = this.tx.getSchema();
        final String type = of.substring(0, of.indexOf('.'));
        final String item = of.substring(of.indexOf('.') + 1);
        final List<Encoding<?>> encodings = new ArrayList<>();
        final Field<?> field = schema.getObjType(type).getFieldsAndSubFields().get(item);
        if (field instanceof SimpleField) {
            encodings.add(((SimpleField<?>)field).getEncoding());
            if (item.endsWith(".value")) {
                encodings.add(null);
                final Field<?> parent = schema.getObjType(type).getField(item.substring(0, item.lastIndexOf('.')));
                encodings.add(((MapField<?, ?>)parent).getKeyField().getEncoding());
            }
        } else {
            for (SimpleField<?> column : schema.getObjType(type).getCompositeIndex(item).getFields())
                encodings.add(column.getEncoding());
        }
        return encodings;
    }

// JSON

    private static JsonElement ok() {
        return new JsonPrimitive("ok");
    }

    private static JsonElement bool(boolean value) {
        return new JsonPrimitive(value);
    }

    private static String text(JsonObject step, String name) {
        return step.get(name).getAsString();
    }

    private static boolean flag(JsonObject step, String name) {
        return step.has(name) && step.get(name).getAsBoolean();
    }

    private static ObjId id(JsonObject step) {
        return new ObjId(text(step, "id"));
    }

    private static JsonArray ids(Iterable<ObjId> ids) {
        final JsonArray list = new JsonArray();
        for (ObjId id : ids)
            list.add(id.toString());
        return list;
    }

    private static Object parse(Encoding<?> encoding, JsonElement value) {
        return value == null || value.isJsonNull() ? null : encoding.fromString(value.getAsString());
    }

    private static JsonElement print(Encoding<?> encoding, Object value) {
        return value == null ? JsonNull.INSTANCE : new JsonPrimitive(((Encoding<Object>)encoding).toString(value));
    }

    private static JsonArray print(Encoding<?> encoding, Iterable<Object> values) {
        final JsonArray list = new JsonArray();
        for (Object value : values)
            list.add(print(encoding, value));
        return list;
    }
}
