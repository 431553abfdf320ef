/**
 * Registers the type of your client, and so of your events, for all hooks. Declare it once, beside the client.
 *
 * @example
 * declare module '@latchkey/client/react' {
 *   interface Register { client: typeof latchkey }
 * }
 */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- an application adds its member
export interface Register {}
