import { existsSync, readdirSync } from 'node:fs';
import { AUDIT_NAMES } from '../../src/features.js';
import { textOf } from '../support/deployment-files.js';

/** Events and causes of ends are listed by hand for their readers, also those of features that are not part of this build. */

const namesIn = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name]) => name));

it('docs/audit.md has all audit events', () => {
  const tables = textOf('docs/audit.md').split('\n\n');
  const table = tables.find((part) => part.includes('| `sign_in_refused`'))!;
  expect([...namesIn(table, /\n\| `(\w+)`/g)]).toEqual(expect.arrayContaining([...AUDIT_NAMES]));
});

it('the type of @latchkey/server has all audit events', () => {
  const [union] = /type AuditName =[^;]*/.exec(textOf('packages/server/src/calls/audit-event.ts'))!;
  expect([...namesIn(union, /\| '(\w+)'/g)]).toEqual(expect.arrayContaining([...AUDIT_NAMES]));
});

it('the administration page has all audit events', () => {
  const below = readdirSync('admin/src/features', { recursive: true, encoding: 'utf8' });
  const features = below
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => textOf(`admin/src/features/${file}`));
  const names = namesIn(
    textOf('admin/src/audit/event-names.ts') + features.join('\n'),
    /(?:^ +|\{ )(\w+): '/gm,
  );
  expect([...names]).toEqual(expect.arrayContaining([...AUDIT_NAMES]));
});

describe('the causes of ends (`EndCause`)', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const declared = sources.flatMap((file) => [
    ...textOf(`src/${file}`).matchAll(/interface EndCauses extends Record<([^,]*),/g),
  ]);
  const causes = declared.flatMap(([, names]) => [...namesIn(names!, /'(\w+)'/g)]);

  it('are found', () => expect(causes).toEqual(expect.arrayContaining(['idle', 'suspended'])));

  it('are all in docs/guides/session-length.md', () => {
    const [, table] = textOf('docs/guides/session-length.md').split('## Why a session has ended');
    const listed = namesIn(table!.split('\n## ')[0]!, /\n\| `(\w+)`/g);
    expect([...listed]).toEqual(expect.arrayContaining(causes));
  });

  it('are all on the administration page', () => {
    const below = readdirSync('admin/src/features', { recursive: true, encoding: 'utf8' });
    const files = ['audit/event-names.ts', ...below.map((file) => `features/${file}`)];
    const objects = files
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) => /(?:CAUSES|causes): [^}]*/.exec(textOf(`admin/src/${file}`)) ?? []);
    expect([...namesIn(objects.join('\n'), /(\w+): ['"]/g)]).toEqual(expect.arrayContaining(causes));
  });

  it('are all in the type of @latchkey/client', () => {
    const [union] = /type EndCause =[^;]*/.exec(textOf('packages/client/src/session.ts'))!;
    expect([...namesIn(union, /\| '(\w+)'/g)]).toEqual(expect.arrayContaining(causes));
  });
});

it('test/slow.js has specs that exist', () => {
  const paths = [...namesIn(textOf('test/slow.js'), /'(.+\.ts)'/g)];
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter((path) => !existsSync(path!))).toEqual([]);
});
