import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { ACCEPT_ENCODING, unpacked } from './content-encoding.js';

const TEXT = Buffer.from('{"sub":"ada"}');
const LARGEST = 1000;

function unpack(body: Buffer, encoding: string | string[] | undefined): Promise<string> {
  return new Promise((resolve, reject) =>
    unpacked(body, encoding, LARGEST, (error, data) => (error ? reject(error) : resolve(data.toString()))),
  );
}

describe('a packed answer', () => {
  it('is asked for in the ways that are read', () =>
    expect(ACCEPT_ENCODING).toBe('gzip, compress, deflate, br'));

  it.each<[string, Buffer, string | string[] | undefined]>([
    ['nothing said', TEXT, undefined],
    ['identity', TEXT, 'identity'],
    ['gzip', gzipSync(TEXT), 'gzip'],
    ['in capitals', gzipSync(TEXT), 'GZip'],
    ['x-gzip', gzipSync(TEXT), 'x-gzip'],
    ['compress', gzipSync(TEXT), 'compress'],
    ['x-compress', gzipSync(TEXT), 'x-compress'],
    ['deflate', deflateSync(TEXT), 'deflate'],
    ['deflate without a header', deflateRawSync(TEXT), 'deflate'],
    ['br', brotliCompressSync(TEXT), 'br'],
    ['gzip whose last bytes are missing', gzipSync(TEXT).subarray(0, -8), 'gzip'],
    ['deflate whose last bytes are missing', deflateSync(TEXT).subarray(0, -4), 'deflate'],
  ])('%s', async (_name, body, encoding) => expect(await unpack(body, encoding)).toBe(TEXT.toString()));

  it.each<[string, Buffer, string | string[]]>([
    ['twice', gzipSync(gzipSync(TEXT)), ['gzip', 'gzip']],
    ['in another way', gzipSync(TEXT), 'zstd'],
  ])('stays as it is: packed %s', async (_name, body, encoding) => {
    expect(await unpack(body, encoding)).toBe(body.toString());
  });

  it.each(['gzip', 'deflate', 'br'])('may be empty: %s', async (encoding) => {
    expect(await unpack(Buffer.alloc(0), encoding)).toBe('');
  });

  it.each<[string, (text: Buffer) => Buffer, string]>([
    ['gzip', gzipSync, 'gzip'],
    ['deflate', deflateSync, 'deflate'],
    ['deflate without a header', deflateRawSync, 'deflate'],
    ['br', brotliCompressSync, 'br'],
  ])('may be as large as is allowed, and no larger: %s', async (_name, pack, encoding) => {
    expect(await unpack(pack(Buffer.alloc(LARGEST)), encoding)).toHaveLength(LARGEST);
    await expect(unpack(pack(Buffer.alloc(LARGEST + 1)), encoding)).rejects.toThrow();
  });

  it('cut off in br is read as far as it goes', async () => {
    const packed = brotliCompressSync(Buffer.from('0123456789'.repeat(40)));
    await expect(unpack(packed.subarray(0, -1), 'br')).resolves.toMatch(/^0?/);
  });

  it('that is no gzip is an error', async () => expect(unpack(TEXT, 'gzip')).rejects.toThrow());
});
