import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import pg from 'pg';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { startTestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { prepare, use } from '../support/use.js';

const TRIES = 3;

/** Begins the transaction of a task, which the service runs beside a request. */
const TASK = /FROM "directory_tasks"/;

/** How many statements a request of a directory takes; a number that rises is a step that was added. */
describe('a request of a directory', () => {
  const endings = new Endings();
  let url: string;
  let user: string;
  let id: string;
  afterAll(() => endings.run());

  const provider = use(() => StubProvider.start());
  beforeAll(async () => {
    const service = await startTestService({ ...provider.env(), ...DIRECTORY_ENV });
    ({ url } = endings.after(service, (one) => one.close()));
  });
  const directory = prepare(() => new DirectoryClient({ url }));
  beforeAll(async () => {
    user = randomUUID();
    await signIn(url, user);
    id = await directory.create('/Users', { userName: user, externalId: user });
  });

  const replace = (path: string, value: unknown): object => ({ op: 'replace', path, value });
  const patch = (...operations: object[]) => directory.patch(`/Users/${id}`, ...operations).expect(200);

  /** Returns the statements of the transaction of a request. */
  async function statementsOf(request: () => PromiseLike<unknown>): Promise<string[]> {
    const spy = jest.spyOn(pg.Client.prototype, 'query');
    try {
      await request();
      const open = new Map<unknown, string[]>();
      return spy.mock.calls.flatMap(([statement], i) => {
        const { text } = typeof statement === 'string' ? { text: statement } : statement;
        const client = spy.mock.contexts[i];
        if (text === 'START TRANSACTION') open.set(client, []);
        const transaction = open.get(client) ?? [];
        transaction.push(text);
        if (text !== 'COMMIT') return [];
        open.delete(client);
        return TASK.test(transaction[1]!) ? [] : transaction;
      });
    } finally {
      spy.mockRestore();
    }
  }

  const again = async (): Promise<void> => {
    await patch(replace('active', true));
    await signIn(url, user);
  };

  it.each<{ what: string; most: number; operation: (i: number) => object; before?: () => Promise<void> }>([
    { what: 'of the name', most: 12, operation: (i) => replace('displayName', `Ada ${i}`) },
    { what: 'of what is so already', most: 3, operation: () => replace('userName', user) },
    { what: 'of a role', most: 13, operation: (i) => replace('roles', [{ value: `role ${i}` }]) },
    { what: 'of the user name', most: 10, operation: (i) => replace('userName', `${user} ${i}`) },
    { what: 'of active', most: 12, operation: () => replace('active', false), before: again },
  ])('PATCH of one person, $what: $most', async ({ most, operation, before }) => {
    const counts: number[] = [];
    // Of the shortest: the first one may be the first of its kind.
    for (let i = 0; i < TRIES; i++) {
      await before?.();
      const statements = await statementsOf(() => patch(operation(i)));
      if (process.env['SCIM_STATEMENTS']) console.log(statements.join('\n'));
      counts.push(statements.length);
    }
    expect(Math.min(...counts)).toBeLessThanOrEqual(most);
  });
});
