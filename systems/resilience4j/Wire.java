import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The wire contract (docs/wire-contract.md) for a client in Java: orders come on stdin and are acknowledged
 * by the main thread, calls are made one after another by a worker, and time is what orders say it is.
 */
final class Wire {
    /** What becomes of one call. */
    interface Client {
        Claim call(Call call) throws InterruptedException;
    }

    /** Makes the client of a trial. */
    interface Opener {
        Client open(JsonObject start);
    }

    record Claim(String outcome, List<String> receipts, String detail) {
        static Claim failed(String detail) { return new Claim("failed", List.of(), detail); }
        static Claim unknown(String detail) { return new Claim("unknown", List.of(), detail); }
    }

    /** A call that was given, or the repair of one. */
    record Call(Trial trial, String turn, int ordinal, JsonObject given, boolean again) {
        /** Waits until that much virtual time has passed. */
        void pause(Duration time, String why) throws InterruptedException {
            synchronized (trial) {
                Instant until = trial.now.plus(time);
                trial.say("wait", turn, ordinal, "until", until.toString(), "why", why);
                while (trial.now.isBefore(until) && !trial.stopped(this)) {
                    trial.wait();
                }
                if (trial.stopped(this)) {
                    trial.say("wait", turn, ordinal);
                    throw new InterruptedException("the call was cancelled");
                }
            }
        }

        /** Runs ring when that much virtual time has passed, unless the alarm is closed before; null: never. */
        AutoCloseable alarm(Duration time, Runnable ring) {
            if (time == null) {
                return () -> { };
            }
            synchronized (trial) {
                Alarm alarm = new Alarm(trial.now.plus(time), ring);
                trial.alarms.add(alarm);
                trial.say("wait", turn, ordinal, "until", alarm.until.toString(), "why", "time-out");
                return () -> {
                    synchronized (trial) {
                        if (trial.alarms.remove(alarm)) {
                            trial.say("wait", turn, ordinal);
                        }
                    }
                };
            }
        }

        /** Stops the call before anything more is sent, if it was cancelled. */
        void check() throws InterruptedException {
            synchronized (trial) {
                if (trial.stopped(this)) {
                    throw new InterruptedException("the call was cancelled");
                }
            }
        }

        private String ref() { return turn + "/" + ordinal; }
    }

    private record Alarm(Instant until, Runnable ring) { }

    /** An open trial. Its lock guards all that is in it. */
    final class Trial {
        private final Client client;
        private final Thread worker = new Thread(this::work, "calls");
        private final ArrayDeque<Call> queue = new ArrayDeque<>(); // null in a call's place: nothing but the idle that follows
        private final Set<String> cancelled = new HashSet<>();
        private final Set<Alarm> alarms = new HashSet<>();
        private Instant now;
        private int seq;
        private Call open;
        private int waiting; // orders that owe an idle
        private boolean closed;

        Trial(Client client, Instant now) {
            this.client = client;
            this.now = now;
            worker.setDaemon(true);
        }

        private boolean stopped(Call call) { return closed || cancelled.contains(call.ref()); }

        private void say(String type, String turn, int ordinal, String... more) {
            JsonObject word = word(type);
            word.addProperty("turn", turn);
            word.addProperty("call", ordinal);
            for (int i = 0; i < more.length; i += 2) {
                word.addProperty(more[i], more[i + 1]);
            }
            if (!closed) {
                Wire.this.say(word);
            }
        }

        /** Takes one order after its acknowledgement was written; the caller holds the lock. */
        private void take(String type, JsonObject order) {
            for (Alarm alarm : List.copyOf(alarms)) {
                if (!alarm.until.isAfter(now)) {
                    alarms.remove(alarm);
                    alarm.ring.run();
                }
            }
            switch (type) {
                case "turn" -> {
                    JsonObject turn = order.getAsJsonObject("turn");
                    boolean again = turn.has("redelivered") && turn.get("redelivered").getAsBoolean();
                    JsonArray calls = turn.has("calls") ? turn.getAsJsonArray("calls") : new JsonArray();
                    for (JsonElement call : calls) {
                        hand(turn.get("id").getAsString(), call.getAsJsonObject().get("ordinal").getAsInt(), call.getAsJsonObject(), again);
                    }
                }
                case "repair" -> {
                    JsonObject repair = order.getAsJsonObject("repair");
                    hand(repair.get("turn").getAsString(), repair.get("ordinal").getAsInt(), repair.getAsJsonObject("call"), true);
                }
                case "cancel" -> {
                    JsonObject cancel = order.getAsJsonObject("cancel");
                    String ref = cancel.get("turn").getAsString() + "/" + cancel.get("ordinal").getAsInt();
                    cancelled.add(ref);
                    if (open != null && open.ref().equals(ref)) {
                        worker.interrupt(); // the HTTP client drops the connection of an interrupted request
                    }
                }
                default -> { } // a clock, or what this system cannot: it owes no more than the idle
            }
            waiting += type.equals("clock") ? 0 : 1;
            notifyAll();
        }

