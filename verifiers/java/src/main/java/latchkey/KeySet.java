package latchkey;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import java.security.interfaces.ECPublicKey;
import java.text.ParseException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** The service's public keys, fetched at the first use, and at most once a second. */
final class KeySet {
  /** Older keys are used while new ones are fetched. */
  private static final long FRESH_MS = 300_000;
  /** While the service is away. */
  private static final long USABLE_MS = 3_600_000;
  private static final long FETCH_EVERY_MS = 1000;
  private static final int MOST_WITHDRAWN = 1000;

  private record Fetch(long begunAt, CompletableFuture<Map<String, ECPublicKey>> keys) {}

  private final Calls calls;
  private final Clocks clocks;
  private Map<String, ECPublicKey> keys = new HashMap<>();
  private long fetchedAt;
  private Fetch last = new Fetch(Long.MIN_VALUE / 2, CompletableFuture.completedFuture(Map.of()));
  /** They stay withdrawn, even if an answer still has them. */
  private final Set<String> withdrawn = new LinkedHashSet<>();

  KeySet(Calls calls, Clocks clocks) {
    this.calls = calls;
    this.clocks = clocks;
  }

  /** @throws LatchkeyException for an unknown key, and if the service cannot be reached */
  ECPublicKey find(String kid) {
    long askedAt = clocks.steady().getAsLong();
    Fetch fetch;
    do { // until an answer that was requested after this call
      synchronized (this) {
        var key = keys.get(kid);
        long age = askedAt - fetchedAt;
        if (key != null && age > FRESH_MS) fetch();
        if (key != null && age <= USABLE_MS) return key;
        if (withdrawn.contains(kid)) break;
        fetch = fetch();
      }
      try {
        var key = fetch.keys.join().get(kid);
        if (key != null) return key;
      } catch (CompletionException e) {
        throw LatchkeyException.unavailable(e.getCause(), "1");
      }
    } while (fetch.begunAt < askedAt);
    throw LatchkeyException.invalid("the access token is invalid");
  }

  /** Begins a fetch, or returns the one that has not ended. */
  private synchronized Fetch fetch() {
    if (isFetching()) return last;
    long now = clocks.steady().getAsLong(), begunAt = Math.max(now, last.begunAt + FETCH_EVERY_MS);
    var fetch = last = new Fetch(begunAt, new CompletableFuture<>());
    calls.timers.schedule(() -> {
      try {
        take(download(), fetch);
      } catch (RuntimeException e) {
        fetch.keys.completeExceptionally(e);
      }
    }, begunAt - now, MILLISECONDS);
    return fetch;
  }

  private synchronized void take(Map<String, ECPublicKey> keys, Fetch fetch) {
    keys.keySet().removeAll(withdrawn);
    this.keys = keys;
    fetchedAt = fetch.begunAt;
    fetch.keys.complete(keys);
  }

  private Map<String, ECPublicKey> download() {
    var keys = new HashMap<String, ECPublicKey>();
    // A cached answer may lack a new key.
    var answer = calls.fetch("/.well-known/jwks.json", null, "Cache-Control", "no-cache");
    for (var one : answer.get("keys") instanceof List<?> all ? all : List.of()) {
      try {
        if (one instanceof Map<?, ?> json && JWK.parse(cast(json)) instanceof ECKey key
            && Curve.P_256.equals(key.getCurve()))
          keys.put(key.getKeyID(), key.toECPublicKey());
      } catch (ParseException | JOSEException | IllegalArgumentException e) {
        // Of another kind (RFC 7517 §5).
      }
    }
    return keys;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> cast(Map<?, ?> json) {
    return (Map<String, Object>) json;
  }

  synchronized boolean isFetching() {
    return !last.keys.isDone();
  }

  synchronized void withdraw(String kid) {
    if (withdrawn.size() >= MOST_WITHDRAWN) withdrawn.remove(withdrawn.iterator().next());
    withdrawn.add(kid);
    keys.remove(kid);
  }

  synchronized boolean isWithdrawn(String kid) {
    return withdrawn.contains(kid);
  }
}
