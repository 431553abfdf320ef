package latchkey;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Parses {@code text/event-stream} (HTML standard §9.2.6). */
final class EventParser {
  private final Feed feed;
  private final ByteArrayOutputStream line = new ByteArrayOutputStream();
  private boolean isFirst = true;
  private boolean isAfterCr;
  private String name = "";
  private String id;
  private final StringBuilder data = new StringBuilder();

  EventParser(Feed feed) {
    this.feed = feed;
  }

  void feed(byte[] piece, int length) throws IOException {
    for (int i = 0; i < length; i++) {
      byte b = piece[i];
      if (b == '\r' || b == '\n' && !isAfterCr) takeLine();
      else if (b != '\n') line.write(b);
      isAfterCr = b == '\r';
    }
    checkLength(line.size());
  }

  private static void checkLength(int length) throws IOException {
    if (length > Calls.LONGEST) throw new IOException("a line or an event of the stream is too long");
  }

  private void takeLine() throws IOException {
    checkLength(line.size());
    var text = line.toString(StandardCharsets.UTF_8);
    line.reset();
    if (isFirst && text.startsWith("\ufeff")) text = text.substring(1);
    isFirst = false;
    int colon = text.indexOf(':');
    var value = colon < 0 ? "" : text.substring(text.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
    switch (colon < 0 ? text : text.substring(0, colon)) {
      case "event" -> name = value;
      case "id" -> id = value.indexOf(0) < 0 ? value : id;
      case "data" -> checkLength(data.append(value).append('\n').length() - 1);
      case "" -> {
        if (colon < 0) endBlock();
      }
      default -> { } // ignored (standard)
    }
  }

  private void endBlock() throws IOException {
    feed.take(name, data.isEmpty() ? null : data.substring(0, data.length() - 1), id);
    name = "";
    id = null;
    data.setLength(0);
  }
}
