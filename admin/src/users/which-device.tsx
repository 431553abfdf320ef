import type { ReactNode } from 'react';
import type { Device, Session } from '../api/types.js';
import { programOf } from '../parts/text.js';

/** The beginning of an id, by which devices with one name differ. */
export const shortId = (id: string): string => id.slice(0, 8);

export const nameOfDevice = ({ device_name }: Device): string => device_name ?? 'Device without a name';

/** Name, program and id of a device; sessions scroll to it. */
export function WhichDevice({ device }: { device: Device }): ReactNode {
  return (
    <span id={anchorOf(device.device_id)} className="anchor" tabIndex={-1}>
      <bdi className="strong">{nameOfDevice(device)}</bdi>
      <span className="second">
        {programOf(device)} <code>{shortId(device.device_id)}</code>
      </span>
    </span>
  );
}

/** The device of a session; if its row is loaded, a button that goes there. */
export function DeviceOfSession({
  session: { device_id },
  devices,
  show,
}: {
  session: Session;
  devices: ReadonlyMap<string, Device>;
  show: (deviceId: string) => void;
}): ReactNode {
  if (device_id === null) return 'No device named';
  const id = <code>{shortId(device_id)}</code>;
  const device = devices.get(device_id);
  if (!device) return <>Device {id}</>;
  return (
    <button type="button" className="link" title="Go to this device" onClick={() => show(device_id)}>
      <bdi>{nameOfDevice(device)}</bdi> {id}
    </button>
  );
}

/** Scrolls to the row of a device, which then has the focus. */
export function goToDevice(deviceId: string): void {
  const row = document.getElementById(anchorOf(deviceId));
  row?.closest('details')?.setAttribute('open', '');
  row?.scrollIntoView({ block: 'center' });
  row?.focus({ preventScroll: true });
}

/** Id of the row of a device, in the lists of features as well. @public */
export const anchorOf = (deviceId: string): string => `device-${deviceId}`;
