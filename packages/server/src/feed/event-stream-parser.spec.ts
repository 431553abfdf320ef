import { EventStreamParser } from './event-stream-parser.js';

/** What a stream says: events as `name=data`, blocks as `|id`. */
function read(...chunks: (string | Uint8Array)[]): string[] {
  const said: string[] = [];
  const parser = new EventStreamParser({
    onEvent: (name, data) => said.push(`${name}=${data}`),
    onBlock: (id) => said.push(id === undefined ? '|' : `|${id}`),
  });
  for (const chunk of chunks) parser.feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return said;
}

describe('a stream of events', () => {
  it.each([
    ['an event', 'event: ended\ndata: {"a":1}\n\n', ['ended={"a":1}', '|']],
    ['one with an id', 'event: ready\nid: c7\ndata: {}\n\n', ['ready={}', '|c7']],
    ['a comment with a cursor', ': c7\nid: c7\n\n', ['|c7']],
    ['a comment with text', ': hello: there\n\n', ['|']],
    ['no space after the colon, or two', 'data:a\ndata:  b\n\n', ['message=a\n b', '|']],
    ['an id that counts for its block alone', 'id: a\n\n:\n\n', ['|a', '|']],
    ['an id with NUL', 'id: a\0\n\n', ['|']],
    ['unknown fields', 'retry: 5\nidle: x\n\n', ['|']],
    ['an event without data', 'event: ended\n\n', ['|']],
    ['a block that has not ended', 'data: a\n', []],
    ['a BOM', '\ufeffdata: a\n\n', ['message=a', '|']],
    ['characters of several bytes', 'data: é€😀\n\n', ['message=é€😀', '|']],
  ])('%s', (_name, text, said) => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      // A lone CR ends a line only once it is known that no LF follows: at the next piece.
      const bytes = Buffer.from(text.replaceAll('\n', lineEnd) + (lineEnd === '\r' ? ':' : ''));
      expect(read(bytes)).toEqual(said);
      expect(read(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(said);
      for (let cut = 1; cut < bytes.length; cut++)
        expect(read(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(said);
    }
  });

  it.each([
    ['a line', 'x'.repeat(65_537)],
    ['a line that ends', `data: ${'x'.repeat(65_537)}\n`],
    ['an event', `data: ${'x'.repeat(1000)}\n`.repeat(66)],
  ])('%s without end is refused', (_name, text) => {
    expect(() => read(text)).toThrow(RangeError);
    expect(() => read(...text.match(/[^]{1,100}/g)!)).toThrow(RangeError);
  });
});
