import { jest } from '@jest/globals';
import type { Socket } from './channel-events.js';
import { io } from './sockets.js';
import { FakeWebSocket } from '../testing/web-socket.js';

const OPEN = '0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":65536}';
const CONNECTED = '40{"sid":"s"}';
const seconds = (count: number): unknown => jest.advanceTimersByTime(count * 1000);

const realm = globalThis as { WebSocket: unknown; window?: unknown };
const original = realm.WebSocket;
let socket: Socket;
/** Events, and how it ended. */
let heard: unknown[][];

function start(url = 'https://id.example'): FakeWebSocket {
  heard = [];
  socket = io(url, { auth: { token: 't', offset: 7, id: undefined }, transports: ['websocket'] });
  socket.onAny((...all) => heard.push(all));
  socket.on('disconnect', (reason) => heard.push(['disconnect', reason]));
  socket.on('connect_error', ({ message, data }: Error & { data?: unknown }) =>
    heard.push(['connect_error', message, data]),
  );
  return FakeWebSocket.last;
}

/** With an empty log. */
function connected(): FakeWebSocket {
  const webSocket = start();
  webSocket.receive(OPEN, CONNECTED);
  webSocket.log.length = 0;
  return webSocket;
}

beforeEach(() => {
  jest.useFakeTimers();
  FakeWebSocket.all.length = 0;
  realm.WebSocket = FakeWebSocket;
  realm.window = new EventTarget();
});
afterEach(() => {
  jest.useRealTimers();
  realm.WebSocket = original;
  delete realm.window;
});

