import { AnyJson, RequiredText } from '../http/parameter.js';

/** Body of POST /demo/push. */
export class DemoPushDto {
  /** A prefix of its own: nothing that the page sends passes for an event of the service or of an application. */
  @RequiredText({
    matches: { pattern: /^demo\.[A-Za-z0-9_.:-]{1,64}$/, as: 'demo. and letters, digits or _ . : -' },
  })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;
}
