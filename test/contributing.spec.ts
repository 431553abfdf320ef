import { readdirSync, readFileSync } from 'node:fs';
import { DECORATORS, files, GROUND, importsOf, roomOf } from './support/rooms.js';

const root = new URL('../', import.meta.url);
const text = readFileSync(new URL('CONTRIBUTING.md', root), 'utf8');

const rooms = [...new Set(files.map(roomOf).filter((room) => room !== undefined))];
const composition = files.filter((file) => roomOf(file) === undefined);
const packages = readdirSync(new URL('packages', root)).map((name) => `packages/${name}`);

/** The arrows between rooms. What every room may import is drawn as one box, so only its own arrows are. */
const arrows = files.flatMap((file) => {
  const from = roomOf(file);
  const paths = importsOf(file).filter((path) => path !== DECORATORS);
  const others = paths.map(roomOf).filter((to) => to !== undefined && to !== from);
  if (from === undefined) return [];
  return others
    .filter((to) => GROUND.includes(from) || !GROUND.includes(to!))
    .map((to) => `${from} --> ${to}`);
});

describe("CONTRIBUTING's picture of the house", () => {
  it('has every room, every package and every file between them in its table, once', () => {
    const [, table = ''] = /\n\| Room.*?\n\|[- |]*\n(.*?)\n\n/s.exec(text) ?? [];
    const first = table.split('\n').map((row) => row.split('|')[1]!);
    const named = first.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
    const house = [
      ...rooms.map((room) => (['events', 'spans'].includes(room) ? `${room}.ts` : room)),
      ...packages,
      ...composition,
    ];
    expect(named.toSorted()).toEqual(house.toSorted());
  });

  it('draws every room, and exactly the arrows that there are', () => {
    const [, drawing = ''] = /```mermaid\n(.*?)```/s.exec(text) ?? [];
    const lines = drawing.split('\n').map((line) => line.trim().split(' --> '));
    const drawn = lines.flatMap(([from, to]) => (to ?? '').split(' & ').map((one) => `${from} --> ${one}`));
    const isArrow = (line: string): boolean => !line.endsWith('--> ');
    expect(drawn.filter(isArrow).toSorted()).toEqual([...new Set(arrows)].toSorted());
    const words = new Set(drawing.split(/\s+/));
    expect(rooms.filter((room) => !words.has(room))).toEqual([]);
  });
});
