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

  // test/config/rotated-secrets.spec.ts swaps files as Kubernetes does.
  it('is read again at each call', () => {
    expect(secret.now()).toBe(url('first'));
    replace(`\uFEFF${url('second')}\r\n`); // as editors of Windows write it
    expect(secret.now()).toBe(url('second'));
    expect(warnings).toEqual([]);
  });

  it('keeps its value while the file is missing or invalid, with one line for each reason and no secret in it', () => {
    const twice = (): string[] => [secret.now(), secret.now()];
    const expectBoth = (password: string): void => expect(twice()).toEqual([url(password), url(password)]);
    replace('');
    expectBoth('first');
    replace('hunter2');
    expectBoth('first');
    unlinkSync(path);
    expectBoth('first');
    replace(url('third'));
    expectBoth('third');
    replace('\n');
    expectBoth('third');
    expect(warnings).toEqual([
      'DATABASE_URL_FILE is an empty file. The last value is used.',
      expect.stringMatching(/holds something else \(not shown\) than a URL/),
      `DATABASE_URL_FILE cannot be read (ENOENT): "${path}". The last value is used.`,
      'DATABASE_URL_FILE is an empty file. The last value is used.',
    ]);
  });

  it.each<[string, string, () => void]>([
    ['endless', 'EFBIG', () => symlinkSync('/dev/zero', path)],
    ['a named pipe', 'EAGAIN', () => execFileSync('mkfifo', [path])],
  ])('keeps its value if the file is %s', (_name, code, put) => {
    unlinkSync(path);
    put();
    const writer = openSync(path, 'r+'); // without a writer, a pipe is empty
    expect(secret.now()).toBe(url('first'));
    closeSync(writer);
    expect(warnings).toEqual([
      `DATABASE_URL_FILE cannot be read (${code}): "${path}". The last value is used.`,
    ]);
  });

  it('has one reader for all parts of the service, so an error is logged once', () => {
    const file = { path, variable: 'REDIS_URL_FILE' };
    const warn = (line: string): unknown => warnings.push(line);
    unlinkSync(path);
    for (let i = 0; i < 2; i++) currentSecret(file, databaseUrl, url('first'), warn).now();
    expect(warnings).toHaveLength(1);
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
