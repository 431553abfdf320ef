import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { currentSecret, type CurrentSecret } from './current-secret.js';
import { databaseUrl } from '../urls/database-url.js';
import { readSecretFile } from './secret-files.js';

const url = (password: string): string => `postgres://u:${password}@db.example/x`;

describe('a secret in a file', () => {
  let directory: string;
  let path: string;
  let warnings: string[];
  let secret: CurrentSecret<string>;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-secret-'));
    path = join(directory, 'secret');
    writeFileSync(path, `${url('first')}\n`);
    warnings = [];
    const file = { path, variable: 'DATABASE_URL_FILE' };
    secret = currentSecret(file, databaseUrl, url('first'), (line) => warnings.push(line));
  });
  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(directory, { recursive: true });
  });

  const replace = (content: string): void => {
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  };

  it('has one reader for all parts of the service, so an error is logged once', () => {
    const file = { path, variable: 'REDIS_URL_FILE' };
    const warn = (line: string): unknown => warnings.push(line);
    const [one, other] = [1, 2].map(() => currentSecret(file, databaseUrl, url('first'), warn));
    unlinkSync(path);
    expect([one!.now(), other!.now()]).toEqual([url('first'), url('first')]);
    expect(warnings).toEqual([
      `REDIS_URL_FILE cannot be read (ENOENT): "${path}". The last value is used.`,
    ]);
  });

  it('is read again at each call', () => {
    expect(secret.now()).toBe(url('first'));
    replace(`\uFEFF${url('second')}\r\n`); // as editors of Windows write it
    expect(secret.now()).toBe(url('second'));
    expect(warnings).toEqual([]);
  });

  it('is followed through symbolic links, as Kubernetes swaps them', () => {
    unlinkSync(path);
    for (const version of ['first', 'second']) {
      writeFileSync(join(directory, version), url(version));
      symlinkSync(version, join(directory, 'data.new'));
      renameSync(join(directory, 'data.new'), path);
      expect(secret.now()).toBe(url(version));
    }
  });

  it('keeps its value while the file is missing or invalid, with one line for each reason and no secret in it', () => {
    const twice = (): string[] => [secret.now(), secret.now()];
    const kept = (password: string): void => expect(twice()).toEqual([url(password), url(password)]);
    replace('');
    kept('first');
    replace('hunter2');
    kept('first');
    unlinkSync(path);
    kept('first');
    replace(url('third'));
    kept('third');
    replace('\n');
    kept('third');
    expect(warnings).toEqual([
      'DATABASE_URL_FILE is an empty file. The last value is used.',
      expect.stringMatching(/holds something else \(not shown\) than a URL/),
      `DATABASE_URL_FILE cannot be read (ENOENT): "${path}". The last value is used.`,
      'DATABASE_URL_FILE is an empty file. The last value is used.',
    ]);
  });

  it('keeps its value if the file is endless', () => {
    unlinkSync(path);
    symlinkSync('/dev/zero', path);
    expect(secret.now()).toBe(url('first'));
    expect(warnings).toEqual([
      `DATABASE_URL_FILE cannot be read (EFBIG): "${path}". The last value is used.`,
    ]);
  });

  it('keeps its value if the file is a named pipe, with or without a writer', () => {
    unlinkSync(path);
    execFileSync('mkfifo', [path]);
    expect(secret.now()).toBe(url('first'));
    expect(warnings).toEqual(['DATABASE_URL_FILE is an empty file. The last value is used.']);
    const writer = openSync(path, 'r+');
    try {
      expect(secret.now()).toBe(url('first'));
    } finally {
      closeSync(writer);
    }
    expect(warnings.slice(1)).toEqual([
      `DATABASE_URL_FILE cannot be read (EAGAIN): "${path}". The last value is used.`,
    ]);
  });

  it('recent() reads the file once a second at most', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    const file = { path, variable: 'X_FILE' };
    secret = currentSecret(file, databaseUrl, url('first'), (line) => warnings.push(line));
    replace(url('second'));
    expect(secret.recent()).toBe(url('first'));
    now.mockReturnValue(1001);
    expect(secret.recent()).toBe(url('second'));
    unlinkSync(path);
    expect(secret.recent()).toBe(url('second'));
    expect(warnings).toEqual([]);
    now.mockReturnValue(2002);
    expect(secret.recent()).toBe(url('second'));
    expect(warnings).toHaveLength(1);
  });
});

it('a secret that is not in a file stays as it is', () => {
  const secret = currentSecret(undefined, databaseUrl, url('first'), () => undefined);
  expect([secret.now(), secret.recent()]).toEqual([url('first'), url('first')]);
});

describe('a file of a secret', () => {
  let path: string;
  beforeEach(() => {
    path = join(mkdtempSync(join(tmpdir(), 'latchkey-secret-')), 'secret');
  });
  afterEach(() => rmSync(join(path, '..'), { recursive: true }));

  it.each(['', 'a secret\n', 'ключ', 'x'.repeat(64 * 1024)])('is read whole', (content) => {
    writeFileSync(path, content);
    expect(readSecretFile(path)).toBe(content);
  });

  it.each([
    ['/dev/zero', 'EFBIG'],
    ['/nowhere', 'ENOENT'],
    ['/', 'EISDIR'],
    ['a\0b', 'ERR_INVALID_ARG_VALUE'],
  ])('%j cannot be read: %s', (name, code) => {
    expect(() => readSecretFile(name)).toThrow(expect.objectContaining({ code }));
  });
});
