import { randomInt } from 'node:crypto';
import type { Tokens } from '../../support/sign-in.js';
import { StockClient } from '../../support/stock-client.js';
import { anyAddress } from './address.js';
import { deviceIdOf } from './device-id.js';
import { jsonOf, redirectedWith, type Http } from './http.js';

/** In turn: some go away with their code, which so stays until it expires; some revoke their session; the others' end by expiry. */
const HABITS = ['leaves', 'revokes', 'stays'] as const;
const FIRST_DEVICE = 1_000_000;
const STOCK_CLIENTS = 12; // 12.0.0.0/8

/** Stock OAuth clients: the browser goes to the provider and by our callback back to them (contract §4). */
export class StockClients {
  private came = 0;

  constructor(
    private readonly users: number,
    private readonly http: Http,
  ) {}

  /** A whole sign-in, if nobody leaves. */
  async signIn(due: number): Promise<void> {
    const from = anyAddress(STOCK_CLIENTS);
    const user = randomInt(this.users);
    const client = new StockClient('https://app.example/callback', 'soak');
    const habit = HABITS[this.came++ % HABITS.length];
    const code = await this.codeOf(client, `stock-${user}`, from, due);
    if (code === null || habit === 'leaves') return;
    const body = client.tokenRequest(code, { device_id: deviceIdOf(FIRST_DEVICE + user) });
    const call = { method: 'POST', path: '/oauth2/token', body, from } as const;
    const answer = await this.http.expect('stock client: token', call, performance.now(), 200);
    if (answer && habit === 'revokes') await this.revoke((jsonOf(answer) as Tokens).refresh_token, from);
  }

  /** @returns the client's code; null where something went wrong, which is noted */
  private async codeOf(client: StockClient, user: string, from: string, due: number): Promise<string | null> {
    const asked = queryOf(client.authorizationRequest({ provider: 'stub' }));
    const first = { method: 'GET', path: `/oauth2/authorize?${asked}`, from } as const;
    const begun = await this.http.expect('stock client: authorize', first, due, 302);
    if (!begun) return null;
    const query = redirectedWith(begun);
    const callback = new URL(query.get('redirect_uri')!).pathname;
    const path = `${callback}?${queryOf({ state: query.get('state')!, code: user })}`;
    const second = { method: 'GET', path, from } as const;
    const back = await this.http.expect('stock client: callback', second, performance.now(), 302);
    return back ? redirectedWith(back).get('code') : null;
  }

  private async revoke(token: string, from: string): Promise<void> {
    const body = new URLSearchParams({ token });
    const call = { method: 'POST', path: '/oauth2/revoke', body, from } as const;
    await this.http.expect('stock client: revoke', call, performance.now(), 200);
  }
}

function queryOf(parameters: Record<string, unknown>): string {
  return new URLSearchParams(parameters as Record<string, string>).toString();
}
