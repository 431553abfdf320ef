// A device is a storage of a browser. `localhost` and `127.0.0.1` are two origins with separate storage, so two devices.
const ASKED = '#sign-in';
const TWINS = { localhost: '127.0.0.1', '127.0.0.1': 'localhost' };

/** Shows a link to the other origin. @returns {boolean} whether such a link has opened this page, to sign in */
export function showSecondDevice() {
  const link = document.getElementById('second');
  const twin = TWINS[location.hostname];
  if (twin) {
    const address = new URL(location.href);
    address.hostname = twin;
    address.hash = ASKED;
    link.href = address.href;
    link.hidden = false;
    document.getElementById('twin').textContent =
      `The button opens this page at ${twin}: another origin, so another storage, and to Latchkey another device.`;
  }
  if (location.hash !== ASKED) return false;
  history.replaceState(null, '', location.pathname + location.search); // a reload should not ask again
  return true;
}
