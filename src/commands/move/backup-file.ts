import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pipeline as connectStreams } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { errorCode } from '../../platform/errors/error-facts.js';
import { countRows, type Table, type TableRows } from './copy.js';

// A backup is a gzip of frames: a length of four bytes (big-endian), and as many bytes. In order: the header;
// for each table its name and columns, its rows in the text format of COPY, an empty frame, their number;
// END. What is no row is JSON.

const FORMAT = 1;
const LENGTH_BYTES = 4;
/** Of a frame, which has a few rows at most; a longer one means that the file is damaged. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

export interface Header {
  /** Of the service that made the backup. */
  readonly version: string;
  readonly createdAt: string;
  /** Names of the migrations that the database had. */
  readonly migrations: readonly string[];
  /** Of SECRET_KEY, which does not follow from it. */
  readonly keyFingerprint: string;
}

interface FirstFrame extends Header {
  readonly latchkeyBackup: typeof FORMAT;
}

const END = { end: true } as const;

/**
 * Makes a file of mode 0600, which is removed again if the backup fails.
 * @returns number of rows
 * @throws if the file exists
 */
export async function writeBackup(
  path: string,
  header: Header,
  tables: AsyncIterable<TableRows>,
  signal: AbortSignal,
): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  let rows = 0;
  try {
    const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES });
    const frames = toFrames(header, tables, (count) => (rows += count));
    await pipeline(frames, gzip, file.createWriteStream({ flush: true }), { signal });
    return rows;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function* toFrames(
  header: Header,
  tables: AsyncIterable<TableRows>,
  onTable: (rows: number) => void,
): AsyncGenerator<Buffer> {
  const first: FirstFrame = { latchkeyBackup: FORMAT, ...header };
  yield jsonFrame(first);
  for await (const { table, data, count } of tables) {
    yield jsonFrame(table);
    for await (const chunk of data) {
      yield lengthOf(chunk);
      yield chunk;
    }
    yield lengthOf(Buffer.alloc(0));
    yield jsonFrame(count());
    onTable(count());
  }
  yield jsonFrame(END);
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  return length;
}

function jsonFrame(value: unknown): Buffer {
  const bytes = Buffer.from(JSON.stringify(value));
  return Buffer.concat([lengthOf(bytes), bytes]);
}

const NO_BACKUP = 'it is no backup of Latchkey, or is damaged';
const INCOMPLETE = 'the backup is incomplete: it was interrupted, or not copied as a whole';

/** Opens a backup. @returns its header, and the rows, which are read once */
export async function readBackup(
  path: string,
): Promise<{ readonly header: Header; readonly tables: AsyncGenerator<TableRows> }> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  // An error of the file ends the other stream, which throws it.
  const bytes = connectStreams(file, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
  const frames = toBackupErrors(readFrames(bytes));
  const first = (await nextJson(frames)) as Partial<FirstFrame> | null;
  if (typeof first?.latchkeyBackup !== 'number') throw new Error(NO_BACKUP);
  if (first.latchkeyBackup !== FORMAT) throw new Error('it was made by a newer version: use that one');
  return { header: first as FirstFrame, tables: readTables(frames) };
}

async function* readTables(frames: AsyncGenerator<Buffer>): AsyncGenerator<TableRows> {
  for (;;) {
    const table = (await nextJson(frames)) as Table | typeof END;
    if ('end' in table) {
      // also reads the checksum of gzip, which is behind the last frame
      if (!(await frames.next()).done) throw new Error(NO_BACKUP);
      return;
    }
    let count = 0;
    async function* data(): AsyncGenerator<Buffer> {
      for (let rows = await next(frames); rows.length > 0; rows = await next(frames)) {
        count += countRows(rows);
        yield rows;
      }
      if ((await nextJson(frames)) !== count) throw new Error(NO_BACKUP);
    }
    yield { table, data: data(), count: () => count };
  }
}

async function* readFrames(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    left = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
    while (left.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + left.readUInt32BE(0);
      if (end > MAX_FRAME_BYTES) throw new Error(NO_BACKUP);
      if (left.length < end) break;
      yield left.subarray(LENGTH_BYTES, end);
      left = left.subarray(end);
    }
  }
}

/** The errors of zlib (https://zlib.net/manual.html#Constants). */
async function* toBackupErrors(frames: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* frames;
  } catch (error) {
    if (errorCode(error) === 'Z_BUF_ERROR') throw new Error(INCOMPLETE, { cause: error });
    if (errorCode(error) === 'Z_DATA_ERROR') throw new Error(NO_BACKUP, { cause: error });
    throw error;
  }
}

async function next(frames: AsyncGenerator<Buffer>): Promise<Buffer> {
  const { value, done } = (await frames.next()) as IteratorResult<Buffer, undefined>;
  if (done) throw new Error(INCOMPLETE);
  return value;
}

async function nextJson(frames: AsyncGenerator<Buffer>): Promise<unknown> {
  const bytes = await next(frames);
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new Error(NO_BACKUP, { cause: error });
  }
}
