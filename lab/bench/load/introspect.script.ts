import { SERVICE_KEY } from '../service-key.js';
import { Connection } from './connection.js';
import { inTurn, postForm, postRequest, type Script } from './script.js';

const TOKENS = 1024;
const HEADERS = `Authorization: Bearer ${SERVICE_KEY}\r\n`;

export function introspectScript(refreshTokens: readonly string[]): (port: number) => Promise<Script> {
  const scripts = new Map<number, Promise<Script>>();
  const make = async (port: number): Promise<Script> => {
    const tokens = await accessTokens(port, refreshTokens.slice(0, TOKENS));
    const requests = tokens.map((token) => postForm('/oauth2/introspect', { token }, HEADERS));
    return inTurn(requests, '"active":true');
  };
  return (port) => {
    if (!scripts.has(port)) scripts.set(port, make(port));
    return scripts.get(port)!;
  };
}

async function accessTokens(port: number, refreshTokens: readonly string[]): Promise<string[]> {
  let fail!: (error: Error) => void;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const connection = await Connection.open(port, fail);
  const tokens: string[] = [];
  for (const refresh_token of refreshTokens) {
    const answered = new Promise<string>((resolve) =>
      connection.send(postRequest('/oauth2/refresh', { refresh_token }), (body) => resolve(body.toString())),
    );
    const { access_token }: { access_token: string } = JSON.parse(await Promise.race([answered, failed]));
    tokens.push(access_token);
  }
  connection.close();
  return tokens;
}
