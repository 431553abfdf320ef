import { deviceName } from './device.js';

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

it.each([
  [`${MAC} ${WEBKIT} Version/18.0 Safari/605.1.15`, 'Safari on macOS'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:130.0) Gecko/20100101 Firefox/130.0',
    'Firefox on macOS',
  ],
  [`Mozilla/5.0 (Windows NT 10.0; Win64) ${WEBKIT} Chrome/140.0 Safari/537.36`, 'Chrome on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0) ${WEBKIT} Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
  [`Mozilla/5.0 (Linux; Android 15) ${WEBKIT} Chrome/140.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) ${WEBKIT} CriOS/140.0 Safari/604.1`,
    'Chrome on iPhone',
  ],
  [`Mozilla/5.0 (X11; CrOS x86_64) ${WEBKIT} Chrome/140.0 Safari/537.36`, 'Chrome on ChromeOS'],
  ['Node.js/22', 'Node'],
  ['something', 'Browser'],
])('%s is %s', (agent, name) => {
  expect(deviceName(agent)).toBe(name);
});
