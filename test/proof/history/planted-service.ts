import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlantedFault } from './planted-faults.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The text of a compiled file with a fault in it. @throws Error where what it replaces is not there once */
export function planted({ file, from, to }: PlantedFault): string {
  const parts = readFileSync(join(ROOT, 'dist/src', file), 'utf8').split(from);
  if (parts.length !== 2) throw new Error(`${file} has "${from}" ${parts.length - 1} times`);
  return parts.join(to);
}

/** A copy of the compiled service that has a fault. */
export class PlantedService {
  private readonly folder = mkdtempSync(join(tmpdir(), 'latchkey-planted-'));

  constructor(fault: PlantedFault) {
    for (const name of ['package.json', 'dist']) {
      cpSync(join(ROOT, name), join(this.folder, name), {
        recursive: true,
        filter: (path) => !path.endsWith('.map'),
      });
    }
    for (const name of ['node_modules', 'docs', 'demo'])
      symlinkSync(join(ROOT, name), join(this.folder, name));
    writeFileSync(join(this.folder, 'dist/src', fault.file), planted(fault));
  }

  /** Its main.js. */
  get main(): string {
    return join(this.folder, 'dist/src/main.js');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
