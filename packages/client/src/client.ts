import { bearerFetch } from './bearer-fetch.js';
import { handOn, signInMemory } from './callback.js';
import { openChannel } from './channel.js';
import { makeClock } from './clock.js';
import { deviceName } from './device.js';
import type { Device } from './device-list.js';
import { makeEvents } from './events.js';
import { makeExchange } from './exchange.js';
import { makeKeys } from './keys.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Latchkey } from './latchkey.js';
import type { ClientOptions } from './options.js';
import { makePost } from './post.js';
import { keepFresh, signedOut } from './refresher.js';
import { makeCall } from './service.js';
import type { EndReason } from './session.js';
import type { SocketIo } from './socket-io.js';
import { makeSignIn } from './sign-in.js';
import { makeLeave, makeSignOut } from './sign-out.js';
import { stored } from './storage.js';
import { textsFor } from './texts.js';
import { keepTokens } from './tokens.js';

/** Makes the client of one service from its parts. It sends and shows nothing until it is used. */
export function createClient(options: ClientOptions): Latchkey {
  const url = options.url.replace(/\/$/, '');
  const key = `latchkey:${url}`;
  const page = globalThis.document as Document | undefined;
  const { on, emit } = makeEvents();
  const texts = textsFor(
    options.locale ?? (page?.documentElement.lang || globalThis.navigator?.language || ''),
    options.texts,
  );
  const tabs = page && globalThis.BroadcastChannel ? new BroadcastChannel(key) : undefined;
  const clock = makeClock();
  const call = makeCall(url, clock.set, (done) => emit('request', done));
  const keys = makeKeys(key, clock);
  const post = makePost(call, keys, clock);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel, which has none
  const tell = (ended: boolean): void => tabs?.postMessage(ended);
  const storage = options.storage ?? 'localStorage';
  const keeper = keepTokens(stored(storage, key), emit, tell, (name) => {
    // A duplicated tab has a copy of the sessionStorage, and so the same session: the service tells it whether that is over.
    if (storage !== 'sessionStorage') keys.remove(name);
  });
  const refresher = keepFresh(key, keeper, post, options.refreshTokenLife ?? 2_592_000);
  const memory = signInMemory(key);
  const signingIn = makeSignIn(
    {
      provider: options.provider,
      redirectUri: options.redirectUri,
      mode: options.mode ?? 'iframe',
    },
    call,
    makeExchange(options.deviceName ?? deviceName(), post, keys, keeper),
    memory,
    texts,
    (step) => emit('progress', step),
  );
  const origins = [new URL(url).origin, ...(options.fetchOrigins ?? (page ? [location.origin] : []))];
  const leave = makeLeave(call, keeper, refresher, () => tell(true));
  const authorizedFetch = bearerFetch(origins, url, keeper, refresher);
  const api = <Answer>(method: string, path: string, body?: object): Promise<Answer> =>
    call(method, path, body, authorizedFetch);
  // The `catch` tells bundlers that the module may be missing.
  const loadSocketIo = options.loadSocketIo ?? (() => import('socket.io-client').catch(missingPeer));
  let channel: Promise<ReturnType<typeof openChannel>> | undefined;

  const closeChannel = (): void => {
    void channel?.then((open) => open.channel.close()).catch(() => undefined);
    channel = undefined;
  };

  on('change', (session) => {
    refresher.renewed();
    if (session) signingIn.done();
  });
  on('ended', (reason: EndReason) => {
    closeChannel();
    const messages = {
      user: '',
      signed_out: texts.signedOut,
      refused: texts.ended,
      key_lost: texts.keyLost,
      expired: texts.ended,
    };
    const message = messages[reason];
    emit('signedOut', { reason, message });
    if (page && message && options.askAgain !== false) signingIn.ask(message);
  });
  if (tabs) {
    tabs.addEventListener('message', ({ data: ended }) => {
      const before = keeper.get();
      // Where each tab has a session of its own, the sign-out of another one may have ended this one too.
      if (keeper.reload() === before && ended) refresher.refresh().catch(() => undefined);
    });
  }
  // What another tab has stored may become visible here after its message.
  const onStorage = ({ key: changed }: StorageEvent): void => {
    if ((changed ?? key) === key) keeper.reload();
  };
  if (page) {
    addEventListener('message', signingIn.hear);
    addEventListener('storage', onStorage);
    signingIn.resume();
  }

  return {
    get session() {
      return keeper.session();
    },
    on,
    async signIn({ mode } = {}) {
      await signingIn.start(mode);
      return keeper.session()!;
    },
    async handleCallback() {
      handOn(memory);
    },
    accessToken: refresher.fresh,
    fetch: authorizedFetch,
    async connect({ offset, id } = {}) {
      if (!keeper.get()) throw signedOut();
      channel ??= loadSocketIo().then((io: SocketIo) =>
        openChannel(url, io, offset, id, refresher, keeper.end),
      );
      channel.catch(() => (channel = undefined)); // loading may work the next time
      const open = await channel;
      await open.opened;
      return open.channel;
    },
    signOut: makeSignOut(leave, page),
    me: () => api('GET', '/me'),
    devices: async () => (await api<{ devices: Device[] }>('GET', '/devices')).devices,
    renameDevice: (id, name) => api('PATCH', `/devices/${id}`, { device_name: name }),
    removeDevice: (id) => leave('DELETE', `/devices/${id}`, id === keeper.get()?.device_id),
    close() {
      refresher.stop();
      closeChannel();
      tabs?.close();
      if (!page) return;
      removeEventListener('message', signingIn.hear);
      removeEventListener('storage', onStorage);
    },
  };
}

function missingPeer(): never {
  throw new LatchkeyError('missing_peer');
}
