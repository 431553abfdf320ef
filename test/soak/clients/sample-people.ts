import { randomInt } from 'node:crypto';
import { loginOf, PASSWORD, SAMPLE_ACCOUNTS } from '../sample-accounts.js';
import { anyAddress } from './address.js';
import { deviceIdOf } from './device-id.js';
import { redirectedWith, type Http } from './http.js';
import { csrfTokenOf } from './sample-page.js';
import { begin, finish } from './sign-in.js';

/** One of so many goes away with its code, which so stays until it expires. */
const ONE_LEAVES_OF = 3;
const FIRST_DEVICE = 3_000_000;
const SAMPLE_PEOPLE = 14; // 14.0.0.0/8

/** People with an account at the built-in sample provider. Their sessions end by expiry. */
export class SamplePeople {
  private came = 0;

  constructor(private readonly http: Http) {}

  /** The login page, the password, and the sign-in with the code. */
  async signIn(due: number): Promise<void> {
    const from = anyAddress(SAMPLE_PEOPLE);
    const account = randomInt(SAMPLE_ACCOUNTS);
    const isLeaving = this.came++ % ONE_LEAVES_OF === 0;
    const begun = await begin(this.http, 'mock', from, due);
    if (!begun) return;
    const { pathname, search } = new URL(begun.redirect_url);
    const path = pathname + search;
    const page = { method: 'GET', path, from } as const;
    const shown = await this.http.expect('sample provider: page', page, performance.now(), 200);
    if (!shown) return;
    const form = { csrf_token: csrfTokenOf(shown.text), login: loginOf(account), password: PASSWORD };
    const sent = { method: 'POST', path, body: new URLSearchParams(form), from } as const;
    const back = await this.http.expect('sample provider: password', sent, performance.now(), 302);
    if (!back || isLeaving) return;
    const ending = { code: redirectedWith(back).get('code')!, device_id: deviceIdOf(FIRST_DEVICE + account) };
    await finish(this.http, 'sign-in by the sample provider', begun, ending, from);
  }
}
