/** A channel to this origin's other pages; undefined where there is none: Firefox throws where it may store nothing. */
export function openBroadcast(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name);
  } catch {
    return undefined;
  }
}
