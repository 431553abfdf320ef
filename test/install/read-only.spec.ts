import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap } from 'kubernetes-types/core/v1.js';
import { createEmptyDatabase } from '../support/database.js';
import { MadeSecrets, manifestsOf, textOf } from '../support/deployment-files.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { PackageProject } from '../support/package-project.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

/** As OpenShift chooses one: without an entry in /etc/passwd, in a group that may read the secrets. */
const USER = 1_000_740_000;
const SECRETS_GROUP = 1_000_750_000;

/** Makes all file systems of a mount namespace read-only, and becomes the user, without capabilities. */
const CONFINE = `
  for place in $(cut -d ' ' -f 2 /proc/mounts); do
    case $place in /proc*|/sys*|/dev|/dev/pts) ;; *) mount -o remount,bind,ro "$place" 2>/dev/null ;; esac
  done
  exec setpriv --reuid=${USER} --regid=0 --groups=${SECRETS_GROUP} --bounding-set=-all --no-new-privs -- "$0" "$@"`;
const confined = (...command: string[]): string[] => ['--mount', 'sh', '-c', CONFINE, ...command];

const READABLE = fileURLToPath(new URL('../all.js', import.meta.url));
/** Not where only root may read the checkout or Node.js. */
const canConfine =
  process.getuid?.() === 0 &&
  spawnSync('unshare', confined(process.execPath, '--check', READABLE)).status === 0;

needs({ 'root with the right to mount': canConfine }).it(
  'the packed service serves as a container of deploy/kubernetes/latchkey.yaml, for any user id, and writes no file',
  async () => {
    const endings = new Endings();
    try {
      const manifests = manifestsOf(textOf('deploy/kubernetes/latchkey.yaml'));
      const of = (wanted: string): unknown => manifests.find(({ kind }) => kind === wanted);
      const [container] = (of('Deployment') as Deployment).spec!.template.spec!.containers;
      const own = Object.fromEntries(container!.env!.map(({ name, value }) => [name, value!]));

      const project = endings.after(await PackageProject.install(['latchkey']), (one) => one.remove());
      const made = endings.after(new MadeSecrets(), (one) => one.remove());
      const database = endings.after(await createEmptyDatabase(), (one) => one.close());
      const provider = endings.after(await StubProvider.start(), (one) => one.close());
      made.replace('database_url', () => database.url);
      for (const place of [project.directory, made.directory, made.path('')]) await chmod(place, 0o755);
      for (const name of ['secret_key', 'service_keys', 'database_url', 'provider_main_client_secret']) {
        await chown(made.path(name), 0, SECRETS_GROUP); // as Kubernetes does by fsGroup
        await chmod(made.path(name), 0o440);
      }
      const [port, metrics] = [await freePort(), await freePort()];
      const url = `http://localhost:${port}`;
      const env = {
        PATH: process.env['PATH']!,
        NODE_ENV: 'production', // of the image
        ...(of('ConfigMap') as ConfigMap).data,
        ...made.environment(own),
        ...provider.env(),
        PUBLIC_URL: url,
        PORT: String(port),
        METRICS_PORT: String(metrics),
        SHUTDOWN_DELAY: '0',
      };

      const probe = join(project.directory, 'probe');
      await writeFile(probe, '');
      await chmod(probe, 0o777);
      expect(
        spawnSync('unshare', confined('sh', '-c', `id -u; echo x > ${probe}`)).stderr.toString(),
      ).toMatch(/Read-only file system/i);

      const main = join(project.place('latchkey'), 'dist/src/main.js');
      const service = spawn('unshare', confined(process.execPath, main, 'serve'), {
        cwd: project.place('latchkey'),
        env,
      });
      let output = '';
      for (const stream of [service.stdout, service.stderr])
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          service.emit('said');
        });
      const ended = once(service, 'close');
      endings.after(service, async (one) => {
        one.kill('SIGKILL');
        await ended;
      });
      while (!output.includes('Latchkey is ready')) {
        await Promise.race([once(service, 'said'), ended]);
        if (service.exitCode !== null) throw new Error(output);
      }

      const status = spawnSync('grep', ['-E', '^(Uid|Gid|CapEff):', `/proc/${service.pid}/status`]);
      expect(status.stdout.toString()).toMatch(new RegExp(`^Uid:\\s+${USER}\\s[^]*CapEff:\\s+0{16}$`, 'm'));
      expect(await signIn(url, 'ada')).toMatchObject({ token_type: 'Bearer' });
      for (const path of [
        `${url}/health/ready`,
        `${url}/.well-known/jwks.json`,
        `http://localhost:${metrics}/metrics`,
      ])
        expect([path, (await fetch(path)).status]).toEqual([path, 200]);
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      expect(output).not.toMatch(/EROFS|EACCES|EPERM|"level":"error"/);
    } finally {
      await endings.run();
    }
  },
);
