package latchkey;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** Calls to the service. */
final class Calls {
  /** Of an answer, and of a line or an event of the feed. */
  static final int LONGEST = 65_536;
  /** A later answer is outdated. */
  static final int TIMEOUT_MS = 2500;

  final Options options;
  final ScheduledExecutorService timers = Executors.newScheduledThreadPool(2, task -> {
    var thread = new Thread(task, "latchkey-timers");
    thread.setDaemon(true);
    return thread;
  });

  Calls(Options options) {
    this.options = options;
  }

  /** @throws LatchkeyException without an answer */
  HttpResponse<InputStream> send(String path, String body, int timeoutMs, String... headers) {
    var request = HttpRequest.newBuilder(URI.create(options.url + path)).headers(headers)
        .timeout(Duration.ofMillis(timeoutMs));
    if (options.serviceKey != null) request.header("Authorization", "Bearer " + options.serviceKey);
    if (body != null) request.POST(BodyPublishers.ofString(body));
    try {
      return sendTwice(request.build());
    } catch (IOException e) {
      throw LatchkeyException.unavailable(e, "1");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw LatchkeyException.unavailable(e, "1");
    }
  }

  /** A POST is repeated, once: an idle connection may be closed just when it is used. */
  private HttpResponse<InputStream> sendTwice(HttpRequest request) throws IOException, InterruptedException {
    try {
      return options.client.send(request, BodyHandlers.ofInputStream());
    } catch (HttpTimeoutException e) {
      throw e;
    } catch (IOException e) {
      return options.client.send(request, BodyHandlers.ofInputStream());
    }
  }

  /** Returns a whole answer. */
  Map<String, Object> fetch(String path, String body, int timeoutMs, String... headers) {
    var response = send(path, body, timeoutMs, headers);
    try (var stream = response.body()) {
      if (response.statusCode() != 200) throw failure(response);
      var timer = timers.schedule(() -> { stream.close(); return null; }, timeoutMs, MILLISECONDS);
      var text = new String(stream.readNBytes(LONGEST), StandardCharsets.UTF_8);
      timer.cancel(false);
      var answer = JSONObjectUtils.parse(text);
      return answer == null ? Map.of() : answer;
    } catch (IOException | ParseException e) {
      throw LatchkeyException.unavailable(e, "1");
    }
  }

  /** For an answer with another status than 200. */
  static LatchkeyException failure(HttpResponse<InputStream> response) {
    int status = response.statusCode();
    if (status != 401 && status != 403)
      return LatchkeyException.unavailable(new IOException("the service answered with " + status),
          response.headers().firstValue("Retry-After").orElse("1"));
    return new LatchkeyException(500, "service_key_refused",
        "the service does not know the service key, or it has no right `read`", Map.of(), null);
  }
}
