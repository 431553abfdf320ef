package api;

import com.nimbusds.jose.util.JSONObjectUtils;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import latchkey.LatchkeyException;
import latchkey.Options;
import latchkey.Verifier;

/** The verifier without a framework. */
public class PlainApi {
  private final Verifier latchkey = new Verifier(options());

  public static Options options() {
    return new Options(System.getenv("ISSUER")).url(System.getenv("SERVICE_URL")).serviceKey(System.getenv("SERVICE_KEY"))
        .whenAway(Verifier.WhenAway.valueOf(System.getenv("WHEN_AWAY").toUpperCase()));
  }

  public static void main(String[] arguments) throws IOException {
    var api = new PlainApi();
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.setExecutor(Executors.newFixedThreadPool(8)); // as test/verifiers/made-up-tokens.ts expects
    server.createContext("/", api::answer);
    server.start();
    System.out.println(server.getAddress().getPort());
  }

  private void answer(HttpExchange exchange) throws IOException {
    int status = 200;
    String body;
    try {
      var claims = latchkey.authenticate(exchange.getRequestHeaders().getFirst("Authorization"));
      if (exchange.getRequestURI().getPath().equals("/admin") && !claims.texts("roles").contains("admin"))
        throw LatchkeyException.noRight();
      body = JSONObjectUtils.toJSONString(claims.all());
    } catch (LatchkeyException e) {
      status = e.status;
      body = e.body();
      e.headers.forEach(exchange.getResponseHeaders()::set);
    }
    var bytes = body.getBytes();
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
