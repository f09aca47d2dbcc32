package interop;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Reads one JSON step a line, performs it with Permazen for Java, and answers with one JSON line. */
public final class Driver {

    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        final Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        final Steps steps = new Steps();
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            final JsonObject step = JsonParser.parseString(line).getAsJsonObject();
            final JsonObject answer = new JsonObject();
            try {
                answer.add("expect", steps.perform(step));
            } catch (Throwable e) {
                answer.addProperty("error", Errors.kind(e, step.get("op").getAsString()));
                answer.add("message", new JsonPrimitive(String.valueOf(e)));
            }
            out.println(gson.toJson(answer));
            out.flush();
        }
    }
}
