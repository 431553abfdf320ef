import { brotliDecompress, constants, inflateRaw, unzip } from 'node:zlib';

/** What a provider may pack its answer with (RFC 9110 §8.4.1). */
export const ACCEPT_ENCODING = 'gzip, compress, deflate, br';

type Done = (error: Error | null, body: Buffer) => void;

// As axios' own adapter has it: an answer whose last bytes are missing is read as far as it goes, and judged as JSON.
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH };

/**
 * Unpacks an answer. What is packed in another way, or more than once, stays as it is.
 *
 * @param body all of it: it is small
 * @param encoding the header `Content-Encoding`
 * @param largest bytes; an answer with more, unpacked, is an error, and is not unpacked to its end
 */
export function unpacked(
  body: Buffer,
  encoding: string | string[] | undefined,
  largest: number,
  done: Done,
): void {
  if (encoding === undefined || body.length === 0) return done(null, body);
  switch (String(encoding).toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
    case 'compress':
    case 'x-compress':
      return unzip(body, { ...ZLIB, maxOutputLength: largest }, done);
    case 'deflate': // with a header (RFC 1950), or without, as some servers send it
      if (body[0] === 0x78) return unzip(body, { ...ZLIB, maxOutputLength: largest }, done);
      return inflateRaw(body, { ...ZLIB, maxOutputLength: largest }, done);
    case 'br':
      return brotliDecompress(body, { ...BROTLI, maxOutputLength: largest }, done);
    default:
      return done(null, body);
  }
}
