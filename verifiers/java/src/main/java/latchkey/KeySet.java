package latchkey;

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

/**
 * The service's public keys, fetched at the first use, and at most once a second. A request may wait for a fetch, never
 * for the pause before the next one (docs/ended-sessions.md#keys).
 */
final class KeySet {
  /** Older keys are used while new ones are fetched. */
  private static final long FRESH_MS = 300_000;
  /** While the service is away. */
  private static final long USABLE_MS = 3_600_000;
  private static final long FETCH_EVERY_MS = 1000;
  private static final int MOST_WITHDRAWN = 1000;
  /** If other keys are known: tokens with made-up key ids must not occupy an API's threads. */
  private static final int MOST_WAITING = 4;

  private final Calls calls;
  private final Clocks clocks;
  private Map<String, ECPublicKey> keys = new HashMap<>();
  private long begunAt = Long.MIN_VALUE / 2;
  private long fetchedAt = Long.MIN_VALUE / 2;
  private CompletableFuture<Void> fetching = CompletableFuture.completedFuture(null);
  private boolean hasFailed;
  private int waiting;
  /** They stay withdrawn, even if an answer still has them. */
  private final Set<String> withdrawn = new LinkedHashSet<>();

  KeySet(Calls calls, Clocks clocks) {
    this.calls = calls;
    this.clocks = clocks;
  }

  /** @throws LatchkeyException for an unknown key, and if it cannot be fetched now */
  ECPublicKey find(String kid) {
    CompletableFuture<Void> fetch;
    ECPublicKey key;
    boolean isFirst;
    synchronized (this) { // not held during a fetch
      long age = clocks.steady().getAsLong() - fetchedAt;
      key = keys.get(kid);
      if (withdrawn.contains(kid)) throw invalid();
      if (key != null && age <= FRESH_MS) return key;
      isFirst = begin();
      if (key != null && age <= USABLE_MS) return key;
      if (!isFetching() || !mayWait(isFirst, age <= USABLE_MS)) throw LatchkeyException.unavailable(null, "1");
      fetch = fetching;
      waiting++;
    }
    try {
      fetch.join(); // ends within the timeout
    } catch (CompletionException e) {
      throw LatchkeyException.unavailable(e.getCause(), "1");
    } finally {
      synchronized (this) {
        waiting--;
        key = keys.get(kid);
      }
    }
    if (key != null) return key;
    throw isFirst ? invalid() : LatchkeyException.unavailable(null, "1"); // the service may have made the key since
  }

  /** While the service is away, one request waits, and only if no other could be answered. */
  private boolean mayWait(boolean isFirst, boolean isUsable) {
    return hasFailed ? isFirst && !isUsable : !isUsable || waiting < MOST_WAITING;
  }

  /** Returns false during a fetch, and in the pause after its begin. */
  private boolean begin() {
    long now = clocks.steady().getAsLong();
    if (isFetching() || now - begunAt < FETCH_EVERY_MS) return false;
    var fetch = new CompletableFuture<Void>();
    calls.timers.execute(() -> {
      try {
        take(download(), fetch);
      } catch (RuntimeException e) {
        fail(e, fetch);
      }
    });
    fetching = fetch;
    begunAt = now;
    return true;
  }

  private synchronized void take(Map<String, ECPublicKey> keys, CompletableFuture<Void> fetch) {
    keys.keySet().removeAll(withdrawn);
    this.keys = keys;
    fetchedAt = begunAt;
    hasFailed = false;
    fetch.complete(null);
  }

  private synchronized void fail(RuntimeException e, CompletableFuture<Void> fetch) {
    hasFailed = true;
    fetch.completeExceptionally(e);
  }

  private static LatchkeyException invalid() {
    return LatchkeyException.invalid("the access token is invalid");
  }

  private Map<String, ECPublicKey> download() {
    var keys = new HashMap<String, ECPublicKey>();
    // A cached answer may lack a new key.
    var answer = calls.fetch("/.well-known/jwks.json", null, Calls.TIMEOUT_MS, "Cache-Control", "no-cache");
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
    return !fetching.isDone();
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
