package latchkey;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.SignedJWT;
import java.text.ParseException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Verifies access tokens, and follows the feed of ended sessions until closed. One per process; for all threads. */
public final class Verifier implements AutoCloseable {
  /** Treatment of a token with a valid signature while sign-outs are not received. */
  public enum WhenAway {
    /** The default: asks the service about each token, and fails with 503 if that is impossible. */
    INTROSPECT,
    /** Relies on the signature. */
    ACCEPT,
    /** Fails with 503 at once. */
    REFUSE
  }

  /** Characters; the service's tokens have about 600, and about 12,000 with the most claims. */
  private static final int LONGEST_TOKEN = 16_384;
  private static final Pattern BEARER = Pattern.compile("(?i:Bearer) +([A-Za-z0-9\\-._~+/]+=*)");

  private final Options options;
  private final Clocks clocks;
  private final Calls calls;
  final KeySet keys;
  private final Introspector introspector;
  final Memory memory;
  private final Feed feed;

  public Verifier(Options options) {
    this(options, Clocks.OF_THE_MACHINE);
  }

  Verifier(Options options, Clocks clocks) {
    calls = new Calls(options);
    this.options = options;
    this.clocks = clocks;
    keys = new KeySet(calls, clocks);
    introspector = new Introspector(calls, clocks);
    memory = new Memory(clocks, keys, options.clockTolerance.toMillis());
    feed = new Feed(calls, clocks, memory);
  }

  /** Ends the connection to the service. */
  @Override
  public void close() {
    feed.close();
    calls.timers.shutdownNow();
  }

  /** Whether sign-outs are received at this moment; otherwise {@link WhenAway} applies. */
  public boolean isNotified() {
    return feed.isFresh();
  }

  /**
   * Verifies the token of a request.
   *
   * @param authorization the header {@code Authorization}, or null
   * @throws LatchkeyException as {@link #verify} does
   */
  public Claims authenticate(String authorization) {
    var match = BEARER.matcher(authorization == null ? "" : authorization);
    if (match.matches()) return verify(match.group(1));
    throw ProtectedResource.challenged(LatchkeyException.noToken(), options.audience);
  }

  /**
   * Declares an API for programs of third parties: exceptions with status 401 name its metadata and scopes from now on,
   * for which programs ask the user.
   *
   * @param resource one of the audience
   */
  public ProtectedResource protectedResource(String resource, String... scopes) {
    return new ProtectedResource(resource, List.of(scopes), options);
  }

  /**
   * Returns the claims of a valid access token: the user's current ones, also if the token is older.
   *
   * @throws LatchkeyException its only exception
   */
  public Claims verify(String token) {
    try {
      return current(token);
    } catch (LatchkeyException e) {
      throw ProtectedResource.challenged(e, options.audience);
    }
  }

  private Claims current(String token) {
    var signed = verifySignature(token);
    refuseEnded(signed); // after a wait for the key
    var claims = signed.claims;
    boolean isAway = options.serviceKey != null && !feed.isFresh();
    if (isAway && options.whenAway == WhenAway.REFUSE) throw feed.failure();
    boolean isUnclear = memory.isUnclear(claims);
    if (isUnclear || isAway && options.whenAway == WhenAway.INTROSPECT) {
      var answer = introspector.ask(token);
      refuseEnded(signed);
      if (isUnclear || !feed.isFresh()) return claims.with(answer); // or else the feed is as current, or more so
    }
    return claims.with(memory.current(claims));
  }

  private record Signed(String kid, Claims claims) {}

  /** Verifies all but the session. A key is fetched only for a token that may be valid. */
  private Signed verifySignature(String token) {
    try {
      if (token == null || token.length() > LONGEST_TOKEN) throw invalid();
      var jwt = SignedJWT.parse(token);
      var header = jwt.getHeader();
      var claims = new Claims(JSONObjectUtils.parse(jwt.getPayload().toString()));
      var typ = header.getType() == null ? "" : header.getType().getType().toLowerCase();
      if (!header.getAlgorithm().equals(JWSAlgorithm.ES256) || header.getKeyID() == null
          || !typ.replaceFirst("^application/", "").equals("at+jwt")) throw invalid();
      check(claims);
      var key = keys.find(header.getKeyID());
      if (jwt.verify(new ECDSAVerifier(key))) return new Signed(header.getKeyID(), claims);
    } catch (ParseException | JOSEException | IllegalArgumentException e) {
      // Without the cause, which may contain the token.
    }
    throw invalid();
  }

  private void refuseEnded(Signed signed) {
    if (memory.hasEnded(signed.claims.text("sid")))
      throw LatchkeyException.invalid("the session of the access token has ended");
    if (keys.isWithdrawn(signed.kid)) throw invalid();
    if (memory.isOlder(signed.claims))
      throw LatchkeyException.invalid("the claims of the user have changed since the access token was issued");
    check(signed.claims); // again: it may have expired during a wait
  }

  /** Checks the claims but for the session (RFC 9068 §4). */
  private void check(Claims claims) {
    long now = Math.floorDiv(clocks.wall().getAsLong(), 1000);
    long tolerance = options.clockTolerance.toSeconds();
    Map<String, Object> all = claims.all();
    var hasIds = Stream.of("sub", "sid", "jti").allMatch(name -> claims.text(name) != null);
    var audiences = all.get("aud") instanceof List<?> list ? list : Collections.singletonList(all.get("aud"));
    var hasAudience = audiences.stream().anyMatch(one -> one instanceof String && options.audience.contains(one));
    if (!options.issuer.equals(all.get("iss")))
      throw LatchkeyException.invalid("the access token is of another issuer");
    if (!hasIds || !hasAudience || !(all.get("iat") instanceof Number)
        || !(all.get("exp") instanceof Number expiry)) throw invalid();
    if (expiry.doubleValue() + tolerance <= now)
      throw LatchkeyException.invalid("the access token has expired");
    if (all.get("nbf") != null
        && !(all.get("nbf") instanceof Number begin && begin.doubleValue() <= now + tolerance))
      throw invalid();
  }

  private static LatchkeyException invalid() {
    return LatchkeyException.invalid("the access token is invalid");
  }
}
