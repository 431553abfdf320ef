// The gate of a dashboard without a sign-in: nginx.conf beside it asks this program about each request.
// REDIRECT_URIS of Latchkey lists <APP_URL>/auth/callback. The settings are in README.md.
import { createServer } from 'node:http';
import { LatchkeyError } from '@latchkey/server';
import { sessionRoutes } from '@latchkey/server/express';
import { createSessions } from '@latchkey/server/session';

const sessions = createSessions({
  issuer: process.env.LATCHKEY_URL,
  clientUrl: process.env.APP_URL,
  cookieSecret: process.env.COOKIE_SECRET,
  serviceKey: process.env.LATCHKEY_KEY, // signed out within a second
  addressHeader: 'x-forwarded-for',
});
const routes = sessionRoutes(sessions); // /auth/sign-in, /auth/callback, /auth/sign-out
const encode = (text = '') => encodeURIComponent(text).replaceAll('%40', '@');

/** What nginx asks: 200 with the user, 401 without a session, 403 without the role. */
async function check({ headers }, response) {
  // With the method of the browser: a POST of a page of another site has no session (CSRF).
  const session = await sessions.getSession({ method: headers['x-gate-method'], headers });
  if (!session) return response.writeHead(401).end();
  const { roles = [], preferred_username, email } = session.claims;
  const role = headers['x-gate-role'];
  if (role && !roles.includes(role)) return response.writeHead(403).end();
  const names = { User: session.userId, Username: preferred_username, Email: email };
  for (const [name, value] of Object.entries(names)) response.setHeader(`X-Latchkey-${name}`, encode(value));
  return response.setHeader('X-Latchkey-Roles', roles.map(encode).join()).writeHead(200).end();
}

/** Leads a person to the sign-in, and back to the page. A script of the dashboard gets 401. */
function signIn({ headers }, response) {
  const isPage =
    headers['x-gate-method'] === 'GET' && /^(?:navigate)?$/.test(headers['sec-fetch-mode'] ?? '');
  if (!isPage) return response.writeHead(401).end();
  const query = new URLSearchParams({ returnTo: headers['x-gate-uri'] });
  return response.writeHead(303, { Location: `/auth/sign-in?${query}`, 'Cache-Control': 'no-store' }).end();
}

const server = createServer((request, response) => {
  const answer = { '/check': check, '/sign-in': signIn }[request.url] ?? routes;
  const notFound = () => response.writeHead(404).end();
  Promise.resolve(answer(request, response, notFound)).catch((error) => {
    response.writeHead(error instanceof LatchkeyError ? error.status : 500).end(); // nginx lets nothing pass
  });
});
server.listen(process.env.PORT ?? 3001, '127.0.0.1', () => console.log('gate at', server.address().port));
