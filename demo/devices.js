// The user's devices. Changes made on other devices are announced by the channel.
import { latchkey } from './client.js';
import { DeviceRow } from './device-row.js';
import { explain } from './notice.js';

const list = document.getElementById('devices');
const rows = new Map();
let latest = 0;

/** Asks for the list, and shows it. A row that is being renamed keeps its form. */
export async function showDevices() {
  const asked = ++latest;
  try {
    const devices = await latchkey.devices();
    if (asked !== latest) return; // a newer answer is on its way
    for (const id of rows.keys()) if (!devices.some(({ device_id }) => device_id === id)) remove(id);
    devices.sort((one, other) => Number(other.current) - Number(one.current)); // this device first, then by last use
    devices.forEach((device, index) => {
      const row = rows.get(device.device_id) ?? add(device.device_id);
      row.show(device);
      if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
    });
  } catch (error) {
    explain(error);
  }
}

/** The user has signed out. */
export function clearDevices() {
  latest++;
  for (const id of rows.keys()) remove(id);
}

function add(id) {
  const row = new DeviceRow({
    onRename: async (name) => row.show(await latchkey.renameDevice(id, name)),
    onSignOut: () => latchkey.removeDevice(id).then(showDevices),
  });
  rows.set(id, row);
  return row;
}

function remove(id) {
  rows.get(id).element.remove();
  rows.delete(id);
}
