import { once } from 'node:events';
import { connect } from 'node:net';
import { SimulatedProvider, textOf, type Answering } from './simulated-provider.js';

describe('a simulated provider', () => {
  let provider: SimulatedProvider;
  afterEach(() => provider.close());

  const start = async (answer: Answering): Promise<void> => {
    provider = await SimulatedProvider.start(answer);
  };

  it('remembers each request, and answers it', async () => {
    await start(({ path, body }) => ({ body: { path, body } }));
    const [first] = [
      await fetch(`${provider.url}/a?b=c`, { method: 'PUT', body: 'é', headers: { 'X-A': 'b' } }),
      await fetch(provider.url),
    ];
    expect([first.status, first.headers.get('Content-Type'), await first.json()]).toEqual([
      200,
      'application/json',
      { path: '/a?b=c', body: 'é' },
    ]);
    expect(provider.requests).toMatchObject([
      { method: 'PUT', path: '/a?b=c', body: 'é', headers: { 'x-a': 'b' } },
      { method: 'GET', path: '/', body: '' },
    ]);
  });

  it('has read the whole body before it answers', async () => {
    await start(({ body }) => ({ body: `${body.length}` }));
    const response = await fetch(provider.url, { method: 'POST', body: 'x'.repeat(200_000) });
    expect(await response.text()).toBe('200000');
  });

  it('answers with any status, headers and text', async () => {
    await start(() => ({ status: 418, headers: { 'X-A': 'b' }, body: '<html>' }));
    const response = await fetch(provider.url);
    expect([response.status, response.headers.get('X-A'), await response.text()]).toEqual([
      418,
      'b',
      '<html>',
    ]);
    expect(response.headers.has('Content-Type')).toBe(false);
  });

  it('says nothing where it is to say nothing, until it is closed', async () => {
    let asked: (value: unknown) => void = () => undefined;
    const seen = new Promise((resolve) => (asked = resolve));
    await start(() => {
      asked('asked');
      return undefined;
    });
    const answer = fetch(provider.url).then(
      () => 'answered',
      () => 'cut off',
    );
    expect(await Promise.race([answer, seen])).toBe('asked');
    provider.close();
    expect(await answer).toBe('cut off');
    await expect(fetch(provider.url)).rejects.toThrow('fetch failed');
  });

  it('is heard on loopback alone', async () => {
    await start(() => ({}));
    expect(provider.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const socket = connect(Number(new URL(provider.url).port), '127.0.0.2');
    const refused = await once(socket, 'connect').catch((error: unknown) => error);
    socket.destroy();
    expect(refused).toMatchObject({
      message: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/),
    });
  });
});

it.each([
  [undefined, ''],
  ['', ''],
  ['a "text"', 'a "text"'],
  [{ a: [1] }, '{"a":[1]}'],
  [null, 'null'],
])('a body of %j is sent as %s', (body, text) => {
  expect(textOf(body === undefined ? {} : { body })).toBe(text);
});
