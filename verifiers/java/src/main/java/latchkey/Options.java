package latchkey;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Options of a {@link Verifier}: the issuer, and usually {@link #serviceKey}. */
public final class Options {
  final String issuer;
  /** Each origin with and without a slash. */
  Set<String> audience;
  String url;
  String serviceKey;
  Verifier.WhenAway whenAway = Verifier.WhenAway.INTROSPECT;
  Duration clockTolerance = Duration.ZERO;
  HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** @param issuer the service's {@code PUBLIC_URL}: issuer and audience of its tokens */
  public Options(String issuer) {
    this.issuer = url = checked("issuer", issuer, "https?://[^/?#@\\s]+/?").replaceAll("/$", "");
    audience = Set.of(this.issuer);
  }

  /** Which tokens are accepted in place of the issuer's, for programs of third parties: those for one of these APIs. */
  public Options audience(String... audience) {
    for (var one : audience) checked("audience", one, ".+"); // most likely a variable that is not set
    checked("the number of audiences", Integer.toString(audience.length), "[1-9]\\d*");
    this.audience = Stream.of(audience).flatMap(ProtectedResource::accepted).collect(Collectors.toUnmodifiableSet());
    return this;
  }

  /** Address of the service, if it is not reached at the issuer. */
  public Options url(String url) {
    this.url = checked("url", url, "https?://[^?#@\\s]+").replaceAll("/+$", "");
    return this;
  }

  /** One of the service's {@code SERVICE_KEYS}, with the right {@code read}. */
  public Options serviceKey(String serviceKey) {
    this.serviceKey = checked("serviceKey", serviceKey, "[!-~]+"); // most likely a variable that is not set
    return this;
  }

  /** What to do while sign-outs are not received. */
  public Options whenAway(Verifier.WhenAway whenAway) {
    this.whenAway = whenAway;
    return this;
  }

  /** Tolerance for the expiry of tokens, at most 5 minutes. */
  public Options clockTolerance(Duration tolerance) {
    checked("clockTolerance in seconds", Long.toString(tolerance.toSeconds()), "[12]?\\d?\\d|300");
    clockTolerance = tolerance;
    return this;
  }

  /** For calls to the service, which must not follow redirects: an HTTP client of your own. */
  public Options client(HttpClient client) {
    this.client = client;
    return this;
  }

  /** Without the value, which may be a key with a line break. */
  private static String checked(String name, String value, String pattern) {
    if (value != null && value.matches(pattern)) return value;
    throw new IllegalArgumentException("latchkey: " + name + " must be like " + pattern);
  }
}
