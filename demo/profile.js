// Who is signed in (`GET /me`), and how long the access token lasts.
import { latchkey } from './client.js';
import { connection, onConnection } from './connection.js';
import { duration } from './duration.js';
import { explain } from './notice.js';
import { readClaims, showClaims } from './token.js';

const element = (id) => document.getElementById(id);
/** Seconds an access token lives. */
let life;

/** Asks the service who is signed in, and shows them. */
export async function showUser() {
  try {
    const { username, email, created_at } = await latchkey.me();
    const name = username ?? email ?? 'You are signed in';
    element('name').textContent = name;
    element('email').textContent = email ?? '';
    element('bound').textContent = latchkey.session?.bound
      ? 'this browser, by a key that cannot leave it'
      : 'nothing: whoever has the refresh token can use it';
    element('member-since').textContent = new Date(created_at).toLocaleDateString('en', {
      dateStyle: 'long',
    });
  } catch (error) {
    if (error.code !== 'network') explain(error); // the banner speaks of the network
  }
}

/** Shows what the access token says; it may be another one after a refresh. */
export async function showToken() {
  const token = await latchkey.accessToken().catch(() => undefined);
  if (!token) return;
  const claims = readClaims(token);
  life = claims.exp - claims.iat;
  element('life').textContent = `for ${duration(life)}, then it is renewed`;
  element('kept').textContent = `One for ${duration(life)}, one to renew it.`;
  showClaims(claims);
  tick();
}

/** Called once a second: shows how long the token still lives. */
export function tick() {
  const { session } = latchkey;
  if (!session || !life) return;
  const left = Math.max(0, Math.ceil((session.expiresAt - Date.now()) / 1000));
  element('countdown').textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  element('clock-label').textContent = ['offline', 'lost'].includes(connection())
    ? left > 0
      ? 'Access token: renewed when you are back online'
      : 'Access token ended: renewed when you are back online'
    : 'Access token renews by itself';
  element('ring').style.strokeDashoffset = String(100 - Math.min(100, (left / life) * 100));
}

onConnection(tick);
