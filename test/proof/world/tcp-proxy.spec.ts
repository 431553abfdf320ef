import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { reset } from '../../support/tcp-line.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

/** One end of a connection, with what has come to it. */
class End {
  text = '';
  /** How it was told of the end: FIN, RST, or not yet. */
  ending: 'FIN' | 'RST' | undefined;

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.text += chunk.toString()));
    socket.on('end', () => (this.ending = 'FIN'));
    socket.on('error', () => (this.ending = 'RST'));
  }
}

/** What stands between the clients, the instances and their databases in the experiments: here on bare sockets. */
describe('the TCP proxy', () => {
  let server: Server;
  let proxy: TcpProxy;
  let near: End;
  let far: End;
  const ends: End[] = [];

  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxy = await TcpProxy.before(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
    [near, far] = await open();
  });
  afterEach(async () => {
    for (const { socket } of ends.splice(0)) socket.destroy();
    await proxy.refuse();
    await new Promise((resolve) => server.close(resolve));
  });

  async function open(): Promise<[near: End, far: End]> {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = new End(connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true }));
    const [socket] = await accepted;
    const both: [End, End] = [client, new End(socket)];
    ends.push(...both);
    return both;
  }
  /** Resolves when what goes the other way has come: what went this way before could have. */
  async function back(to: End, from: End): Promise<void> {
    const wanted = `${from.text}back`;
    to.socket.write('back');
    await until(() => from.text === wanted);
  }

  it('passes bytes on as they came, more than fit in between', async () => {
    const long = '0123456789'.repeat(500_000);
    far.socket.pause();
    near.socket.write(long);
    far.socket.write(long);
    await until(() => near.text.length === long.length);
    far.socket.resume();
    await until(() => far.text.length === long.length);
    expect([near.text === long, far.text === long]).toEqual([true, true]);
  });

  it('passes FIN on as FIN: the other direction goes on, and then ends as well', async () => {
    near.socket.end('question');
    await until(() => far.ending === 'FIN');
    expect([far.text, near.ending]).toEqual(['question', undefined]);
    far.socket.end('answer');
    await until(() => near.ending === 'FIN');
    expect(near.text).toBe('answer');
  });

  it('passes RST on as RST', async () => {
    far.socket.resetAndDestroy();
    await until(() => near.ending !== undefined);
    expect(near.ending).toBe('RST');
  });

  it.each(['toServer', 'toClient'] as const)(
    '%s: freezes, and delivers all of it later, FIN too',
    async (which) => {
      const [from, to] = which === 'toServer' ? [near, far] : [far, near];
      proxy[which].isFrozen = true;
      from.socket.write('there');
      await back(to, from);
      from.socket.end('!');
      await back(to, from);
      expect([to.text, to.ending]).toEqual(['', undefined]);
      await proxy.restore();
      await until(() => to.ending === 'FIN');
      expect(to.text).toBe('there!');
    },
  );

  it.each(['toServer', 'toClient'] as const)('%s: drops, and cuts what has lost bytes', async (which) => {
    const [from, to] = which === 'toServer' ? [near, far] : [far, near];
    proxy[which].drops = () => true;
    from.socket.write('there');
    await back(to, from);
    expect([to.text, to.ending]).toEqual(['', undefined]);
    await proxy.restore();
    await until(() => near.ending !== undefined && far.ending !== undefined);
    expect([near.ending, far.ending, to.text]).toEqual(['RST', 'RST', '']);
  });

  it('delays one direction, in order', async () => {
    proxy.toServer.delayMs = 100;
    const began = performance.now();
    near.socket.write('a');
    await until(() => {
      far.socket.write('.');
      return near.text !== '';
    });
    expect(far.text).toBe('');
    near.socket.write('b');
    proxy.toServer.delayMs = 0;
    near.socket.end('c');
    await until(() => far.ending === 'FIN');
    expect([far.text, performance.now() - began >= 99]).toEqual(['abc', true]);
  });

  it('holds a connection from a moment on that its bytes tell, or in the middle of them', async () => {
    proxy.toServer.watches.add((chunk, connection) => {
      if (chunk.includes('COMMIT')) connection.toClient.hold(2);
    });
    near.socket.write('BEGIN');
    await until(() => far.text === 'BEGIN');
    far.socket.write('begun.');
    await until(() => near.text === 'begun.');
    near.socket.write('COMMIT');
    await until(() => far.text === 'BEGINCOMMIT');
    far.socket.write('done.');
    const [other, otherFar] = await open();
    otherFar.socket.write('passes');
    await until(() => other.text === 'passes' && near.text !== 'begun.');
    expect(near.text).toBe('begun.do');
    await proxy.restore();
    await until(() => near.text === 'begun.done.');
  });

  it('resets a socket whose FIN is under way, too, so that the process can end', async () => {
    near.socket.end();
    reset(near.socket);
    await until(() => near.socket.closed);
  });

  it('cuts, refuses, and leads elsewhere', async () => {
    proxy.cut();
    await until(() => near.ending === 'RST' && far.ending === 'RST');
    await proxy.refuse();
    const refused = connect(proxy.port, '127.0.0.1');
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    await proxy.restore();

    const second = createServer((socket) => socket.end('the second'));
    await new Promise<void>((resolve) => second.listen(0, '127.0.0.1', resolve));
    proxy.retarget((second.address() as AddressInfo).port);
    const client = new End(connect(proxy.port, '127.0.0.1'));
    await until(() => client.ending === 'FIN');
    expect(client.text).toBe('the second');
    second.close();
  });
});
