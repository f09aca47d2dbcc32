package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import io.permazen.core.AbstractCoreIndex;
import io.permazen.core.ObjId;
import io.permazen.core.Transaction;
import io.permazen.encoding.Encoding;
import io.permazen.index.Index;
import io.permazen.tuple.Tuple;
import io.permazen.tuple.Tuple2;
import io.permazen.tuple.Tuple3;
import io.permazen.tuple.Tuple4;
import io.permazen.util.Bounds;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;

/** Index queries of one transaction. */
@SuppressWarnings({ "unchecked", "rawtypes" })
final class Indexes {

    private final Transaction tx;

    Indexes(Transaction tx) {
        this.tx = tx;
    }

    JsonElement query(JsonObject step) throws Exception {
        final AbstractCoreIndex<?> whole = this.index(step);
        final List<Encoding<?>> encodings = whole.getEncodings();
        Index<?> index = whole;
        if (step.has("bounds")) {
            for (int i = 0; i < encodings.size(); i++) {
                final JsonElement bounds = step.get("bounds").getAsJsonArray().get(i);
                if (!bounds.isJsonNull())
                    index = restrict(index, i, encodings.size(), Text.bounds(encodings.get(i), bounds.getAsJsonObject()));
            }
        }
        final boolean reverse = Text.flag(step, "reverse");
        final int limit = step.has("limit") ? step.get("limit").getAsInt() : Integer.MAX_VALUE;
        final JsonArray rows = new JsonArray();
        switch (Text.member(step, "view")) {
        case "entries":
            for (Object row : inOrder(set(index), reverse)) {
                if (rows.size() >= limit)
                    break;
                rows.add(print(encodings, parts(row)));
            }
            return rows;
        case "map":
            for (Map.Entry<Object, NavigableSet<Object>> entry : (reverse ? map(index).descendingMap() : map(index)).entrySet()) {
                if (rows.size() >= limit)
                    break;
                final JsonArray row = print(encodings, parts(entry.getKey()));
                row.add(this.last(encodings, entry.getValue()));
                rows.add(row);
            }
            return rows;
        case "get": {
            final JsonArray key = step.get("key").getAsJsonArray();
            final List<Object> values = new ArrayList<>();
            for (int i = 0; i < key.size(); i++)
                values.add(Text.parse(encodings.get(i), key.get(i)));
            final NavigableSet<Object> found = map(index).get(tuple(values));
            return found == null ? JsonNull.INSTANCE : this.last(encodings, inOrder(found, reverse));
        }
        case "distinct":
            for (Object row : inOrder(distinct(index, step.get("columns").getAsInt(), encodings.size(), step.has("bounds")), reverse)) {
                if (rows.size() >= limit)
                    break;
                rows.add(print(encodings, parts(row)));
            }
            return rows;
        default:
            throw new IllegalStateException("unknown view");
        }
    }

    private AbstractCoreIndex<?> index(JsonObject step) {
        final int sid = step.get("sid").getAsInt();
        switch (Text.member(step, "kind")) {
        case "simple":
            return this.tx.querySimpleIndex(sid);
        case "list":
            return (AbstractCoreIndex)this.tx.queryListElementIndex(sid);
        case "mapValue":
            return (AbstractCoreIndex)this.tx.queryMapValueIndex(sid);
        case "composite2":
            return this.tx.queryCompositeIndex2(sid);
        case "composite3":
            return this.tx.queryCompositeIndex3(sid);
        case "composite4":
            return this.tx.queryCompositeIndex4(sid);
        default:
            throw new IllegalStateException("unknown kind of index");
        }
    }

    private static Index<?> restrict(Index<?> index, int column, int columns, Bounds<Object> bounds) throws Exception {
        final String name = column == columns - 1 ? "withTargetBounds"
          : columns == 2 ? "withValueBounds" : "withValue" + (column + 1) + "Bounds";
        return (Index<?>)call(index, name, bounds);
    }

    /**
     * The distinct combinations of the first {@code n} of {@code columns} columns. A prefix of the index forgets bounds of
     * the columns it drops; the keys of its maps do not.
     */
    private static NavigableSet<Object> distinct(Index<?> index, int n, int columns, boolean bounded) throws Exception {
        if (n == columns)
            return set(index);
        if (n > 1 && !bounded)
            return set((Index<?>)call(index, "asIndex" + (n - 1)));
        final String name = n == columns - 1 ? "asMap" : "asMapOfIndex" + (columns - n - 1);
        return ((NavigableMap<Object, ?>)call(index, name)).navigableKeySet();
    }

    private static NavigableSet<Object> set(Index<?> index) throws Exception {
        return (NavigableSet<Object>)call(index, "asSet");
    }

    private static NavigableMap<Object, NavigableSet<Object>> map(Index<?> index) throws Exception {
        return (NavigableMap<Object, NavigableSet<Object>>)call(index, "asMap");
    }

    private static Object call(Index<?> index, String name, Object... arguments) throws Exception {
        final Class<?>[] types = new Class<?>[arguments.length];
        Arrays.fill(types, Bounds.class);
        try {
            return index.getClass().getMethod(name, types).invoke(index, arguments);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause() instanceof Exception ? (Exception)e.getCause() : e;
        }
    }

    private static Object tuple(List<Object> values) {
        switch (values.size()) {
        case 1:
            return values.get(0);
        case 2:
            return new Tuple2<>(values.get(0), values.get(1));
        case 3:
            return new Tuple3<>(values.get(0), values.get(1), values.get(2));
        default:
            return new Tuple4<>(values.get(0), values.get(1), values.get(2), values.get(3));
        }
    }

    private static List<Object> parts(Object row) {
        return row instanceof Tuple ? (List<Object>)((Tuple)row).asList() : Arrays.asList(row);
    }

    private static Iterable<Object> inOrder(NavigableSet<Object> set, boolean reverse) {
        return reverse ? set.descendingSet() : set;
    }

    private JsonArray last(List<Encoding<?>> encodings, Iterable<Object> values) {
        final JsonArray list = new JsonArray();
        for (Object value : values)
            list.add(column(encodings.get(encodings.size() - 1), value));
        return list;
    }

    private static JsonArray print(List<Encoding<?>> encodings, List<Object> values) {
        final JsonArray list = new JsonArray();
        for (int i = 0; i < values.size(); i++)
            list.add(column(encodings.get(i), values.get(i)));
        return list;
    }

    /** Positions, whose encoding has no id, are numbers; object ids are texts like other values. */
    private static JsonElement column(Encoding<?> encoding, Object value) {
        if (value instanceof Integer && encoding.getEncodingId() == null)
            return Text.number((Integer)value);
        return value instanceof ObjId ? new com.google.gson.JsonPrimitive(value.toString()) : Text.print(encoding, value);
    }
}
