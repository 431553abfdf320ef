import { randomBytes, randomInt } from 'node:crypto';
import { anyAddress } from './address.js';
import { forgedToken } from './forged.js';
import { refusedHandshake } from './handshake.js';
import type { Call, Http } from './http.js';
import type { Tally } from './tally.js';

const STRANGERS = 11; // 11.0.0.0/8

interface BadRequest extends Omit<Call, 'from'> {
  readonly status: number;
}

const BAD_REQUESTS: readonly (() => BadRequest)[] = [
  () => ({ method: 'GET', path: '/me', bearer: forgedToken(), status: 401 }),
  () => ({ method: 'GET', path: '/devices', bearer: randomBytes(600).toString('hex'), status: 401 }),
  () => ({ method: 'GET', path: `/${randomBytes(20).toString('hex')}`, status: 404 }),
  () => ({ method: 'POST', path: '/me', body: {}, status: 405 }),
  () => ({ method: 'POST', path: '/oauth2/token', body: `{"code":"${'x'.repeat(3000)}"`, status: 400 }),
  () => ({ method: 'POST', path: '/oauth2/refresh', body: { refresh_token: forgedToken() }, status: 401 }),
  () => {
    const body = { code: 'c', state: randomBytes(32).toString('hex') };
    return { method: 'POST', path: '/oauth2/token', body, status: 401 };
  },
  () => ({ method: 'GET', path: '/oauth2/authorize?provider=nobody', status: 400 }),
];

/** People without a session, each from another address, who send what is refused. */
export class Strangers {
  constructor(
    private readonly http: Http,
    private readonly tally: Tally,
  ) {}

  async ask(due: number): Promise<void> {
    const { status, ...call } = BAD_REQUESTS[randomInt(BAD_REQUESTS.length)]!();
    await this.http.expect('refused', { ...call, from: anyAddress(STRANGERS) }, due, status);
  }

  /** A socket with a token that is refused. */
  async connect(due: number): Promise<void> {
    const outcome = await refusedHandshake(this.http.url, forgedToken(), anyAddress(STRANGERS));
    this.tally.took('refused handshake', due);
    if (outcome !== 'invalid_token') this.tally.wrong(`refused handshake ${outcome}`);
  }
}
