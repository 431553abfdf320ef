import { adviseOnArrival, adviseOnCallback, adviseOnSetup, IS_DEVELOPMENT } from './advice.js';
import type { Channel } from './channel/channel-events.js';
import { makeConnection, ownSockets } from './channel/connect.js';
import { makeEvents } from './channel/events.js';
import { claim } from './components/claim.js';
import { LatchkeyError, orNetworkError, rejecting } from './latchkey-error.js';
import type { Identity } from './identity.js';
import type { Latchkey } from './latchkey.js';
import type { ClientOptions, DevicesOptions, StepUpOptions, UserOptions } from './options.js';
import { bearerFetch } from './service/bearer-fetch.js';
import { makeClock } from './service/clock.js';
import { makePost } from './service/post.js';
import { base64url } from './service/proof.js';
import { makeCall } from './service/service.js';
import { after, backoff, onWake } from './service/timer.js';
import type { EndCause, EndReason, IdleNotice, SignInStep } from './session.js';
import { MESSAGE, reportError, signInMemory } from './sign-in/callback.js';
import { makeProviders } from './sign-in/providers.js';
import type { SignInRequests } from './sign-in/requests.js';
import { loadChoice, makeSignIn } from './sign-in/sign-in.js';
import { textsFor } from './texts/texts.js';
import { exclusive } from './tokens/exclusive.js';
import { measureIdle } from './tokens/idle.js';
import { makeKeys } from './tokens/keys.js';
import { keepFresh, signedOut } from './tokens/refresher.js';
import { makeLeave, makeSignOut } from './tokens/sign-out.js';
import { openBroadcast, stored } from './tokens/storage.js';
import { keepTokens } from './tokens/tokens.js';

/** Seconds after the start at which a missing profile is loaded: the page's own requests come first. */
const PROFILE_DELAY = 1;
/** Seconds until what another tab stored is visible here, also on a slow device. */
const STORAGE_DELAY = 0.5;

/** Makes functions of a file that the first call loads. */
const inFile = <Loaded extends object, Name extends keyof Loaded & string>(
  load: () => Promise<Loaded>,
  ...names: Name[]
): Pick<Loaded, Name> => {
  let loading: Promise<Loaded> | undefined;
  const functionOf =
    (name: Name) =>
    async (...parameters: unknown[]): Promise<unknown> => {
      loading ??= load();
      loading.catch(() => (loading = undefined)); // the next call tries again
      return ((await orNetworkError(loading))[name] as (...all: unknown[]) => unknown)(...parameters);
    };
  return Object.fromEntries(names.map((name) => [name, functionOf(name)])) as Pick<Loaded, Name>;
};

