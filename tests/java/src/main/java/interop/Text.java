package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.permazen.core.ObjId;
import io.permazen.encoding.Encoding;
import io.permazen.util.BoundType;
import io.permazen.util.Bounds;

/** Values as texts of their encodings, and the members of steps. */
@SuppressWarnings("unchecked")
final class Text {

    private Text() {
    }

    static JsonElement ok() {
        return new JsonPrimitive("ok");
    }

    static JsonElement bool(boolean value) {
        return new JsonPrimitive(value);
    }

    static JsonElement number(int value) {
        return new JsonPrimitive(value);
    }

    static String member(JsonObject step, String name) {
        return step.get(name).getAsString();
    }

    static boolean flag(JsonObject step, String name) {
        return step.has(name) && step.get(name).getAsBoolean();
    }

    static ObjId id(JsonObject step) {
        return new ObjId(member(step, "id"));
    }

    static JsonArray ids(Iterable<ObjId> ids) {
        final JsonArray list = new JsonArray();
        for (ObjId id : ids)
            list.add(id.toString());
        return list;
    }

    static Object parse(Encoding<?> encoding, JsonElement value) {
        return value == null || value.isJsonNull() ? null : encoding.fromString(value.getAsString());
    }

    static JsonElement print(Encoding<?> encoding, Object value) {
        return value == null ? JsonNull.INSTANCE : new JsonPrimitive(((Encoding<Object>)encoding).toString(value));
    }

    static JsonArray print(Encoding<?> encoding, Iterable<Object> values) {
        final JsonArray list = new JsonArray();
        for (Object value : values)
            list.add(print(encoding, value));
        return list;
    }

    /** The bounds {@code min} and {@code max} of {@code object}, each a value and whether it belongs to the range. */
    static Bounds<Object> bounds(Encoding<?> encoding, JsonObject object) {
        Bounds<Object> bounds = new Bounds<>();
        if (object.has("min")) {
            final JsonArray min = object.get("min").getAsJsonArray();
            bounds = bounds.withLowerBound(parse(encoding, min.get(0)), BoundType.of(min.get(1).getAsBoolean()));
        }
        if (object.has("max")) {
            final JsonArray max = object.get("max").getAsJsonArray();
            bounds = bounds.withUpperBound(parse(encoding, max.get(0)), BoundType.of(max.get(1).getAsBoolean()));
        }
        return bounds;
    }
}
