package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.permazen.core.Field;
import io.permazen.core.ListField;
import io.permazen.core.MapField;
import io.permazen.core.ObjId;
import io.permazen.core.SetField;
import io.permazen.core.SimpleField;
import io.permazen.core.Transaction;
import io.permazen.encoding.Encoding;
import io.permazen.util.Bounds;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;

/** Operations on fields in one transaction. */
@SuppressWarnings("unchecked")
final class Fields {

    private final Transaction tx;

    Fields(Transaction tx) {
        this.tx = tx;
    }

    JsonElement perform(String op, JsonObject step) {
        final ObjId id = Text.id(step);
        final String name = Text.member(step, "field");
        final boolean migrate = Text.flag(step, "migrate");
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
                this.tx.writeCounterField(id, name, Long.parseLong(Text.member(step, "value")), migrate);
                return Text.ok();
            case "counter.adjust":
                this.tx.adjustCounterField(id, name, Long.parseLong(Text.member(step, "value")), migrate);
                return Text.ok();
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
            return Text.print(((SimpleField<?>)this.definition(id, name)).getEncoding(), value);
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
            this.tx.writeSimpleField(id, name, Text.parse(((SimpleField<?>)field).getEncoding(), step.get("value")), migrate);
            return Text.ok();
        }
        case "isDefault":
            return Text.bool(this.definition(id, name).hasDefaultValue(this.tx, id));
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement set(String op, JsonObject step, NavigableSet<Object> set, Encoding<?> element) {
        switch (op) {
        case "set.add":
            return Text.bool(set.add(Text.parse(element, step.get("value"))));
        case "set.remove":
            return Text.bool(set.remove(Text.parse(element, step.get("value"))));
        case "set.contains":
            return Text.bool(set.contains(Text.parse(element, step.get("value"))));
        case "set.size":
            return Text.number(set.size());
        case "set.clear":
            range(set, Text.bounds(element, step)).clear();
            return Text.ok();
        case "set.list": {
            final NavigableSet<Object> part = range(set, Text.bounds(element, step));
            return Text.print(element, Text.flag(step, "reverse") ? part.descendingSet() : part);
        }
        case "set.near": {
            final JsonArray near = new JsonArray();
            for (Object value : beside(set, Text.member(step, "how"), Text.parse(element, step.get("value")))) {
                near.add(Text.print(element, value));
                break;
            }
            return near;
        }
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement list(String op, JsonObject step, List<Object> list, Encoding<?> element) {
        switch (op) {
        case "list.append":
            list.add(Text.parse(element, step.get("value")));
            return Text.ok();
        case "list.insert":
            list.add(step.get("index").getAsInt(), Text.parse(element, step.get("value")));
            return Text.ok();
        case "list.insertAll": {
            final List<Object> values = new ArrayList<>();
            for (JsonElement value : step.get("values").getAsJsonArray())
                values.add(Text.parse(element, value));
            return Text.bool(list.addAll(step.get("index").getAsInt(), values));
        }
        case "list.set":
            return Text.print(element, list.set(step.get("index").getAsInt(), Text.parse(element, step.get("value"))));
        case "list.get":
            return Text.print(element, list.get(step.get("index").getAsInt()));
        case "list.remove":
            return Text.print(element, list.remove(step.get("index").getAsInt()));
        case "list.removeValue":
            return Text.bool(list.remove(Text.parse(element, step.get("value"))));
        case "list.removeRange":
            list.subList(step.get("from").getAsInt(), step.get("to").getAsInt()).clear();
            return Text.ok();
        case "list.indexOf":
            return Text.number(list.indexOf(Text.parse(element, step.get("value"))));
        case "list.size":
            return Text.number(list.size());
        case "list.clear":
            list.clear();
            return Text.ok();
        case "list.list":
            return Text.print(element, list);
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

    private JsonElement map(String op, JsonObject step, NavigableMap<Object, Object> map, Encoding<?> key, Encoding<?> value) {
        switch (op) {
        case "map.put":
            return Text.print(value, map.put(Text.parse(key, step.get("key")), Text.parse(value, step.get("value"))));
        case "map.get":
            return Text.print(value, map.get(Text.parse(key, step.get("key"))));
        case "map.remove":
            return Text.print(value, map.remove(Text.parse(key, step.get("key"))));
        case "map.contains":
            return Text.bool(map.containsKey(Text.parse(key, step.get("key"))));
        case "map.size":
            return Text.number(map.size());
        case "map.clear":
            range(map, Text.bounds(key, step)).clear();
            return Text.ok();
        case "map.list": {
            final NavigableMap<Object, Object> part = range(map, Text.bounds(key, step));
            final JsonArray list = new JsonArray();
            for (Map.Entry<Object, Object> entry : (Text.flag(step, "reverse") ? part.descendingMap() : part).entrySet()) {
                final JsonArray pair = new JsonArray();
                pair.add(Text.print(key, entry.getKey()));
                pair.add(Text.print(value, entry.getValue()));
                list.add(pair);
            }
            return list;
        }
        case "map.near": {
            final JsonArray near = new JsonArray();
            for (Object k : beside(map.navigableKeySet(), Text.member(step, "how"), Text.parse(key, step.get("key")))) {
                near.add(Text.print(key, k));
                near.add(Text.print(value, map.get(k)));
                break;
            }
            return near;
        }
        default:
            throw new IllegalStateException("unknown operation " + op);
        }
    }

// Ranges

    private static NavigableSet<Object> range(NavigableSet<Object> set, Bounds<Object> bounds) {
        if (bounds.hasLowerBound())
            set = set.tailSet(bounds.getLowerBound(), bounds.getLowerBoundType().isInclusive());
        if (bounds.hasUpperBound())
            set = set.headSet(bounds.getUpperBound(), bounds.getUpperBoundType().isInclusive());
        return set;
    }

    private static NavigableMap<Object, Object> range(NavigableMap<Object, Object> map, Bounds<Object> bounds) {
        if (bounds.hasLowerBound())
            map = map.tailMap(bounds.getLowerBound(), bounds.getLowerBoundType().isInclusive());
        if (bounds.hasUpperBound())
            map = map.headMap(bounds.getUpperBound(), bounds.getUpperBoundType().isInclusive());
        return map;
    }

    /** What lies on one side of a value, the nearest first. */
    private static NavigableSet<Object> beside(NavigableSet<Object> set, String how, Object value) {
        switch (how) {
        case "lower":
            return set.headSet(value, false).descendingSet();
        case "floor":
            return set.headSet(value, true).descendingSet();
        case "ceiling":
            return set.tailSet(value, true);
        default:
            return set.tailSet(value, false);
        }
    }
}
