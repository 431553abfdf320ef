import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import type { Client } from 'pg';
import { codeOf, deviceIdOf, PROVIDER, REDIRECT_URI } from './sign-in-users.js';
import type { Target } from './target.js';

/**
 * Checks that a target does the work that is measured: a sign-in, a refresh with one of the tokens from the database, and a
 * refresh with the sign-in's own. Each gives an access token that verifies with the target's public key and is stored.
 * @throws Error that says what is wrong.
 */
export async function check({ name, port }: Target, admin: Client, refreshToken: string): Promise<void> {
  const base = `http://127.0.0.1:${port}`;
  const query = new URLSearchParams({ provider: PROVIDER, redirect_uri: REDIRECT_URI }).toString();
  const { state = '' } = await answer(fetch(`${base}/oauth2/authorize?${query}`));
  const signIn = await post(`${base}/oauth2/token`, { code: codeOf(0), state, device_id: deviceIdOf(0) });
  const { refresh_token = '' } = signIn;
  const refreshes = [
    await post(`${base}/oauth2/refresh`, { refresh_token: refreshToken }),
    await post(`${base}/oauth2/refresh`, { refresh_token }),
  ];

  const { keys } = await answer<{ keys: JsonWebKey[] }>(fetch(`${base}/.well-known/jwks.json`));
  for (const { access_token = '' } of [signIn, ...refreshes]) {
    if (!verifies(access_token, keys)) throw new Error(`${name}: an access token does not verify`);
    if (!(await isStored(access_token, admin))) throw new Error(`${name}: an access token is not stored`);
  }
}

type Fields = Readonly<Record<string, string>>;

function post(url: string, body: Fields): Promise<Fields> {
  const headers = { 'Content-Type': 'application/json' };
  return answer(fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function answer<Body = Fields>(call: Promise<Response>): Promise<Body> {
  const response = await call;
  if (response.status !== 200)
    throw new Error(`${response.url.split('?')[0]} answered with ${response.status}`);
  const body: Body = JSON.parse(await response.text());
  return body;
}

function verifies(token: string, keys: readonly JsonWebKey[]): boolean {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const { kid }: Fields = JSON.parse(Buffer.from(header, 'base64url').toString());
  const jwk = keys.find((key) => key['kid'] === kid);
  if (!jwk) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const signed = Buffer.from(`${header}.${claims}`);
  return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
}

async function isStored(token: string, admin: Client): Promise<boolean> {
  const { rowCount } = await admin.query(
    `SELECT FROM access_tokens WHERE token = $1 UNION ALL SELECT FROM floor.access_tokens WHERE token = $1`,
    [token],
  );
  return rowCount === 1;
}
