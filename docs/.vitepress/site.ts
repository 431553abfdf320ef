import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build, createServer, serve } from 'vitepress';
import { writeHttpReference } from './http-reference.js';
import { writeLinkedFiles } from './linked-files.js';
import { writeForModels } from './for-models.js';
import { GENERATED, ROOT } from './places.js';
import { writeSdkReference } from './sdk-reference.js';

// `npm run docs:site` builds the site into docs/.vitepress/dist; `-- --dev` serves it while it is written, `-- --preview`
// serves what was built, both at the loopback address; `-- --base /latchkey/` builds it for a path of a host.
const [how, value] = process.argv.slice(2);
const docs = join(ROOT, 'docs');

if (how === '--preview')
  await serve({ root: docs, host: '127.0.0.1', open: false } as Parameters<typeof serve>[0]);
else {
  rmSync(join(ROOT, GENERATED), { recursive: true, force: true });
  writeHttpReference();
  writeLinkedFiles();
  await writeSdkReference();
  if (how === '--dev') {
    const server = await createServer(docs, { host: '127.0.0.1' });
    await server.listen();
    server.printUrls();
  } else {
    await build(docs, how === '--base' && value ? { base: value } : {});
    writeForModels(join(docs, '.vitepress/dist'));
  }
}
