package latchkey;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** An API that programs of third parties use (RFC 9728). Made by {@link Verifier#protectedResource}. */
public final class ProtectedResource {
  private static final String WELL_KNOWN = "/.well-known/oauth-protected-resource";
  private static final Pattern ORIGIN = Pattern.compile("(https?://[^/?#]+)/?");
  /** RFC 6749 §3.3. */
  private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]{1,255}");
  /** All of this process, by their identifiers. */
  private static final Map<String, ProtectedResource> DECLARED = new ConcurrentHashMap<>();

  private final String origin;
  private final String path;
  private final String scope;
  private final String metadata;

  ProtectedResource(String resource, List<String> scopes, Options options) {
    if (!resource.matches("https?://[^/?#@\\s]+(/[^?#\\s]*)?") || !options.audience.contains(resource))
      throw new IllegalArgumentException("latchkey: resource must be an http(s) address without query, and in the audience");
    checkScopes(scopes);
    var address = URI.create(resource);
    origin = address.getScheme() + "://" + address.getRawAuthority();
    path = WELL_KNOWN + (address.getRawPath().equals("/") ? "" : address.getRawPath()); // RFC 9728 §3.1
    scope = String.join(" ", scopes);
    metadata = JSONObjectUtils.toJSONString(Map.of("resource", resource, "authorization_servers", List.of(options.issuer),
        "scopes_supported", scopes, "bearer_methods_supported", List.of("header")));
    DECLARED.put(identifier(resource), this);
  }

  /**
   * Returns the JSON that answers a request for the metadata, with any {@code Host}; null for another request. The root
   * of a host is that of its only API. Clients in browsers read it, too: add {@code Access-Control-Allow-Origin: *}.
   *
   * @param path of the request, as it came
   */
  public String metadata(String method, String path) {
    if (!method.equals("GET") && !method.equals("HEAD")) return null;
    boolean isOnly = DECLARED.values().stream().allMatch(one -> one == this || !one.origin.equals(origin));
    return path.equals(this.path) || path.equals(WELL_KNOWN) && isOnly ? metadata : null;
  }

  /** Adds metadata and scopes to an exception with 401, unless several of the APIs have some. */
  static LatchkeyException challenged(LatchkeyException e, Set<String> audience) {
    var known = audience.stream().map(ProtectedResource::find).filter(Objects::nonNull).distinct().toList();
    if (e.status != 401 || known.size() != 1) return e;
    var header = e.headers.get("WWW-Authenticate");
    var challenge = header + (header.contains("=") ? ", " : " ") + known.get(0).parameter()
        + ", scope=\"" + known.get(0).scope + '"';
    return new LatchkeyException(401, e.code, e.description, Map.of("WWW-Authenticate", challenge), e.getCause());
  }

  /** @throws LatchkeyException that names the token's scopes and the missing ones: clients ask for exactly these */
  static void requireScopes(Claims claims, List<String> scopes) {
    checkScopes(scopes);
    if (claims.isOfApplication()) return;
    var text = Objects.requireNonNullElse(claims.text("scope"), "");
    var granted = Stream.of(text.split(" ")).filter(one -> SCOPE.matcher(one).matches()).toList();
    if (granted.containsAll(scopes)) return;
    var all = Stream.concat(granted.stream(), scopes.stream().filter(one -> !granted.contains(one)));
    var resource = claims.text("aud") == null ? null : find(claims.text("aud"));
    throw LatchkeyException.noScope((resource == null ? "" : resource.parameter() + ", ")
        + "scope=\"" + all.collect(Collectors.joining(" ")) + '"');
  }

  static void checkScopes(List<String> scopes) {
    if (scopes.isEmpty() || !scopes.stream().allMatch(one -> SCOPE.matcher(one).matches()))
      throw new IllegalArgumentException("latchkey: a scope is needed, without spaces and quotes");
  }

  /** All values of {@code aud} for an audience: an origin with and without a slash. */
  static Stream<String> accepted(String audience) {
    var identifier = identifier(audience);
    return isOrigin(audience) ? Stream.of(identifier, identifier + '/') : Stream.of(identifier);
  }

  private static ProtectedResource find(String audience) {
    return DECLARED.get(identifier(audience));
  }

  /** The form in which two of them are compared: an origin has no slash. */
  private static String identifier(String text) {
    return isOrigin(text) && text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
  }

  private static boolean isOrigin(String text) {
    return ORIGIN.matcher(text).matches();
  }

  private String parameter() {
    return "resource_metadata=\"" + origin + path + '"';
  }
}
