package latchkey.spring;

import java.util.function.Supplier;
import latchkey.Claims;
import latchkey.LatchkeyException;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.authorization.AuthorizationResult;
import org.springframework.security.core.Authentication;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

/** Requires scopes of programs that act for the user. */
final class ScopeManager implements AuthorizationManager<RequestAuthorizationContext> {
  private final String[] scopes;

  ScopeManager(String... scopes) {
    new Claims(java.util.Map.of("iss", "", "aud", "")).requireScope(scopes); // fails at the start if they are none
    this.scopes = scopes;
  }

  /** Of Spring Security 6.4 and later. */
  @Override
  public AuthorizationResult authorize(Supplier<Authentication> caller, RequestAuthorizationContext context) {
    return check(caller, context);
  }

  /** Of Spring Security 6. @throws AccessDeniedException with the answer as its cause */
  @Override
  @SuppressWarnings("deprecation")
  public AuthorizationDecision check(Supplier<Authentication> caller, RequestAuthorizationContext context) {
    var authentication = caller.get();
    if (authentication == null || !(authentication.getPrincipal() instanceof Claims claims))
      return new AuthorizationDecision(false);
    try {
      claims.requireScope(scopes);
      return new AuthorizationDecision(true);
    } catch (LatchkeyException e) {
      throw new AccessDeniedException(e.description, e);
    }
  }
}
