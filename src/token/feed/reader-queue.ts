import type { EventStream } from '../../platform/http/event-stream.js';

/** Characters that may wait for a reader: about 35,000 sessions. Readers share the pieces, without copies. */
const MOST_WAITING = 8 * 1024 * 1024;

/** Queue of a reader of the session feed: a piece is sent after the reader has read the one before. */
export class ReaderQueue {
  /** Whether the past was sent. */
  isReady = false;
  /** Users whose newer claims were queued before the past was sent: the past may have older ones. */
  readonly changed = new Set<string>();
  private readonly pieces: string[] = [];
  private length = 0;
  /** Sent behind the last piece; only the newest: an older cursor would skip endings that still wait. */
  private end = '';
  private isSending = false;

  constructor(readonly stream: EventStream) {}

  add(pieces: readonly string[], end = ''): void {
    if (pieces.length > 0 || end !== '') this.end = end;
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.length += piece.length;
    }
    if (this.length > MOST_WAITING) this.stream.cutOff();
    if (!this.isSending) void this.send();
  }

  private async send(): Promise<void> {
    this.isSending = true;
    while (this.stream.isOpen && (this.pieces.length > 0 || this.end !== '')) {
      if (this.stream.isFull) await this.stream.drained();
      const piece = this.pieces.shift() ?? '';
      this.length -= piece.length;
      const isLast = this.pieces.length === 0;
      this.stream.send(isLast ? piece + this.end : piece);
      if (isLast) this.end = '';
    }
    this.isSending = false;
  }
}
