/** The parameters of a form, which are all text, told from a JSON object by its class. */
export class Form {
  readonly [name: string]: unknown;
}
