import { createVerifier } from '@latchkey/server';
import { authenticate, protectedResource, requireScope } from '@latchkey/server/express';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const { LATCHKEY_URL = 'http://localhost:3000', LATCHKEY_KEY, PORT = '8000' } = process.env;
// As the file of AGENTS_FILE names it. In production it is the https address of this server.
const resource = process.env.RESOURCE ?? `http://localhost:${PORT}/mcp`;

const latchkey = createVerifier({ issuer: LATCHKEY_URL, audience: resource, serviceKey: LATCHKEY_KEY });
const orders = [{ item: 'a book', for: undefined }]; // of all users; a real API has a database

/** A server for one request of one user. */
function ordersServer({ authInfo: claims }) {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  const own = () => orders.filter((order) => order.for === undefined || order.for === claims.sub);
  server.registerTool('list_orders', { description: 'Lists the orders of the user' }, () => ({
    content: [{ type: 'text', text: JSON.stringify(own().map(({ item }) => item)) }],
  }));
  const order = { description: 'Places an order', inputSchema: z.object({ item: z.string().max(100) }) };
  server.registerTool('order', order, ({ item }) => {
    // A tool that needs more than the others: the user has allowed it, or the program has to say so.
    if (!claims.scope.split(' ').includes('orders:write'))
      return { isError: true, content: [{ type: 'text', text: 'The user has not allowed orders.' }] };
    orders.push({ item, for: claims.sub });
    return { content: [{ type: 'text', text: `Ordered: ${item}` }] };
  });
  return server;
}

const app = createMcpExpressApp();
app.use(protectedResource(latchkey, { resource, scopes: ['orders:read'] }));
app.use('/mcp', authenticate(latchkey), requireScope('orders:read'), endStreams);
const mcp = toNodeHandler(createMcpHandler(ordersServer));
app.all('/mcp', (request, response) => {
  request.auth = request.claims;
  void mcp(request, response, request.body);
});

/** Ends an answer that is still open, such as a stream, within a second of the end of the session. */
async function endStreams({ headers }, response, next) {
  const isValid = await latchkey.follow(headers.authorization.slice('Bearer '.length));
  const timer = setInterval(() => isValid().catch(() => response.destroy()), 300);
  response.once('close', () => clearInterval(timer));
  next();
}

app.listen(Number(PORT), () => console.log(`MCP server at ${resource}`));
