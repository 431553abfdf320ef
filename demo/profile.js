// Who is signed in (`GET /me`), and how long the access token lasts.
import { latchkey } from './client.js';
import { explain } from './notice.js';
import { readClaims, showClaims } from './token.js';

const element = (id) => document.getElementById(id);
/** Seconds an access token lives. */
let life = 3600;

/** Asks the service who is signed in, and shows them. */
export async function showUser() {
  try {
    const { user_id, username, email, avatar_url, created_at } = await latchkey.me();
    const name = username ?? email ?? 'You are signed in';
    element('name').textContent = name;
    element('email').textContent = email ?? '';
    element('user-id').textContent = user_id;
    element('bound').textContent = latchkey.session?.bound
      ? 'in this browser only, with a key that cannot leave it'
      : 'by whoever has the refresh token';
    element('member-since').textContent = new Date(created_at).toLocaleDateString('en', {
      dateStyle: 'long',
    });
    showAvatar(username ?? email ?? '?', avatar_url);
  } catch (error) {
    explain(error);
  }
}

/** Shows what the access token says; it may be another one after a refresh. */
export async function showToken() {
  const token = await latchkey.accessToken().catch(() => undefined);
  if (!token) return;
  const claims = readClaims(token);
  life = claims.exp - claims.iat;
  element('session-id').textContent = claims.sid;
  showClaims(claims);
  tick();
}

/** Called once a second: shows how long the token still lives. */
export function tick() {
  const { session } = latchkey;
  if (!session) return;
  const left = Math.max(0, Math.ceil((session.expiresAt - Date.now()) / 1000));
  element('countdown').textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  element('ring').style.strokeDashoffset = String(100 - Math.min(100, (left / life) * 100));
}

function showAvatar(name, url) {
  const initials = name
    .split(/\s+/)
    .map((word) => [...word][0] ?? '')
    .slice(0, 2)
    .join('');
  element('initials').textContent = initials.toUpperCase();
  const image = element('avatar');
  image.hidden = true;
  image.onload = () => (image.hidden = false);
  image.removeAttribute('src');
  if (url) image.src = url;
}
