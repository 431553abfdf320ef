import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { tokensAt } from '../../linking/person.js';
import { createDatabase, query } from '../../support/database.js';
import { claimsOf, signIn } from '../../support/sign-in.js';
import { useService } from '../../support/use.js';
import { stepsOf } from '../page.js';

const KEY = 'k'.repeat(40);

/** Tables of products, as far as the page reads them, with a person who has two accounts and one at the provider `corp`. */
const PRODUCTS: readonly (readonly [product: string, tables: string])[] = [
  [
    'Auth.js',
    `DROP TABLE users CASCADE;
     CREATE TABLE users (id int PRIMARY KEY, name text, email text);
     CREATE TABLE accounts ("userId" int, provider text, "providerAccountId" text);
     INSERT INTO users VALUES (7, 'Ada', 'ada@corp.example'), (8, 'Grace', NULL);
     INSERT INTO accounts VALUES (7, 'hub', 'ada-js'), (7, 'corp', 'ada'), (8, 'hub', 'grace-js')`,
  ],
  [
    'Supabase',
    `CREATE SCHEMA auth;
     CREATE TABLE auth.users (id int PRIMARY KEY, email text, raw_user_meta_data jsonb);
     CREATE TABLE auth.identities (user_id int, provider text, provider_id text, email text);
     INSERT INTO auth.users VALUES (7, 'ada@corp.example', '{"name": "Ada"}'), (8, NULL, '{}');
     INSERT INTO auth.identities VALUES (7, 'hub', 'ada-js'), (7, 'corp', 'ada'), (8, 'hub', 'grace-js')`,
  ],
  [
    'Keycloak',
    `CREATE TABLE realm (id text PRIMARY KEY, name text);
     CREATE TABLE user_entity (id text PRIMARY KEY, realm_id text, username text, email text);
     CREATE TABLE federated_identity (user_id text, identity_provider text, federated_user_id text);
     INSERT INTO realm VALUES ('1', 'shop'), ('2', 'other');
     INSERT INTO user_entity VALUES
       ('7', '1', 'Ada', 'ada@corp.example'), ('8', '1', 'Grace', NULL), ('9', '2', 'Bob', NULL);
     INSERT INTO federated_identity VALUES
       ('7', 'hub', 'ada-js'), ('7', 'corp', 'ada'), ('8', 'hub', 'grace-js'), ('9', 'hub', 'bob')`,
  ],
];
const PAGE = 'docs/guides/moving-in.md';
const fileOf = (end: string) =>
  stepsOf(PAGE).flatMap((step) => (step.does === 'write' && step.file.endsWith(end) ? [step] : []))[0]!;

describe(`the scripts of ${PAGE}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-moving-'));
  const { provider, service } = useService(() => ({
    SERVICE_KEYS: KEY,
    ...provider.env('CORP'),
    ...provider.env('HUB'),
    PROVIDERS_CORP_LINKS: 'hub',
  }));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Imports lines, twice. */
  async function move(users: readonly object[]): Promise<void> {
    const { file, text } = fileOf('.js');
    writeFileSync(join(folder, file), text);
    writeFileSync(join(folder, 'users.jsonl'), users.map((user) => `${JSON.stringify(user)}\n`).join(''));
    const env = { ...process.env, LATCHKEY_URL: service.url, LATCHKEY_KEY: KEY, NODE_OPTIONS: '' };
    for (let i = 0; i < 2; i++) {
      const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env });
      expect(stdout).toBe(`${users.length} accounts\n`);
    }
  }

  it('give users the ids that they had before, also if they run again', async () => {
    await move(['ada', 'grace'].map((id) => ({ provider: 'stub', id, old_id: `auth0|${id}`, name: id })));
    const { access_token } = await signIn(service.url, 'ada');
    expect(claimsOf(access_token)).toMatchObject({ claims: { old_id: 'auth0|ada' } });
  });

  it.each(PRODUCTS)('make one user of the accounts that one person has at %s', async (product, tables) => {
    const { url } = await createDatabase();
    await query(url, tables);
    const { text } = fileOf('.sql');
    const account = new RegExp(`^\\| ${product} +\\| \`(.+)\` +\\|$`, 'm').exec(
      readFileSync(PAGE, 'utf8'),
    )?.[1];
    const sql = account ? text.replace(/(?<= AS \(\n)[^]*?(?=\n\), person)/, account) : text;
    const lines = (await query(url, sql)).flatMap((row) => Object.values(row) as object[]);
    expect(lines).toHaveLength(2);
    await move(lines);
    const corp = await tokensAt(service, 'corp', 'ada');
    expect(claimsOf(corp.access_token)).toMatchObject({ claims: { old_id: '7' } });
    expect((await tokensAt(service, 'hub', 'ada-js')).user_id).toBe(corp.user_id);
    const grace = await tokensAt(service, 'hub', 'grace-js');
    expect(claimsOf(grace.access_token)).toMatchObject({ claims: { old_id: '8' } });
  });
});
