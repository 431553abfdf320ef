import { codeOf, SIGN_IN_USERS } from '../names.js';
import { getRequest, postRequest, type Script } from './script.js';

const MOVED = '302';
const SESSION = 'better-auth.session_token=';

/**
 * A whole sign-in at better-auth: where to go, then the call back with its state and the cookie that goes with it; user after user.
 * The answers are parsed no further than that.
 */
export function socialSignInScript(): Script {
  const begin = postRequest('/api/auth/sign-in/social', { provider: 'stub', callbackURL: '/' });
  let user = 0;
  return (connection, done) => () => {
    const code = codeOf(user);
    user = (user + 1) % SIGN_IN_USERS;
    connection.send(begin, (body, head) => {
      const [, state = ''] = /[?&]state=([^&"]*)/.exec(body.toString('latin1')) ?? [];
      const [, cookie = ''] = /\r\nset-cookie: ([^;]*)/i.exec(head.toString('latin1')) ?? [];
      const path = `/api/auth/callback/stub?code=${code}&state=${state}`;
      const end = (_: Buffer, signedIn: Buffer): void => {
        if (!signedIn.includes(SESSION)) throw new Error('better-auth: a sign-in gave no session');
        done();
      };
      connection.send(getRequest(path, `Cookie: ${cookie}\r\n`), end, MOVED);
    });
  };
}
