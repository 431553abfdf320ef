import { randomInt, randomUUID } from 'node:crypto';
import { codeFor } from '../provider-code.js';
import { anyAddress } from './address.js';
import { deviceIdOf } from './device-id.js';
import type { Http } from './http.js';
import { begin, finish } from './sign-in.js';

const FIRST_DEVICE = 2_000_000;
const OPEN_ID_PEOPLE = 13; // 13.0.0.0/8

interface Guest {
  readonly sub: string;
  readonly sid: string;
  readonly refreshToken: string;
  readonly from: string;
}

/** People of a provider of OpenID Connect, which ends their sessions after a while (contract §6). */
export class OpenIdPeople {
  private readonly guests: Guest[] = [];

  /**
   * @param stay how many have a session before the first of them is logged out
   * @param provider its address
   */
  constructor(
    private readonly users: number,
    private readonly stay: number,
    private readonly provider: string,
    private readonly http: Http,
  ) {}

  async signIn(due: number): Promise<void> {
    const from = anyAddress(OPEN_ID_PEOPLE);
    const user = randomInt(this.users);
    const [sub, sid] = [`corp-${user}`, randomUUID()];
    const begun = await begin(this.http, 'corp', from, due);
    if (!begun) return;
    const nonce = new URL(begun.redirect_url).searchParams.get('nonce')!;
    const ending = { code: codeFor({ sub, sid, nonce }), device_id: deviceIdOf(FIRST_DEVICE + user) };
    const tokens = await finish(this.http, 'sign-in by OpenID Connect', begun, ending, from);
    if (tokens) this.guests.push({ sub, sid, refreshToken: tokens.refresh_token, from });
  }

  /** The provider logs out whoever has been there for longest. */
  async logOut(due: number): Promise<void> {
    if (this.guests.length >= this.stay) await this.end(this.guests.shift()!, due);
  }

  /** Logs out all who are left. */
  async logOutAll(): Promise<void> {
    await Promise.all(this.guests.splice(0).map((guest) => this.end(guest, performance.now())));
  }

  /** Their refresh token is good for nothing then. */
  private async end({ sub, sid, refreshToken, from }: Guest, due: number): Promise<void> {
    const asked = new URLSearchParams({ sub, sid });
    const logout_token = await (await fetch(`${this.provider}/logout-token?${asked.toString()}`)).text();
    const body = new URLSearchParams({ logout_token });
    const call = { method: 'POST', path: '/providers/corp/backchannel-logout', body, from } as const;
    if (!(await this.http.expect('back-channel logout', call, due, 200))) return;
    const refresh = { refresh_token: refreshToken };
    const again = { method: 'POST', path: '/oauth2/refresh', body: refresh, from } as const;
    await this.http.expect('refresh after the logout', again, performance.now(), 401);
  }
}
