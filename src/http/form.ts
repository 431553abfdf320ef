/** The parameters of a form, which are all text. The class tells them from a JSON object. */
export class Form {
  readonly [name: string]: unknown;
}
