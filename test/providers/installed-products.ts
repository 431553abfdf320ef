import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Outside of the repository: 250 MB each, for every checkout of this account. */
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'latchkey');

const KEYCLOAK_VERSION = '26.7.3';
const CENTRIFUGO_VERSION = 'v6.9.1';
const HYDRA_VERSION = 'v2.3.0';
/** As in its go.mod; without it Hydra does not compile. */
const HYDRA_REPLACES =
  'github.com/gobuffalo/pop/v6=github.com/ory/pop/v6@v6.2.1-0.20241121111754-e5dfc0f3344b';

/**
 * Downloads Keycloak with Maven, once.
 * @returns its directory; undefined without Java and Maven or without the download
 * @throws Error instead, with `CI` set
 */
export function keycloakHome(): string | undefined {
  const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:zip`;
  return cached(`keycloak-${KEYCLOAK_VERSION}`, (directory) => {
    run(directory, 'java', '-version');
    run(directory, 'mvn', '-q', 'dependency:unpack', `-Dartifact=${artifact}`, '-DoutputDirectory=.');
    return `keycloak-${KEYCLOAK_VERSION}`;
  });
}

/**
 * Compiles Hydra with Go, once: four minutes of a processor. `go install` refuses a module with replacements.
 * @returns its program; undefined without Go or without the download
 * @throws Error instead, with `CI` set
 */
export function hydraProgram(): string | undefined {
  return cached(`hydra-${HYDRA_VERSION}`, (directory) => {
    run(directory, 'go', 'mod', 'init', 'hydra');
    run(directory, 'go', 'mod', 'edit', `-replace=${HYDRA_REPLACES}`);
    run(directory, 'go', 'get', '-tool', `github.com/ory/hydra/v2@${HYDRA_VERSION}`);
    run(directory, 'go', 'build', '-o', 'hydra', 'github.com/ory/hydra/v2');
    return 'hydra';
  });
}

/**
 * Compiles Centrifugo with Go, once.
 * @returns its program; undefined without Go or without the download
 * @throws Error instead, with `CI` set
 */
export function centrifugoProgram(): string | undefined {
  return cached(`centrifugo-${CENTRIFUGO_VERSION}`, (directory) => {
    const module = 'github.com/centrifugal/centrifugo/v6';
    run(directory, 'go', 'mod', 'init', 'latchkey.invalid');
    run(directory, 'go', 'get', '-tool', `${module}@${CENTRIFUGO_VERSION}`);
    run(directory, 'go', 'build', '-ldflags=-s -w', '-o', 'centrifugo', module); // as it is released
    return 'centrifugo';
  });
}

/**
 * Downloads scim2-cli with scim2-tester, once.
 * @returns the directory of its modules; undefined without Python and pip or without the download
 * @throws Error instead, with `CI` set
 */
export function scimPythonClient(): string | undefined {
  return cached('scim2-cli-0.6.0', (directory) => {
    const packages = [
      'scim2-cli==0.6.0',
      'scim2-tester==0.5.2',
      'scim2-client==0.13.2',
      'scim2-models==0.12.3',
    ];
    run(directory, 'python3', '-m', 'pip', 'install', '--quiet', '--target', 'modules', ...packages);
    return 'modules';
  });
}

/**
 * Downloads the SCIM 2 SDK of UnboundID with Maven, once.
 * @returns the directory of its classes; undefined without Java and Maven or without the download
 * @throws Error instead, with `CI` set
 */
export function scimJavaClient(): string | undefined {
  const pom = new URL('scim-clients/pom.xml', import.meta.url).pathname;
  return cached('scim2-sdk-client-4.0.0', (directory) => {
    run(directory, 'javac', '-version');
    run(
      directory,
      'mvn',
      '-q',
      '-f',
      pom,
      'dependency:copy-dependencies',
      `-DoutputDirectory=${directory}/jars`,
    );
    return 'jars';
  });
}

/** @param install installs into a directory, and returns what is to be kept of it */
function cached(name: string, install: (directory: string) => string): string | undefined {
  const kept = join(CACHE, name);
  if (existsSync(kept)) return kept;
  mkdirSync(CACHE, { recursive: true });
  const directory = mkdtempSync(join(CACHE, 'new-'));
  try {
    renameSync(join(directory, install(directory)), kept);
    return kept;
  } catch (error) {
    if (existsSync(kept)) return kept; // another spec has installed it meanwhile
    if (process.env['CI'] !== undefined) throw error;
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function run(cwd: string, program: string, ...args: string[]): void {
  const { error, status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${`${stdout}${stderr}`.slice(-2000)}`);
}
