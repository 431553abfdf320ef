/** See together.js, which jest.config.js loads before anything is compiled. */
export function runTogether(root: string, isLeftOut: (path: string) => boolean): string[];
