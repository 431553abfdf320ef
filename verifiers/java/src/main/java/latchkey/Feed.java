package latchkey;

import static java.lang.System.Logger.Level.WARNING;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import latchkey.Clocks.Moment;

/** Reads the feed of ended sessions into memory, over one connection after another. */
final class Feed implements Runnable {
  private static final long SILENCE_MS = 2000;
  /** To connect, and between two pieces before {@code ready}. */
  private static final int CONNECT_MS = 10_000;
  private static final long WATCH_EVERY_MS = 250;
  private static final long LONGEST_PAUSE_MS = 5000;
  private static final long LONGEST_RETRY_MS = 30_000;
  private static final String SILENT = "nothing was received for too long";
  private static final Pattern CURSOR = Pattern.compile("[!-~]{1,1024}");
  private static final System.Logger LOG = System.getLogger("latchkey");

  private final Calls calls;
  private final Clocks clocks;
  final Memory memory;
  private final Thread thread = new Thread(this, "latchkey-feed");
  /** When all sign-outs were known; null before {@code ready}. */
  private volatile Moment completeAt;
  private volatile Moment receivedAt;
  /** Of the connection; null before its answer. */
  private volatile InputStream body;
  private volatile LatchkeyException refused;
  private volatile boolean isClosed;
  private String cursor = "";
  /** Whether there was a silence before {@code ready}: then events before it may be outdated. */
  private boolean isOld;
  /** Of {@code Retry-After}. */
  private long retryMs;

  Feed(Calls calls, Clocks clocks, Memory memory) {
    this.calls = calls;
    this.clocks = clocks;
    this.memory = memory;
    receivedAt = clocks.now();
    if (calls.options.serviceKey == null) return;
    thread.setDaemon(true);
    thread.start();
    calls.timers.scheduleWithFixedDelay(this::watch, WATCH_EVERY_MS, WATCH_EVERY_MS, MILLISECONDS);
  }

  boolean isFresh() {
    var at = completeAt;
    return at != null && clocks.since(at) <= SILENCE_MS && !memory.isSetBack();
  }

  LatchkeyException failure() {
    var known = refused;
    return known == null ? LatchkeyException.unavailable(null, "1") : known;
  }

  void close() {
    isClosed = true;
    thread.interrupt();
    hangUp();
  }

  private void hangUp() {
    try {
      if (body != null) body.close(); // the thread's read fails
    } catch (IOException e) {
      // It is closed all the same.
    }
  }

  private boolean isSilent() {
    var at = completeAt;
    return at == null ? clocks.since(receivedAt) > CONNECT_MS : clocks.since(at) > SILENCE_MS;
  }

  private void watch() {
    if (isSilent()) hangUp();
  }

  @Override
  public void run() {
    for (int failures = 1; !isClosed; failures++) {
      retryMs = 0;
      try {
        read();
      } catch (IOException | RuntimeException e) {
        if (completeAt != null) failures = 1;
        completeAt = null;
        hangUp();
        refused = e instanceof LatchkeyException refusal && refusal.status == 500 ? refusal : null;
        // One broken connection is no outage.
        if (!isClosed && (failures == 2 || failures == 1 && refused != null))
          LOG.log(WARNING, "Sign-outs are not received: " + (e.getCause() == null ? e : e.getCause()));
      }
      long pauseMs = Math.min(100L << Math.min(failures - 1, 6), LONGEST_PAUSE_MS);
      pause(Math.max(pauseMs, Math.min(retryMs, LONGEST_RETRY_MS)));
    }
  }

  private void pause(long longest) {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextLong(longest / 2, longest));
    } catch (InterruptedException e) {
      // By close(): it ends the loop.
    }
  }

  /** Reads until the connection fails. */
  private void read() throws IOException {
    if (memory.isSetBack()) {
      memory.restart();
      cursor = "";
    }
    memory.sweep();
    body = null;
    isOld = false;
    receivedAt = clocks.now();
    var headers = Stream.of("Accept", "text/event-stream", "Last-Event-ID", cursor)
        .limit(cursor.isEmpty() ? 2 : 4);
    var response = calls.send("/sessions/ended", null, CONNECT_MS, headers.toArray(String[]::new));
    body = response.body();
    if (response.statusCode() != 200) {
      retryMs = response.headers().firstValueAsLong("Retry-After").orElse(0) * 1000;
      throw Calls.failure(response);
    }
    if (!response.headers().firstValue("Content-Type").orElse("").startsWith("text/event-stream"))
      throw new IOException("the answer is no event stream");
    var parser = new EventParser(this);
    var piece = new byte[16_384];
    for (int length; (length = body.read(piece)) >= 0; ) {
      received();
      parser.feed(piece, length);
    }
    throw new IOException("the service ended the stream");
  }

  /** What comes after a silence may be outdated: this process may have been paused. */
  private void received() throws IOException {
    isOld |= clocks.since(receivedAt) > SILENCE_MS;
    if (completeAt != null && (isOld || isSilent())) throw new IOException(SILENT);
    receivedAt = clocks.now();
  }

  /** Takes an event, and a cursor: the service has just read its database, and has sent all before it. */
  void take(String name, String data, String id) throws IOException {
    boolean isReady = name.equals("ready") && data != null;
    if (data != null) memory.take(name, data);
    if (id != null && CURSOR.matcher(id).matches()) cursor = id;
    if (!isReady && id == null) return;
    if (memory.isSetBack() || isOld && isReady) throw new IOException(SILENT);
    if (isReady || completeAt != null) completeAt = receivedAt;
    if (isReady) refused = null;
    memory.sweep();
  }
}
