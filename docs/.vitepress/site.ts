import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, createServer, serve } from 'vitepress';
import { writeHttpReference } from './http-reference.js';
import { writeLinkedFiles } from './linked-files.js';
import { writeForModels } from './for-models.js';
import { GENERATED, ROOT } from './places.js';
import { writeSdkReference } from './sdk-reference.js';

const USAGE = `Usage: npm run docs:site -- [options]

Builds the documentation site into docs/.vitepress/dist.

  --base <path>   builds it for a path of a host, for example /latchkey/
  --dev           serves it while it is written, at the loopback address
  --preview       serves what was built, at the loopback address
  --port <port>   port of --dev (5173) and --preview (4173)
  --help          prints this text
`;

function parseOptions() {
  try {
    const { values } = parseArgs({
      options: {
        base: { type: 'string' },
        dev: { type: 'boolean' },
        preview: { type: 'boolean' },
        port: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const port = values.port === undefined ? undefined : Number(values.port);
    if (port !== undefined && !(/^\d+$/.test(values.port!) && port <= 65_535))
      throw new Error('--port is a number up to 65535');
    return { ...values, port };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

const { base, dev, preview, port, help } = parseOptions();
const docs = join(ROOT, 'docs');
const server = { host: '127.0.0.1', ...(port !== undefined && { port }) };

if (help) console.log(USAGE);
else if (preview && !existsSync(join(docs, '.vitepress/dist/404.html'))) {
  console.error('The site is not built: npm run docs:site');
  process.exitCode = 1;
} else if (preview) await serve({ root: docs, ...server, open: false } as Parameters<typeof serve>[0]);
else {
  rmSync(join(ROOT, GENERATED), { recursive: true, force: true });
  writeHttpReference();
  writeLinkedFiles();
  await writeSdkReference();
  if (dev) {
    const running = await createServer(docs, server);
    await running.listen();
    running.printUrls();
  } else {
    await build(docs, base === undefined ? {} : { base });
    writeForModels(join(docs, '.vitepress/dist'));
  }
}