describe('connecting', () => {
  it.each([
    ['https://id.example', 'wss://id.example'],
    ['http://localhost:3000/', 'ws://localhost:3000'],
    ['HTTPS://id.example/auth//', 'wss://id.example/auth'],
  ])('to %s opens a WebSocket to %s', (url, address) => {
    expect(new URL(start(url).url).href).toBe(`${address}/socket.io/?EIO=4&transport=websocket`);
  });

  it('sends the token after `open`, and reports the reason of a refusal', () => {
    const webSocket = start();
    expect(webSocket.log).toEqual([]);
    webSocket.receive(OPEN);
    expect(webSocket.log).toEqual(['40{"token":"t","offset":7}']);
    webSocket.receive('44{"message":"no","data":{"error":"invalid_token"}}', CONNECTED);
    expect(heard).toEqual([['connect_error', 'no', { error: 'invalid_token' }]]);
    expect(webSocket.log).toHaveLength(2);
  });

  it.each(['error', 'close'] as const)('reports an %s once', (event) => {
    const webSocket = start();
    for (const one of [event, 'error', 'close'] as const) webSocket.happen(one);
    webSocket.receive(OPEN, CONNECTED, '42["late"]');
    expect(heard).toMatchObject([['connect_error', expect.any(String)]]);
    expect(webSocket.log).toEqual(['close()']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('reports an address that is not allowed once there are listeners', () => {
    realm.WebSocket = class {
      constructor() {
        throw new DOMException('mixed content', 'SecurityError');
      }
    };
    start();
    expect(heard).toEqual([]);
    seconds(0);
    expect(heard).toEqual([['connect_error', 'websocket error', undefined]]);
    socket.disconnect();
  });

  it('ends after 20 s without an answer, which may be late after that', () => {
    start();
    seconds(19.9);
    expect(heard).toEqual([]);
    seconds(0.1);
    expect(heard).toEqual([['connect_error', 'timeout', undefined]]);
    const opened = start();
    seconds(19.9);
    opened.receive(OPEN);
    seconds(44.9); // the service validates the token
    opened.receive(CONNECTED, '42["note"]');
    expect(heard).toEqual([['note', undefined, undefined]]);
  });
});

describe('a connection', () => {
  it('brings events in order, and answers to what was emitted, once', () => {
    const webSocket = connected();
    const answers: unknown[] = [];
    socket.emit('authenticate', { token: 'a' }, (answer: unknown) => answers.push(['a', answer]));
    socket.emit('authenticate', { token: 'b' }, (answer: unknown) => answers.push(['b', answer]));
    socket.emit('plain', 'é\n', null);
    expect(webSocket.log).toEqual([
      '420["authenticate",{"token":"a"}]',
      '421["authenticate",{"token":"b"}]',
      '42["plain","é\\n",null]',
    ]);
    webSocket.receive('431[{"n":1}]', '431[{"n":2}]', '430[]', '4399[{}]', '43[{}]');
    expect(answers).toEqual([
      ['b', { n: 1 }],
      ['a', undefined],
    ]);
    const large = 'x'.repeat(1_000_000);
    webSocket.receive('42["note",{"a":[1]},{"id":"e"}]', '427["constructor"]', `42["large","${large}"]`);
    webSocket.receive(`42["long"${',1'.repeat(500_000)}]`);
    expect(heard).toEqual([
      ['note', { a: [1] }, { id: 'e' }],
      ['constructor', undefined, undefined],
      ['large', large, undefined],
      ['long', 1, 1],
    ]);
  });

  it('answers pings, and is lost without them', () => {
    const webSocket = connected();
    for (let n = 0; n < 3; n++) {
      seconds(44.9);
      webSocket.receive('2');
    }
    expect(webSocket.log).toEqual(['3', '3', '3']);
    webSocket.receive('42["note"]'); // is no ping
    seconds(45);
    expect(heard.at(-1)).toEqual(['disconnect', 'ping timeout']);
    webSocket.receive('2', '42["late"]');
    webSocket.happen('close');
    expect(webSocket.log).toEqual(['3', '3', '3', 'close()']);
    expect(heard).toHaveLength(2);
  });

  it.each<[string, (webSocket: FakeWebSocket) => unknown]>([
    ['io server disconnect', (webSocket) => webSocket.receive('41')],
    ['transport close', (webSocket) => webSocket.happen('close')],
    ['websocket error', (webSocket) => webSocket.happen('error')],
    ['transport close', () => (realm.window as EventTarget).dispatchEvent(new Event('offline'))],
  ])('reports its end, %s, once', (reason, end) => {
    const webSocket = connected();
    end(webSocket);
    webSocket.happen('error');
    webSocket.happen('close');
    (realm.window as EventTarget).dispatchEvent(new Event('offline'));
    webSocket.receive('41', '42["late"]', 'nonsense');
    socket.emit('late');
    socket.disconnect();
    expect(heard).toEqual([['disconnect', reason]]);
    expect(webSocket.log).toEqual(['close()']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it.each(['1', '3probe', '6', '42/other,["note"]'])('ignores %s', (frame) => {
    const webSocket = connected();
    webSocket.receive(frame);
    expect([heard, webSocket.log]).toEqual([[], []]);
    socket.disconnect();
  });

  const texts = [
    '',
    'x',
    'bAAAA',
    '4',
    '451-["note",{"_placeholder":true,"num":0}]',
    '42',
    '42[]',
    '42[1]',
  ].concat(['42["note"', '42["disconnect"]', `42${'['.repeat(1_000_000)}`, '40', '40{}', '43', '430{}']);
  const others = [new ArrayBuffer(4), new Blob(['42["note"]']), null];
  it.each<[string, unknown]>([
    ...texts.map((frame): [string, unknown] => [frame.slice(0, 50), frame]),
    ...others.map((frame): [string, unknown] => [Object.prototype.toString.call(frame), frame]),
  ])('ends at %j', (_shown, frame) => {
    const webSocket = connected();
    webSocket.receive(frame);
    expect([heard, webSocket.log]).toEqual([[['disconnect', 'parse error']], ['close()']]);
    const other = start();
    other.receive(frame, frame);
    expect([heard, other.log]).toEqual([[['connect_error', 'parse error', undefined]], ['close()']]);
  });

  it('ends at an event before it is connected', () => {
    start().receive(OPEN, '42["note"]');
    expect(heard).toEqual([['connect_error', 'parse error', undefined]]);
  });

  it.each([
    ['41', '41{"x":1}'],
    ['44', '44null', '44{"message":{"toString":1},"data":null}'],
  ])('ends at any %s', (...frames) => {
    for (const frame of frames) {
      const webSocket = connected();
      webSocket.receive(frame);
      expect(heard.map(([name]) => name)).toEqual(['disconnect']);
      const other = start();
      other.receive(OPEN, frame);
      expect(heard.map(([name]) => name)).toEqual(['connect_error']);
    }
  });

  it.each(['0', '0{}', '0{"pingInterval":"soon"}', '2'])('does not wait for pings after %s', (frame) => {
    start().receive(frame);
    seconds(0);
    expect(heard).toEqual([['connect_error', 'ping timeout', undefined]]);
  });
});

describe('leaving', () => {
  it.each<[string, string[], string[]]>([
    ['before it is open', [], ['close()']],
    ['before it is connected', [OPEN], ['40{"token":"t","offset":7}', 'close()']],
    ['while it is connected', [OPEN, CONNECTED], ['40{"token":"t","offset":7}', '41', 'close()']],
  ])('%s is silent, and final', (_when, frames, log) => {
    const webSocket = start();
    webSocket.receive(...frames);
    socket.disconnect();
    socket.disconnect();
    webSocket.receive(OPEN, CONNECTED, '42["late"]', '2', 'nonsense');
    webSocket.happen('error');
    webSocket.happen('close');
    socket.emit('late');
    seconds(100);
    expect(heard).toEqual([]);
    expect(webSocket.log).toEqual(log);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits for the opening, since Chromium writes an error into the console otherwise', () => {
    const webSocket = start();
    webSocket.readyState = 0;
    socket.disconnect();
    expect(webSocket.log).toEqual([]);
    webSocket.happen('open');
    expect(webSocket.log).toEqual(['close()']);
  });

  it('may be done by a handler, and stops the next events', () => {
    const webSocket = connected();
    socket.onAny((event) => {
      heard.push([event]);
      socket.disconnect();
    });
    webSocket.receive('42["first"]', '42["second"]');
    expect(heard).toEqual([['first']]);
  });
});
