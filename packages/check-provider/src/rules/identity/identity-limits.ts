import { fail, pass, skip, type Rule } from '../../rule.js';
import { identityOf, NO_IDENTITY } from './identity.js';

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
