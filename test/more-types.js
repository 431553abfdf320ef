// The types of what needs packages of docs/.vitepress/ and test/, in `npm run check`. Without these packages it says so; CI has them.
import { spawnSync } from 'node:child_process';
import { isInstalled } from '../install.js';

for (const folder of ['docs/.vitepress', 'test']) {
  if (isInstalled(folder)) {
    const types = ['run', '--silent', 'types', '--', '-p', folder];
    process.exitCode ||= spawnSync('npm', types, { stdio: 'inherit' }).status ?? 1;
  } else {
    console.log(
      `Not all types of ${folder}/ were checked: \`node install.js ${folder}\` installs its packages.`,
    );
    if (process.env.CI) process.exitCode = 1;
  }
}
