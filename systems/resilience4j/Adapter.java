import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.github.resilience4j.core.functions.CheckedSupplier;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import io.github.resilience4j.retry.internal.RetryImpl;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Resilience4j's Retry around the JDK's HTTP client: one POST a call. */
final class Adapter implements Wire.Client {
    /** As it comes. */
    private static final RetryConfig DEFAULT = RetryConfig.ofDefaults();
    /** Repeats only what the documentation calls failed and was never sent: a refused connection. */
    private static final RetryConfig TUNED = RetryConfig.custom().retryExceptions(ConnectException.class).build();

    /** Versions of MCP: in the first a disconnect is a cancellation, the second has sessions. */
    private static final String PROTOCOL = "2026-07-28";
    private static final String SESSIONS = "2025-11-25";

    private static Wire.Call current; // the call in work: the sleep function is told of nothing but a time

    public static void main(String[] args) throws Exception {
        RetryConfig config = args.length > 0 && args[0].equals("tuned") ? TUNED : DEFAULT;
        RetryImpl.setSleepFunction(millis -> current.pause(Duration.ofMillis(millis), "back-off"));
        String version = Retry.class.getPackage().getImplementationVersion();
        new Wire(Map.of("resilience4j-retry", String.valueOf(version), "java", System.getProperty("java.version")),
            start -> new Adapter(start, Retry.of("tool", config))).serve();
    }

    private final Retry retry;
    private final HttpClient client = HttpClient.newHttpClient();
    private final boolean fresh;
    private final Duration timeout; // null: none
    private final Map<String, JsonObject> tools = new HashMap<>();
    private int requests;
    private String session; // of transport mcp-sessions; null: none is open

    private Adapter(JsonObject start, Retry retry) {
        this.retry = retry;
        JsonObject knobs = start.has("knobs") ? start.getAsJsonObject("knobs") : new JsonObject();
        fresh = knobs.has("fresh_connections") && knobs.get("fresh_connections").getAsBoolean();
        timeout = knobs.has("call_timeout_ms") ? Duration.ofMillis(knobs.get("call_timeout_ms").getAsLong()) : null;
        for (JsonElement tool : start.getAsJsonArray("tools")) {
            tools.put(tool.getAsJsonObject().get("name").getAsString(), tool.getAsJsonObject());
        }
    }

    @Override
    public Wire.Claim call(Wire.Call call) throws InterruptedException {
        current = call;
        String name = call.given().get("tool").getAsString();
        JsonObject tool = tools.get(name);
        if (tool == null) {
            return Wire.Claim.failed("tool " + name + " is not offered, expected one of " + tools.keySet());
        }
        String transport = tool.get("transport").getAsString();
        boolean mcp = transport.startsWith("mcp");
        if (!List.of("json", "mcp", "mcp-sessions").contains(transport)) {
            return Wire.Claim.failed("transport " + transport + " of tool " + name + ", expected json, mcp or mcp-sessions");
        }
        boolean readOnly = tool.has("read_only") && tool.get("read_only").getAsBoolean();
        HttpRequest request;
        try {
            request = !mcp ? jsonRequest(tool, call) : transport.equals("mcp") ? mcpRequest(tool, call) : sessionRequest(tool, call);
        } catch (IOException e) {
            return Wire.Claim.failed("no session, and so no call: " + e);
        }
        boolean[] left = {call.again()}; // whether anything of the call may have left, by an earlier process too
        CheckedSupplier<HttpResponse<String>> send = () -> attempt(call, request, left);
        try {
            HttpResponse<String> response = Retry.decorateCheckedSupplier(retry, send).get();
            if (transport.equals("mcp-sessions") && response.statusCode() == 404) {
                session = null;
                return readOnly ? Wire.Claim.failed("the session is gone") : Wire.Claim.unknown("the session is gone");
            }
            return read(response, mcp, readOnly, tool);
        } catch (Throwable e) {
            return !left[0] || readOnly ? Wire.Claim.failed(e.toString()) : Wire.Claim.unknown(e.toString());
        }
    }

