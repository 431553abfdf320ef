import type { LatchkeyError } from '../latchkey-error.js';
import type { after, backoff, onWake } from '../service/timer.js';
import type { EndCause, EndReason } from '../session.js';
import type { Refresher } from '../tokens/refresher.js';
import type { Channel, EventMeta, Ready, Socket, SocketIo } from './channel-events.js';
import type { Events } from './events.js';

/** Seconds. */
const MAX_BACKOFF = 30;
const RENEWAL_RETRY = 5;
const RENEWAL_POLL = 1;
/** A wake-up causes several events, and frames that arrived before the sleep are delivered first: they prove nothing. */
const PROBE_DELAY = 0.5;
/** Allows a round trip of 1 s and a slow answer (2 s): a dead connection is replaced 4 s after a wake-up. */
const PROBE_TIMEOUT = 3.5;

/** What the main file passes. This file, which `connect()` loads, imports nothing: shared code would become a third file. */
type Parts = readonly [
  timers: readonly [after: typeof after, backoff: typeof backoff, onWake: typeof onWake],
  events: Events,
];

/**
 * Keeps a connection to the user's channel. Each connection has a fresh token, and resumes at the last
 * offset.
 * @param offset of the last event that the application has
 * @param id of that event
 */
export function openChannel(
  [[after, backoff, onWake], { on, emit }]: Parts,
  url: string,
  { io }: SocketIo,
  offset: number | undefined,
  id: string | null | undefined,
  { fresh, refresh, expectClaims }: Refresher,
  endSession: (reason: EndReason, token: string, cause?: EndCause) => void,
): Channel {
  let socket: Socket | undefined;
  let connected = false;
  let closed = false;
  let emitting = false;
  let failures = 0;
  let cancelRetry: (() => void) | undefined;
  let cancelProbe: (() => void) | undefined;
  let isProbed = false;
  /** The connection's token, and the last one obtained for a rejected one. */
  let token: string;
  let exchanged: string | undefined;
  /** Whether the key that signed the token was withdrawn: then a token that is not due is useless, too. */
  let revoked = false;

  /** Spec §1: refreshes on demand when a connection is established. */
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
      reconnection: false, // each connection needs a fresh token
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
        if (data?.error === 'invalid_token') void exchange();
        else later();
      }),
    );
  };

  const receive = (event: string, data?: unknown, meta?: unknown): void => {
    answered();
    if (event === 'ready') return ready(data as Ready);
    if (event === 'token.expiring') return void authenticate();
    if (event === 'session.ended') {
      // After any other reason the channel reconnects.
      const { reason, cause } = data as { reason?: string; cause?: EndCause };
      if (reason === 'signed_out') endSession(reason, token, cause);
      revoked = reason === 'revoked';
      return;
    }
    const { offset: number, id: eventId } = (meta ?? {}) as Partial<EventMeta>;
    if (number != null) {
      if (number <= offset!) return; // a repetition
      offset = number;
      id = eventId;
    }
    if (event === 'claims.changed') expectClaims((data as { claims?: unknown }).claims);
    emit(event, data, meta);
    emit('*', event, data, meta);
  };

  const ready = (info: Ready): void => {
    ({ offset, id } = info);
    connected = true;
    exchanged = undefined;
    failures = 0;
    emit('ready', info);
  };

  /** Sends a new token over the open connection, before its token expires. */
  const authenticate = async (): Promise<void> => {
    const mine = socket;
    const again = (seconds: number): void =>
      void after(seconds, () => socket === mine && void authenticate());
    const other = await fresh().catch(() => undefined); // then the service closes the connection at expiry
    if (!other || socket !== mine) return;
    if (other === token) return again(RENEWAL_POLL);
    mine?.emit('authenticate', { token: other }, (answer?: { error?: string }) => {
      if (socket !== mine) return;
      if (!answer?.error) token = other;
      // Mostly a token of another session, which needs a new connection. After other errors a new one would fail, too.
      // After a sign-out, its reason comes within a second.
      else if (answer.error === 'invalid_token') after(1, () => socket === mine && later(0));
      else again(RENEWAL_RETRY);
    });
  };

  /** Exchanges a rejected token; the session ends if the new one is rejected, too (spec §1). */
  const exchange = async (): Promise<void> => {
    leave();
    if (token === exchanged) return endSession('refused', token);
    try {
      exchanged = await refresh(token);
      later(0);
    } catch (error) {
      later((error as LatchkeyError).retryAfter);
    }
  };

  /** Reconnects. @param seconds until then, instead of the backoff */
  const later = (seconds = backoff(failures++, MAX_BACKOFF)): void => {
    if (closed) return;
    leave();
    if (!closed) cancelRetry = after(seconds, () => void open()); // a handler may have closed the channel
  };

  const stopWaiting = (): void => {
    cancelRetry?.();
    cancelProbe?.();
    cancelRetry = cancelProbe = undefined;
    isProbed = false;
  };

  /** No event reports a connection that was lost during a sleep: the service has to answer a probe. */
  const wake = (): void => {
    if (cancelRetry) return void open();
    if (!connected) return;
    cancelProbe ??= after(PROBE_DELAY, () => {
      isProbed = true;
      cancelProbe = after(PROBE_TIMEOUT, () => later(0));
      // Without a token it is rejected at no cost; an error is an answer, too.
      socket!.emit('authenticate', {}, answered);
    });
  };

  /** Any answer or event after the probe shows that the connection lives. */
  const answered = (): void => {
    if (isProbed) stopWaiting();
  };

  const leave = (): void => {
    stopWaiting();
    const left = socket;
    socket = undefined;
    left?.disconnect();
    const final = closed;
    const isReported = connected || (final && !emitting);
    connected = false;
    if (!isReported) return;
    emitting = true;
    emit('disconnect', { final });
    emitting = false;
    if (closed !== final) leave(); // a handler closed the channel: reported after the loss
  };

  const stopWaking = onWake(wake);
  void open();

  return {
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
    },
  };
}
