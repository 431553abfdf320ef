/** Time since its creation, by the clock that counted more: in a suspended machine, one of them may stop. */
export class Stopwatch {
  private readonly began = [performance.now(), Date.now()] as const;

  get ms(): number {
    return Math.max(performance.now() - this.began[0], Date.now() - this.began[1]);
  }
}
