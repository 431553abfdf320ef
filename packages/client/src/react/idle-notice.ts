import type { ReactElement } from 'react';
import type { IdleNoticeOptions } from '../options.js';
import { useShown } from './shown.js';

/**
 * Asks whether the user is still there, a minute before the session ends since nobody acts: a dialog with a countdown and two buttons. Shows
 * nothing else, and nothing at all unless the service has an idle time. Place it once, outside of what may be hidden.
 *
 * @example
 * <LatchkeyProvider client={latchkey}>
 *   <App />
 *   <IdleNotice />
 * </LatchkeyProvider>
 */
export function IdleNotice({ onError }: IdleNoticeOptions): ReactElement {
  return useShown('showIdleNotice', undefined, { onError });
}
