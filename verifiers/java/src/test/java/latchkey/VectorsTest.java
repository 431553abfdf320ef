package latchkey;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Runs verifiers/vectors (README.md there). */
@Execution(ExecutionMode.CONCURRENT)
class VectorsTest {
  private static final Map<String, Object> KEYS = read("keys");
  private static final Map<String, Object> TOKENS = read("tokens");

  @TestFactory
  Stream<DynamicTest> vectors() {
    return Stream.of("signatures", "sessions", "claims", "away", "wire", "agents").flatMap(file -> list(read(file).get("cases")).stream()
        .map(one -> dynamicTest(file + ": " + object(one).get("name"), () -> new Case(object(one)).run())));
  }

  private static Map<String, Object> read(String name) {
    try {
      return JSONObjectUtils.parse(Files.readString(Path.of("../vectors/" + name + ".json")));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  private static String[] texts(List<?> list) {
    return list.toArray(String[]::new);
  }

  private static Map<String, Object> parse(String json) {
    try {
      return JSONObjectUtils.parse(json);
    } catch (java.text.ParseException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<?> list(Object value) {
    return (List<?>) value;
  }

  private static final class Case {
    private final AtomicLong wall = new AtomicLong((long) KEYS.get("start"));
    private final AtomicLong steady = new AtomicLong();
    private final FakeClient client;
    private final Verifier verifier;
    private final List<?> steps;
    private final List<ProtectedResource> resources;
    private FakeClient.Stream stream;

    Case(Map<String, Object> vector) {
      var clocks = new Clocks(wall::get, steady::get);
      steps = list(vector.get("steps"));
      client = new FakeClient(clocks);
      publish(List.of("k1"));
      var given = object(vector.get("options"));
      var options = new Options((String) KEYS.get("issuer")).client(client);
      if (given.containsKey("serviceKey")) options.serviceKey("k");
      if (given.get("whenAway") instanceof String way) options.whenAway(Verifier.WhenAway.valueOf(way.toUpperCase()));
      if (given.get("clockTolerance") instanceof Long seconds) options.clockTolerance(Duration.ofSeconds(seconds));
      if (given.get("audience") instanceof String audience) options.audience(audience);
      if (given.get("audience") instanceof List<?> audiences) options.audience(texts(audiences));
      verifier = new Verifier(options, clocks);
      resources = list(given.getOrDefault("resources", List.of())).stream().map(VectorsTest::object)
          .map(one -> verifier.protectedResource((String) one.get("resource"), texts(list(one.get("scopes"))))).toList();
    }

    void run() throws Exception {
      try (verifier) {
        for (int i = 0; i < steps.size(); i++) {
          var step = object(steps.get(i));
          long now = (long) step.get("now");
          steady.addAndGet(Math.max(0, now - wall.get()));
          wall.set(now);
          try {
            CompletableFuture.runAsync(() -> perform(step), task -> new Thread(task).start()).get(120, TimeUnit.SECONDS);
          } catch (Exception e) {
            throw new AssertionError("step " + i + " " + step.get("do") + ": " + e.getMessage(), e);
          }
        }
      }
    }

    private void perform(Map<String, Object> step) {
      try {
        switch ((String) step.get("do")) {
          case "connect" -> connect(step);
          case "send" -> {
            for (var bytes : list(step.get("bytes"))) stream.send(bytesOf(bytes));
          }
          case "repeat" -> stream.send(IntStream.range(0, (int) (long) step.get("count"))
              .mapToObj(i -> ((String) step.get("text")).replace("{i}", String.format("%012d", i)))
              .collect(Collectors.joining()).getBytes(StandardCharsets.UTF_8));
          case "end" -> stream.end();
          case "keys" -> {
            if (step.get("status") instanceof Long status) client.keys = FakeClient.Answer.of((int) (long) status, "");
            else publish(list(step.get("keys")));
          }
          case "introspection" ->
            client.introspection = FakeClient.Answer.of((int) (long) step.get("status"), (String) step.get("body"));
          case "verify" -> {
            verify(step);
            while (verifier.keys.isFetching()) Thread.sleep(1); // a key that is used meanwhile
          }
          case "metadata" -> compareMetadata(step);
          case "state" -> compare(step);
          default -> fail("an unknown step");
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    /** Of a text, or of an object with base64. */
    private static byte[] bytesOf(Object given) {
      if (given instanceof String text) return text.getBytes(StandardCharsets.UTF_8);
      return Base64.getDecoder().decode((String) object(given).get("base64"));
    }

    private void publish(List<?> names) {
      var all = names.stream().map(name -> object(KEYS.get("keys")).get(name)).toList();
      client.keys = FakeClient.Answer.of(200, JSONObjectUtils.toJSONString(Map.of("keys", all)));
    }

    private void connect(Map<String, Object> step) throws InterruptedException {
      FakeClient.Connecting waiting;
      while (steady.get() - (waiting = client.connecting.take()).at() > 2000) // since before the time moved
        waiting.answer().completeExceptionally(new IllegalStateException("given up"));
      if (step.containsKey("cursor"))
        assertEquals(step.get("cursor") == null ? "" : step.get("cursor"), waiting.cursor(), "Last-Event-ID");
      var headers = new HashMap<String, String>();
      headers.put("Content-Type", (String) step.getOrDefault("type", "text/event-stream"));
      if (step.get("headers") != null) object(step.get("headers")).forEach((name, value) -> headers.put(name, (String) value));
      int status = (int) (long) step.getOrDefault("status", 200L);
      stream = new FakeClient.Stream();
      waiting.answer().complete(new FakeClient.Answer(status, headers, stream, null));
      if (step.containsKey("body")) stream.awaitClose();
      else stream.awaitRead();
    }

    private void verify(Map<String, Object> step) {
      String token = (String) object(TOKENS.get(step.get("token"))).get("token");
      if (step.get("expect").equals("any")) {
        try {
          verifier.verify(token);
        } catch (LatchkeyException e) {
          // Either is right.
        }
        return;
      }
      var expected = object(step.get("expect"));
      try {
        var claims = verifier.verify(token);
        if (step.containsKey("scopes")) claims.requireScope(texts(list(step.get("scopes"))));
        assertEquals(expected.get("claims"), claims.all());
      } catch (LatchkeyException e) {
        assertEquals(expected.get("error"), e.code, e.toString());
        assertEquals(expected.get("status"), (long) e.status);
        var challenge = e.status == 401 ? "Bearer error=\"invalid_token\"" : null;
        assertEquals(expected.getOrDefault("challenge", challenge), e.headers.get("WWW-Authenticate"));
        assertEquals(e.status == 503, e.headers.containsKey("Retry-After"));
      }
    }

    private void compareMetadata(Map<String, Object> step) {
      var found = resources.stream().map(one -> one.metadata("GET", (String) step.get("path"))).filter(Objects::nonNull);
      assertEquals(step.get("expect"), found.findFirst().map(VectorsTest::parse).orElse(null));
    }

    private void compare(Map<String, Object> step) {
      if (step.containsKey("notified")) assertEquals(step.get("notified"), verifier.isNotified(), "notified");
      if (step.containsKey("sessions")) assertEquals(step.get("sessions"), (long) verifier.memory.ended.size(), "sessions");
      if (step.containsKey("users")) assertEquals(step.get("users"), (long) verifier.memory.changed.size(), "users");
      if (step.containsKey("introspections"))
        assertEquals(step.get("introspections"), (long) client.introspections.get(), "introspections");
      if (step.containsKey("mostKeyRequests")) assertTrue(client.keyRequests.get() <= (long) step.get("mostKeyRequests"));
    }
  }
}
