// Sockets that reconnect like a stock Socket.IO client, in a separate process. They speak only as much of HTTP, WebSocket
// and Engine.IO as they need, on bare TCP: a client library would take more of the machine than the service that is measured.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/** socket.io-client's own: reconnectionDelay, reconnectionDelayMax, randomizationFactor, timeout. */
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 5000;
const JITTER = 0.5;
const TIMEOUT_MS = 20_000;
/**
 * From one address to another there are 28,000 ports, and the service has many addresses. A client bound to its own address costs
 * the kernel 1.7 ms: thousands of them connect for seconds and then send all their requests at one stroke, which independent ones never do.
 */
const SOCKETS_AN_ADDRESS = 5000;

const KEY = randomBytes(16).toString('base64');
const counts = { ready: 0, attempts: 0 };
const refusals = {};
let port = 0;

class Client {
  failures = 0;

  constructor(number, token) {
    this.number = number;
    this.token = token;
  }

  open() {
    counts.attempts++;
    this.isReady = false;
    this.isOpen = false;
    this.rest = Buffer.alloc(0);
    const host = `127.0.1.${1 + Math.floor(this.number / SOCKETS_AN_ADDRESS)}`;
    const socket = (this.socket = connect({ port, host, noDelay: true }));
    const late = setTimeout(() => socket.destroy(), TIMEOUT_MS);
    this.inTime = () => clearTimeout(late);
    const n = this.number;
    socket.write(
      `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\n` +
        `Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n` +
        `X-Forwarded-For: 10.${n >> 16}.${(n >> 8) & 255}.${n & 255}\r\n\r\n`,
    );
    socket.on('data', (data) => this.read(data));
    socket.on('error', () => undefined);
    socket.on('close', () => this.again());
  }

  read(data) {
    let rest = this.rest.length > 0 ? Buffer.concat([this.rest, data]) : data;
    if (!this.isOpen) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) {
        this.rest = rest;
        return;
      }
      const status = rest.toString('latin1', 9, 12);
      if (status !== '101') {
        refusals[status] = (refusals[status] ?? 0) + 1;
        this.socket.destroy();
        return;
      }
      this.isOpen = true;
      rest = rest.subarray(end + 4);
    }
    while (rest.length >= 2) {
      const short = rest[1] & 127;
      const head = short < 126 ? 2 : 4;
      const length = short < 126 ? short : rest.length < 4 ? Infinity : rest.readUInt16BE(2);
      if (rest.length < head + length) break;
      this.take(rest[0] & 15, rest.toString('latin1', head, head + Math.min(length, 24)));
      rest = rest.subarray(head + length);
    }
    this.rest = rest.length > 0 ? Buffer.from(rest) : rest;
  }

  take(opcode, packet) {
    if (opcode === 8) this.socket.end(frame(8, ''));
    else if (packet.startsWith('0'))
      this.socket.write(frame(1, `40${JSON.stringify({ token: this.token })}`));
    else if (packet === '2') this.socket.write(frame(1, '3'));
    else if (packet.startsWith('42["ready"')) {
      this.isReady = true;
      this.failures = 0;
      counts.ready++;
      this.inTime();
    } else if (packet.startsWith('44')) {
      refusals.connect_error = (refusals.connect_error ?? 0) + 1;
    }
  }

  again() {
    this.inTime();
    if (this.isReady) counts.ready--;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures++);
    setTimeout(() => this.open(), delay * (1 - JITTER + 2 * JITTER * Math.random()));
  }
}

const MASK = Buffer.alloc(4); // a mask of zeros changes nothing
function frame(opcode, text) {
  const length = Buffer.byteLength(text);
  const head =
    length < 126
      ? Buffer.from([128 + opcode, 128 + length])
      : Buffer.from([128 + opcode, 254, length >> 8, length & 255]);
  return Buffer.concat([head, MASK, Buffer.from(text)]);
}

let clients = [];
process.on('message', (order) => {
  if (order.do === 'target') ({ port } = order);
  if (order.do === 'count') process.send({ ...counts, refusals });
  if (order.do === 'forget') {
    counts.attempts = 0;
    for (const why of Object.keys(refusals)) delete refusals[why];
  }
  if (order.do === 'connect') {
    clients = order.tokens.map((token, i) => new Client(order.from + i, token));
    let next = 0;
    const pace = setInterval(() => {
      const open = next - counts.ready;
      for (let i = open; i < order.atOnce && next < clients.length; i++) clients[next++].open();
      if (next === clients.length) clearInterval(pace);
    }, 5);
  }
});
process.once('disconnect', () => process.exit(0)); // the test has ended
