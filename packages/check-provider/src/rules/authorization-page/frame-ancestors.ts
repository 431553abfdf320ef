import { quote } from '../../quote.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { isWilling } from '../../sign-ins.js';
import { matchesSourceExpression } from './source-expression.js';

const MEND =
  'leave frame-ancestors out, or let it name the origins of all applications (then check with --redirect-uri of one)';

/** A directive is restrictive unless it lets the origin of the redirect URI frame the page. */
export const frameAncestors: Rule = {
  id: 'frame-ancestors',
  clause: '§4.5.1 (4)',
  title: 'no restrictive CSP frame-ancestors',
  level: 'required',
  run({ landing, redirectUri }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const lists = sourceLists(landing.headers.get('Content-Security-Policy') ?? '');
    if (lists.length === 0) return pass('no frame-ancestors');
    const bad = lists.find(
      (sources) => !sources.some((source) => matchesSourceExpression(source, new URL(redirectUri))),
    );
    if (!bad) return pass('frame-ancestors allows the origin of the redirect URI');
    return fail(`frame-ancestors ${quote(bad.join(' '))}`, MEND);
  },
};

/** The directive's sources in each of the policies; all of them hold (CSP3 §4.2). */
function sourceLists(header: string): string[][] {
  return header.split(',').flatMap((policy) => {
    const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/));
    const found = directives.find(([name]) => name?.toLowerCase() === 'frame-ancestors');
    return found ? [found.slice(1)] : [];
  });
}
