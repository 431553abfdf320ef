// `node install.js <folder> …`: installs the packages of folders that are no workspaces, unless they are there. Each has a lock file.
// So `npm ci` alone installs what the service, its tests and `npm run check` need.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Whether the packages of a folder are as its lock file says. */
export function isInstalled(folder) {
  const [installed, lock] = ['node_modules/.package-lock.json', 'package-lock.json'].map((name) =>
    fileURLToPath(new URL(`${folder}/${name}`, import.meta.url)),
  );
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of process.argv.slice(2)) {
    if (isInstalled(folder)) continue;
    console.log(`Installing the packages of ${folder}/ …`);
    const cwd = fileURLToPath(new URL(folder, import.meta.url));
    const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status } = spawnSync('npm', npm, { cwd, stdio: 'inherit', shell: process.platform === 'win32' });
    if (status !== 0) {
      console.error(`The packages of ${folder}/ could not be installed. npm’s message is above.`);
      process.exit(1);
    }
  }
}
