// What the access token says.
import { latchkey } from './client.js';
import { make } from './make.js';
import { explain, notice } from './notice.js';

const MEANINGS = {
  iss: 'who issued it',
  aud: 'whom it is for',
  sub: 'the user',
  sid: 'the session',
  device_id: 'the device',
  jti: 'the token itself',
  iat: 'issued',
  exp: 'expires',
};

/** The claims of a JWT, read but not verified: verifying is the task of the API that accepts the token. */
export function readClaims(token) {
  const base64 = token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/');
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** @param {Record<string, unknown>} claims */
export function showClaims(claims) {
  document.getElementById('claims').replaceChildren(...Object.entries(claims).map(row));
}

function row([name, value]) {
  const isTime = name === 'iat' || name === 'exp';
  const meaning = `${MEANINGS[name] ?? ''}${isTime ? ` ${new Date(value * 1000).toLocaleTimeString()}` : ''}`;
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, make('code', {}, name)),
    make('td', {}, make('code', {}, String(value))),
    make('td', {}, meaning),
  );
}

document.getElementById('copy-token').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(await latchkey.accessToken());
    notice('The access token is on the clipboard.');
  } catch (error) {
    explain(error);
  }
});
