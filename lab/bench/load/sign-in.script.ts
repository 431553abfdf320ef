import { codeOf, deviceIdOf, PROVIDER, REDIRECT_URI, SIGN_IN_USERS } from '../names.js';
import { getRequest, postRequest, type Script } from './script.js';

const STATE_LENGTH = 64;
const STATE_MARK = '"state":"';

/** W3: authorize, then token with the state that came back; user after user. */
export function signInScript(): Script {
  const authorize = getRequest(
    `/oauth2/authorize?provider=${PROVIDER}&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`,
  );
  let user = 0;
  return (connection, done) => {
    const token = new TokenRequest();
    const exchange = (body: Buffer): void => connection.send(token.with(body), done);
    return () => {
      token.setUser(user);
      user = (user + 1) % SIGN_IN_USERS;
      connection.send(authorize, exchange);
    };
  };
}

/** A request that is written once; only the bytes that differ are put in later. */
class TokenRequest {
  private readonly request = postRequest('/oauth2/token', {
    code: codeOf(0),
    state: '0'.repeat(STATE_LENGTH),
    redirect_uri: REDIRECT_URI,
    device_id: deviceIdOf(0),
    device_name: 'Firefox on Linux',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  });
  private readonly codeAt = this.request.indexOf(codeOf(0));
  private readonly stateAt = this.request.indexOf('0'.repeat(STATE_LENGTH));
  private readonly deviceIdAt = this.request.indexOf(deviceIdOf(0));

  setUser(user: number): void {
    this.request.write(codeOf(user), this.codeAt, 'latin1');
    this.request.write(deviceIdOf(user), this.deviceIdAt, 'latin1');
  }

  /** @param body of the authorize call's answer. */
  with(body: Buffer): Buffer {
    const at = body.indexOf(STATE_MARK) + STATE_MARK.length;
    body.copy(this.request, this.stateAt, at, at + STATE_LENGTH);
    return this.request;
  }
}