/**
 * Creates the client of a service. It shows nothing until it is used. Call it once, in a module; the
 * callback page needs equal options.
 * @typeParam Events the application's events: an interface of names and data
 * @throws TypeError if `url` is no absolute address
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
  const [texts, languageLoaded] = textsFor(
    options.locale ?? (page?.documentElement.lang || globalThis.navigator?.language || ''),
    options.texts,
  );
  let tabs = page && openBroadcast(key);
  const clock = makeClock();
  const call = makeCall(url, clock.set, (done) => emit('request', done));
  const report = (path: string, body: object): void => {
    call('POST', path, body).catch(() => undefined);
  };
  const keys = makeKeys(key);
  const post = makePost(call, keys, clock);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has none
  const notifyTabs = (ended: boolean): void => tabs?.postMessage(ended);
  const storage = options.storage ?? 'localStorage';
  const keeper = keepTokens(
    stored(storage, key),
    emit,
    notifyTabs,
    (name) => {
      // A duplicated tab has a copy of the sessionStorage, and so of the session: it needs the key to learn of the end.
      if (storage !== 'sessionStorage') keys.remove(name);
    },
    (token) => report('/oauth2/revoke', { token, reason: 'storage_lost' }),
  );
  const actionKey = `${key}:action`;
  const idle = measureIdle(stored(storage, actionKey), keeper, emit);
  const refresher = keepFresh(key, keeper, post, options.refreshTokenLife ?? 2_592_000, idle);
  const memory = signInMemory(key);
  const providers = makeProviders(call);
  const loadStepUp = (): Promise<typeof import('./sign-in/step-up.js')> =>
    orNetworkError(import('./sign-in/step-up.js'));
  /** A separate file, as the dialog: pages with a session do not need it. */
  const loadRequests = async (): Promise<SignInRequests> => {
    const { makeRequests } = await orNetworkError(import('./sign-in/requests.js'));
    const advise = IS_DEVELOPMENT ? adviseOnArrival : undefined;
    const alone = (work: () => Promise<void>): Promise<void> => exclusive(key, work);
    const parts = [LatchkeyError, base64url, stored, loadStepUp, alone, advise] as const;
    return makeRequests(parts, options, call, post, report, keys, clock, keeper);
  };
  const progress = (step: SignInStep): void => emit('progress', step);
  const signingIn = makeSignIn(options, providers, loadRequests, memory, texts, progress, report);
  const origins = [new URL(url).origin, ...(options.fetchOrigins ?? (page ? [location.origin] : []))];
  const leave = makeLeave(call, keeper, refresher, () => notifyTabs(true));
  const canAsk = !!page && options.askAgain !== false;
  const renew = async (answer: Response | StepUpOptions, token?: string): Promise<unknown> =>
    (await loadStepUp()).renew([keeper, refresher, signingIn.start, canAsk], answer, token);
  const authorizedFetch = bearerFetch(origins, url, keeper, refresher, renew);
  const api = <Answer>(method: string, path: string, body?: object): Promise<Answer> =>
    call(method, path, body, authorizedFetch);
  const endSession = (reason: EndReason, token: string, cause?: EndCause): void => {
    if (cause === 'too_many' || cause === 'replaced') refresher.replaced(token, cause);
    else keeper.end(cause === 'idle' ? 'idle' : reason, token, cause);
  };
  const connection = makeConnection(options.loadSocketIo ?? ownSockets, (openChannel, io, { offset, id }) =>
    openChannel([[after, backoff, onWake], makeEvents()], url, io, offset, id, refresher, endSession),
  );
  const account = inFile(
    () =>
      import('./account.js').then(({ makeAccount }) =>
        makeAccount(LatchkeyError, api, keeper, refresher, connection.isConnected, post, authorizedFetch),
      ),
    'me',
    'devices',
    'renameDevice',
    'refusedPrograms',
    'allowProgram',
    'deviceRequests',
    'decideDeviceRequest',
  );
  const { complete, ...linking } = inFile(
    () =>
      import('./linking.js').then(({ makeLinking }) =>
        makeLinking(LatchkeyError, api, keeper, post, authorizedFetch, signingIn.start, options),
      ),
    'identities',
    'link',
    'unlink',
    'mergeUser',
    'complete',
  );
  /** Loads a missing profile in the background. After a failure, the next page that is loaded tries again. */
  const loadProfile = (): void => {
    const saved = keeper.get();
    if (saved && !saved.profile) account.me().catch(() => undefined);
  };

  let linked: Promise<Identity> | undefined;
  let idleEndsAt: string | null = null;
  let watching: Promise<() => void> | undefined;
  /** Watches the user only if idle time applies. Without the file, e.g. with no network, the session ends as if nobody acted. */
  const watchIdle = (): void => {
    if (page && idle.left() < Infinity) {
      watching ??= import('./tokens/idle-watch.js').then((loaded) =>
        loaded.watchIdle([after, { on, emit }], actionKey, idle, keeper, refresher),
      );
      watching.catch(() => (watching = undefined)); // the next change tries again
    } else {
      watching?.then(
        (stop) => stop(),
        () => undefined,
      );
      watching = undefined;
    }
  };

  on('idle', ({ ends_at }: IdleNotice) => (idleEndsAt = ends_at));
  on('change', (session) => {
    refresher.renewed();
    watchIdle();
    if (session) signingIn.done();
    else if (page) signingIn.prepare();
  });
  on('progress', (step: SignInStep) => {
    if (step === 'signed-in') loadProfile();
  });
  on('ended', (reason: EndReason, cause?: EndCause) => {
    connection.close();
    const { signedOut: signed_out, keyLost: key_lost, idle: wasIdle } = texts;
    const messages = { user: '', signed_out, key_lost, idle: wasIdle } as const;
    const message = (messages as Partial<Record<EndReason, string>>)[reason] ?? texts.ended;
    const tell = (): void => {
      emit('signedOut', { reason, message, ...(cause && { cause }) });
      if (canAsk && message) signingIn.ask(message);
    };
    // Perhaps at the start: the application adds its listeners first.
    if (reason === 'idle') queueMicrotask(tell);
    else tell();
  });
  let cancelCheck: (() => void) | undefined;
  tabs?.addEventListener('message', ({ data: ended }) => {
    const before = keeper.get();
    if (keeper.reload() !== before || !ended) return;
    // With one session per tab, the sign-out of another tab may have ended this session, too. The storage of a shared session shows
    // the reason soon; a refused refresh would replace it.
    cancelCheck?.();
    cancelCheck = after(STORAGE_DELAY, () => void refresher.refresh().catch(() => undefined));
  });
  const listening = new AbortController();
  if (page) {
    addEventListener('message', signingIn.onMessage, listening);
    // A change of the storage may become visible here after the message about it.
    addEventListener(
      'storage',
      ({ key: changed }) => {
        if ((changed ?? key) === key) keeper.reload();
      },
      listening,
    );
    const answer = signingIn.resume();
    if (answer) {
      linked = complete(answer);
      linked.catch(() => undefined); // also without a listener
    }
    // Not on the callback page. Later, so that the application adds its listeners first.
    if (!keeper.get() && !new URLSearchParams(location.search).has('state'))
      queueMicrotask(signingIn.prepare);
  }
  const stopAdvising = IS_DEVELOPMENT && page && adviseOnSetup(url, options.redirectUri);
  /** One per page: React runs effects twice in StrictMode. */
  let handling: Promise<boolean> | undefined;
  const handle = async (): Promise<boolean> => {
    const { href } = location; // a router may change it at once
    const { handOn } = await orNetworkError(import('./sign-in/hand-on.js'));
    const isSignedIn = async (): Promise<boolean> => {
      const isFresh = keeper.get() && refresher.fresh();
      return !!(await isFresh?.catch(() => undefined));
    };
    const parts = [LatchkeyError, MESSAGE, openBroadcast, reportError, after] as const;
    return handOn(parts, href, memory, report, isSignedIn);
  };
  if (IS_DEVELOPMENT && page) adviseOnCallback(() => !!handling);
  const cancelProfile =
    page &&
    keeper.get() &&
    after(PROFILE_DELAY, () => {
      loadProfile();
      signingIn.load(); // the network may be away when the session ends
    });

  idle.check(); // after a night, no page shows the user of the day before
  watchIdle();

  /** A function that needs a page. */
  const inPage = <Parameters extends unknown[], Result>(
    work: (...parameters: Parameters) => Promise<Result>,
  ) =>
    rejecting(async (...parameters: Parameters) => {
      if (!page) throw new LatchkeyError('no_browser');
      return work(...parameters);
    });
  const signIn: Latchkey['signIn'] = inPage(async (signInOptions = {}) => {
    await signingIn.start(signInOptions);
    return keeper.session()!;
  });
  const show = (
    name: 'showDevices' | 'showUser' | 'showIdleNotice' | 'showDeviceRequests' | 'showIdentities',
  ) =>
    inPage(async (...parameters: [Element, (DevicesOptions & UserOptions)?]) => {
      const claimed = claim(parameters[0]);
      const components = await orNetworkError(import('./components/components.js'));
      await languageLoaded;
      return components[name](client, api, texts, orNetworkError, claimed, ...parameters);
    });

  const client: Latchkey<Events> = {
    get session() {
      return keeper.session();
    },
    get idleEndsAt() {
      return idleEndsAt;
    },
    on,
    stay: rejecting(async () => {
      idle.check();
      if (!keeper.get()) throw signedOut();
      if (idle.left() === Infinity) return;
      idle.acted();
      await refresher.refresh();
    }),
    signIn,
    stepUp: inPage(async (wanted) => {
      await renew(wanted);
      return keeper.session()!;
    }),
    providers: rejecting(providers.providers),
    showProviders: inPage(async (place, wanted = {}) => {
      const { signal } = claim(place);
      const { showButtons } = await loadChoice();
      await languageLoaded;
      return showButtons(place, signal, providers, texts, signIn, wanted);
    }),
    showDevices: show('showDevices'),
    showUser: show('showUser'),
    showIdleNotice: show('showIdleNotice'),
    showDeviceRequests: show('showDeviceRequests'),
    handleCallback: inPage(async () => {
      // Visible only if the browser keeps the window open.
      if (await (handling ??= handle())) signingIn.showText(texts.done);
    }),
    accessToken: refresher.fresh,
    fetch: authorizedFetch,
    connect: rejecting(async (position = {}) => {
      if (!keeper.get()) throw signedOut();
      return (await connection.connect(position)) as Channel<Events>;
    }),
    signOut: rejecting(makeSignOut(leave, page)),
    ...account,
    removeDevice: (id) => leave('DELETE', `/devices/${id}`, id === keeper.get()?.device_id),
    ...linking,
    get linked() {
      return linked;
    },
    showIdentities: show('showIdentities'),
    close() {
      refresher.stop();
      cancelProfile?.();
      cancelCheck?.();
      if (stopAdvising) stopAdvising();
      connection.close();
      tabs?.close();
      tabs = undefined; // pending requests must not post to a closed channel
      listening.abort();
      watching?.then(
        (stop) => stop(),
        () => undefined,
      );
    },
  };
  return client;
}
