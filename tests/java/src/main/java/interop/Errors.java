package interop;

import com.google.gson.JsonObject;

import io.permazen.core.DeletedObjectException;
import io.permazen.core.InconsistentDatabaseException;
import io.permazen.core.InvalidReferenceException;
import io.permazen.core.InvalidSchemaException;
import io.permazen.core.ReferencedObjectException;
import io.permazen.core.RollbackOnlyTransactionException;
import io.permazen.core.SchemaMismatchException;
import io.permazen.core.StaleTransactionException;
import io.permazen.core.TypeNotInSchemaException;
import io.permazen.core.UnknownFieldException;
import io.permazen.core.UnknownIndexException;
import io.permazen.core.UnknownTypeException;

import java.util.Set;

/** Names for the kinds of failure, the same on both sides. */
final class Errors {

    private static final Set<String> TAKES_A_VALUE = Set.of(
      "set", "set.add", "list.append", "list.insert", "list.insertAll", "list.set", "map.put");

    private Errors() {
    }

    /** Writes the kind of failure into {@code answer}, the objects and fields it names, and its text for people. */
    static void describe(Throwable e, String op, JsonObject answer) {
        answer.addProperty("error", kind(e, op));
        answer.addProperty("message", String.valueOf(e));
        final JsonObject detail = new JsonObject();
        if (e instanceof DeletedObjectException)
            detail.addProperty("id", ((DeletedObjectException)e).getId().toString());
        if (e instanceof TypeNotInSchemaException)
            detail.addProperty("id", ((TypeNotInSchemaException)e).getObjId().toString());
        if (e instanceof ReferencedObjectException) {
            detail.addProperty("id", ((ReferencedObjectException)e).getId().toString());
            detail.addProperty("referrer", ((ReferencedObjectException)e).getReferrer().toString());
            detail.addProperty("field", ((ReferencedObjectException)e).getFieldName());
        }
        answer.add("detail", detail);
    }

    private static String kind(Throwable e, String op) {
        if (e instanceof DeletedObjectException)
            return "deleted-object";
        if (e instanceof ReferencedObjectException)
            return "referenced-object";
        if (e instanceof TypeNotInSchemaException)
            return "type-not-in-schema";
        if (e instanceof UnknownTypeException)
            return "unknown-type";
        if (e instanceof UnknownFieldException)
            return "unknown-field";
        if (e instanceof UnknownIndexException)
            return "unknown-index";
        if (e instanceof SchemaMismatchException)
            return "schema-mismatch";
        if (e instanceof InvalidSchemaException)
            return "invalid-schema";
        if (e instanceof InconsistentDatabaseException)
            return "inconsistent-database";
        if (e instanceof StaleTransactionException)
            return "stale-transaction";
        if (e instanceof RollbackOnlyTransactionException)
            return "rollback-only";
        if (e instanceof IndexOutOfBoundsException)
            return "index-out-of-range";
        if (e instanceof IllegalArgumentException) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof InvalidReferenceException)
                    return "invalid-reference";
            }
            return TAKES_A_VALUE.contains(op) ? "invalid-value" : "illegal-argument";
        }
        if (e instanceof UnsupportedOperationException)
            return "unsupported";
        return "failure: " + e;
    }
}
