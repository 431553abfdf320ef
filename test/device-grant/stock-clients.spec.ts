import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import request from 'supertest';
import { needs } from '../support/installed.js';
import { signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const HTTP = { [oauth.allowInsecureRequests]: true }; // the address of a test is not https
const PYTHON = '/usr/bin/python3'; // the system's own: its packages are Debian's
const hasPython =
  process.env['CI'] !== undefined || spawnSync(PYTHON, ['-c', 'import requests_oauthlib']).status === 0;

/** Libraries for the device authorization grant (RFC 8628), as they are. */
describe('stock clients on devices without a browser', () => {
  const { service } = useService({ PROVIDERS_MOCK_ENABLED: 'false', DEVICE_GRANT: 'on' });
  const ada = prepare(() => signIn(service.url, 'ada'));

  const approve = (code: string): Promise<unknown> =>
    request(service.url)
      .post(`/me/device-requests/${code}`)
      .set('Authorization', `Bearer ${ada.access_token}`)
      .send({ approve: true })
      .expect(204);

  it('openid-client, with a key (DPoP)', async () => {
    const config = await client.discovery(new URL(service.url), 'tv', undefined, client.None(), {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });
    const begun = await client.initiateDeviceAuthorization(config, {});
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
    const polling = client.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0.1 }, undefined, {
      DPoP,
    });
    await approve(begun.user_code);
    expect(await polling).toMatchObject({ refresh_token: expect.stringMatching(/^lkr_/) });
  });

  it('oauth4webapi', async () => {
    const issuer = new URL(service.url);
    const found = await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const tv = { client_id: 'tv' };
    const asked = await oauth.deviceAuthorizationRequest(server, tv, oauth.None(), {}, HTTP);
    const begun = await oauth.processDeviceAuthorizationResponse(server, tv, asked);
    await approve(begun.user_code);
    const answer = await oauth.deviceCodeGrantRequest(server, tv, oauth.None(), begun.device_code, HTTP);
    const tokens = await oauth.processDeviceCodeResponse(server, tv, answer);
    expect(tokens).toMatchObject({ token_type: 'bearer', refresh_token: expect.any(String) });
  });

  const python = needs({ 'python3-requests-oauthlib': hasPython });
  python.it('oauthlib in Python', async () => {
    const program = `
import json, os, sys, time
os.environ['OAUTHLIB_INSECURE_TRANSPORT'] = '1'
import requests
from oauthlib.oauth2 import DeviceClient
url = sys.argv[1]
form = {'Content-Type': 'application/x-www-form-urlencoded'}
client = DeviceClient('tv')
begun = requests.post(url + '/oauth2/device_authorization', data={'client_id': 'tv'}).json()
print(begun['user_code'], flush=True)
while True:
    body = client.prepare_request_body(begun['device_code'], include_client_id=True)
    answer = requests.post(url + '/oauth2/token', data=body, headers=form)
    if answer.status_code == 200: break
    if answer.json()['error'] not in ('authorization_pending', 'slow_down'): raise SystemExit(answer.text)
    time.sleep(begun['interval'])
print(client.parse_request_body_response(answer.text)['token_type'])
`;
    const running = promisify(execFile)(PYTHON, ['-c', program, service.url]);
    let isApproved = false;
    let printed = '';
    for await (const chunk of running.child.stdout!) {
      printed += String(chunk);
      const [code] = /^[A-Z]{4}-[A-Z]{4}(?=\n)/.exec(printed) ?? [];
      if (code === undefined || isApproved) continue;
      isApproved = true;
      await approve(code);
    }
    await running;
    expect(printed).toMatch(/\nBearer\n$/);
  });
});
