import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import { installNode } from './install-node.js';
import { SUPPORTED } from './versions.js';

/*
 * `npm run test:node -- <version> [arguments of Jest]`: `npm test` with another version of Node.js, which is installed for the
 * time that it takes. The service is built and run by that version, too.
 */

const [wanted, ...args] = process.argv.slice(2);
if (wanted === undefined || !/^\d+(?:\.\d+){0,2}$/.test(wanted)) {
  process.stderr.write(
    `Usage: npm run test:node -- <version> [arguments of Jest]\n\nVersions: ${SUPPORTED.join(', ')}, or a full one.\n`,
  );
  process.exitCode = 2;
} else {
  const node = await installNode(wanted);
  try {
    process.stdout.write(`Node.js ${node.version}\n`);
    const PATH = `${node.bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const tests = spawn('npm', ['test', '--', ...args], {
      stdio: 'inherit',
      env: { ...process.env, INSTALL: '1', PATH },
    });
    const [code] = (await once(tests, 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    await node.remove();
  }
}
