package latchkey;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Map;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** Replaces the service in the vectors. */
final class FakeClient extends HttpClient {
  /** A request for the feed that waits for its answer. */
  record Connecting(HttpRequest request, long at, CompletableFuture<HttpResponse<InputStream>> answer) {
    String cursor() {
      return request.headers().firstValue("Last-Event-ID").orElse("");
    }
  }

  final LinkedBlockingQueue<Connecting> connecting = new LinkedBlockingQueue<>();
  final AtomicInteger introspections = new AtomicInteger();
  final AtomicInteger keyRequests = new AtomicInteger();
  volatile Answer keys;
  /** Null: the connection is reset. */
  volatile Answer introspection;
  private final Clocks clocks;

  FakeClient(Clocks clocks) {
    this.clocks = clocks;
  }

  record Answer(int status, Map<String, String> fields, InputStream body, String text) implements HttpResponse<InputStream> {
    static Answer of(int status, String text) {
      return new Answer(status, Map.of("Content-Type", "application/json"), null, text);
    }

    @Override
    public int statusCode() {
      return status;
    }

    @Override
    public InputStream body() {
      return body != null ? body : new ByteArrayInputStream(text.getBytes());
    }

    @Override
    public HttpHeaders headers() {
      var lists = fields.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, field -> List.of(field.getValue())));
      return HttpHeaders.of(lists, (name, value) -> true);
    }

    @Override
    public HttpRequest request() {
      return null;
    }

    @Override
    public Optional<HttpResponse<InputStream>> previousResponse() {
      return Optional.empty();
    }

    @Override
    public Optional<javax.net.ssl.SSLSession> sslSession() {
      return Optional.empty();
    }

    @Override
    public URI uri() {
      return null;
    }

    @Override
    public Version version() {
      return Version.HTTP_1_1;
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler)
      throws IOException, InterruptedException {
    return (HttpResponse<T>) answer(request);
  }

  private HttpResponse<InputStream> answer(HttpRequest request) throws IOException, InterruptedException {
    if (request.uri().getPath().equals("/.well-known/jwks.json")) {
      keyRequests.incrementAndGet();
      return keys;
    }
    if (request.uri().getPath().equals("/oauth2/introspect")) {
      introspections.incrementAndGet();
      if (introspection == null) throw new IOException("the connection was reset");
      return introspection;
    }
    var waiting = new Connecting(request, clocks.steady().getAsLong(), new CompletableFuture<>());
    connecting.add(waiting);
    try {
      return waiting.answer.get(60, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException | java.util.concurrent.TimeoutException e) {
      throw new HttpTimeoutException("no answer");
    }
  }

  /** A body whose read waits until a step brings bytes. */
  static final class Stream extends InputStream {
    private byte[] piece = new byte[0];
    private int position;
    private boolean isWaiting;
    private boolean hasEnded;
    private boolean isClosed;

    @Override
    public int read() {
      throw new UnsupportedOperationException();
    }

    @Override
    public synchronized int read(byte[] into, int offset, int length) throws IOException {
      isWaiting = position == piece.length;
      notifyAll();
      try {
        while (position == piece.length && !hasEnded && !isClosed) wait();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      isWaiting = false;
      if (isClosed) throw new IOException("closed");
      if (position == piece.length) return -1;
      int size = Math.min(length, piece.length - position);
      System.arraycopy(piece, position, into, offset, size);
      position += size;
      return size;
    }

    /** Returns once the bytes are processed, or the verifier has left. */
    synchronized void send(byte[] bytes) throws InterruptedException {
      awaitRead();
      piece = bytes;
      position = 0;
      isWaiting = false;
      notifyAll();
      awaitRead();
    }

    /** Until the verifier has processed everything, or has left. */
    synchronized void awaitRead() throws InterruptedException {
      while (!isWaiting && !isClosed) wait();
    }

    synchronized void end() throws InterruptedException {
      hasEnded = true;
      notifyAll();
      awaitClose();
    }

    synchronized void awaitClose() throws InterruptedException {
      while (!isClosed) wait();
    }

    @Override
    public synchronized void close() {
      isClosed = true;
      notifyAll();
    }
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, HttpResponse.BodyHandler<T> handler,
      HttpResponse.PushPromiseHandler<T> pushes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Optional<CookieHandler> cookieHandler() {
    return Optional.empty();
  }

  @Override
  public Optional<Duration> connectTimeout() {
    return Optional.empty();
  }

  @Override
  public Redirect followRedirects() {
    return Redirect.NEVER;
  }

  @Override
  public Optional<ProxySelector> proxy() {
    return Optional.empty();
  }

  @Override
  public SSLContext sslContext() {
    return null;
  }

  @Override
  public SSLParameters sslParameters() {
    return null;
  }

  @Override
  public Optional<Authenticator> authenticator() {
    return Optional.empty();
  }

  @Override
  public Version version() {
    return Version.HTTP_1_1;
  }

  @Override
  public Optional<Executor> executor() {
    return Optional.empty();
  }
}
