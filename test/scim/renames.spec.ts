import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DirectoryClient } from '../support/directory.js';
import { connect, query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { beginSignIn, bearer, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const tokenOf = (provider: string): string =>
  `a-token-of-the-directory-of-${provider}-with-enough-characters`;

/** Providers, by what their directories are compared by. */
const PROVIDERS = {
  ids: {},
  employees: { SCIM_CLAIM: 'text' },
  names: { SCIM_ATTRIBUTE: 'userName', SCIM_CLAIM: 'text' },
  logins: { SCIM_ATTRIBUTE: 'userName' },
  listed: { SCIM_ATTRIBUTE: 'userName', SCIM_CLAIM: 'text', ALLOW: 'directory' },
};
type Provider = keyof typeof PROVIDERS;

/** One operation that gives a directory user another name; `undefined` clears it. */
type Rename = (name: string | undefined) => object;
const OFF = { op: 'Replace', path: 'active', value: 'False' };

/** Names of a person in the directory and at the provider change; the directory ends the person (docs/directory.md). */
describe('a person whom the directory renames', () => {
  const stub = use(() => StubProvider.start());
  const env: Record<string, string> = { PUBLIC_URL: 'http://localhost:3000', SERVICE_KEYS: SERVICE_KEY };
  beforeAll(() => {
    for (const [provider, settings] of Object.entries(PROVIDERS)) {
      const name = provider.toUpperCase();
      Object.assign(env, stub.env(name), { [`PROVIDERS_${name}_SCIM_TOKEN`]: tokenOf(provider) });
      for (const [key, value] of Object.entries(settings)) env[`PROVIDERS_${name}_${key}`] = value;
    }
  });
  const here = use(() => startTestService(env));
  const there = use(() => here.another());

  /** A person at a provider. If `scim_claim` is the user id, the name is the user id; else it is a claim. */
  class Person {
    readonly directory: DirectoryClient;
    id = '';
    private readonly sub: string = randomUUID();
    private readonly isUserId: boolean;

    constructor(
      readonly provider: Provider,
      readonly name: string = `Person.${randomUUID()}`,
    ) {
      this.directory = new DirectoryClient(here, provider, tokenOf(provider));
      this.isUserId = provider === 'ids' || provider === 'logins';
    }

    get attribute(): 'userName' | 'externalId' {
      return this.provider === 'ids' || this.provider === 'employees' ? 'externalId' : 'userName';
    }

    resource(name: string | undefined, more: object = {}): object {
      if (this.attribute === 'userName') return { userName: name, ...more };
      return {
        userName: `${this.sub}@corp.example`,
        ...(name !== undefined && { externalId: name }),
        ...more,
      };
    }

    async create(more: object = {}): Promise<this> {
      this.id = await this.directory.create('/Users', this.resource(this.name, more));
      return this;
    }

    readonly rename: Rename = (name) =>
      name === undefined
        ? { op: 'Remove', path: this.attribute }
        : { op: 'Replace', path: this.attribute, value: name };

    patch(...operations: object[]): Promise<unknown> {
      return this.directory.patch(`/Users/${this.id}`, ...operations).expect(200);
    }

    /** Signs in with a name that the provider sends now. */
    async exchange(name = this.name): Promise<request.Response> {
      const code = this.isUserId ? name : this.sub;
      stub.claims.set(code, { text: name });
      const state = await beginSignIn(there.url, { provider: this.provider });
      return request(there.url).post('/oauth2/token').send({ code, state });
    }

    async signIn(name?: string): Promise<Tokens> {
      const { status, body } = await this.exchange(name);
      expect([status, body]).toEqual([200, body]);
      return body as Tokens;
    }
  }

  const other = (): string => `Other.${randomUUID()}`;
  const refresh = ({ refresh_token }: Tokens): Promise<request.Response> =>
    request(there.url).post('/oauth2/refresh').send({ refresh_token });

  async function expectOut({ access_token, refresh_token }: Tokens): Promise<void> {
    expect((await refresh({ access_token, refresh_token } as Tokens)).body).toMatchObject({
      error: 'invalid_grant',
    });
    expect((await bearer(there.url, access_token).get('/me')).status).toBe(401);
  }

  async function expectRefused(person: Person, ...names: string[]): Promise<void> {
    for (const name of names) {
      const { status, body } = await person.exchange(name);
      expect([name, status, body]).toMatchObject([name, 403, { error: 'access_denied' }]);
    }
  }

  const end = (one: Person): PromiseLike<unknown> =>
    one.directory.send('DELETE', `/Users/${one.id}`).expect(204);

  /** Requests that end a person, by what is new in them. @returns the last name of the directory user */
  const ENDS: Record<string, (one: Person) => Promise<string | undefined>> = {
    'renamed, then active: false': async (one) => {
      const name = other();
      await one.patch(one.rename(name));
      await one.patch(OFF);
      return name;
    },
    'renamed, then DELETE': async (one) => {
      const name = other();
      await one.patch(one.rename(name));
      await end(one);
      return name;
    },
    'renamed twice, then active: false': async (one) => {
      const name = other();
      await one.patch(one.rename(other()));
      await one.patch(one.rename(name));
      await one.patch(OFF);
      return name;
    },
    'renamed and active: false in one PATCH': async (one) => {
      const name = other();
      await one.patch(one.rename(name), OFF);
      return name;
    },
    'active: false and renamed in one PATCH': async (one) => {
      const name = other();
      await one.patch(OFF, one.rename(name));
      return name;
    },
    'PUT with another name and active: false': async (one) => {
      const name = other();
      const body = one.resource(name, { active: false });
      await one.directory.send('PUT', `/Users/${one.id}`, body).expect(200);
      return name;
    },
    'active: false, then renamed': async (one) => {
      const name = other();
      await one.patch(OFF);
      await one.patch(one.rename(name));
      return name;
    },
    'active: false, renamed, then DELETE': async (one) => {
      await one.patch(OFF);
      await one.patch(one.rename(other()));
      await end(one);
      return undefined;
    },
    'renamed to the name of another user, then active: false': async (one) => {
      const taken = new Person(one.provider, other());
      const tokens = await taken.signIn();
      await one.patch(one.rename(taken.name));
      await one.patch(OFF);
      await expectOut(tokens);
      return taken.name;
    },
  };
  const CLEARED: typeof ENDS = {
    'cleared and active: false in one PATCH': async (one) => {
      await one.patch(one.rename(undefined), OFF);
      return undefined;
    },
    'cleared, then active: false': async (one) => {
      await one.patch(one.rename(undefined));
      await one.patch(OFF);
      return undefined;
    },
    'cleared, then DELETE': async (one) => {
      await one.patch(one.rename(undefined));
      await end(one);
      return undefined;
    },
    'PUT without the name, and active: false': async (one) => {
      const body = one.resource(undefined, { active: false });
      await one.directory.send('PUT', `/Users/${one.id}`, body).expect(200);
      return undefined;
    },
  };
  const CASES = (['ids', 'employees', 'names', 'logins'] as const).flatMap((provider) => {
    const hasExternalId = provider === 'ids' || provider === 'employees';
    const ends = { ...ENDS, ...(hasExternalId && CLEARED) };
    return Object.keys(ends).map((name) => [provider, name] as const);
  });

  describe.each(CASES)('%s: %s', (provider, name) => {
    const run = { ...ENDS, ...CLEARED }[name]!;

    it('ends the session, and refuses the person by any name', async () => {
      const one = await new Person(provider).create();
      const tokens = await one.signIn();
      const last = await run(one);
      await expectOut(tokens);
      await expectRefused(one, one.name, ...(last === undefined ? [] : [last]));
      // With a name that is new to the directory, the link finds the person by the user id.
      if (provider !== 'ids' && provider !== 'logins') await expectRefused(one, other());
    });

    it('refuses a person who has not signed in before', async () => {
      const one = await new Person(provider).create();
      const last = await run(one);
      await expectRefused(one, one.name, ...(last === undefined ? [] : [last]));
    });
  });

  describe.each(['employees', 'names'] as const)('%s', (provider) => {
    it('the provider renames first: the person is the same', async () => {
      const one = await new Person(provider).create();
      const tokens = [await one.signIn(), await one.signIn(other())];
      await one.patch(OFF);
      for (const each of tokens) await expectOut(each);
      await expectRefused(one, other());
    });

    it('the directory knows the person after the first sign-in: the person is the same', async () => {
      const one = new Person(provider);
      await one.signIn();
      await one.create();
      const tokens = await one.signIn(other());
      await one.patch(OFF);
      await expectOut(tokens);
      await expectRefused(one, other());
    });

    it('the provider renames last: the person is the same', async () => {
      const one = await new Person(provider).create();
      await one.signIn();
      const name = other();
      await one.patch(one.rename(name));
      const tokens = [await one.signIn(name)];
      await one.patch(one.rename(other()));
      tokens.push(await one.signIn(name), await one.signIn());
      await one.patch(OFF);
      for (const each of tokens) await expectOut(each);
    });

    it('the person is in again with the name of an active user', async () => {
      const one = await new Person(provider).create();
      await one.signIn();
      const name = other();
      await one.patch(one.rename(name), OFF);
      await expectRefused(one, one.name, name);
      await one.patch({ op: 'Replace', path: 'active', value: true });
      await one.signIn(name);
      await end(one);
      await expectRefused(one, one.name, name);
      const again = await new Person(provider, one.name).create();
      const tokens = await one.signIn();
      await again.patch(again.rename(other()), OFF);
      await expectOut(tokens);
      await expectRefused(one, one.name, name);
    });
  });

  it('a name that an inactive user has given up stays refused until an active user has it', async () => {
    const one = await new Person('names').create({ active: false });
    await one.patch(one.rename(other()));
    const next = new Person('names', one.name);
    await expectRefused(next, next.name);
    await next.create({ active: false });
    await expectRefused(next, next.name);
    await next.patch({ op: 'Replace', path: 'active', value: true });
    await next.signIn();
  });

  it('while a user is active, the name that it has given up is free', async () => {
    const one = await new Person('names').create();
    const tokens = await one.signIn();
    await one.patch(one.rename(other()));
    const newcomer = new Person('names', one.name);
    await newcomer.signIn();
    expect((await refresh(tokens)).status).toBe(200);
    await one.patch(OFF);
    await expectOut(tokens);
  });

  it('an active user with another name gives the former person no rights', async () => {
    const one = await new Person('names').create();
    const members = [{ value: one.id }];
    await one.directory.create('/Groups', { displayName: `of ${one.name}`, members });
    const claims = async (tokens: Tokens): Promise<unknown> =>
      (await bearer(here.url, SERVICE_KEY).get(`/users/${tokens.user_id}/claims`).expect(200)).body;
    const tokens = await one.signIn();
    expect(await claims(tokens)).toMatchObject({ effective: { groups: [`of ${one.name}`] } });
    await one.patch(one.rename(other()));
    expect(await claims(tokens)).not.toHaveProperty('effective.groups');
    const state = async (): Promise<unknown> =>
      (await bearer(here.url, SERVICE_KEY).get(`/users/${tokens.user_id}`).expect(200)).body;
    expect(await state()).toMatchObject({ directory: null });
    await one.patch(OFF);
    expect(await state()).toMatchObject({ directory: { active: false } });
    const entry = await query(
      here.databaseUrl,
      `SELECT reason FROM audit_events WHERE event = 'directory_changed' AND user_id = $1 AND reason LIKE '%deactivated%'`,
      [tokens.user_id],
    );
    expect(entry).toHaveLength(1);
  });

  it('two users swap names: each end reaches the person with the name', async () => {
    const [ada, bob] = [await new Person('names').create(), await new Person('names').create()];
    const [adas, bobs] = [await ada.signIn(), await bob.signIn()];
    await ada.patch(ada.rename(other()));
    await bob.patch(bob.rename(ada.name));
    await ada.patch(ada.rename(bob.name));
    await ada.patch(OFF);
    await expectOut(bobs);
    expect((await refresh(adas)).status).toBe(200);
    await end(bob);
    await expectOut(adas);
  });

  it('a user whom the application has created is out as well', async () => {
    const one = await new Person('logins').create();
    await bearer(here.url, SERVICE_KEY)
      .post('/users', { provider: 'logins', provider_user_id: one.name, username: 'Ada' })
      .expect(201);
    await one.patch({ op: 'Replace', path: 'displayName', value: 'Ada of the directory' });
    await one.patch(one.rename(other()));
    await one.patch(OFF);
    await expectRefused(one, one.name);
  });

  describe('at the same time as a first sign-in', () => {
    const holder = use(
      () => connect(here.databaseUrl),
      (one) => one.end(),
    );

    /** Begins a sign-in that has been checked, and waits before it is written. */
    async function held(one: Person): Promise<() => Promise<request.Response>> {
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE refresh_tokens IN SHARE ROW EXCLUSIVE MODE');
      const answer = one.exchange();
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'refresh_tokens'::regclass`;
      await until(async () => (await query(here.databaseUrl, waiting)).length > 0);
      return async () => {
        await holder.query('ROLLBACK');
        return answer;
      };
    }

    it('renamed and deactivated: the sign-in is refused', async () => {
      const one = await new Person('names').create();
      const release = await held(one);
      await one.patch(one.rename(other()), OFF);
      expect((await release()).body).toMatchObject({ error: 'access_denied' });
      await expectRefused(one, one.name);
    });

    it('renamed: its end is that of the person', async () => {
      const one = await new Person('names').create();
      const release = await held(one);
      await one.patch(one.rename(other()));
      const { status, body } = await release();
      expect(status).toBe(200);
      await one.patch(OFF);
      await expectOut(body as Tokens);
    });
  });

  describe('in another case', () => {
    const upper = (one: Person): string => one.name.toUpperCase();

    it.each(['names', 'logins', 'listed'] as const)('%s: userName has no case', async (provider) => {
      const one = await new Person(provider, `Jörg.${randomUUID()}@Corp`).create();
      const tokens = await one.signIn(one.name.toLowerCase());
      const members = [{ value: one.id }];
      await one.directory.create('/Groups', { displayName: `all ${one.name}`, members });
      const { body } = await bearer(there.url, (await refresh(tokens)).body.access_token as string).get(
        '/me',
      );
      expect(body).toMatchObject({ claims: { groups: [`all ${one.name}`] } });
      await one.patch(one.rename(upper(one)));
      expect((await refresh(await one.signIn())).status).toBe(200);
      await one.patch(OFF);
      await expectOut(tokens);
      await expectRefused(one, one.name, upper(one), one.name.toLowerCase());
    });

    it('the sign of kelvin is no k', async () => {
      const one = await new Person('listed', `mark.${randomUUID()}`).create();
      await one.signIn();
      await expectRefused(new Person('listed'), one.name.replace('k', '\u212a'));
    });

    it('externalId has one', async () => {
      const one = await new Person('employees', `Emp.${randomUUID()}`).create();
      const tokens = await new Person('employees', upper(one)).signIn();
      await one.patch(OFF);
      expect((await refresh(tokens)).status).toBe(200);
    });
  });
});
