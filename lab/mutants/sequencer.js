/** Keeps the order of the command line. */
export default class Sequencer {
  sort = (specs) => specs;

  cacheResults() {}
}
