package programs;

import static latchkey.spring.LatchkeySecurity.requireScope;
import static org.springframework.security.config.Customizer.withDefaults;

import api.PlainApi;
import java.util.Map;
import latchkey.Claims;
import latchkey.Verifier;
import latchkey.spring.LatchkeySecurity;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** An API for programs of third parties, in Spring Boot 3 or 4. */
@SpringBootApplication
@RestController
public class ProgramsApi {
  public static void main(String[] arguments) {
    var out = System.out;
    System.setOut(System.err); // for the log
    var context = SpringApplication.run(ProgramsApi.class, "--server.port=0", "--server.address=127.0.0.1",
        "--logging.level.root=warn", "--spring.main.banner-mode=off");
    out.println(context.getEnvironment().getProperty("local.server.port"));
  }

  @Bean
  Verifier latchkey() {
    return new Verifier(PlainApi.options().audience("https://api.example.com/mcp", System.getenv("ISSUER")));
  }

  /** As in README.md; test/verifiers/java.spec.ts compares. */
  @Bean
  SecurityFilterChain programs(HttpSecurity http, Verifier latchkey) throws Exception {
    var security = new LatchkeySecurity(latchkey).protectedResource("https://api.example.com/mcp", "orders:read");
    return http.with(security, withDefaults())
        .authorizeHttpRequests(requests -> requests
            .requestMatchers(HttpMethod.GET, "/mcp/**").access(requireScope("orders:read"))
            .requestMatchers("/mcp/**").access(requireScope("orders:write")) // of several scopes, all are needed
            .anyRequest().denyAll())
        .build();
  }

  @RequestMapping("/mcp/orders")
  Map<String, Object> orders(@AuthenticationPrincipal Claims claims) {
    return claims.all();
  }
}
