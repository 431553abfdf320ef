import { API } from '../../../test/support/agent.js';
import { ISSUER } from '../../world/world.js';
import type { Edit } from '../edits.js';
import { FINAL, type HistoryEntry, type Issued, type Use } from '../operation.js';

/** As `edited`, for the rules of programs. */
export function editedPrograms(entries: readonly HistoryEntry[]): readonly Edit[] {
  const sessions = new Set(
    entries.flatMap((one) =>
      one.kind === 'sign-in' && one.program && one.issued ? [one.issued.session] : [],
    ),
  );
  const edit = (finds: RegExp, to: (one: HistoryEntry) => HistoryEntry): Edit => ({
    finds,
    entries: entries.map(to),
  });
  const accepted = (finds: RegExp, kind: Use['kind']): Edit =>
    edit(finds, (one) => {
      if (one.kind !== kind || one.client !== FINAL || !sessions.has(one.token.session)) return one;
      const { error: _error, ...call } = one;
      return { ...call, outcome: 'ok', status: 200 };
    });
  const issued = (finds: RegExp, to: (one: Issued) => Issued): Edit =>
    edit(finds, (one) => {
      const isIt = (one.kind === 'sign-in' || one.kind === 'refresh') && one.issued?.audience === API;
      return isIt ? { ...one, issued: to(one.issued) } : one;
    });
  return [
    accepted(/^accepted after its end: introspect of session .* signed out/, 'introspect'),
    accepted(/^accepted after its end: verify of session .* signed out/, 'verify'),
    accepted(/^allowed wrongly: two sessions of a program/, 'introspect'),
    issued(/^allowed wrongly: .* got a token for/, (one) => ({ ...one, audience: ISSUER })),
    issued(/^answered for another: a sign-in of .* got another token/, (one) => ({
      ...one,
      device: one.jti,
    })),
    ...['/me', '/oauth2/refresh', 'socket'].map((at) =>
      edit(new RegExp(`^allowed wrongly: .* accepted at ${at}`), (one) =>
        one.kind === 'trespass' && one.at === at ? { ...one, outcome: 'ok' } : one,
      ),
    ),
  ];
}
