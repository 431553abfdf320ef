import { DECORATORS, files, GROUND, importsOf, packagesOf, roomOf, sourceOf } from '../support/rooms.js';

/** Folders of src, or single files, that a folder may import besides the ground. Only the files in src/ itself may import the rest. */
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
  'sample-provider': [...GROUND, 'provider'], // redirect URIs and credentials of its client
  demo: [...GROUND, 'realtime'], // its page pushes events to its own user
  redis: [...GROUND],
  'rate-limit': [...GROUND, 'redis'],
  removal: [...GROUND],
  keys: [...GROUND, 'token', 'entities.js'], // a command, which builds its own application
  distribute: [...GROUND, 'entities.js'], // a command
  operations: [...GROUND, 'redis'],
  openapi: [...GROUND],
};

describe('who may import whom', () => {
  const inRooms = files.filter((file) => roomOf(file));

  it('finds imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(importsOf('auth/auth.service.ts')).toContain('provider/redirect-uris.js');
  });

  it('imports only what the table allows', () => {
    const violations = inRooms.flatMap((file) => {
      const allowed = MAY_IMPORT[roomOf(file)!];
      if (!allowed) return [`${file}: not in the table`];
      const others = importsOf(file).filter((path) => roomOf(path) !== roomOf(file));
      return others
        .filter((path) => !allowed.includes(path) && !allowed.includes(roomOf(path)!))
        .map((path) => `${file}: ${path}`);
    });
    expect(violations).toEqual([]);
  });

  it('the decorators need only types of the ground, since every folder may import them', () => {
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
