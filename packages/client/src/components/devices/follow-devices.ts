import type { Channel, DeviceEvent } from '../../channel/channel-events.js';
import type { LatchkeyError } from '../../latchkey-error.js';
import type { Connection } from './device-row.js';
import type { DevicePages, Kit } from '../kit.js';

/** Milliseconds in which several reasons to load the list become one request: a reconnect brings many events at once. */
const COLLECT = 150;
/** Milliseconds. A device that has just signed in opens its channel next, which makes it online but sends no event. */
const ONLINE_AFTER = 2000;
/** Milliseconds between two requests; `online` has no event. */
const EVERY = 30_000;
/** Milliseconds after which a lost connection is shown: most return sooner. */
const LOST_AFTER = 1500;
/** Milliseconds after which a request counts as slow. */
const SLOW_AFTER = 4000;

interface Listener {
  /** Gets the list, also if only the time has gone on. */
  readonly onList: (pages: DevicePages) => void;
  readonly onError: (error: LatchkeyError) => void;
  readonly onSlow: () => void;
  readonly onConnection: (connection: Connection) => void;
  /** Another user has signed in, or none is. */
  readonly onUser: () => void;
}

/** Loads the signed-in user's devices: now, after each event of the channel, and twice a minute while the page is visible. */
export function followDevices({ client, pages }: Pick<Kit, 'client' | 'pages'>, listener: Listener) {
  /** Pages to load. */
  let most = 1;
  let due = Infinity;
  let isLoading = false;
  let isWantedAgain = false;
  let userId: string | undefined;
  let channel: Channel | undefined;
  let stopListening: (() => void)[] = [];
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const left = new AbortController();

  const after = (name: string, wait: number, work: () => void): void => {
    clearTimeout(timers.get(name));
    timers.set(name, setTimeout(work, wait));
  };
  const isSame = (user: string): boolean => user === userId && !left.signal.aborted;

  /** Loads the list soon, once for all calls until then. */
  const load = (wait = COLLECT): void => {
    if (isLoading) isWantedAgain = true;
    const at = performance.now() + wait;
    if (isLoading || at >= due) return;
    due = at;
    after('load', wait, () => void request());
  };
  const request = async (): Promise<void> => {
    due = Infinity;
    const user = userId;
    if (user === undefined || left.signal.aborted) return;
    isLoading = true;
    isWantedAgain = false;
    after('slow', SLOW_AFTER, listener.onSlow);
    try {
      const answer = await pages(most);
      if (isSame(user)) listener.onList(answer);
    } catch (error) {
      if (isSame(user)) listener.onError(error as LatchkeyError);
    } finally {
      isLoading = false;
      clearTimeout(timers.get('slow'));
      if (isWantedAgain) load();
    }
  };

  const show = (connection: Connection): void => {
    clearTimeout(timers.get('lost'));
    listener.onConnection(navigator.onLine ? connection : 'away');
  };
  const lose = (): void => after('lost', LOST_AFTER, () => listener.onConnection('away'));
  const onEvent = (event: string, device: Partial<DeviceEvent>, sentAt: string): void => {
    if (!/^(device|agent)\./.test(event)) return;
    const isNew = Date.now() - Date.parse(sentAt) < ONLINE_AFTER;
    const isOurs = device.device_id === client.session?.deviceId;
    if (isNew && isOurs && event === 'device.signed_out') return; // the session ends at this moment
    load();
    if (isNew && event === 'device.signed_in') after('online', ONLINE_AFTER, load);
  };
  /** Listens to the channel, which the application may use, too. There is another one after another sign-in. */
  const connect = async (): Promise<void> => {
    const opened = await client.connect();
    if (opened === channel || left.signal.aborted) return;
    for (const stop of stopListening) stop();
    channel = opened;
    stopListening = [
      opened.on('ready', () => {
        show('live');
        load(); // the devices may have changed while the channel was not connected
      }),
      opened.on('disconnect', ({ final }) => {
        if (final) channel = undefined;
        lose();
      }),
      opened.on('*', (event, data, { sent_at }) => onEvent(event, Object(data) as object, sent_at)),
    ];
    if (opened.connected) show('live');
    load(); // a list that was read before the channel was ready lacks what happened in between
  };
  /** Without a channel the list is loaded nevertheless; the next attempt comes with the next request. */
  const follow = (): void => {
    if (client.session) connect().catch(lose);
  };
  const setUser = (): void => {
    const now = client.session?.userId;
    follow();
    if (now === userId) return;
    userId = now;
    most = 1;
    listener.onUser();
    load(0);
  };
  const onNetwork = (): void => show(channel?.connected ? 'live' : 'connecting');

  const offChange = client.on('change', setUser);
  addEventListener('online', onNetwork, left);
  addEventListener('offline', onNetwork, left);
  const poll = setInterval(() => {
    if (!client.session || document.hidden || !navigator.onLine) return;
    follow();
    load();
  }, EVERY);
  onNetwork();
  setUser();

  return {
    load,
    /** Loads one more page. */
    loadMore: (): void => {
      most++;
      load(0);
    },
    stop: (): void => {
      left.abort();
      offChange();
      clearInterval(poll);
      for (const timer of timers.values()) clearTimeout(timer);
      for (const stop of stopListening) stop();
    },
  };
}
