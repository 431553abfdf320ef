import type { Tokens } from '../../support/sign-in.js';
import { jsonOf, type Http } from './http.js';
import type { Kind } from './kinds.js';

/** What `GET /oauth2/authorize` answers a client of the specification (spec §4.2). */
export interface Begun {
  readonly state: string;
  readonly redirect_url: string;
}

/** What it ends with, beside the state. */
export interface Ending {
  readonly code: string;
  readonly device_id: string;
}

/** Begins a sign-in. @param from an address */
export async function begin(
  http: Http,
  provider: string,
  from: string,
  due: number,
): Promise<Begun | undefined> {
  const call = { method: 'GET', path: `/oauth2/authorize?provider=${provider}`, from } as const;
  const answer = await http.expect('authorize', call, due, 200);
  return answer && (jsonOf(answer) as Begun);
}

/** Ends it, with the provider's code. @param from an address */
export async function finish(
  http: Http,
  kind: Kind,
  { state }: Begun,
  ending: Ending,
  from: string,
): Promise<Tokens | undefined> {
  const body = { ...ending, state, device_name: 'soak' };
  const call = { method: 'POST', path: '/oauth2/token', body, from } as const;
  const answer = await http.expect(kind, call, performance.now(), 200);
  return answer && (jsonOf(answer) as Tokens);
}
