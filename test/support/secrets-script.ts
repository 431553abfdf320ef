import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../deploy/secrets.sh', import.meta.url));

/** A directory where `deploy/secrets.sh` has been run. */
export class MadeSecrets {
  readonly directory = mkdtempSync(join(tmpdir(), 'latchkey-secrets-'));

  constructor() {
    this.run();
  }

  run(): void {
    execFileSync('sh', [SCRIPT, this.directory]);
  }

  path(name: string): string {
    return join(this.directory, 'secrets', name);
  }

  /** Puts another secret in the place of one that was made. */
  replace(name: string, change: (text: string) => string): void {
    const text = readFileSync(this.path(name), 'utf8').trim();
    rmSync(this.path(name));
    writeFileSync(this.path(name), change(text));
  }

  /** Settings as the containers have them, for a process that sees this directory in place of `/run/secrets`. */
  environment(of: Readonly<Record<string, string | number>>): Record<string, string> {
    const here = Object.entries(of).map(([name, value]): [string, string] => [
      name,
      String(value).replace(/^\/run\/secrets(\/latchkey)?\//, join(this.directory, 'secrets/')),
    ]);
    return Object.fromEntries(here);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
