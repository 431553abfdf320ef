import { DECORATORS, files, GROUND, importsOf, packagesOf, roomOf, sourceOf } from '../support/rooms.js';

/**
 * Which room may import which room, or which single file, besides the ground. Only the application may import what is not
 * listed.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  config: [],
  errors: [],
  events: ['errors'], // their codes, as types
  spans: [],
  database: ['config', 'errors', 'events', 'spans'],
  http: ['config', 'errors', 'events', 'spans'],
  user: [...GROUND],
  provider: [...GROUND],
  token: [...GROUND],
  device: [...GROUND, 'token'],
  auth: [...GROUND, 'provider', 'user', 'device', 'token'],
  channel: ['config', 'errors', 'events', 'database'],
  realtime: [...GROUND, 'user', 'device', 'token', 'redis'],
  'sample-provider': [...GROUND, 'provider'], // it is one: where its client may be sent, and the client's credentials
  demo: [...GROUND, 'realtime'], // its page pushes events to its own user
  redis: [...GROUND],
  'rate-limit': [...GROUND, 'redis'],
  removal: [...GROUND],
  keys: [...GROUND, 'token', 'entities.js'], // a command: a process of its own, put together as the service is
  distribute: [...GROUND, 'entities.js'], // a command, too
  operations: [...GROUND, 'redis'],
  openapi: [...GROUND],
};

describe('who may import whom', () => {
  const inRooms = files.filter((file) => roomOf(file));

  it('sees the imports at all', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(importsOf('auth/auth.service.ts')).toContain('provider/redirect-uris.js');
  });

  it.each(inRooms)('%s', (file) => {
    const room = roomOf(file)!;
    expect(Object.keys(MAY_IMPORT)).toContain(room);
    const mayImport = MAY_IMPORT[room] ?? [];
    const others = importsOf(file)
      .filter((path) => !mayImport.includes(path))
      .map(roomOf)
      .filter((other) => other !== room);
    for (const other of others) expect(mayImport).toContain(other);
  });

  it('the decorators need nothing but types of the ground, so that the rooms that use them depend on nothing else', () => {
    expect(importsOf(DECORATORS.replace('.js', '.ts'))).toEqual([
      'config/secrets/service-key.js',
      'events.js',
    ]);
  });

  it('packages are imported where they are started', () => {
    const importers = files.flatMap((file) => packagesOf(file).map((name) => `${file} ${name}`));
    expect(importers.toSorted()).toEqual([
      'keys/open-database.ts #embedded-postgres',
      'latchkey.ts #check-provider',
      'start-app.ts #embedded-postgres',
      'start.ts #embedded-postgres',
    ]);
  });

  it('only src/config reads the environment', () => {
    const readers = files.filter((file) => /process\.env|['"]node:process['"]/.test(sourceOf(file)));
    expect(readers.every((file) => roomOf(file) === 'config')).toBe(true);
  });
});
