package api;

import static org.springframework.security.config.Customizer.withDefaults;

import java.util.Map;
import java.util.concurrent.Callable;
import latchkey.Claims;
import latchkey.Verifier;
import latchkey.spring.LatchkeySecurity;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpStatus;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The verifier in Spring Boot 3 or 4. */
@SpringBootApplication
@RestController
public class BootApi {
  public static void main(String[] arguments) {
    var out = System.out;
    System.setOut(System.err); // for the log
    var context = SpringApplication.run(BootApi.class, "--server.port=0", "--server.address=127.0.0.1",
        "--logging.level.root=warn", "--spring.main.banner-mode=off", "--server.tomcat.threads.max=8");
    out.println(context.getEnvironment().getProperty("local.server.port"));
  }

  @Bean
  Verifier latchkey() {
    return new Verifier(PlainApi.options());
  }

  /** As in README.md; test/verifiers/java.spec.ts compares. */
  @Bean
  SecurityFilterChain api(HttpSecurity http, Verifier latchkey) throws Exception {
    return http.with(new LatchkeySecurity(latchkey), withDefaults())
        .authorizeHttpRequests(requests -> requests.requestMatchers("/admin/**").hasRole("admin")
            .requestMatchers("/public/**", "/error").permitAll().anyRequest().authenticated())
        .build();
  }

  @GetMapping({"/me", "/admin"})
  Map<String, Object> me(@AuthenticationPrincipal Claims claims) {
    return claims.all();
  }

  /** Its answer comes from another thread, in a second dispatch of the request. */
  @GetMapping("/later")
  Callable<String> later(@AuthenticationPrincipal Claims claims) {
    return claims::getName;
  }

  @GetMapping("/public/open")
  String open() {
    return "open";
  }

  @GetMapping({"/public/number", "/number"})
  int number(@RequestParam int n) {
    return n;
  }

  @GetMapping({"/public/conflict", "/conflict"})
  void conflict() {
    throw new ResponseStatusException(HttpStatus.CONFLICT);
  }

  @GetMapping({"/public/failing-later", "/failing-later"})
  Callable<String> failingLater() {
    return () -> {
      throw new IllegalStateException("a fault of the API");
    };
  }
}
