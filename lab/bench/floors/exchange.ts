import { Agent, request } from 'node:http';
import { CLIENT_ID, CLIENT_SECRET } from '../names.js';

export interface Identity {
  readonly provider_user_id: string;
  readonly username?: string;
  readonly email?: string;
  readonly avatar_url?: string;
}

const agent = new Agent({ keepAlive: true });

/** Asks the provider who the user of a code is (spec §4.5.2). */
export function exchange(providerUrl: string, code: string, redirectUri: string): Promise<Identity> {
  const form = new URLSearchParams({
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    code,
    redirect_uri: redirectUri,
  }).toString();
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'application/json',
    'Content-Length': Buffer.byteLength(form),
  };
  return new Promise((resolve, reject) => {
    const call = request(
      `${providerUrl}/oauth2/token/exchange`,
      { method: 'POST', agent, headers },
      (answer) => {
        let body = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (body += chunk));
        answer.on('end', () => resolve(parseIdentity(body)));
      },
    );
    call.on('error', reject);
    call.end(form);
  });
}

function parseIdentity(body: string): Identity {
  const identity: Identity = JSON.parse(body);
  return identity;
}
