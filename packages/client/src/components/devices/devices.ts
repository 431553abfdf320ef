import type { LatchkeyError } from '../../latchkey-error.js';
import type { Device, RefusedProgram } from '../../latchkey.js';
import type { DevicesOptions } from '../../options.js';
import { fill, namesOf } from './device-names.js';
import { makeRow, type Connection, type DeviceRow } from './device-row.js';
import { STYLE } from './devices-style.js';
import { followDevices } from './follow-devices.js';
import type { DevicePages, Kit } from '../kit.js';
import { makeQuestion } from '../question.js';

/** Errors after which the session ends, which the client reports itself. */
const OF_SESSION: readonly string[] = ['signed_out', 'invalid_token'];

/** Shows the devices in an element. @param options are read at each error @returns a function that removes them */
export function show(kit: Kit, place: Element, options: DevicesOptions): () => void {
  const { client, make, texts } = kit;
  const rows = new Map<string, DeviceRow>();
  let shown: DevicePages | undefined;
  let connection: Connection = 'connecting';
  /** Shows the programs of a list; loaded with the first program. */
  let programs: Promise<(devices: readonly Device[], refused: readonly RefusedProgram[]) => void> | undefined;

  const root = kit.mount(place, STYLE, kit.texts.language);
  const status = make('p', { role: 'status' });
  const retry = make('button', { type: 'button' }, texts.retry);
  const problem = make('span', { role: 'alert' });
  const trouble = make('div', { className: 'trouble', hidden: true }, problem, retry);
  const list = make('ul', { role: 'list', ariaLabel: texts.devices }); // the style takes the role away in Safari
  const gone = make('ul', { role: 'list', ariaLabel: texts.devices });
  const summary = make('summary');
  const folded = make('details', { hidden: true }, summary, gone);
  const more = make('button', { type: 'button', hidden: true }, texts.more);
  const others = make('button', { type: 'button', className: 'danger', hidden: true }, texts.signOutOthers);
  const below = make('div', { className: 'below' }, make('div', { className: 'actions' }, more, others));
  root.append(trouble, list, folded, status, below);

  const say = (text: string): void => {
    if (status.textContent !== text) status.textContent = text; // an equal text would be read out again
  };
  const fail = (error: LatchkeyError, text: string): void => {
    if (OF_SESSION.includes(error.code)) return;
    problem.textContent = text;
    trouble.hidden = false;
    retry.hidden = text !== texts.listFailed;
    options.onError?.(error);
  };

  const showPrograms = (): void =>
    void programs
      ?.then((showAll) => showAll(shown?.devices ?? [], shown?.refused ?? []))
      .catch((error: LatchkeyError) => {
        programs = undefined;
        fail(error, texts.listFailed);
      });

  const render = (): void => {
    if (!shown) return;
    const { isMore, devices: all, refused } = shown;
    const devices = all.filter(({ agent }) => !agent);
    if (devices.length < all.length || refused.length)
      programs ??= kit
        .orNetworkError(import('../programs.js'))
        .then(({ makePrograms }) => makePrograms(kit, root, act, say, fill, namesOf, makeQuestion));
    showPrograms();
    devices.sort((one, other) => rank(other) - rank(one)); // else by last use
    const names = namesOf(devices, texts, Date.now());
    const ids = devices.map(({ device_id }) => device_id);
    for (const [id, row] of rows) {
      if (ids.includes(id)) continue;
      row.element.remove();
      rows.delete(id);
    }
    // An element that is moved loses the focus.
    const isUsed = [list, gone].some((one) => one.contains(root.activeElement));
    const counts = new Map([list, gone].map((one) => [one, 0]));
    devices.forEach((device, index) => {
      const row = rows.get(device.device_id) ?? add(device.device_id);
      row.show(device, names[index]!, connection);
      const into = device.signed_in || device.current ? list : gone;
      const before = into.children[counts.get(into)!];
      counts.set(into, counts.get(into)! + 1);
      if (!row.element.parentNode || (!isUsed && before !== row.element))
        into.insertBefore(row.element, before ?? null);
    });
    folded.hidden = !gone.children.length;
    summary.textContent = fill(texts.signedOutDevices, { count: String(gone.children.length) });
    more.hidden = !isMore;
    others.hidden = !isMore && !devices.some(({ current, signed_in: isIn }) => isIn && !current);
    if (others.hidden) question.close();
    if (!devices.length) say(texts.noDevices);
    else if (connection === 'away') say(texts.stale);
  };

  const add = (id: string): DeviceRow => {
    const row = makeRow(kit, {
      rename: async (name) => {
        try {
          const renamed = await client.renameDevice(id, name);
          replace(id, (device) => ({ ...device, ...renamed }));
          return true;
        } catch (error) {
          fail(error as LatchkeyError, texts.actionFailed);
          return false;
        }
      },
      signOut: async ({ signed_in: isIn }, { title }) => {
        if (!(await act('removeDevice', id))) return;
        if (isIn) say(fill(texts.deviceIsOut, { device: title }));
        const { nextElementSibling, previousElementSibling } = row.element;
        const next = nextElementSibling ?? previousElementSibling ?? list.lastElementChild;
        replace(id, () => undefined);
        for (const other of rows.values()) if (other.element === next) other.focus();
      },
    });
    rows.set(id, row);
    return row;
  };
  /** Removes a device, or allows a program again, and loads the list. @returns whether that is done */
  const act = async (action: 'removeDevice' | 'allowProgram', id: string): Promise<boolean> => {
    try {
      await client[action](id).catch((error: LatchkeyError) => {
        if (error.code !== 'not_found') throw error; // another device has done it
      });
    } catch (error) {
      fail(error as LatchkeyError, texts.actionFailed);
      return false;
    }
    trouble.hidden = true;
    follower.load();
    return true;
  };
  /** Shows a change at once; the list that is loaded next has it, too. */
  const replace = (id: string, change: (device: Device) => Device | undefined): void => {
    if (!shown) return;
    const devices = shown.devices.flatMap((one) => (one.device_id === id ? (change(one) ?? []) : one));
    shown = { ...shown, devices };
    render();
  };

  const signOutOthers = async (): Promise<void> => {
    try {
      await client.signOut('others');
      trouble.hidden = true;
      say(texts.othersAreOut);
      follower.load(0);
    } catch (error) {
      fail(error as LatchkeyError, texts.actionFailed);
    }
  };
  const question = makeQuestion(kit, below, others, signOutOthers);
  others.addEventListener('click', () => question.ask(texts.othersQuestion));

  const follower = followDevices(kit, {
    onList: (pages) => {
      shown = pages;
      if ([texts.wait, texts.slowList, texts.noDevices].includes(status.textContent ?? '')) say('');
      if (problem.textContent === texts.listFailed) trouble.hidden = true;
      list.ariaBusy = null;
      render();
    },
    onError: (error) => {
      if (!shown) say('');
      if (!shown || error.code !== 'network') fail(error, texts.listFailed); // else the list is marked as old
    },
    onSlow: () => {
      if (!shown) say(texts.slowList);
    },
    onConnection: (now) => {
      if (now === 'live' && status.textContent === texts.stale) say('');
      connection = now;
      render();
    },
    onUser: () => {
      shown = undefined;
      showPrograms();
      list.replaceChildren();
      gone.replaceChildren();
      rows.clear();
      question.close();
      more.hidden = others.hidden = folded.hidden = trouble.hidden = true;
      say(client.session ? texts.wait : '');
    },
  });
  retry.addEventListener('click', () => {
    trouble.hidden = true;
    if (!shown) say(texts.wait);
    follower.load(0);
  });
  more.addEventListener('click', () => {
    say(texts.wait);
    follower.loadMore();
  });
  return () => {
    follower.stop();
    root.host.remove();
  };
}

/** This device, devices that are signed in, all others. */
function rank({ current, signed_in: isIn }: Device): number {
  return current ? 2 : Number(isIn);
}
