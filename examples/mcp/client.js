import { once } from 'node:events';
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

// Does what an assistant on this computer does: finds the authorization server, asks the user, and calls tools until it is ended.
const address = new URL(process.argv[2] ?? 'http://localhost:8000/mcp');
const callback = createServer((_request, response) => response.end('Back to the terminal.\n'));
callback.listen(0, '127.0.0.1');
await once(callback, 'listening');

let tokens;
let verifier;
let discovered;
const state = crypto.randomUUID();
const authProvider = {
  redirectUrl: `http://127.0.0.1:${callback.address().port}/callback`,
  clientMetadata: { client_name: 'Example Assistant', redirect_uris: [] },
  clientInformation: () => ({ client_id: 'example-assistant' }), // one of `clients` in agents.json
  state: () => state,
  tokens: () => tokens,
  saveTokens: (saved) => (tokens = { ...tokens, ...saved }), // a refresh returns no new refresh token
  codeVerifier: () => verifier,
  saveCodeVerifier: (saved) => (verifier = saved),
  discoveryState: () => discovered, // the code goes to the server that was asked (RFC 9207)
  saveDiscoveryState: (saved) => (discovered = saved),
  redirectToAuthorization: (url) => console.log(`Open in your browser:\n\n${url}\n`),
};

const transport = () => new StreamableHTTPClientTransport(address, { authProvider });
async function connect() {
  const client = new Client({ name: 'example-assistant', version: '1.0.0' });
  await client.connect(transport());
  return client;
}

let client = await connect().catch((error) => {
  if (!(error instanceof UnauthorizedError)) throw error;
});
if (!client) {
  const [request] = await once(callback, 'request');
  const parameters = new URL(request.url, authProvider.redirectUrl).searchParams;
  if (parameters.get('state') !== state) throw new Error('the answer belongs to another request');
  if (parameters.has('error')) throw new Error(`not allowed: ${parameters.get('error_description')}`);
  await transport().finishAuth(parameters);
  client = await connect();
}
callback.close();

try {
  for (;;) {
    const { content } = await client.callTool({ name: 'list_orders' });
    console.log(new Date().toLocaleTimeString(), content[0].text);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
} catch (error) {
  // The API has refused the access token, and the service the refresh token.
  if (error.code !== 'invalid_grant') throw error;
  console.log(new Date().toLocaleTimeString(), 'The user has ended this program.');
  process.exit();
}
