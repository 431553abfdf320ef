// Signs in from the command line: node cli.js sign-in [--device [--hint <e-mail>] | --port <port>] | whoami | sign-out
// In the user's browser (RFC 8252); on a server, with `--device`, in a browser of any other device (RFC 8628), or with a fixed port and
// `ssh -L 8765:127.0.0.1:8765 server`.
import { spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const SERVICE = process.env.LATCHKEY_URL ?? 'http://localhost:3000'; // its PUBLIC_URL
const CLIENT = 'my-cli';
const FILE = join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), CLIENT, 'session.json');

/** An error for the user, without a stack. */
class Refused extends Error {
  /** @param code of the service, such as `invalid_grant` */
  constructor(code, message = code) {
    super(message);
    this.code = code;
  }
}

/** @returns the answer's JSON; undefined for 204. @throws Refused with the service's code */
async function call(path, init) {
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(SERVICE + path, { redirect: 'error', signal, ...init }).catch((error) => {
    throw new Refused('unreachable', `${SERVICE} cannot be reached (${error.cause?.code ?? error.message})`);
  });
  const answer = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  throw new Refused(answer?.error, `${path} answered ${response.status} ${answer?.error_description ?? ''}`);
}

const post = (path, body) => call(path, { method: 'POST', body: new URLSearchParams(body) });

/** The device's id stays, so that a second sign-in is no other device in the user's list. */
function load() {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return { device_id: randomUUID() };
  }
}

/** Readable for the user alone. Renamed, so that an interruption leaves the old file. */
function save(session) {
  mkdirSync(dirname(FILE), { recursive: true, mode: 0o700 });
  const next = `${FILE}.${randomUUID()}`;
  writeFileSync(next, JSON.stringify(session), { mode: 0o600, flag: 'wx' });
  renameSync(next, FILE);
}

const named = { device_name: `${CLIENT} on ${hostname()}`.slice(0, 128) };

/** Keeps the new session, and ends the former one. */
async function keep(device_id, { access_token, refresh_token }) {
  const { refresh_token: former } = load();
  save({ device_id, refresh_token });
  if (former) await post('/oauth2/revoke', { token: former, reason: 'replaced' });
  await show(access_token);
}

/** Shows a code, which a person enters on another device, and waits for the decision (RFC 8628). */
async function signInByDevice() {
  const { device_id } = load();
  const begun = await post('/oauth2/device_authorization', {
    client_id: CLIENT,
    device_id,
    ...named,
    ...(hint && { login_hint: hint }),
  });
  const { device_code, user_code, verification_uri, number } = begun;
  console.log(`Open ${verification_uri} on any device, and enter the code ${user_code}`);
  if (number) console.log(`A device that is signed in may ask you: this device shows the number ${number}`);
  let { interval } = begun;
  for (;;) {
    const asked = Date.now();
    try {
      // The service answers a poll as soon as somebody decides, at the latest after two seconds.
      return await keep(
        device_id,
        await post('/oauth2/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code,
          client_id: CLIENT,
        }),
      );
    } catch (error) {
      if (error.code === 'slow_down') interval += 5;
      else if (error.code === 'access_denied') throw new Refused(error.code, 'the sign-in was denied');
      else if (error.code === 'expired_token') throw new Refused(error.code, 'the code has expired');
      else if (!['authorization_pending', 'unreachable'].includes(error.code)) throw error;
      await sleep(Math.max(0, asked + interval * 1000 - Date.now()));
    }
  }
}

/** Sends the browser to the service, and waits for the code on a loopback port (RFC 8252 §7.3). */
async function signIn() {
  const [state, verifier] = [secret(), secret()];
  const server = createServer().listen(port, '127.0.0.1'); // not `localhost`, which may be another interface (§8.3)
  await once(server, 'listening');
  const redirectUri = `http://127.0.0.1:${server.address().port}/callback`;
  const address = `${SERVICE}/oauth2/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })}`;
  console.log(`Sign in with your browser:\n\n  ${address}\n`);
  if (process.stdout.isTTY) openBrowser(address);
  try {
    const code = await codeFrom(server, state);
    const { device_id } = load();
    const tokens = await post('/oauth2/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: CLIENT,
      code_verifier: verifier,
      device_id,
      ...named,
    });
    await keep(device_id, tokens);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Other programs of this machine reach the port, too: a request without our state is refused, and ends nothing. */
function codeFrom(server, state) {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Refused('timeout', 'no sign-in within ten minutes'));
    setTimeout(late, 600_000).unref(); // the service's states live as long
    server.on('request', ({ url }, response) => {
      const [path, query] = url.split('?');
      const answer = new URLSearchParams(query);
      const isOurs = path === '/callback' && answer.get('state') === state && answer.get('iss') === SERVICE;
      response.writeHead(isOurs ? 200 : 404, { 'Content-Type': 'text/plain', Connection: 'close' });
      response.end(isOurs ? 'You may close this page and return to the terminal.\n' : 'Not found\n', () => {
        if (!isOurs) return;
        if (answer.get('code')) resolve(answer.get('code'));
        else reject(new Refused(answer.get('error'), sentenceOf(answer)));
      });
    });
  });
}

/** Only a service that knows our state writes here, but a terminal obeys control characters. */
function sentenceOf(answer) {
  const text = answer
    .get('error_description')
    ?.replace(/[^ -~]/g, '')
    .slice(0, 200);
  return `The sign-in was refused: ${text || answer.get('error') || 'no code arrived'}`;
}

async function whoAmI() {
  const { refresh_token } = load();
  if (!refresh_token) throw new Refused('signed_out', 'signed out: run `sign-in`');
  const { access_token } = await post('/oauth2/refresh', { refresh_token }); // is not replaced
  await show(access_token);
}

async function show(token) {
  const { user_id, username, email } = await call('/me', { headers: { Authorization: `Bearer ${token}` } });
  console.log(`Signed in as ${[username, email, user_id].filter(Boolean).join(', ')}`);
}

async function signOut() {
  const { refresh_token, device_id } = load();
  if (refresh_token) await post('/oauth2/revoke', { token: refresh_token, reason: 'user' });
  save({ device_id });
  console.log('Signed out');
}

function openBrowser(address) {
  const [command, ...before] = { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] }[
    process.platform
  ] ?? ['xdg-open'];
  spawn(command, [...before, address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

const secret = () => randomBytes(32).toString('base64url');

const {
  positionals: [name],
  values: { device = false, port = '0', hint },
} = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'boolean' }, port: { type: 'string' }, hint: { type: 'string' } },
});
const commands = { 'sign-in': device ? signInByDevice : signIn, whoami: whoAmI, 'sign-out': signOut };
try {
  const command = commands[name];
  if (!command) throw new Refused('usage', `node cli.js ${Object.keys(commands).join(' | ')}`);
  await command();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.code === 'invalid_grant' ? 'signed out: run `sign-in`' : error.message);
  process.exitCode = 1;
}
