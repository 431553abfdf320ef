package latchkey;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;

/** Asks the service about tokens (RFC 7662), about each at most once a second. */
final class Introspector {
  private static final int CALLS_AT_A_TIME = 100;
  private static final int MOST_ANSWERS = 10_000;
  /** Of an answer, from the call. */
  private static final long COUNTS_MS = 1000;

  private record Question(long askedAt, CompletableFuture<Map<String, Object>> answer) {}

  private final Calls calls;
  private final Clocks clocks;
  private final Semaphore slots = new Semaphore(CALLS_AT_A_TIME);
  /** By token, the oldest first. */
  private final Map<String, Question> questions = new LinkedHashMap<>();

  Introspector(Calls calls, Clocks clocks) {
    this.calls = calls;
    this.clocks = clocks;
  }

  /** @throws LatchkeyException also for a token that is not active */
  Map<String, Object> ask(String token) {
    var mine = new Question(clocks.steady().getAsLong(), new CompletableFuture<>());
    Question question;
    synchronized (questions) {
      removeOld(mine.askedAt);
      question = questions.computeIfAbsent(token, absent -> mine);
    }
    if (question == mine) call(token, mine);
    try {
      var answer = question.answer.join(); // ends with its call
      if (answer.get("active").equals(true)) return answer;
    } catch (CompletionException e) {
      throw (LatchkeyException) e.getCause();
    }
    throw LatchkeyException.invalid("the session of the access token has ended");
  }

  private void removeOld(long now) {
    var oldest = questions.values().iterator();
    while (oldest.hasNext()
        && (now - oldest.next().askedAt >= COUNTS_MS || questions.size() >= MOST_ANSWERS)) oldest.remove();
  }

  private void call(String token, Question question) {
    boolean hasSlot = false;
    try {
      hasSlot = slots.tryAcquire(Calls.TIMEOUT_MS, MILLISECONDS);
      long leftMs = Calls.TIMEOUT_MS - (clocks.steady().getAsLong() - question.askedAt);
      if (!hasSlot || leftMs <= 0) throw LatchkeyException.unavailable(null, "1");
      var body = JSONObjectUtils.toJSONString(Map.of("token", token));
      var answer = calls.fetch("/oauth2/introspect", body, (int) leftMs, "Content-Type", "application/json");
      if (!(answer.get("active") instanceof Boolean)) throw LatchkeyException.unavailable(null, "1");
      question.answer.complete(answer);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      question.answer.completeExceptionally(LatchkeyException.unavailable(e, "1"));
    } catch (RuntimeException e) {
      question.answer.completeExceptionally(e);
    } finally {
      if (hasSlot) slots.release();
      if (question.answer.isCompletedExceptionally()) // no answer: the next request asks again
        synchronized (questions) {
          questions.remove(token, question);
        }
    }
  }
}
