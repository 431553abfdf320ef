/** Says why no verdict on the provider is possible; ends the command with exit code 2. */
export class CannotRun extends Error {}
