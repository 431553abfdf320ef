import { randomUUID } from 'node:crypto';
import { anyAddress } from './address.js';
import type { Http } from './http.js';
import { begin, finish } from './sign-in.js';

const NEWCOMERS = 15; // 15.0.0.0/8
const LOOPBACK = '127.0.0.1';

interface Newcomer {
  readonly userId: string;
  readonly deviceId: string;
  readonly accessToken: string;
  readonly from: string;
}

/** Users who come for the first time and, after a while, are removed by the application's backend. */
export class Newcomers {
  private readonly present: Newcomer[] = [];
  private gone = 0;

  /** @param stay how many there are before the first is removed */
  constructor(
    private readonly stay: number,
    private readonly serviceKey: string,
    private readonly http: Http,
  ) {}

  async come(due: number): Promise<void> {
    const from = anyAddress(NEWCOMERS);
    const begun = await begin(this.http, 'stub', from, due);
    if (!begun) return;
    const deviceId = randomUUID();
    const ending = { code: `new-${randomUUID()}`, device_id: deviceId };
    const tokens = await finish(this.http, 'first sign-in', begun, ending, from);
    if (!tokens) return;
    this.present.push({ userId: tokens.user_id, deviceId, accessToken: tokens.access_token, from });
  }

  /** Whoever has been there for longest; every other one has forgotten their device before. */
  async go(due: number): Promise<void> {
    if (this.present.length >= this.stay) await this.remove(this.present.shift()!, due);
  }

  /** Removes all who are left. */
  async removeAll(): Promise<void> {
    await Promise.all(this.present.splice(0).map((one) => this.remove(one, performance.now())));
  }

  /** Who could not be removed is left for later. */
  private async remove(one: Newcomer, due: number): Promise<void> {
    const { userId, deviceId, accessToken, from } = one;
    if (this.gone++ % 2 === 0) {
      const path = `/devices/${deviceId}`;
      const call = { method: 'DELETE', path, bearer: accessToken, from } as const;
      await this.http.expect('device forgotten', call, due, 204);
    }
    const call = {
      method: 'DELETE',
      path: `/users/${userId}`,
      bearer: this.serviceKey,
      from: LOOPBACK,
    } as const;
    if (!(await this.http.expect('user removed', call, performance.now(), 204))) this.present.push(one);
  }
}
