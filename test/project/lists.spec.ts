import { readdirSync } from 'node:fs';
import { AUDIT_NAMES } from '../../src/audit-names.js';
import { textOf } from '../support/deployment-files.js';

/** Audit events are listed by hand for their readers: also those of a feature that is not part of this build. */

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
