/** Costly reading of the database, made at most once in some time. */
export class CachedReading<T> {
  private latest: Promise<T> | undefined;
  private isOld = true;

  /** @param ms for which a reading counts, from its end */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly ms: number,
  ) {}

  /** @throws what the reading throws; the next call reads again */
  get(): Promise<T> {
    if (this.latest && !this.isOld) return this.latest;
    this.isOld = false;
    const forget = (): void => void (this.isOld = true);
    this.latest = this.read();
    this.latest.then(() => setTimeout(forget, this.ms).unref(), forget);
    return this.latest;
  }
}
