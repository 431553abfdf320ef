import { codeOf, REDIRECT_URI, SIGN_IN_USERS } from '../names.js';
import { getRequest, postForm, putRequest, type Script } from './script.js';

/** A service's sign-in, as its client sees it (RFC 6749 §4.1). */
export interface CodeFlow {
  readonly clientId: string;
  /** Path and query of the first request. */
  readonly authorize: string;
  readonly token: string;
  /** Path to which the stub provider redirects. */
  readonly callback?: string;
  /** Path of Hydra's login and consent requests at the administrator's port. */
  readonly requests?: string;
}

const REDIRECT = '30';

/**
 * Whole sign-in by the authorization code flow, each in a new browser: redirects are followed until the client has its code.
 * @param onTokens receives the answer of the token endpoint
 */
export function codeFlowScript(flow: CodeFlow, onTokens?: (body: Buffer) => void): Script {
  const { clientId: client_id, authorize, token, callback, requests } = flow;
  let user = 0;
  return (connection, done, admin) => () => {
    const person = codeOf(user);
    user = (user + 1) % SIGN_IN_USERS;
    const cookies = new Map<string, string>();
    const get = (path: string): void => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      connection.send(getRequest(path, cookie && `Cookie: ${cookie}\r\n`), follow, REDIRECT);
    };
    const accept = (kind: string, challenge: string, answer: object): void => {
      const path = `${requests}/${kind}/accept?${kind}_challenge=${encodeURIComponent(challenge)}`;
      const next = (body: Buffer): void =>
        go((JSON.parse(String(body)) as { redirect_to: string }).redirect_to);
      admin!.send(putRequest(path, answer), next);
    };
    const follow = (_: Buffer, head: Buffer): void => {
      const text = head.toString('latin1');
      for (const [, name, value] of text.matchAll(/\r\nset-cookie: ([^=]*)=([^;\r]*)/gi))
        if (value) cookies.set(name!, value);
        else cookies.delete(name!);
      go(/\r\nlocation: ([^\r]*)/i.exec(text)![1]!);
    };
    const go = (location: string): void => {
      const { pathname, search, searchParams } = new URL(location, 'http://localhost');
      const value = (name: string): string => searchParams.get(name) ?? '';
      const is = (page: string): boolean => pathname.startsWith(page);
      if (location.startsWith(REDIRECT_URI)) {
        if (!value('code')) throw new Error(`a sign-in ended with ${location}`);
        const form = { grant_type: 'authorization_code', client_id, redirect_uri: REDIRECT_URI };
        connection.send(postForm(token, { ...form, code: value('code') }), end);
      } else if (is('/login')) accept('login', value('login_challenge'), { subject: person });
      else if (is('/consent'))
        accept('consent', value('consent_challenge'), { grant_scope: ['offline_access'] });
      else if (is('/oauth2/authorize'))
        get(`${callback}?${new URLSearchParams({ code: person, state: value('state') }).toString()}`);
      else if (is('/interaction/')) get(`${pathname}?code=${person}`);
      else get(pathname + search);
    };
    const end = (body: Buffer): void => {
      if (!body.includes('"refresh_token":"')) throw new Error('a sign-in gave no refresh token');
      onTokens?.(body);
      done();
    };
    get(authorize);
  };
}
