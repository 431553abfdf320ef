package latchkey;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.io.IOException;
import java.text.ParseException;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** What the feed has told (docs/ended-sessions.md). Times are in milliseconds. */
final class Memory {
  /** Longer than tokens live: this machine's clock may be set back a little. */
  private static final long KEEP_MS = 300_000;
  private static final long SWEEP_EVERY_MS = 60_000;
  /** A token issued so soon after a change may have the former claims. */
  private static final long COMMIT_MS = 10_000;
  /** Beyond these sessions and characters of claims (and 200 for each user) the feed counts as away. */
  private static final int MOST_ENDED = 2_000_000;
  private static final long MOST_CHANGED = 100_000_000;
  private static final Set<String> EVENTS = Set.of("ended", "key_revoked", "claims_changed", "claims_voided");

  /** @param text the claims as a token carries them; each request gets its own */
  private record Change(long at, long until, String text) {}

  private final Clocks clocks;
  private final KeySet keys;
  private final long keepMs;
  /** By session: until. */
  final Map<String, Long> ended = new HashMap<>();
  /** By user. */
  final Map<String, Change> changed = new HashMap<>();
  private long size;
  private long sweptAt;

  Memory(Clocks clocks, KeySet keys, long toleranceMs) {
    this.clocks = clocks;
    this.keys = keys;
    keepMs = KEEP_MS + toleranceMs;
  }

  /** @throws IOException for an unreadable event, since it may be a sign-out, and for too many */
  synchronized void take(String name, String data) throws IOException {
    if (!EVENTS.contains(name)) return;
    if (ended.size() >= MOST_ENDED || size > MOST_CHANGED) throw new IOException("more than fits into memory");
    try {
      var event = JSONObjectUtils.parse(data);
      switch (name) {
        case "ended" -> {
          String session = text(event, "session_id");
          long until = time(event, "until");
          if (!isPast(until)) ended.merge(session, until, Math::max);
        }
        case "key_revoked" -> keys.withdraw(text(event, "kid"));
        case "claims_changed" -> {
          var claims = JSONObjectUtils.getJSONObject(event, "claims");
          var change = new Change(time(event, "changed_at"), time(event, "until"),
              JSONObjectUtils.toJSONString(Claims.asInToken(claims)));
          String user = text(event, "user_id");
          forget(user);
          if (isPast(change.until)) return;
          changed.put(user, change);
          size += change.text.length() + 200;
        }
        default -> {
          String user = text(event, "user_id");
          long at = time(event, "voided_at");
          // Or else a new user with this id has changed claims.
          if (changed.containsKey(user) && changed.get(user).at <= at) forget(user);
        }
      }
    } catch (ParseException | DateTimeException | NullPointerException e) {
      throw new IOException("an event is unreadable");
    }
  }

  private static String text(Map<String, Object> event, String name) throws ParseException {
    return Objects.requireNonNull(JSONObjectUtils.getString(event, name));
  }

  private static long time(Map<String, Object> event, String name) throws ParseException {
    return OffsetDateTime.parse(text(event, name)).toInstant().toEpochMilli();
  }

  private boolean isPast(long until) {
    return until + keepMs <= clocks.wall().getAsLong();
  }

  private void forget(String user) {
    var change = changed.remove(user);
    if (change != null) size -= change.text.length() + 200;
  }

  /** Removes what no valid token needs, once a minute. */
  synchronized void sweep() {
    long now = clocks.wall().getAsLong();
    if (Math.abs(now - sweptAt) < SWEEP_EVERY_MS) return;
    sweptAt = now;
    ended.values().removeIf(this::isPast);
    List.copyOf(changed.keySet()).forEach(user -> {
      if (isPast(changed.get(user).until)) forget(user);
    });
  }

  /** Whether the clock was set back so far that removed sessions may have valid tokens again. */
  synchronized boolean isSetBack() {
    return clocks.wall().getAsLong() < sweptAt - KEEP_MS;
  }

  synchronized void restart() {
    sweptAt = 0;
  }

  synchronized boolean hasEnded(String session) {
    return ended.containsKey(session);
  }

  /** Whether a program's token may have former claims: only the service knows which of the new ones it may have. */
  synchronized boolean isUnclear(Claims claims) {
    return !claims.isOfApplication() && claims.carriesClaims() && changeSince(claims) != null;
  }

  /** Whether it has them. Only the service knows it of a token issued soon after a change, for twice as long. */
  synchronized boolean isOlder(Claims claims) {
    if (!isUnclear(claims)) return false;
    long changedAt = changeSince(claims).at;
    return issuedAt(claims) < changedAt / 1000 || clocks.wall().getAsLong() >= changedAt + 2 * COMMIT_MS;
  }

  private Change changeSince(Claims claims) {
    var change = changed.get(claims.getName());
    return change == null || issuedAt(claims) > (change.at + COMMIT_MS) / 1000 ? null : change;
  }

  private static double issuedAt(Claims claims) {
    return ((Number) claims.all().get("iat")).doubleValue();
  }

  /** The claims that count for a token: its own, unless they have changed since. */
  synchronized Map<String, Object> current(Claims claims) {
    var change = changeSince(claims);
    if (change == null || !claims.isOfApplication()) return claims.all();
    try {
      return JSONObjectUtils.parse(change.text);
    } catch (ParseException e) {
      throw new IllegalStateException(e);
    }
  }
}
