package latchkey;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.util.Map;

/** The only exception of a {@link Verifier}. Answer with its status: 401 is about the token and nothing else. */
public final class LatchkeyException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final String NO_RIGHT = "the user does not have the right to do this";

  /** HTTP status: 401, 403, 503, 500. */
  public final int status;
  /**
   * {@code invalid_token}, {@code insufficient_scope}, {@code temporarily_unavailable}, {@code
   * service_key_refused}.
   */
  public final String code;
  /** For people; contains nothing of the token. */
  public final String description;
  /** Headers of the answer: {@code WWW-Authenticate}, {@code Retry-After}. */
  public final transient Map<String, String> headers;

  LatchkeyException(int status, String code, String description, Map<String, String> headers, Throwable cause) {
    super(code + ": " + description, cause);
    this.status = status;
    this.code = code;
    this.description = description;
    this.headers = headers;
  }

  /** The answer's body, JSON in the format of the service. */
  public String body() {
    return JSONObjectUtils.toJSONString(Map.of("error", code, "error_description", description));
  }

  static LatchkeyException invalid(String description) {
    return new LatchkeyException(401, "invalid_token", description,
        Map.of("WWW-Authenticate", "Bearer error=\"invalid_token\""), null);
  }

  static LatchkeyException unavailable(Throwable cause, String retryAfter) {
    return new LatchkeyException(503, "temporarily_unavailable",
        "the sign-in service cannot be reached at the moment: try again later",
        Map.of("Retry-After", retryAfter), cause);
  }

  /** For a request without a token. */
  public static LatchkeyException noToken() {
    return new LatchkeyException(401, "invalid_token", "an access token is needed, as a bearer token",
        Map.of("WWW-Authenticate", "Bearer"), null);
  }

  /** For a program without a scope. */
  static LatchkeyException noScope(String parameters) {
    var header = "Bearer error=\"insufficient_scope\", " + parameters;
    return new LatchkeyException(403, "insufficient_scope", NO_RIGHT, Map.of("WWW-Authenticate", header), null);
  }

  /** For a user without the role that is needed. */
  public static LatchkeyException noRight() {
    return new LatchkeyException(403, "insufficient_scope", NO_RIGHT,
        Map.of("WWW-Authenticate", "Bearer error=\"insufficient_scope\""), null);
  }
}
