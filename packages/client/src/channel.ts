import type { Channel, EventMeta, Ready } from './channel-events.js';
import { makeEvents } from './events.js';
import type { LatchkeyError } from './latchkey-error.js';
import { signedOut, type Refresher } from './refresher.js';
import type { EndReason } from './session.js';
import type { Socket, SocketIo } from './socket-io.js';
import { after, backoff } from './timer.js';
import { onWake } from './wake.js';

/** Seconds. */
const LONGEST_BACKOFF = 30;
const RENEWAL_RETRY = 5;
const RENEWAL_LOOK = 1;
/** One wake-up causes several events. Frames that had arrived before the sleep are delivered first, and prove nothing. */
const PROBE_DELAY = 0.5;
/** Replacement starts 4 s after the wake-up. A round trip of 1 s, with a slow answer (2 s, contract §3), is in time. */
const PROBE_TIMEOUT = 3.5;

/**
 * Keeps a connection to the user's channel (contract §7): every new one has a fresh token, and goes on from the last offset.
 * @param offset of the last event that the application has
 * @param id of that event
 * @returns the channel, and a promise: resolved at the first subscription, rejected if the channel ends before
 */
export function openChannel(
  url: string,
  { io }: SocketIo,
  offset: number | undefined,
  id: string | null | undefined,
  { fresh, refresh }: Refresher,
  endSession: (reason: EndReason) => void,
): { channel: Channel; opened: Promise<void> } {
  const { on, emit } = makeEvents();
  let socket: Socket | undefined;
  let connected = false;
  let closed = false;
  let telling = false;
  let failures = 0;
  let cancelRetry: (() => void) | undefined;
  let cancelProbe: (() => void) | undefined;
  let isProbed = false;
  /** The token of the connection, and the one that was got for a refused one. */
  let token: string;
  let exchanged: string | undefined;
  /** The key that signed the token was withdrawn: the token is useless, however fresh. */
  let revoked = false;
  let isOpened!: () => void;
  let isOver!: (error: Error) => void;
  const opened = new Promise<void>((...both) => ([isOpened, isOver] = both));
  opened.catch(() => undefined); // callers that wait for it get the error

  /** Spec §1: refresh on demand when a connection is established. */
  const open = async (): Promise<void> => {
    stopWaiting();
    try {
      token = await (revoked ? refresh(token) : fresh());
      revoked = false;
    } catch (error) {
      return later((error as LatchkeyError).retryAfter);
    }
    if (closed || socket) return;
    const mine = (socket = io(url, {
      auth: { token, offset, id },
      transports: ['websocket'],
      reconnection: false, // our own reconnecting takes a fresh token each time
      forceNew: true,
    }));
    const ifMine =
      <Details extends unknown[]>(handle: (...details: Details) => void) =>
      (...details: Details): void => {
        if (socket === mine) handle(...details);
      };
    mine.onAny(ifMine(receive));
    mine.on(
      'disconnect',
      ifMine(() => later()),
    );
    mine.on(
      'connect_error',
      ifMine(({ data }: { data?: { error?: string } }) => {
        if (data?.error === 'invalid_token') void unauthorized();
        else later();
      }),
    );
  };

  const receive = (event: string, data?: unknown, meta?: unknown): void => {
    hear();
    if (event === 'ready') return ready(data as Ready);
    if (event === 'token.expiring') return void authenticate();
    if (event === 'session.ended') {
      // After any other reason the connection is only lost, and comes back.
      const { reason } = data as { reason?: string };
      if (reason === 'signed_out') endSession('signed_out');
      revoked = reason === 'revoked';
      return;
    }
    const { offset: number, id: own } = (meta ?? {}) as Partial<EventMeta>;
    if (number != null) {
      if (number <= offset!) return; // it was handled before
      offset = number;
      id = own;
    }
    emit(event, data, meta);
    emit('*', event, data, meta);
  };

  const ready = (info: Ready): void => {
    ({ offset, id } = info);
    connected = true;
    exchanged = undefined;
    failures = 0;
    isOpened();
    emit('ready', info);
  };

  /** A new token for the open connection, before its own expires. */
  const authenticate = async (): Promise<void> => {
    const mine = socket;
    const again = (seconds: number): void =>
      void after(seconds, () => socket === mine && void authenticate());
    const other = await fresh().catch(() => undefined); // then the service closes it, and we connect again
    if (!other || socket !== mine) return;
    if (other === token) return again(RENEWAL_LOOK); // not due for a refresh, or none could be had
    mine?.emit('authenticate', { token: other }, (answer?: { error?: string }) => {
      if (socket !== mine) return;
      if (!answer?.error) token = other;
      // Mostly because the token is of another session: connect anew with that. While the database is away, nobody could.
      else if (answer.error === 'invalid_token') later(0);
      else again(RENEWAL_RETRY);
    });
  };

  /**
   * A refused token is exchanged for another one; where that is refused, too, it is the end of the session (spec §1). Not where it
   * could not be exchanged, nor where it was too old when it came to be used.
   */
  const unauthorized = async (): Promise<void> => {
    leave();
    if (token === exchanged) return endSession('refused');
    try {
      exchanged = await refresh(token);
      later(0);
    } catch (error) {
      later((error as LatchkeyError).retryAfter);
    }
  };

  /** Connects again after a while. @param seconds instead of the backoff */
  const later = (seconds = backoff(failures++, LONGEST_BACKOFF)): void => {
    if (closed) return; // while a token was on its way
    leave();
    if (!closed) cancelRetry = after(seconds, () => void open()); // a handler may have closed it
  };

  const stopWaiting = (): void => {
    cancelRetry?.();
    cancelProbe?.();
    cancelRetry = cancelProbe = undefined;
    isProbed = false;
  };

  /** No event reports a connection that was lost during a sleep: the service has to answer a probe, or the client connects anew. */
  const wake = (): void => {
    if (cancelRetry) return void open();
    if (!connected) return;
    cancelProbe ??= after(PROBE_DELAY, () => {
      isProbed = true;
      cancelProbe = after(PROBE_TIMEOUT, () => later(0));
      // Without a token it is refused, at no cost: an error is an answer, too (contract §7).
      socket!.emit('authenticate', {}, hear);
    });
  };

  /** Any answer or event after the probe shows that the connection lives. */
  const hear = (): void => {
    if (isProbed) stopWaiting();
  };

  const leave = (): void => {
    stopWaiting();
    const left = socket;
    socket = undefined;
    left?.disconnect();
    const final = closed;
    const isTold = connected || (final && !telling);
    connected = false;
    if (!isTold) return;
    telling = true;
    emit('disconnect', { final });
    telling = false;
    if (closed !== final) leave(); // a handler has closed it, and is told so after all have been told of the loss
  };

  const stopWaking = onWake(wake);
  void open();

  const channel = {
    get connected() {
      return connected;
    },
    get offset() {
      return offset;
    },
    get id() {
      return id;
    },
    on,
    close() {
      if (closed) return;
      closed = true;
      stopWaking();
      leave();
      isOver(signedOut());
    },
  };
  return { channel, opened };
}
