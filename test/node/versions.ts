/** The versions of Node.js that are supported: of each the newest is tried. The first is the least (`engines`). */
export const SUPPORTED = ['20.19', '22', '24', '26'] as const;

/** What the container image brings, and the documents name. */
export const RECOMMENDED = '24';
