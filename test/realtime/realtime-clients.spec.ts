import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'socket.io-client';
import request from 'supertest';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { Channel } from '../support/channel.js';
import { needs } from '../support/installed.js';
import { bearer, type Tokens } from '../support/sign-in.js';

const BROWSER = '../../examples/clients/browser.js'; // JavaScript, which has no types
const PYTHON = '/usr/bin/python3'; // the system's own: its packages are Debian's
const hasPython = spawnSync(PYTHON, ['-c', 'import socketio, websocket']).status === 0;

/** The clients of docs/realtime.md do what the document says (examples/clients). */
describe('the example clients', () => {
  const channel = Channel.around();
  let tokens: Tokens;
  beforeEach(async () => {
    tokens = await channel.signIn();
  });

  const push = (event: string, data?: unknown) =>
    channel.push({ user_id: tokens.user_id, event, data }).expect(202);
  const signOut = () => bearer(channel.url, tokens.access_token).post('/sign-out').expect(204);

  it('browser.js: goes on where it was, and reports a sign-out', async () => {
    const { listen } = (await import(BROWSER)) as {
      listen: (...args: unknown[]) => Socket;
    };
    const events: unknown[] = [];
    let onSignedOut = (): void => undefined;
    const signedOut = new Promise<void>((resolve) => (onSignedOut = resolve));
    const socket = listen(
      channel.url,
      async () => tokens.access_token,
      (...event: unknown[]) => events.push(event),
      onSignedOut,
    );
    const arrives = (event: string) => new Promise((resolve) => socket.once(event, resolve));
    await arrives('ready');
    await Promise.all([push('one', 1), arrives('one')]);
    socket.disconnect();
    await push('two', 2);
    socket.connect();
    await arrives('two');
    expect(events).toEqual([
      ['one', 1],
      ['two', 2],
    ]);
    await signOut();
    await signedOut;
    expect(socket.active).toBe(false);
  });

  it('browser.js: asks for another token after the key of its token was revoked', async () => {
    const { listen } = (await import(BROWSER)) as { listen: (...args: unknown[]) => Socket };
    const asked: unknown[] = [];
    const getToken = async (another: boolean): Promise<string> => {
      asked.push(another);
      if (another) tokens = { ...tokens, ...(await refreshed()) };
      return tokens.access_token;
    };
    const refreshed = async (): Promise<object> =>
      (await request(channel.url).post('/oauth2/refresh').send(tokens).expect(200)).body as object;
    const socket = listen(
      channel.url,
      getToken,
      () => undefined,
      () => asked.push('signed out'),
    );
    const ready = () => new Promise((resolve) => socket.once('ready', resolve));
    await ready();
    const again = ready();
    const { kid } = JSON.parse(Buffer.from(tokens.access_token.split('.')[0]!, 'base64url').toString()) as {
      kid: string;
    };
    await channel.service.app.get(KeyStore).revoke(kid);
    await again;
    socket.disconnect();
    expect(asked).toEqual([false, true]);
  });

  it('node.js: prints events, and ends with its session', async () => {
    const child = spawn(process.execPath, [
      'examples/clients/node.js',
      channel.url,
      tokens.access_token,
      '0',
    ]);
    await prints(child, '"event":"ready"');
    await Promise.all([push('one', { a: 1 }), prints(child, '{"event":"one","data":{"a":1},"offset":1}')]);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await signOut();
    expect(await ended).toBe(0);
  });

  it('node.js: says why it was refused, and fails', async () => {
    const child = spawn(process.execPath, ['examples/clients/node.js', channel.url, 'no-token']);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    expect(said).toMatch(/^refused: invalid_token, [^\n]+\n$/);
    expect(code).toBe(1);
  });

  needs({ 'Python with python-socketio': hasPython }).it('client.py', async () => {
    const child = spawn(PYTHON, ['examples/clients/client.py', channel.url, tokens.access_token]);
    await prints(child, 'ready 0');
    await Promise.all([push('one', 1), prints(child, 'one 1')]);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await signOut();
    await ended;
  });

  function prints(child: ChildProcess, text: string): Promise<void> {
    return new Promise((resolve) => {
      let output = '';
      child.stdout!.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes(text)) resolve();
      });
    });
  }
});
