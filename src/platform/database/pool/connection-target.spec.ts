import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { parseSettings } from '../../config/settings/parse-settings.js';
import { directTarget, targetOf, usualTarget } from './connection-target.js';

const clientFor = (url: () => string) => targetOf(url, 'transaction').Client;

afterEach(() => jest.restoreAllMocks());

it('connects to where the URL leads when it is made, whatever else it is given', () => {
  let url = 'postgres://one:1@a.example:6432/x';
  const Client = clientFor(() => url);
  const one = new Client({ user: 'nobody', host: 'nowhere', query_timeout: 1 });
  url = 'postgres://two:2@b.example/y';
  const two = new Client({ port: 1 });
  expect([one, two].map(({ user, password, host, database }) => [user, password, host, database])).toEqual([
    ['one', '1', 'a.example', 'x'],
    ['two', '2', 'b.example', 'y'],
  ]);
});

it.each(['prefer', 'require', 'verify-ca', 'verify-full'])(
  '%s asks for a trusted certificate, without a warning',
  (mode) => {
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const { ssl } = new (clientFor(() => `postgres://a.example/x?application_name=y&sslmode=${mode}`))();
    expect(ssl).toEqual({});
    expect(warned).not.toHaveBeenCalled();
  },
);

it('means by sslmode what libpq does, where that is asked for', () => {
  const { ssl } = new (clientFor(() => 'postgres://a.example/x?sslmode=require&uselibpqcompat=true'))();
  expect(ssl).toEqual({ rejectUnauthorized: false });
});

it('reads certificates again, and never throws: pg makes clients where nobody would catch it', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-client-'));
  const file = join(directory, 'ca.pem');
  const url = `postgres://u:hunter2@a.example/x?sslmode=verify-full&sslrootcert=${file}`;
  try {
    expect(() => clientFor(() => url)).toThrow(/ENOENT/); // at the start
    writeFileSync(file, 'one');
    const Client = clientFor(() => url);
    writeFileSync(file, 'two');
    expect(new Client().ssl).toEqual({ ca: 'two' });
    renameSync(file, `${file}.gone`);
    for (let i = 0; i < 2; i++) expect(new Client().ssl).toEqual({ ca: 'two' });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls.join()).not.toContain('hunter2');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it.each([
  ['DATABASE_URL', usualTarget],
  ['DATABASE_DIRECT_URL', directTarget],
] as const)('names %s if a file that its URL names cannot be read', (variable, target) => {
  const url = 'postgres://u:hunter2@db.example/x';
  const lost = `${url}?sslmode=verify-full&sslrootcert=/lost/ca.pem`;
  const settings = parseSettings({
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: url,
    [variable]: lost,
  });
  expect(() => target(settings)).toThrow(
    new RegExp(
      `^invalid settings, nothing was started:\n  ${variable}: cannot be used: ENOENT.*/lost/ca\\.pem'$`,
    ),
  );
});
