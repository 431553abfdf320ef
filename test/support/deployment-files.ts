import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of this repository. */
export const textOf = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

/** @param text of a file, which may hold several manifests */
export function manifestsOf(text: string): Record<string, unknown>[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as Record<string, unknown>;
  });
}

/** Members of a service in docker-compose.yml that the tests check. */
export interface ComposeService {
  readonly image: string;
  readonly user?: string;
  readonly command?: readonly string[];
  readonly env_file?: string;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly networks: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly [key: string]: unknown;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { file: string }>>;
  readonly networks: Readonly<Record<string, { internal?: boolean } | null>>;
}

/** @param env what `${NAME:-default}` stands for: the shell and `.env`, as Compose reads them */
export function composeFile(name: string, env: Readonly<Record<string, string>> = {}): ComposeFile {
  const text = textOf(name).replaceAll(
    /\$\{(\w+):-([^}]*)\}/g,
    (_, variable: string, otherwise: string) => env[variable] || otherwise,
  );
  return parse(text) as ComposeFile;
}

/** The release that the files name, `X.Y.Z`. */
export const version = (JSON.parse(textOf('package.json')) as { version: string }).version;

/** Seconds that may pass from SIGTERM to the end, beside SHUTDOWN_DELAY (docs/production.md): a quiet moment, and what is in flight. */
export const STOP_SECONDS = 3 + 10;

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
