// The user's devices. Changes made on other devices are announced by the channel.
import { latchkey } from './client.js';
import { onConnection } from './connection.js';
import { DeviceRow } from './device-row.js';
import { explain, notice } from './notice.js';

/** Milliseconds in which several reasons to ask for the list become one request: a replay brings many events at once. */
const COLLECT = 150;
const list = document.getElementById('devices');
const empty = document.getElementById('devices-empty');
const rows = new Map();
let timer;
let due = Infinity;
let asking = false;
let again = false;
let round = 0;

/** Asks for the list soon, once for all calls until then, and shows it. @param {number} wait in milliseconds */
export function showDevices(wait = COLLECT) {
  if (asking) {
    again = true;
    return;
  }
  const at = performance.now() + wait;
  if (at >= due) return;
  clearTimeout(timer);
  due = at;
  timer = setTimeout(ask, wait);
}

/** The user has signed out. */
export function clearDevices() {
  round++;
  clearTimeout(timer);
  due = Infinity;
  again = false;
  for (const id of rows.keys()) remove(id);
  empty.hidden = false;
}

async function ask() {
  const mine = round;
  due = Infinity;
  asking = true;
  try {
    const devices = await latchkey.devices();
    if (mine === round) show(devices);
  } catch (error) {
    if (mine === round && error.code !== 'network') explain(error); // the banner speaks of the network
  } finally {
    asking = false;
    if (again) {
      again = false;
      showDevices();
    }
  }
}

/** A row that is being renamed keeps its form. */
function show(devices) {
  empty.hidden = true;
  for (const id of rows.keys()) if (!devices.some(({ device_id }) => device_id === id)) remove(id);
  devices.sort((one, other) => rank(other) - rank(one)); // this device, devices that are signed in, all others; then by last use
  devices.forEach((device, index) => {
    const row = rows.get(device.device_id) ?? add(device.device_id);
    row.show(device);
    if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
  });
}

function rank({ current, signed_in }) {
  return current ? 2 : Number(signed_in);
}

function add(id) {
  const row = new DeviceRow({
    onRename: async (name) => row.show(await latchkey.renameDevice(id, name)),
    onRemove: async ({ device_name, signed_in }) => {
      await latchkey.removeDevice(id);
      if (signed_in) notice(`${device_name ?? 'The device'} is signed out, and forgotten.`);
      showDevices(0);
    },
  });
  rows.set(id, row);
  return row;
}

function remove(id) {
  rows.get(id).element.remove();
  rows.delete(id);
}

onConnection(() => {
  for (const row of rows.values()) row.update();
});
