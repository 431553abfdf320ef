package latchkey;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What the vectors cannot show. */
class ProtectedResourceTest {
  private static final String RESOURCE = "https://java.example/mcp";
  private static final String METADATA = "/.well-known/oauth-protected-resource/mcp";

  private static Options options() {
    return new Options("https://id.example").audience(RESOURCE, "orders");
  }

  @Test
  void refusesInvalidOptions() {
    try (var verifier = new Verifier(options())) {
      for (Executable call : List.<Executable>of(
          () -> options().audience(),
          () -> options().audience(RESOURCE, null),
          () -> options().audience(""),
          () -> verifier.protectedResource("https://other.example", "a"),
          () -> verifier.protectedResource("orders", "a"),
          () -> verifier.protectedResource(RESOURCE),
          () -> verifier.protectedResource(RESOURCE, "a b"),
          () -> new Claims(Map.of("aud", RESOURCE)).requireScope("a\", error=\"x")))
        assertThrows(IllegalArgumentException.class, call);
    }
  }

  @Test
  void answersReadsAlone() {
    try (var verifier = new Verifier(options())) {
      var resource = verifier.protectedResource(RESOURCE, "orders:read");
      assertNotNull(resource.metadata("HEAD", METADATA));
      assertNull(resource.metadata("POST", METADATA));
      var refusal = assertThrows(LatchkeyException.class, () -> verifier.authenticate(null));
      assertEquals("Bearer resource_metadata=\"https://java.example" + METADATA + "\", scope=\"orders:read\"",
          refusal.headers.get("WWW-Authenticate"));
    }
  }
}
