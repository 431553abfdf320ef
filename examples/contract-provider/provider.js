import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import express from 'express';

const { CLIENT_ID = 'latchkey', CLIENT_SECRET, PORT = '4000' } = process.env;
const { REDIRECT_URIS = 'http://127.0.0.1/callback' } = process.env;
if (!CLIENT_SECRET) throw new Error('set CLIENT_SECRET to the secret that Latchkey uses');

// Put your own users here, with hashed passwords and a limit on attempts.
const identity = { provider_user_id: 'u-1', username: 'Ada Lovelace', email: 'ada@example.com' };
const users = new Map([['ada', { password: 'analytical-engine', identity }]]);
const codes = new Map(); // enough for one process; several need a table that they share

const hash = (text) => createHash('sha256').update(text).digest();
const isSame = (a, b) => timingSafeEqual(hash(a), hash(b));
const isText = (value) => typeof value === 'string' && value !== '';
const anyPort = (uri) => uri.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1'); // RFC 8252 §7.3
const loginPage = (problem = '') => `<!doctype html><title>Sign in</title><form method="post">${problem}
  <label>Name <input name="login"></label> <label>Password <input name="password" type="password"></label>
  <button>Sign in</button></form>`;

const app = express();
app.use(express.urlencoded({ extended: false }));

// §4.5.1, the page: Express sends text as text/html; charset=utf-8. It never redirects to an unknown callback.
app.use('/oauth2/authorize', (request, response, next) => {
  const { client_id, redirect_uri, state, code_challenge } = request.query;
  const isAllowed = isText(redirect_uri) && REDIRECT_URIS.split(',').includes(anyPort(redirect_uri));
  Object.assign(response.locals, { redirect_uri, state, code_challenge });
  const isBound =
    code_challenge === undefined ||
    (isText(code_challenge) && request.query.code_challenge_method === 'S256');
  if (client_id === CLIENT_ID && isAllowed && isText(state) && isBound) next();
  else response.status(400).send('<p>This link does not work. Please go back to the application.</p>');
});
app.get('/oauth2/authorize', (_request, response) => response.send(loginPage()));
app.post('/oauth2/authorize', (request, response) => {
  const { login, password } = request.body ?? {};
  const user = users.get(login);
  const isRight = user && isText(password) && isSame(password, user.password);
  if (!isRight) return response.status(422).send(loginPage('Name or password is not right.'));
  const { redirect_uri, state, code_challenge } = response.locals;
  const code = randomBytes(32).toString('base64url');
  codes.set(code, { redirect_uri, code_challenge, identity: user.identity });
  setTimeout(() => codes.delete(code), 60_000).unref(); // short-lived
  const query = `code=${code}&state=${encodeURIComponent(state)}`;
  return response.redirect(302, redirect_uri + (redirect_uri.includes('?') ? '&' : '?') + query);
});

// §4.5.2, the exchange, with the statuses of §7.3.
app.post('/oauth2/token/exchange', (request, response) => {
  const refuse = (status, error, text) => response.status(status).json({ error, error_description: text });
  const { client_id, client_secret, code, redirect_uri, code_verifier } = request.body ?? {};
  const isWhole = [client_id, client_secret, code, redirect_uri].every(isText);
  if (!isWhole) return refuse(400, 'invalid_request', 'a parameter is missing');
  const isClient = isSame(client_id, CLIENT_ID) && isSame(client_secret, CLIENT_SECRET);
  if (!isClient) return refuse(401, 'invalid_client', 'the client credentials are wrong');
  const grant = codes.get(code);
  codes.delete(code); // single use
  // RFC 7636, if Latchkey has pkce=on for this provider: an injected code has another challenge, or none.
  const challenge = isText(code_verifier) ? hash(code_verifier).toString('base64url') : undefined;
  const isGranted = grant?.redirect_uri === redirect_uri && grant.code_challenge === challenge;
  if (!isGranted) return refuse(400, 'invalid_grant', 'the code is not valid');
  return response.set('Cache-Control', 'no-store').json(grant.identity);
});
app.listen(Number(PORT), () => console.log(`Listening on port ${PORT}`));
