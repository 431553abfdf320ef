package latchkey.spring;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import latchkey.LatchkeyException;
import latchkey.ProtectedResource;
import latchkey.Verifier;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.core.authority.SimpleGrantedAuthority;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.web.access.intercept.AuthorizationFilter;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;
import org.springframework.security.web.context.RequestAttributeSecurityContextRepository;
import org.springframework.security.web.context.SecurityContextRepository;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Verifies the access tokens of requests in Spring Security 6 and 7:
 * {@code http.with(new LatchkeySecurity(verifier), withDefaults())}. The principal is {@link latchkey.Claims}, its
 * roles are {@code hasRole("…")}. Requests without {@code Authorization} pass unauthenticated.
 */
public final class LatchkeySecurity extends AbstractHttpConfigurer<LatchkeySecurity, HttpSecurity> {
  private final Verifier verifier;
  /** Null: none is declared. */
  private ProtectedResource resource;

  public LatchkeySecurity(Verifier verifier) {
    this.verifier = verifier;
  }

  /**
   * Declares an API for programs of third parties, and serves its metadata (RFC 9728). Answers with 401 name both the
   * metadata and the scopes, for which programs ask the user.
   *
   * @param resource one of the verifier's audience
   */
  public LatchkeySecurity protectedResource(String resource, String... scopes) {
    this.resource = verifier.protectedResource(resource, scopes);
    return this;
  }

  /**
   * Lets in programs with all of the scopes, and the application's own pages: {@code
   * requestMatchers("/mcp/**").access(requireScope("orders:read"))}. Needs Spring Security 6.3.
   */
  public static AuthorizationManager<RequestAuthorizationContext> requireScope(String... scopes) {
    return new ScopeManager(scopes);
  }

  @Override
  public void init(HttpSecurity http) {
    try {
      http.csrf(AbstractHttpConfigurer::disable) // no browser adds a bearer token by itself
          .sessionManagement(sessions -> sessions.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
          .requestCache(AbstractHttpConfigurer::disable) // it begins sessions
          .exceptionHandling(failures -> failures
              .authenticationEntryPoint((request, response, e) -> answerNoToken(response))
              .accessDeniedHandler((request, response, e) -> answer(response,
                  e.getCause() instanceof LatchkeyException refusal ? refusal : LatchkeyException.noRight())));
    } catch (Exception e) { // declared by Spring Security 6
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void configure(HttpSecurity http) {
    http.addFilterBefore(new Filter(), AuthorizationFilter.class);
  }

  private void answerNoToken(HttpServletResponse response) throws IOException {
    try {
      verifier.authenticate(null);
    } catch (LatchkeyException e) {
      answer(response, e);
    }
  }

  private static void answer(HttpServletResponse response, LatchkeyException e) throws IOException {
    e.headers.forEach(response::setHeader);
    response.setStatus(e.status);
    write(response, e.body());
  }

  private static void write(HttpServletResponse response, String body) throws IOException {
    response.setContentType("application/json");
    response.getOutputStream().write(body.getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  private final class Filter extends OncePerRequestFilter {
    private final SecurityContextRepository repository = new RequestAttributeSecurityContextRepository();

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      var metadata = resource == null ? null : resource.metadata(request.getMethod(), request.getRequestURI());
      if (metadata != null) {
        response.setHeader("Access-Control-Allow-Origin", "*"); // clients in browsers read it, too
        write(response, metadata);
        return;
      }
      if (request.getHeader("Authorization") != null) {
        try {
          var claims = verifier.authenticate(request.getHeader("Authorization"));
          var roles = claims.texts("roles").stream().map(role -> new SimpleGrantedAuthority("ROLE_" + role))
              .toList();
          var context = SecurityContextHolder.createEmptyContext();
          context.setAuthentication(UsernamePasswordAuthenticationToken.authenticated(claims, null, roles));
          SecurityContextHolder.setContext(context);
          repository.saveContext(context, request, response); // for asynchronous answers
        } catch (LatchkeyException e) {
          answer(response, e);
          return;
        }
      }
      chain.doFilter(request, response);
    }
  }
}
