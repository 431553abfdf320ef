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

  it('has one reader, however many use it: a fault is one line', async () => {
    const file = { path, variable: 'REDIS_URL_FILE' };
    const [one, other] = [1, 2].map(() =>
      currentSecret(file, databaseUrl, url('first'), (line) => warnings.push(line)),
    ) as [CurrentSecret<string>, CurrentSecret<string>];
    replace(url('second'));
    expect([one.now(), await other.recent()]).toEqual([url('second'), url('second')]);
    unlinkSync(path);
    for (let i = 0; i < 2; i++) expect([one.now(), other.now()]).toEqual([url('second'), url('second')]);
    expect(warnings).toEqual([
      `REDIS_URL_FILE: was "${path}", which cannot be read (ENOENT); the last value is used`,
    ]);
  });

  it('is what the file holds when it is asked for', () => {
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

  it('stays what it was while the file is of no use, with one line for each reason, which holds no secret', () => {
    replace(url('second'));
    expect(secret.now()).toBe(url('second'));
    const thrice = (): string[] => [secret.now(), secret.now(), secret.now()];
    replace('');
    expect(thrice()).toEqual(Array(3).fill(url('second')));
    replace('hunter2');
    expect(thrice()).toEqual(Array(3).fill(url('second')));
    unlinkSync(path);
    expect(thrice()).toEqual(Array(3).fill(url('second')));
    replace(url('third'));
    expect(thrice()).toEqual(Array(3).fill(url('third')));
    replace('\n');
    expect(thrice()).toEqual(Array(3).fill(url('third')));
    expect(warnings).toEqual([
      'DATABASE_URL_FILE: names a file that is empty; the last value is used',
      expect.stringMatching(
        /^DATABASE_URL_FILE: names a file that holds something else \(not shown\) than a URL/,
      ),
      `DATABASE_URL_FILE: was "${path}", which cannot be read (ENOENT); the last value is used`,
      'DATABASE_URL_FILE: names a file that is empty; the last value is used',
    ]);
  });

  it('stays what it was where the file has no end', async () => {
    unlinkSync(path);
    symlinkSync('/dev/zero', path);
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 1001);
    expect([secret.now(), await secret.recent()]).toEqual([url('first'), url('first')]);
    expect(now).toHaveBeenCalled();
    expect(warnings).toEqual([
      `DATABASE_URL_FILE: was "${path}", which cannot be read (EFBIG); the last value is used`,
    ]);
  });

  it('stays what it was where the file is a pipe, to which nobody may ever write', async () => {
    unlinkSync(path);
    execFileSync('mkfifo', [path]);
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 1001);
    expect([secret.now(), await secret.recent()]).toEqual([url('first'), url('first')]);
    expect(warnings).toEqual(['DATABASE_URL_FILE: names a file that is empty; the last value is used']);
    const writer = openSync(path, 'r+');
    try {
      expect([secret.now(), await secret.recent()]).toEqual([url('first'), url('first')]);
    } finally {
      closeSync(writer);
    }
    expect(warnings.slice(1)).toEqual([
      `DATABASE_URL_FILE: was "${path}", which cannot be read (EAGAIN); the last value is used`,
    ]);
  });

  it('is read once a second at most where it is asked for often, and once for all who ask then', async () => {
    const now = jest.spyOn(performance, 'now');
    now.mockReturnValue(0);
    secret = currentSecret({ path, variable: 'X_FILE' }, databaseUrl, url('first'), (line) =>
      warnings.push(line),
    );
    replace(url('second'));
    expect(await secret.recent()).toBe(url('first'));
    now.mockReturnValue(1001);
    expect(await Promise.all([secret.recent(), secret.recent()])).toEqual([url('second'), url('second')]);
    replace(url('third'));
    expect(await secret.recent()).toBe(url('second'));
    unlinkSync(path);
    now.mockReturnValue(2002);
    expect(await secret.recent()).toBe(url('second'));
    expect(warnings).toHaveLength(1);
  });
});

it('a secret that is in no file stays as it is', async () => {
  const secret = currentSecret(undefined, databaseUrl, url('first'), () => undefined);
  expect([secret.now(), await secret.recent()]).toEqual([url('first'), url('first')]);
});
