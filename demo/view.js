// The card of somebody who is signed in. Everything is put in as text, never as HTML.
import { deviceName } from './device.js';

const element = (name) => document.getElementById(name);

const MEANINGS = {
  iss: 'who issued it',
  aud: 'whom it is for',
  sub: 'the user',
  sid: 'the session',
  device_id: 'this browser',
  jti: 'the token itself',
  iat: 'issued at',
  exp: 'expires at',
};

/** Shows the welcome card, or the session of these tokens. */
export function showTokens(tokens) {
  element('welcome').hidden = tokens !== null;
  element('session').hidden = tokens === null;
  notice('');
  if (!tokens) return;
  element('device-name').textContent = deviceName();
  element('user-id').textContent = tokens.user_id;
  element('expires-in').textContent = tokens.expires_in;
  for (const row of document.querySelectorAll('[data-token]')) showToken(row, tokens[row.dataset.token]);
  element('claims').replaceChildren(...Object.entries(claimsOf(tokens.access_token)).map(claimRow));
}

/** A short word on what has just happened; '' takes it away. @param {'good' | 'bad'} [kind] */
export function notice(text, kind = 'good') {
  element('notice').hidden = text === '';
  element('notice').className = `notice ${kind}`;
  element('notice').textContent = text;
}

/** @param {number} seconds left until the access token expires */
export function showTimeLeft(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  element('expires').textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
}

/** Makes the buttons beside the tokens work. */
export function connectTokenButtons() {
  for (const row of document.querySelectorAll('[data-token]')) {
    const [show, copy] = row.querySelectorAll('button');
    const name = row.dataset.token;
    show.setAttribute('aria-label', `Show ${name}`);
    copy.setAttribute('aria-label', `Copy ${name}`);
    show.addEventListener('click', () => {
      const shown = row.classList.toggle('shown');
      show.setAttribute('aria-expanded', String(shown));
      show.textContent = shown ? 'Hide' : 'Show';
      show.setAttribute('aria-label', `${show.textContent} ${name}`);
      showToken(row, row.token);
    });
    copy.addEventListener('click', async () => {
      const done = await navigator.clipboard.writeText(row.token).then(
        () => true,
        () => false,
      );
      copy.textContent = done ? 'Copied' : 'Not allowed';
      setTimeout(() => (copy.textContent = 'Copy'), 1500);
    });
  }
}

function showToken(row, token) {
  row.token = token;
  const isShown = row.classList.contains('shown');
  row.querySelector('.token-text').textContent = isShown ? token : `${token.slice(0, 14)}…${token.slice(-6)}`;
}

/** The claims of a JWT, read but not verified: that is the business of whoever accepts the token. */
function claimsOf(token) {
  const base64 = token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/');
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

function claimRow([name, value]) {
  const row = document.createElement('tr');
  const isTime = name === 'iat' || name === 'exp';
  const head = cell('th', 'code', name);
  head.scope = 'row';
  row.append(
    head,
    cell('td', 'code', typeof value === 'object' ? JSON.stringify(value) : String(value)),
    cell(
      'td',
      'span',
      isTime ? `${MEANINGS[name]} ${new Date(value * 1000).toLocaleTimeString()}` : (MEANINGS[name] ?? ''),
    ),
  );
  return row;
}

function cell(kind, inner, text) {
  const element = document.createElement(kind);
  element.append(Object.assign(document.createElement(inner), { textContent: text }));
  return element;
}
