import type { ReactNode } from 'react';
import type { AllowVerdict } from '../api/types.js';
import { textsOf } from '../features.js';

/** The setting `allow` of a provider: conditions, of which one must hold. */
export function Allow({ rule }: { rule: string | null }): ReactNode {
  if (rule === null) return 'Everyone whom this provider sends';
  if (rule === '*') return 'Everyone, on purpose';
  return (
    <ul className="conditions">
      {rule.split(', ').map((condition) => (
        <li key={condition}>
          <code>{condition}</code>
        </li>
      ))}
    </ul>
  );
}

/** Why a condition does not hold, by its kind (docs/guides/access-policy.md#conditions). */
const FAILURES: Readonly<Record<string, string>> = {
  email_domain: 'the e-mail address is of another domain, absent, or not verified by the provider',
  email: 'the e-mail address is another one, absent, or not verified by the provider',
  user_id: 'the id is another one',
  claim: 'the account lacks the claim, or this value of it',
  ...textsOf('conditions'),
};

/** What the rule says about the account of a test. */
export function Verdict({ verdict: { allowed, by, reason } }: { verdict: AllowVerdict }): ReactNode {
  if (allowed)
    return (
      <p className="notice">
        This account may sign in, by <code>{by}</code>.
      </p>
    );
  return (
    <p className="notice bad">
      This account may not sign in: no condition holds. The first one fails at <code>{reason}</code>
      {reason !== null && FAILURES[reason] && `: ${FAILURES[reason]}`}.
    </p>
  );
}
