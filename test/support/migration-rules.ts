/** A comment in the SQL: the release that stopped using what goes. */
const UNUSED = /-- unused since \d+\.\d+\.\d+/;
/** A comment in the SQL: building the index takes no time. */
const SMALL = /-- small table/;

// What instances of the release before cannot live with, or what holds a table for long.
const FORBIDDEN: [RegExp, string][] = [
  [/\bDROP (TABLE|COLUMN)\b/i, 'removes what an older release may use'],
  [/\bRENAME\b/i, 'renames what an older release may use'],
  [/\bALTER (COLUMN )?"?\w+"? (SET DATA )?TYPE\b/i, 'changes a type'],
  [/\bSET NOT NULL\b/i, 'requires what an older release may leave out'],
  [/\bDROP DEFAULT\b/i, 'requires what an older release may leave out'],
  [/\bADD (?!.*\bDEFAULT\b).*\bNOT NULL\b/is, 'requires what an older release may leave out'],
];
const CREATES_TABLE = /\bCREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/gi;
const INDEX = /\bCREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+) ON (\w+)/i;

/**
 * What is wrong with a migration (CONTRIBUTING, "Migrations"); tables that it makes itself may be treated in any way.
 *
 * @param source the text of its file
 */
export function faultsOfMigration(source: string): string[] {
  const [, up = ''] = /async up\((.*?)(?:async down\(|$)/s.exec(source) ?? [];
  const own = new Set([...up.matchAll(CREATES_TABLE)].map(([, table]) => table));
  const isAlone = /transaction = false/.test(source);
  return up
    .split(/;|\.query\(/)
    .filter((statement) => !own.has(/\bALTER TABLE (\w+)/i.exec(statement)?.[1]))
    .flatMap((statement) => [
      ...(UNUSED.test(statement) ? [] : faultsOfActions(statement)),
      ...faultsOfIndex(statement, up, own, isAlone),
      ...(isAlone && /\b(ALTER|UPDATE|DELETE|INSERT|CREATE TABLE)\b/i.test(statement)
        ? ['has no limit to its waiting: only CONCURRENTLY may be without a transaction']
        : []),
    ]);
}

function faultsOfActions(statement: string): string[] {
  const actions = statement.split(/,\s*(?=(?:ADD|ALTER|DROP|RENAME)\b)/i);
  return FORBIDDEN.filter(([what]) => actions.some((action) => what.test(action))).map(([, fault]) => fault);
}

function faultsOfIndex(
  statement: string,
  up: string,
  own: Set<string | undefined>,
  isAlone: boolean,
): string[] {
  const [found, concurrently, name, table] = INDEX.exec(statement) ?? [];
  if (!found || own.has(table)) return [];
  if (!concurrently) return SMALL.test(statement) ? [] : ['builds an index while nobody can write'];
  if (!isAlone) return ['CONCURRENTLY needs `transaction = false`'];
  const repeatable = up.includes(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  return repeatable ? [] : ['cannot be tried again: an attempt that was cut off leaves an invalid index'];
}
