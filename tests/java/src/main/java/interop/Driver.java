package interop;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Reads a list of steps in JSON a line, performs them with Permazen for Java, and answers with a line holding the list of answers. */
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
            final JsonArray answers = new JsonArray();
            for (JsonElement step : JsonParser.parseString(line).getAsJsonArray())
                answers.add(answer(steps, step.getAsJsonObject()));
            out.println(gson.toJson(answers));
            out.flush();
        }
    }

    private static JsonObject answer(Steps steps, JsonObject step) {
        final JsonObject answer = new JsonObject();
        try {
            answer.add("expect", steps.perform(step));
        } catch (Throwable e) {
            Errors.describe(e, step.get("op").getAsString(), answer);
        }
        return answer;
    }
}
