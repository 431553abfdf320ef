import { randomBytes } from 'node:crypto';
import { codeOf, misreadIn, type Arrival, type Spelling } from './arrival.js';
import type { Options } from '../arguments.js';
import { CannotRun } from '../cannot-run.js';
import { land, type Landing } from './landing.js';
import type { Person } from './person.js';

/** A state as the service makes it: 64 hex characters. */
export function hexState(): string {
  return randomBytes(32).toString('hex');
}

/** `code_challenge` and its method (RFC 7636 §4.3), or nothing. */
export type Pkce = Readonly<Record<string, string>>;

/** Signs in at the provider: without a person if the page redirects at once. */
export class SignIns {
  /** How the provider writes its codes; `collect` finds it out with the first one. */
  spelling: Spelling = 'percent';
  private readonly arrivals: Arrival[] = [];

  constructor(
    private readonly options: Options,
    private readonly person: Person,
  ) {}

  /** Every code that was issued. */
  get codes(): readonly string[] {
    return this.arrivals
      .map((arrival) => codeOf(arrival, this.spelling))
      .filter((code) => code !== undefined);
  }

  /** A character that a provider did not encode, so that clients read another code. */
  get misread(): string | undefined {
    return this.arrivals.map((arrival) => misreadIn(arrival, this.spelling)).find((one) => one !== undefined);
  }

  /** Opens the authorization page (spec §4.5.1) without a person. @param pkce more parameters of the request */
  look(state: string, redirectUri: string, pkce: Pkce = {}): Promise<Landing> {
    return land(this.address(state, redirectUri, pkce), redirectUri);
  }

  /** One sign-in; undefined when the page shows an error or does not answer. */
  async signIn(state: string, redirectUri: string, pkce: Pkce = {}): Promise<Arrival | undefined> {
    const landing = await this.look(state, redirectUri, pkce);
    if (!isWilling(landing)) return undefined;
    const sent = { state, redirectUri };
    const arrival: Arrival =
      landing.kind === 'callback'
        ? { ...sent, url: landing.url, method: 'GET', status: landing.status }
        : {
            ...sent,
            ...(await this.person.signIn(this.address(state, redirectUri, pkce))),
            status: undefined,
          };
    this.arrivals.push(arrival);
    return arrival;
  }

  /** A fresh code from one more sign-in; an earlier one has worked. */
  async code(pkce: Pkce = {}): Promise<string> {
    const arrival = await this.signIn(hexState(), this.person.redirectUri, pkce);
    const code = arrival && codeOf(arrival, this.spelling);
    if (code === undefined) throw new CannotRun('a first sign-in worked, and a later one brought no code');
    return code;
  }

  private address(state: string, redirectUri: string, pkce: Pkce): URL {
    const url = new URL(`${this.options.providerUrl}/oauth2/authorize`);
    const { clientId } = this.options;
    const own = { state, client_id: clientId, redirect_uri: redirectUri };
    url.search = new URLSearchParams({ ...own, ...pkce }).toString();
    return url;
  }
}

/** Whether the provider accepts the request: it shows a page without an error status, or sends the browser back at once. */
export function isWilling(landing: Landing): landing is Exclude<Landing, { kind: 'none' }> {
  return landing.kind === 'callback' || (landing.kind === 'page' && landing.status < 400);
}
