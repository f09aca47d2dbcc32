package interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.permazen.encoding.DefaultEncodingRegistry;
import io.permazen.encoding.Encoding;
import io.permazen.encoding.EncodingId;
import io.permazen.util.ByteData;

import java.util.function.Supplier;

/**
 * Texts, bytes and conversions of the registered encodings.
 *
 * <p>
 * The answer to each is the bytes and the text of the value, or the text of the error if it is refused.
 */
@SuppressWarnings("unchecked")
final class Encodings {

    private final DefaultEncodingRegistry registry = new DefaultEncodingRegistry();

    JsonElement perform(JsonObject step) {
        final Encoding<Object> encoding = this.find(Text.member(step, "encoding"));
        final JsonArray answers = new JsonArray();
        for (JsonElement text : list(step, "texts"))
            answers.add(answer(encoding, () -> encoding.fromString(text.getAsString())));
        for (JsonElement bytes : list(step, "bytes"))
            answers.add(answer(encoding, () -> encoding.decode(ByteData.fromHex(bytes.getAsString()))));
        for (JsonElement item : list(step, "conversions")) {
            final JsonArray pair = item.getAsJsonArray();
            final Encoding<Object> from = this.find(pair.get(0).getAsString());
            answers.add(answer(encoding,
              () -> encoding.convert(from, from.decode(ByteData.fromHex(pair.get(1).getAsString())))));
        }
        return answers;
    }

    private static JsonArray list(JsonObject step, String name) {
        return step.has(name) ? step.get(name).getAsJsonArray() : new JsonArray();
    }

    private Encoding<Object> find(String id) {
        return (Encoding<Object>)this.registry.getEncoding(new EncodingId(id));
    }

    /** A value counts only if it can be written and read again. */
    private static JsonElement answer(Encoding<Object> encoding, Supplier<Object> supplier) {
        try {
            final ByteData bytes = encoding.encode(supplier.get());
            final Object value = encoding.decode(bytes);
            if (!encoding.encode(value).equals(bytes))
                return new JsonPrimitive("reads back as another value");
            final JsonArray answer = new JsonArray();
            answer.add(bytes.toHex());
            answer.add(value == null ? JsonNull.INSTANCE : new JsonPrimitive(encoding.toString(value)));
            return answer;
        } catch (Exception | StackOverflowError e) {
            return new JsonPrimitive(String.valueOf(e));
        }
    }
}
