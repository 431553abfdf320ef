import type { Evidence } from '../evidence.js';
import { isSuccess, membersOf } from '../reply.js';
import { type Rule, fail, pass, skip } from '../rule.js';

/** The members of the first identity; undefined when none was given. */
function identityOf({ exchanges: { first } }: Evidence): Record<string, unknown> | undefined {
  return first && isSuccess(first) ? membersOf(first) : undefined;
}

const NO_IDENTITY = 'no identity was given';

export const userId: Rule = {
  id: 'user-id',
  clause: '§2.5',
  title: 'provider_user_id is a string',
  level: 'required',
  run(evidence) {
    const identity = identityOf(evidence);
    if (!identity) return skip(NO_IDENTITY);
    const id = identity['provider_user_id'];
    if (typeof id === 'string' && id !== '') return pass(`a string of ${id.length} characters`);
    const seen =
      id === undefined ? 'missing' : id === '' ? 'empty' : `of type ${id === null ? 'null' : typeof id}`;
    return fail(seen, 'send provider_user_id as a string that is not empty (a number in quotes)');
  },
};

export const userIdStable: Rule = {
  id: 'user-id-stable',
  clause: '§2.5',
  title: 'the same user has the same provider_user_id',
  level: 'required',
  run(evidence) {
    const { second } = evidence.exchanges;
    const one = identityOf(evidence)?.['provider_user_id'];
    const two = second && isSuccess(second) ? membersOf(second)?.['provider_user_id'] : undefined;
    if (one === undefined || two === undefined) return skip('there were no two identities to compare');
    if (one === two) return pass('the same in two sign-ins');
    return fail(
      'another in the second sign-in',
      'always send the same value (were both sign-ins of the same user?)',
    );
  },
};

const FIELDS = ['username', 'email', 'avatar_url'];

export const optionalFields: Rule = {
  id: 'optional-fields',
  clause: '§2.5',
  title: 'username, email, avatar_url are strings, or absent',
  level: 'required',
  run(evidence) {
    const identity = identityOf(evidence);
    if (!identity) return skip(NO_IDENTITY);
    const present = FIELDS.filter((name) => identity[name] !== undefined && identity[name] !== null);
    const wrong = present.filter((name) => typeof identity[name] !== 'string');
    if (wrong.length > 0)
      return fail(`not a string: ${wrong.join(', ')}`, 'send a string, or leave the field out');
    const url = identity['avatar_url'];
    if (typeof url === 'string' && !URL.canParse(url)) {
      return fail('avatar_url is not a URL', 'send an absolute URL, or leave the field out');
    }
    return pass(present.join(', ') || 'none of them');
  },
};

const LONGEST: Readonly<Record<string, number>> = {
  provider_user_id: 255,
  username: 255,
  email: 255,
  avatar_url: 2048,
};

/** The service's own limits: it refuses an id beyond them, and drops an optional field beyond them. */
export const identityLimits: Rule = {
  id: 'identity-limits',
  clause: '§2.5',
  title: 'the identity is one that Latchkey can store',
  level: 'advice',
  run(evidence) {
    const identity = identityOf(evidence);
    if (!identity) return skip(NO_IDENTITY);
    const bad = Object.entries(LONGEST).flatMap(([name, longest]) => {
      const value = identity[name];
      return typeof value === 'string' && !isStorable(value, longest) ? [name] : [];
    });
    const url = identity['avatar_url'];
    if (typeof url === 'string' && URL.canParse(url) && !/^https?:\/\//i.test(url)) bad.push('avatar_url');
    if (bad.length === 0) return pass('within the limits');
    const mend = '255 characters at most (avatar_url 2048, http or https), no NUL, valid Unicode';
    return fail(`not: ${[...new Set(bad)].join(', ')}`, mend);
  },
};

function isStorable(text: string, longest: number): boolean {
  return Array.from(text).length <= longest && text.isWellFormed() && !text.includes('\0');
}
