/** Why there can be no verdict on the provider at all; ends the command with exit code 2. */
export class CannotRun extends Error {}
