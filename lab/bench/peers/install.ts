import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const PEERS = join('lab', 'bench', 'peers');
const MANIFEST = join(PEERS, 'package.json');
/** The manifest that was installed: another one is installed anew. */
const INSTALLED = join(PEERS, 'node_modules', '.installed.json');

/** Installs what is compared, at the first run and when its versions change. */
export function installPeers(): void {
  const wanted = readFileSync(MANIFEST, 'utf8');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === wanted) return;
  console.log(
    `Installing ${Object.entries(dependencies())
      .map((one) => one.join(' '))
      .join(', ')} …`,
  );
  const npm = ['npm', 'install', '--workspaces=false', '--no-package-lock', '--no-audit', '--no-fund'];
  execFileSync(npm[0]!, npm.slice(1), { cwd: PEERS, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(INSTALLED, wanted);
}

export function versionOf(name: string): string {
  return dependencies()[name]!;
}

function dependencies(): Readonly<Record<string, string>> {
  const { dependencies: all }: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(MANIFEST, 'utf8'),
  );
  return all;
}
