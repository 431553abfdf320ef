import { randomBytes, randomInt } from 'node:crypto';
import { io } from 'socket.io-client';
import type { Call, Http } from './http.js';
import type { Tally } from './tally.js';

/** Of all that comes from strangers, every so many comes from one address, which so goes beyond its limits. */
const ONE_ADDRESS_EVERY = 3;
const ADDRESSES = 60_000;

interface BadRequest extends Omit<Call, 'from'> {
  readonly status: number;
}

/** What has the form of an access token, and is none. */
const forged = (): string =>
  [
    'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9',
    ...[120, 64].map((bytes) => randomBytes(bytes).toString('base64url')),
  ].join('.');

const BAD_REQUESTS: readonly (() => BadRequest)[] = [
  () => ({ method: 'GET', path: '/me', bearer: forged(), status: 401 }),
  () => ({ method: 'GET', path: '/devices', bearer: randomBytes(600).toString('hex'), status: 401 }),
  () => ({ method: 'GET', path: `/${randomBytes(20).toString('hex')}`, status: 404 }),
  () => ({ method: 'POST', path: '/me', body: {}, status: 405 }),
  () => ({ method: 'POST', path: '/oauth2/token', body: `{"code":"${'x'.repeat(3000)}"`, status: 400 }),
  () => ({ method: 'POST', path: '/oauth2/refresh', body: { refresh_token: forged() }, status: 401 }),
  () => {
    const body = { code: 'c', state: randomBytes(32).toString('hex') };
    return { method: 'POST', path: '/oauth2/token', body, status: 401 };
  },
  () => ({ method: 'GET', path: '/oauth2/authorize?provider=nobody', status: 400 }),
];

/** People without a session, who send what is refused; one address among them goes beyond its limits. */
export class Strangers {
  private sent = 0;

  constructor(
    private readonly urls: readonly string[],
    private readonly http: Http,
    private readonly tally: Tally,
  ) {}

  async ask(due: number): Promise<void> {
    const { status, ...call } = BAD_REQUESTS[randomInt(BAD_REQUESTS.length)]!();
    await this.http.expect('refused', this.url, { ...call, from: this.address() }, due, status, 429);
  }

  /** A socket with a token that is refused. */
  async connect(due: number): Promise<void> {
    const socket = io(this.url, {
      auth: { token: forged() },
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      extraHeaders: { 'X-Forwarded-For': this.address() },
    });
    const outcome = await new Promise<string>((resolve) => {
      socket.once('connect_error', (error: Error & { data?: { error: string } }) =>
        resolve(error.data?.error ?? error.message),
      );
      socket.once('connect', () => resolve('connected'));
    });
    socket.close();
    this.tally.took('refused handshake', due);
    // `websocket error`: 429, which a WebSocket does not tell.
    if (!['invalid_token', 'slow_down', 'websocket error'].includes(outcome))
      this.tally.wrong(`refused handshake ${outcome}`);
  }

  private get url(): string {
    return this.urls[randomInt(this.urls.length)]!;
  }

  private address(): string {
    if (this.sent++ % ONE_ADDRESS_EVERY === 0) return '192.0.2.1';
    const number = randomInt(ADDRESSES);
    return `172.16.${number >> 8}.${number & 255}`;
  }
}
