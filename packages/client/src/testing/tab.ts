import { LatchkeyError } from '../latchkey-error.js';
import type { Post } from '../service/post.js';
import { measureIdle, type Idle } from '../tokens/idle.js';
import { keepFresh, type Refresher } from '../tokens/refresher.js';
import { stored } from '../tokens/storage.js';
import { keepTokens, type TokenKeeper, type Tokens } from '../tokens/tokens.js';

type Area = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export function makeArea(): Area {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

export function tokensNow(changes: Partial<Tokens> = {}): Tokens {
  return {
    access_token: 'first',
    refresh_token: 'lkr_1',
    expires_in: 3600,
    user_id: 'ada',
    device_id: 'd1',
    received_at: Date.now(),
    signed_in_at: Date.now(),
    ...changes,
  };
}

/** An access token with these claims of the user. */
export function tokenOf(claims: object, id = 'old'): string {
  return ['header', Buffer.from(JSON.stringify(claims)).toString('base64url'), id].join('.');
}

/** An answer of the service: a token, an error, or a promise of either. */
export type Answer = object | LatchkeyError | Promise<object>;

export interface Tab {
  readonly keeper: TokenKeeper;
  readonly idle: Idle;
  readonly refresher: Refresher;
  /** Everything emitted, as `[name, detail]`. */
  readonly emitted: [string, unknown][];
  /** The names of removed keys. */
  readonly dropped: string[];
  /** The messages to the other tabs: whether the service has ended a session. */
  readonly notified: boolean[];
  /** The refresh tokens of sessions whose storage was emptied. */
  readonly lost: string[];
  /** Paths and bodies of the requests to the service. */
  readonly sent: [string, object][];
  /** Their number. */
  readonly requests: () => number;
}

/** The parts of a client that keep its session, with a fake service. */
export function openTab(area: Area, answers: Answer[] = [], life = 2_592_000): Tab {
  const emitted: [string, unknown][] = [];
  const dropped: string[] = [];
  const notified: boolean[] = [];
  const lost: string[] = [];
  const sent: [string, object][] = [];
  let count = 0;
  const emit = (name: string, detail: unknown): void => {
    emitted.push([name, detail]);
    if (name === 'change') refresher.renewed();
  };
  const post: Post = async <Body>(path: string, body: object = {}) => {
    count++;
    sent.push([path, body]);
    const answer = await (answers.shift() ?? new LatchkeyError('network'));
    if (answer instanceof LatchkeyError) throw answer;
    return answer as Body;
  };
  const keeper = keepTokens(
    stored(area, 'key'),
    emit,
    (ended) => void notified.push(ended),
    (key) => void dropped.push(key),
    (token) => void lost.push(token),
  );
  const idle = measureIdle(stored(area, 'action'), keeper, (name) => emit(name, undefined));
  const refresher = keepFresh('key', keeper, post, life, idle);
  return { keeper, idle, refresher, emitted, dropped, notified, lost, sent, requests: () => count };
}

/** A tab with a session. @param changes in its tokens */
export function openSession(changes: Partial<Tokens> = {}, answers: Answer[] = []): Tab & { area: Area } {
  const area = makeArea();
  put(area, tokensNow(changes));
  return { ...openTab(area, answers), area };
}

export function put(area: Area, tokens: Tokens): void {
  area.setItem('key', JSON.stringify(tokens));
}
