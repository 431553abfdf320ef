import { makeAccount } from './account.js';
import { adviseOnSetup, IS_DEVELOPMENT } from './advice.js';
import { bearerFetch } from './bearer-fetch.js';
import { openBroadcast } from './broadcast.js';
import { handOn, signInMemory } from './callback.js';
import type { Channel } from './channel-events.js';
import { openChannel } from './channel.js';
import { makeClock } from './clock.js';
import { ownSockets, makeConnection } from './connect.js';
import { deviceName } from './device.js';
import { makeEvents } from './events.js';
import { makeExchange } from './exchange.js';
import { makeKeys } from './keys.js';
import { LatchkeyError, rejecting } from './latchkey-error.js';
import type { Latchkey } from './latchkey.js';
import type { ClientOptions } from './options.js';
import { makePost } from './post.js';
import { keepFresh, signedOut } from './refresher.js';
import { makeCall } from './service.js';
import type { EndReason, SignInStep } from './session.js';
import { makeSignIn } from './sign-in.js';
import { makeLeave, makeSignOut } from './sign-out.js';
import { stored } from './storage.js';
import { textsFor } from './texts.js';
import { after } from './timer.js';
import { keepTokens } from './tokens.js';

/** Seconds after the start at which a stored session gets its profile, if it has none: not before what the page itself needs. */
const LEARN_AFTER = 1;

/**
 * Makes the client of one service. Until it is used it shows nothing, and asks only what it will need. Call it once, in a module of its own, with the same options on the callback page.
 * @typeParam Events your own events: an interface of their names and of what they carry
 *
 * @example
 * interface MyEvents { 'order.shipped': { id: string } }
 * export const latchkey = createClient<MyEvents>({
 *   url: 'https://id.example.com',
 *   provider: 'mock',
 *   redirectUri: '/callback',
 * });
 */
// oxlint-disable-next-line typescript/no-explicit-any -- as in Latchkey
export function createClient<Events extends object = any>(options: ClientOptions): Latchkey<Events> {
  const url = options.url.replace(/\/$/, '');
  const key = `latchkey:${url}`;
  const page = globalThis.document as Document | undefined;
  const { on, emit } = makeEvents();
  const texts = textsFor(
    options.locale ?? (page?.documentElement.lang || globalThis.navigator?.language || ''),
    options.texts,
  );
  let tabs = page && openBroadcast(key);
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
    options,
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
  const connection = makeConnection(options.loadSocketIo ?? ownSockets, (io, { offset, id }) =>
    openChannel(url, io, offset, id, refresher, keeper.end),
  );
  const account = makeAccount(api, leave, keeper, connection.isConnected);
  /** Asks in the background who it is that is signed in, once. Where that fails, the next page that is loaded asks again. */
  const learn = (): void => {
    const held = keeper.get();
    if (held && !held.profile) account.me().catch(() => undefined);
  };

  on('change', (session) => {
    refresher.renewed();
    if (session) signingIn.done();
    else if (page) signingIn.prepare();
  });
  on('progress', (step: SignInStep) => {
    if (step === 'signed-in') learn();
  });
  on('ended', (reason: EndReason) => {
    connection.close();
    const messages = { user: '', signed_out: texts.signedOut, key_lost: texts.keyLost } as const;
    const message = (messages as Partial<Record<EndReason, string>>)[reason] ?? texts.ended;
    emit('signedOut', { reason, message });
    if (page && message && options.askAgain !== false) signingIn.ask(message);
  });
  tabs?.addEventListener('message', ({ data: ended }) => {
    const before = keeper.get();
    // Where each tab has a session of its own, the sign-out of another one may have ended this one too.
    if (keeper.reload() === before && ended) refresher.refresh().catch(() => undefined);
  });
  const listening = new AbortController();
  if (page) {
    addEventListener('message', signingIn.hear, listening);
    // What another tab has stored may become visible here after its message.
    addEventListener(
      'storage',
      ({ key: changed }) => {
        if ((changed ?? key) === key) keeper.reload();
      },
      listening,
    );
    signingIn.resume();
    // Not on the callback page. Later, so that the application can listen first.
    if (!keeper.get() && !new URLSearchParams(location.search).has('state'))
      queueMicrotask(signingIn.prepare);
  }
  const stopAdvising = IS_DEVELOPMENT && page && adviseOnSetup(url, options.redirectUri);
  /** A page has one callback, however often it is handed over: React runs effects twice in StrictMode. */
  let handling: Promise<boolean> | undefined;
  const stopLearning =
    page &&
    keeper.get() &&
    after(LEARN_AFTER, () => {
      learn();
      signingIn.load(); // later the network may be away, and the session over
    });

  return {
    get session() {
      return keeper.session();
    },
    on,
    signIn: rejecting(async ({ mode } = {}) => {
      if (!page) throw notInPage();
      await signingIn.start(mode);
      return keeper.session()!;
    }),
    handleCallback: rejecting(async () => {
      if (!page) throw notInPage();
      if (await (handling ??= handOn(memory))) signingIn.tell(texts.done); // seen where the browser does not let the window close itself
    }),
    accessToken: refresher.fresh,
    fetch: authorizedFetch,
    connect: rejecting(async (position = {}) => {
      if (!keeper.get()) throw signedOut();
      return (await connection.connect(position)) as Channel<Events>;
    }),
    signOut: rejecting(makeSignOut(leave, page)),
    ...account,
    close() {
      refresher.stop();
      stopLearning?.();
      if (stopAdvising) stopAdvising();
      connection.close();
      tabs?.close();
      tabs = undefined; // what is under way may still end, and would tell them
      listening.abort();
    },
  };
}

function notInPage(): LatchkeyError {
  return new LatchkeyError('no_browser', 'This needs a page');
}
