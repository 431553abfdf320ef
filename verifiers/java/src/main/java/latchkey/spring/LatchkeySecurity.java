package latchkey.spring;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import latchkey.LatchkeyException;
import latchkey.Verifier;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.core.authority.SimpleGrantedAuthority;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.web.access.intercept.AuthorizationFilter;
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

  public LatchkeySecurity(Verifier verifier) {
    this.verifier = verifier;
  }

  @Override
  public void init(HttpSecurity http) {
    try {
      http.csrf(AbstractHttpConfigurer::disable) // no browser adds a bearer token by itself
          .sessionManagement(sessions -> sessions.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
          .requestCache(AbstractHttpConfigurer::disable) // it begins sessions
          .exceptionHandling(failures -> failures
              .authenticationEntryPoint((request, response, e) -> answer(response, LatchkeyException.noToken()))
              .accessDeniedHandler((request, response, e) -> answer(response, LatchkeyException.noRight())));
    } catch (Exception e) { // declared by Spring Security 6
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void configure(HttpSecurity http) {
    http.addFilterBefore(new Filter(), AuthorizationFilter.class);
  }

  private static void answer(HttpServletResponse response, LatchkeyException e) throws IOException {
    e.headers.forEach(response::setHeader);
    response.setStatus(e.status);
    response.setContentType("application/json");
    response.getOutputStream().write(e.body().getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  private final class Filter extends OncePerRequestFilter {
    private final SecurityContextRepository repository = new RequestAttributeSecurityContextRepository();

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
        throws IOException, ServletException {
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
