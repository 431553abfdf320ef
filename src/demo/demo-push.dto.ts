import { AnyJson, RequiredText } from '../http/parameters/parameter.js';

/** Body of POST /demo/push. */
export class DemoPushDto {
  /** The prefix keeps the page's events apart from those of the service and of applications. */
  @RequiredText({
    matches: { pattern: /^demo\.[A-Za-z0-9_.:-]{1,64}$/, as: 'demo. and letters, digits or _ . : -' },
  })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;
}
