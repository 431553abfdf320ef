export const APP_SCRIPT = `
const kept = JSON.parse(sessionStorage.storm ?? '{"got":[]}');
const keep = () => (sessionStorage.storm = JSON.stringify(kept));
window.storm = {
  isFrozen: false,
  asks: true,
  kept,
  ask: () => latchkey.fetch(SERVICE + '/me').then(({ status }) => status, ({ code }) => code),
  async listen() {
    if (storm.listening) return;
    storm.listening = true;
    const { offset, id } = kept;
    const channel = await latchkey.connect(offset === undefined ? {} : { offset, id }).catch(() => undefined);
    if (!channel) return void (storm.listening = false);
    storm.channel = channel;
    kept.first ??= channel.offset;
    Object.assign(kept, { offset: channel.offset, id: channel.id });
    keep();
    channel.on('*', (event, data, meta) => {
      kept.got.push(meta.offset);
      Object.assign(kept, { offset: meta.offset, id: meta.id });
      keep();
    });
    channel.on('disconnect', ({ final }) => final && (storm.listening = false));
  },
};
document.addEventListener('freeze', () => (storm.isFrozen = true));
document.addEventListener('resume', () => (storm.isFrozen = false));
const ask = async () => {
  if (storm.asks && latchkey.session) await storm.ask();
  setTimeout(ask, 50 + Math.random() * 50);
};
ask();
if (latchkey.session) storm.listen();
latchkey.on('change', (session) => session && storm.listen());
`;

/** Before a page's own scripts, and before the clock is replaced: an IndexedDB that can fail once. */
export const BEFORE = `{
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...all) {
    if (!sessionStorage.fails) return open.apply(this, all);
    delete sessionStorage.fails;
    throw new Error('fails once');
  };
}`;
