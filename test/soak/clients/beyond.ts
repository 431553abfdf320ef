import { randomBytes } from 'node:crypto';
import type { Limit } from '../limits.js';
import { forgedToken } from './forged.js';
import { refusedHandshake } from './handshake.js';
import type { Call, Http } from './http.js';
import { Place, type Lives } from './place.js';
import { csrfTokenOf, pagePath } from './sample-page.js';
import { begin, finish } from './sign-in.js';
import type { Tally } from './tally.js';

const TOO_MANY = 429;

/**
 * Those who go beyond a limit: for each limit one who does nothing else, from an address of their own (192.0.2.0/24); the one who
 * renames, beyond a limit of users, is a user. What they are let through with has the usual answer; both are counted.
 */
export class Beyond {
  private readonly writer: Place;

  /** @param writer number of the user who renames */
  constructor(
    writer: number,
    private readonly lives: Lives,
    private readonly http: Http,
    private readonly tally: Tally,
  ) {
    this.writer = new Place(writer, 0);
  }

  async authorize(due: number): Promise<void> {
    const call = { method: 'GET', path: '/oauth2/authorize?provider=stub', from: '192.0.2.1' } as const;
    await this.ask('authorize', call, 200, due);
  }

  async token(due: number): Promise<void> {
    const body = { code: 'c', state: randomBytes(32).toString('hex') };
    const call = { method: 'POST', path: '/oauth2/token', body, from: '192.0.2.2' } as const;
    await this.ask('token', call, 401, due);
  }

  async refresh(due: number): Promise<void> {
    const body = { refresh_token: forgedToken() };
    const call = { method: 'POST', path: '/oauth2/refresh', body, from: '192.0.2.3' } as const;
    await this.ask('refresh', call, 401, due);
  }

  async badToken(due: number): Promise<void> {
    const call = { method: 'GET', path: '/me', bearer: forgedToken(), from: '192.0.2.4' } as const;
    await this.ask('bad_token', call, 401, due);
  }

  /** Its tokens are as bad, so it may go beyond that limit as well, which is told in a connection. */
  async connect(due: number): Promise<void> {
    const outcome = await refusedHandshake(this.http.url, forgedToken(), '192.0.2.5');
    this.tally.took('beyond connect', due);
    if (outcome === String(TOO_MANY)) this.count('connect', true);
    else if (['invalid_token', 'slow_down'].includes(outcome)) this.count('connect', false);
    else this.tally.wrong(`beyond connect ${outcome}`);
  }

  /** Of the user who renames; again where the token is about to expire. */
  async signIn(): Promise<void> {
    const { writer } = this;
    if (writer.busy > 0) return;
    await writer.hold(async () => {
      const begun = await begin(this.http, 'stub', writer.address(), performance.now());
      if (!begun) return;
      const sent = performance.now();
      const { code, deviceId: device_id } = writer;
      const tokens = await finish(this.http, 'sign-in', begun, { code, device_id }, writer.address());
      if (tokens) writer.begin(tokens, sent, this.lives);
    });
  }

  async write(due: number): Promise<void> {
    const { writer } = this;
    if (!writer.canAsk) return this.signIn();
    const { accessToken: bearer } = writer.session!;
    const body = { device_name: `device ${due.toFixed(0)}` };
    const path = `/devices/${writer.deviceId}`;
    await this.ask('write', { method: 'PATCH', path, body, bearer, from: writer.address() }, 200, due);
  }

  /** A wrong password at the sample provider, again and again for one login. */
  async password(due: number): Promise<void> {
    const from = '192.0.2.7';
    const path = pagePath('https://app.example/callback', 'no state of ours');
    const page = await this.http.expect('sample provider: page', { method: 'GET', path, from }, due, 200);
    if (!page) return;
    const form = { csrf_token: csrfTokenOf(page.text), login: 'nobody', password: 'a guess' };
    const call = { method: 'POST', path, body: new URLSearchParams(form), from } as const;
    await this.ask('password', call, 422, performance.now());
  }

  private async ask(limit: Limit, call: Call, usual: number, due: number): Promise<void> {
    const answer = await this.http.expect(`beyond ${limit}`, call, due, usual, TOO_MANY);
    if (answer) this.count(limit, answer.status === TOO_MANY);
  }

  private count(limit: Limit, isRefused: boolean): void {
    this.tally.count(`beyond ${limit}: ${isRefused ? 'refused' : 'let through'}`);
  }
}
