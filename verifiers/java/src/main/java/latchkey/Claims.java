package latchkey;

import java.security.Principal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Claims of an access token by their names, as JSON has them. */
public record Claims(Map<String, Object> all) implements Principal {
  private static final List<String> LISTS = List.of("roles", "groups", "entitlements");
  private static final List<String> TEXTS = List.of("name", "email", "preferred_username");

  /** The user's id. */
  @Override
  public String getName() {
    return text("sub");
  }

  /** A claim that is a text; otherwise null. */
  public String text(String name) {
    return all.get(name) instanceof String text ? text : null;
  }

  /** A claim that is a list of texts, such as {@code roles}; otherwise an empty one. */
  public List<String> texts(String name) {
    if (!areTexts(all.get(name))) return List.of();
    return ((List<?>) all.get(name)).stream().map(String.class::cast).toList();
  }

  /**
   * Requires that the user has allowed all of the scopes to the program that acts for them. Tokens of the application
   * itself need none.
   *
   * @throws LatchkeyException with status 403, and the scopes to ask for
   */
  public void requireScope(String... scopes) {
    ProtectedResource.requireScopes(this, List.of(scopes));
  }

  /** Whether a token is of the application itself, not of a program that acts for the user at one API. */
  boolean isOfApplication() {
    return text("aud") != null && text("aud").equals(text("iss"));
  }

  /** Whether it has any claim of the user. */
  boolean carriesClaims() {
    return Stream.of(LISTS, TEXTS, List.of("claims")).flatMap(List::stream).anyMatch(all::containsKey);
  }

  /** Replaces the user's claims. Those of a wrong type are left out: fewer rights, never more. */
  Claims with(Map<String, Object> source) {
    var result = new HashMap<>(all);
    LISTS.forEach(name -> replace(result, name, source.get(name), areTexts(source.get(name))));
    TEXTS.forEach(name -> replace(result, name, source.get(name), source.get(name) instanceof String));
    replace(result, "claims", source.get("claims"), source.get("claims") instanceof Map);
    return new Claims(result);
  }

  private static void replace(Map<String, Object> claims, String name, Object value, boolean isValid) {
    if (isValid) claims.put(name, value);
    else claims.remove(name);
  }

  /** Arranges the claims of an event as a token carries them. */
  static Map<String, Object> asInToken(Map<String, Object> flat) {
    Map<String, Object> result = new HashMap<>(flat), others = new HashMap<>(flat);
    result.keySet().removeIf(name -> !LISTS.contains(name) && !TEXTS.contains(name));
    others.keySet().removeAll(result.keySet());
    replace(result, "claims", others, !others.isEmpty());
    return result;
  }

  private static boolean areTexts(Object value) {
    return value instanceof List<?> list && list.stream().allMatch(String.class::isInstance);
  }
}
