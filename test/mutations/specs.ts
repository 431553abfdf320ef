import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** They need what takes long: browsers, other servers, builds. */
const BLIND =
  /chromium|bound-app|redis-server|support\/(pgbouncer|standby|citus|cluster|storm|tarballs|keeping-pooler|pages|stock-browser)\.js|vitepress/;

/** The specs of which tests may see a mutant: those that load the sources, and end soon. Paths from the root. */
export function specsThatSeeMutants(root: string): string[] {
  const files = ['src', 'test'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[]).map((file) => join(folder, file)),
  );
  return files
    .filter((file) =>
      /^(src\/(auth|token|provider)|test(\/(attacks|stock-libraries))?)\/.*\.spec\.ts$/.test(file),
    )
    .filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return (file.startsWith('src/') || /src\/|support\/service\.js/.test(text)) && !BLIND.test(text);
    })
    .toSorted();
}