        private void hand(String turn, int ordinal, JsonObject given, boolean again) {
            Call call = new Call(this, turn, ordinal, given, again);
            cancelled.remove(call.ref());
            queue.add(call);
        }

        /** Makes the calls, and says idle when there are no more. */
        private void work() {
            while (true) {
                Call call;
                synchronized (this) {
                    while (queue.isEmpty() && !closed) {
                        if (waiting > 0) {
                            waiting = 0;
                            Wire.this.say(word("finished"));
                            JsonObject idle = word("idle");
                            idle.addProperty("seq", seq);
                            Wire.this.say(idle);
                        }
                        try {
                            wait();
                        } catch (InterruptedException e) {
                            // by close, or late by a cancel: what there is to do is looked at again
                        }
                    }
                    if (closed) {
                        return;
                    }
                    call = queue.remove();
                    open = call;
                }
                Claim claim;
                try {
                    call.check();
                    claim = client.call(call);
                } catch (InterruptedException e) {
                    claim = Claim.failed("cancelled before anything was sent");
                } catch (RuntimeException e) {
                    claim = Claim.unknown("the adapter broke: " + e);
                }
                synchronized (this) {
                    open = null;
                    Thread.interrupted(); // what was meant for this call ends with it
                    JsonArray receipts = new JsonArray();
                    claim.receipts.forEach(receipts::add);
                    JsonObject word = word("claim");
                    word.addProperty("turn", call.turn);
                    word.addProperty("call", call.ordinal);
                    word.addProperty("outcome", claim.outcome);
                    word.add("receipts", receipts);
                    word.addProperty("detail", claim.detail);
                    if (!closed) {
                        Wire.this.say(word);
                    }
                }
            }
        }

        private void close() {
            synchronized (this) {
                closed = true;
                worker.interrupt();
                notifyAll();
            }
            try {
                worker.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e); // nobody interrupts the main thread
            }
        }
    }

    private static final List<String> CAN = List.of("cancel", "clock", "repair", "reset", "timeout", "turn", "wait");

    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private final Gson gson = new Gson();
    private final Map<String, String> versions;
    private final Opener opener;
    private Trial trial;

    Wire(Map<String, String> versions, Opener opener) {
        this.versions = new HashMap<>(versions);
        this.opener = opener;
        System.setOut(System.err); // stdout carries words and nothing else
    }

    private static JsonObject word(String type) {
        JsonObject word = new JsonObject();
        word.addProperty("type", type);
        return word;
    }

    private synchronized void say(JsonObject word) {
        out.print(gson.toJson(word) + "\n");
        out.flush();
    }

    private void ack(JsonObject order) {
        JsonObject ack = word("ack");
        ack.add("seq", order.get("seq"));
        say(ack);
    }

    /** Serves trials until stdin ends. */
    void serve() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonObject order = JsonParser.parseString(line).getAsJsonObject();
            String type = order.get("type").getAsString();
            Instant now = Instant.parse(order.get("now").getAsString());
            switch (type) {
                case "start" -> {
                    trial = new Trial(opener.open(order.getAsJsonObject("start")), now);
                    JsonObject started = word("started");
                    started.add("wire", new JsonPrimitive(1));
                    started.add("versions", gson.toJsonTree(versions));
                    started.add("can", gson.toJsonTree(CAN));
                    started.addProperty("kill", "the process group: the JVM");
                    say(started);
                    ack(order);
                    trial.worker.start();
                }
                case "reset" -> {
                    trial.close();
                    trial = null;
                    System.gc(); // an HTTP client gives up its connections and threads when it is collected
                    ack(order);
                }
                default -> {
                    synchronized (trial) {
                        trial.now = now;
                        trial.seq = order.get("seq").getAsInt();
                        ack(order);
                        trial.take(type, order);
                    }
                }
            }
        }
    }
}
