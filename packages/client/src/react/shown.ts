import { createElement, useEffect, useRef, type ReactElement } from 'react';
import type { LatchkeyError } from '../latchkey-error.js';
import type { DevicesOptions, IdentitiesOptions, UserOptions } from '../options.js';
import { useLatchkey } from './provider.js';

/** Returns an element in which the client shows something, with the latest options. */
export function useShown(
  name: 'showDevices' | 'showUser' | 'showIdleNotice' | 'showDeviceRequests' | 'showIdentities',
  className: string | undefined,
  options: DevicesOptions & UserOptions & IdentitiesOptions,
): ReactElement {
  const client = useLatchkey();
  const place = useRef<HTMLDivElement>(null);
  const newest = useRef<DevicesOptions & UserOptions & IdentitiesOptions>({}); // is read at each use
  useEffect(() => {
    Object.assign(newest.current, options);
  });
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isLeft = false;
    const show = async (): Promise<void> => {
      try {
        remove = await client[name](place.current!, newest.current);
        if (isLeft) remove();
      } catch (error) {
        if (!isLeft) newest.current.onError?.(error as LatchkeyError);
      }
    };
    void show();
    return () => {
      isLeft = true;
      remove?.();
    };
  }, [client, name]);
  return createElement('div', { className, ref: place });
}
