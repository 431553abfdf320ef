import { fail, pass, type Rule } from '../../rule.js';
import { isWilling } from '../../sign-ins.js';

export const authorizationPage: Rule = {
  id: 'authorization-page',
  clause: '§4.5.1 (1)',
  title: 'GET /oauth2/authorize shows a login page',
  level: 'required',
  run({ landing, redirectUri }) {
    const seen = landing.kind === 'none' ? landing.problem : `answered ${landing.status}`;
    if (isWilling(landing))
      return pass(landing.kind === 'callback' ? `${seen}, back to the callback at once` : seen);
    const registered = `register the redirect URI ${redirectUri} for this client, or name yours with --redirect-uri`;
    return fail(seen, `serve the page at <url>/oauth2/authorize within 5 s; ${registered}`);
  },
};
