import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Only root may make one, and not in every container. */
export const hasSmallDisks =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** A file system of its own, in memory, that can be filled to the last byte. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  static create(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'latchkey-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
    return new SmallDisk(path);
  }

  /** Leaves no room for anybody. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.path);
    writeFileSync(this.ballast, Buffer.alloc(bavail * bsize));
  }

  free(): void {
    rmSync(this.ballast, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  private get ballast(): string {
    return join(this.path, 'ballast');
  }
}