    /** One attempt: what HttpClient.send does, with HttpRequest.timeout in virtual time. */
    private HttpResponse<String> attempt(Wire.Call call, HttpRequest request, boolean[] left) throws Exception {
        call.check();
        HttpClient http = fresh ? HttpClient.newHttpClient() : client;
        CompletableFuture<HttpResponse<String>> sent = http.sendAsync(request, BodyHandlers.ofString());
        boolean[] late = {false};
        try (AutoCloseable alarm = call.alarm(timeout, () -> { late[0] = true; sent.cancel(true); })) {
            HttpResponse<String> response = sent.get();
            left[0] = true;
            return response;
        } catch (CancellationException e) {
            left[0] = true;
            throw late[0] ? new HttpTimeoutException("request timed out") : e;
        } catch (InterruptedException e) {
            left[0] = true;
            sent.cancel(true);
            throw e;
        } catch (ExecutionException e) {
            if (late[0]) {
                left[0] = true;
                throw new HttpTimeoutException("request timed out");
            }
            if (!(e.getCause() instanceof ConnectException)) {
                left[0] = true;
            }
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static HttpRequest.Builder post(String url, JsonObject body) {
        return HttpRequest.newBuilder(URI.create(url)).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(new Gson().toJson(body)));
    }

    private HttpRequest jsonRequest(JsonObject tool, Wire.Call call) {
        JsonObject body = new JsonObject();
        body.add("arguments", call.given().get("args"));
        body.add("call_id", call.given().get("id"));
        body.addProperty("request_id", String.valueOf(++requests));
        return post(tool.get("address").getAsString() + "/tools/" + tool.get("name").getAsString(), body).build();
    }

    private static JsonObject rpc(String method, JsonObject params) {
        JsonObject body = new JsonObject();
        body.addProperty("jsonrpc", "2.0");
        body.addProperty("method", method);
        body.add("params", params);
        return body;
    }

    private static HttpRequest.Builder mcpPost(JsonObject tool, JsonObject body, String protocol) {
        return post(tool.get("address").getAsString(), body).header("Accept", "application/json, text/event-stream")
            .header("Mcp-Protocol-Version", protocol);
    }

    private JsonObject toolCall(JsonObject tool, Wire.Call call, JsonObject meta) {
        meta.add("sixthcopy/call_id", call.given().get("id"));
        JsonObject params = new JsonObject();
        params.add("name", tool.get("name"));
        params.add("arguments", call.given().get("args"));
        params.add("_meta", meta);
        JsonObject body = rpc("tools/call", params);
        body.addProperty("id", ++requests);
        return body;
    }

    private HttpRequest mcpRequest(JsonObject tool, Wire.Call call) {
        JsonObject meta = new JsonObject();
        meta.addProperty("io.modelcontextprotocol/protocolVersion", PROTOCOL);
        meta.add("io.modelcontextprotocol/clientCapabilities", new JsonObject());
        return mcpPost(tool, toolCall(tool, call, meta), PROTOCOL)
            .header("Mcp-Method", "tools/call").header("Mcp-Name", tool.get("name").getAsString()).build();
    }

    /** The call in a session, which is opened first where there is none; no retry layer sends what opens it. */
    private HttpRequest sessionRequest(JsonObject tool, Wire.Call call) throws IOException, InterruptedException {
        if (session == null) {
            JsonObject about = new JsonObject();
            about.addProperty("name", "sixthcopy-resilience4j");
            about.addProperty("version", "1");
            JsonObject params = new JsonObject();
            params.addProperty("protocolVersion", SESSIONS);
            params.add("capabilities", new JsonObject());
            params.add("clientInfo", about);
            JsonObject hello = rpc("initialize", params);
            hello.addProperty("id", 0);
            session = client.send(mcpPost(tool, hello, SESSIONS).build(), BodyHandlers.ofString()).headers().firstValue("Mcp-Session-Id")
                .orElseThrow(() -> new IOException("the answer to initialize names none"));
            client.send(mcpPost(tool, rpc("notifications/initialized", new JsonObject()), SESSIONS).header("Mcp-Session-Id", session).build(),
                BodyHandlers.discarding());
        }
        return mcpPost(tool, toolCall(tool, call, new JsonObject()), SESSIONS).header("Mcp-Session-Id", session).build();
    }

    /** The claim that an answer allows: by the tool's own word, else by the status. */
    private static Wire.Claim read(HttpResponse<String> response, boolean mcp, boolean readOnly, JsonObject tool) {
        JsonObject said = answer(response, mcp);
        String status = text(said, "status");
        String detail = "HTTP " + response.statusCode() + ": " + text(said, "message");
        List<String> receipts = new ArrayList<>();
        if (said.get("receipts") instanceof JsonArray ids) {
            ids.forEach(id -> receipts.add(id.getAsString()));
        }
        JsonObject contract = tool.getAsJsonObject("contract");
        boolean typed = contract != null && contract.has("errors_typed") && contract.get("errors_typed").getAsBoolean();
        int code = response.statusCode();
        return switch (status) {
            case "done", "partial" -> new Wire.Claim(status, receipts, detail);
            case "refused" -> Wire.Claim.failed(detail);
            case "not_executed" -> typed || readOnly ? Wire.Claim.failed(detail) : Wire.Claim.unknown(detail);
            case "" -> readOnly || code / 100 == 4 && code != 408 && code != 409 && code != 429
                ? Wire.Claim.failed(detail) : Wire.Claim.unknown(detail);
            default -> readOnly ? Wire.Claim.failed(detail) : Wire.Claim.unknown(detail); // unknown, conflict
        };
    }

    /** The tool's answer: the body, or the structured content of the last event; empty if there is none. */
    private static JsonObject answer(HttpResponse<String> response, boolean mcp) {
        String text = response.body();
        if (response.headers().firstValue("Content-Type").orElse("").startsWith("text/event-stream")) {
            int last = text.lastIndexOf("\n\n"); // an event that no empty line ends is half of one
            int begin = last < 0 ? -1 : text.lastIndexOf("data:", last);
            text = begin < 0 ? "" : text.substring(begin + 5, last);
        }
        try {
            JsonObject body = JsonParser.parseString(text).getAsJsonObject();
            if (!mcp) {
                return body;
            }
            JsonObject result = body.getAsJsonObject("result");
            if (result == null) {
                return new JsonObject();
            }
            return result.has("structuredContent") ? result.getAsJsonObject("structuredContent") : new JsonObject();
        } catch (JsonParseException | IllegalStateException | ClassCastException e) {
            return new JsonObject();
        }
    }

    private static String text(JsonObject from, String field) {
        JsonElement value = from.get(field);
        return value == null || value.isJsonNull() ? "" : value.getAsString();
    }
}
